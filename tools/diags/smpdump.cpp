// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// smpdump of infiniband-diags: the data of any SMP attribute, as it came. It asks once and shows whatever the kernel hands
// back - where nothing answered that is the request itself.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/escape.hpp"
#include "tools/diags/console.hpp"
#include "tools/diags/fabric.hpp"
#include "tools/diags/legacy.hpp"
#include "tools/diags/tools.hpp"

namespace ib::diags {
namespace {

constexpr Option options[]{{"string", 's', nullptr, ""}};
constexpr const char* examples[]{
    " -- DR routed examples:",  "-D 0,1,2,3,5 16\t# NODE DESC",        "-D 0,1,2 0x15 2\t# PORT INFO, port 2",
    " -- LID routed examples:", "3 0x15 2\t# PORT INFO, lid 3 port 2", "0xa0 0x11\t# NODE INFO, lid 0xa0",
};
constexpr Tool smpdump_tool{"smpdump", "<dlid|dr_path> <attr> [mod]", "GKs", options, examples};

constexpr std::chrono::milliseconds default_timeout{1000};
constexpr std::size_t smp_data = 64;  // bytes of an SMP's data (IBA 14.2.1)

class Smpdump : public Legacy {
 public:
  const Tool& tool() const override { return smpdump_tool; }

  void option(int /*letter*/, const char* /*value*/, Settings& /*settings*/) override { as_text_ = true; }

  async::Task<> run(Context& context) override {
    if (context.arguments.size() < 2) throw Stop{2, usage_text(smpdump_tool)};
    path::Path path = target(context);
    mad::Transactor& transactor = opened(context);
    path.ib().end_port = &context.session.end_port();
    path.ib().slid = path.directed() != nullptr ? permissive_lid : path.ib().end_port->lid;
    path.ib().retries = 0;
    path.ib().timeout = context.settings.timeout_ms ? std::chrono::milliseconds(*context.settings.timeout_ms) : default_timeout;
    const mad::Request request{.path = path,
                               .mgmt_class = mad::smp_class(path),
                               .attribute_id = static_cast<std::uint16_t>(number(context, 1)),
                               .attribute_modifier = static_cast<std::uint32_t>(number(context, 2)),
                               .payload = {}};
    const mad::Result<mad::Reply> reply = co_await transactor.try_call(request);
    const Bytes mad = reply ? Bytes(reply->bytes) : reply.error().reply();
    if (mad.empty()) warn("main", "nothing answered: these are the bytes of the request");
    if (context.settings.debug > 0) tell(fmt::format("{} bytes received\n", mad::packet_size));
    show(context.out, mad);
  }

 private:
  static unsigned long number(const Context& context, std::size_t at) {
    return at < context.arguments.size() ? std::strtoul(context.arguments[at].c_str(), nullptr, 0) : 0;
  }

  static path::Path target(Context& context) {
    const std::string& text = context.arguments[0];
    if (context.settings.destination != Destination::direct) {
      path::IbPath path;
      path.dlid = Lid{static_cast<std::uint16_t>(number(context, 0))};
      path.dqpn = path.sqpn = Qpn{0};
      return path;
    }
    if (context.settings.debug > 0) context.out.print("ibdebug: [{}] str2DRPath: DR str: {}\n", getpid(), text);
    const auto route = read_route(text);
    if (!route) throw Panic("main", fmt::format("bad path str '{}'", text), 0);
    path::IbDrPath path;
    std::copy(route->begin() + 1, route->end(), path.route.begin() + 1);
    path.hops = static_cast<std::uint8_t>(route->size() - 1);
    return path;
  }

  static mad::Transactor& opened(Context& context) {
    int code = EINVAL;
    try {
      return context.session.transactor();
    } catch (const SysError& error) {
      code = error.code();
    } catch (const Error&) {
      code = ENOENT;  // there is no such port
    }
    const long port = std::strtol(context.settings.port.c_str(), nullptr, 0);
    throw Panic("main", fmt::format("can't open UMAD port ({}:{})", context.settings.device.value_or("(null)"), port), code);
  }

  void show(tools::TextOut& to, Bytes mad) const {
    std::array<std::uint8_t, smp_data> data{};
    if (!mad.empty()) {
      const Bytes payload = mad.subspan(mad::data_area(mad[1]).offset);
      std::copy_n(payload.begin(), std::min(payload.size(), data.size()), data.begin());
    }
    if (as_text_) {
      to.print("{}\n", printable(fixed_text(data)));
    } else {
      to.write(hex_words(data));
    }
    const unsigned status = mad.empty() ? 0U : load_be<std::uint16_t>(mad.data() + 4);
    if (status != 0) to.print("SMP status: 0x{:x}\n", status);
  }

  bool as_text_{};
};

}  // namespace

int smpdump(std::span<char* const> words) { return run_legacy<Smpdump>(words); }

}  // namespace ib::diags
