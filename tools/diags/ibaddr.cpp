// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibaddr of infiniband-diags: the GID and the LIDs of an end port.
#include <arpa/inet.h>
#include <fmt/format.h>

#include <array>

#include "tools/diags/console.hpp"
#include "tools/diags/fabric.hpp"
#include "tools/diags/legacy.hpp"
#include "tools/diags/tools.hpp"
#include "iba-gen/smp.hpp"

namespace ib::diags {
namespace {

constexpr Option options[]{
    {"gid_show", 'g', nullptr, "show gid address only"},
    {"lid_show", 'l', nullptr, "show lid range only"},
    {"Lid_show", 'L', nullptr, "show lid range (in decimal) only"},
};
constexpr const char* examples[]{
    "\t\t# local port's address",     "32\t\t# show lid range and gid of lid 32", "-G 0x8f1040023\t# same but using guid address",
    "-l 32\t\t# show lid range only", "-L 32\t\t# show decimal lid range only",   "-g 32\t\t# show gid address only",
};
constexpr Tool ibaddr_tool{"ibaddr", "[<lid|dr_path|guid>]", "KL", options, examples};

std::string gid_text(const Gid& gid) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(AF_INET6, gid.bytes.data(), text.data(), text.size());
  return text.data();
}

class Ibaddr : public Legacy {
 public:
  const Tool& tool() const override { return ibaddr_tool; }

  void option(int letter, const char* /*value*/, Settings& /*settings*/) override {
    if (letter == 'g') gid_ = true;
    if (letter == 'l') lid_ = true;
    if (letter == 'L') decimal_ = true;
  }

  async::Task<> run(Context& context) override {
    if (!gid_ && !lid_ && !decimal_) gid_ = lid_ = true;
    Fabric fabric(context);
    std::optional<Target> target;
    long port = context.number(1);
    if (context.arguments.empty()) {
      target = fabric.self();
      port = fabric.end_port().number;
    } else {
      target = co_await fabric.resolve(context.arguments[0]);
      if (!target) throw Failure("main", fmt::format("can't resolve destination port {}", context.arguments[0]));
    }
    const auto node = co_await fabric.get<smp::NodeInfo>(*target);
    std::optional<smp::PortInfo> info;
    if (node) info = co_await fabric.get<smp::PortInfo>(*target, static_cast<std::uint32_t>(port));
    if (!info) throw Failure("main", "can't resolve requested address");
    print(context.out, *node, *info);
  }

 private:
  void print(tools::TextOut& out, const smp::NodeInfo& node, const smp::PortInfo& info) const {
    if (gid_) out.print("GID {} ", gid_text(Gid::from(info.gid_prefix, node.port_guid)));
    const unsigned first = info.lid.value, last = first + (1U << info.lmc) - 1;
    if (decimal_) {
      out.print("LID start {} end {}", first, last);
    } else if (lid_) {
      out.print("LID start 0x{:x} end 0x{:x}", first, last);
    }
    out.print("\n");
  }

  bool gid_ = false, lid_ = false, decimal_ = false;
};

}  // namespace

int ibaddr(std::span<char* const> words) { return run_legacy<Ibaddr>(words); }

}  // namespace ib::diags
