// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibsysstat of infiniband-diags: what a host says of itself, asked once.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "tools/diags/console.hpp"
#include "tools/diags/tools.hpp"
#include "tools/diags/vendor.hpp"
#include "iba-gen/ofa.hpp"
#include "mad/sysstat.hpp"

namespace ib::diags {
namespace {

constexpr Option options[]{
    {"oui", 'o', "<val>", "use specified OUI number"},
    {"Server", 'S', nullptr, "start in server mode"},
};
constexpr Tool ibsysstat_tool{"ibsysstat", "<dest lid|guid> [<op>]", "DKy", options, {}};

struct Operation {
  std::string_view name;
  std::uint16_t attribute_id;
};
constexpr std::array<Operation, 3> operations{{
    {"ping", ofa::SysStatPing::attribute_id},
    {"host", ofa::SysStatHostInfo::attribute_id},
    {"cpu", ofa::SysStatCpuInfo::attribute_id},
}};

class Ibsysstat : public Legacy {
 public:
  const Tool& tool() const override { return ibsysstat_tool; }

  void option(int letter, const char* value, Settings& /*settings*/) override {
    if (letter == 'o') oui_ = read_oui(value);
    if (letter == 'S') server_ = true;
  }

  async::Task<> run(Context& context) override {
    const auto& arguments = context.arguments;
    if (arguments.empty() && !server_) throw Stop{2, usage_text(ibsysstat_tool)};
    const Operation* operation = operations.data();
    if (arguments.size() > 1) operation = std::ranges::find(operations, arguments[1], &Operation::name);
    if (operation == operations.end()) throw Stop{2, usage_text(ibsysstat_tool)};
    const auto serve = [](mad::Server& server, std::uint32_t oui) {
      const mad::HostText text{sys::host_name(), mad::cpu_text(sys::cpus())};
      mad::serve_sysstat(server, text, oui);
    };
    if (server_) return serve_forever(context, "can't serve class 51", serve, oui_);
    return ask(context, *operation);
  }

 private:
  async::Task<> ask(Context& context, const Operation& operation) {
    Fabric fabric(context);
    const std::optional<Target> found = co_await fabric.resolve(context.arguments[0]);
    if (!found) throw Failure("main", fmt::format("can't resolve destination port {}", context.arguments[0]));
    Target target = fabric.gmp_target(*found);
    target.path.ib().retries = 0;
    if (context.settings.debug > 0) warn("ibsystat", "Sysstat ping..");
    const mad::Request request{.path = target.path,
                               .mgmt_class = mad::mgmt_class::ofa_sysstat,
                               .attribute_id = operation.attribute_id,
                               .payload = {},
                               .oui = oui_};
    const mad::Result<mad::Reply> reply = co_await context.session.transactor().try_call(request);
    // The original looks at no status, and prints what a refusal repeats of its request: nothing.
    if (!reply && reply.error().reply().empty())
      throw Failure("main", fmt::format("ibsystat to {}: {}", target.text, std::strerror(ETIMEDOUT)));
    if (context.settings.debug > 0) warn("ibsystat", "Got sysstat pong..");
    if (operation.attribute_id == ofa::SysStatPing::attribute_id) {
      context.out.write("sysstat ping succeeded\n");
    } else {
      context.out.print("{}\n", reply ? received_text(reply->payload()) : std::string());
    }
  }

  std::uint32_t oui_ = mad::openib_oui;
  bool server_ = false;
};

}  // namespace

int ibsysstat(std::span<char* const> words) { return run_legacy<Ibsysstat>(words); }

}  // namespace ib::diags
