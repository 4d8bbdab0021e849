// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibportstate of infiniband-diags: the state of a port, before and after a change; of a switch port also its peer's, and
// whether the link makes the most of both.
#include "tools/diags/ibportstate.hpp"

#include <fmt/format.h>

#include <array>

#include "tools/diags/console.hpp"
#include "tools/diags/fabric.hpp"
#include "tools/diags/legacy.hpp"
#include "tools/diags/tools.hpp"
#include "iba/libibmad_text.hpp"
#include "subnet/mlnx.hpp"

namespace ib::diags {
namespace portstate {
namespace {

using async::Task;

constexpr const char* examples[]{
    "-C qib0 -P 1 3 1 disable     # by CA name, CA Port Number, lid, physical port number",
    "-C qib0 -P 1 3 1 enable      # by CA name, CA Port Number, lid, physical port number",
    "-D 0 1\t\t\t# (query) by direct route",
    "3 1 reset\t\t\t# by lid",
    "3 1 speed 1\t\t\t# by lid",
    "3 1 width 1\t\t\t# by lid",
    "-D 0 1 lid 0x1234 arm\t\t# by direct route",
};
constexpr Tool ibportstate_tool{"ibportstate",
                                "<dest dr_path|lid|guid> <portnum> [<op>]\n"
                                "\nSupported ops: enable, disable, on, off, reset, speed, espeed, fdr10,\n"
                                "\twidth, query, down, arm, active, vls, mtu, lid, smlid, lmc,\n"
                                "\tmkey, mkeylease, mkeyprot\n",
                                "",
                                {},
                                examples};

constexpr std::string_view state_fields[]{"port_state",
                                          "port_physical_state",
                                          "lid",
                                          "master_sm_lid",
                                          "lmc",
                                          "link_width_supported",
                                          "link_width_enabled",
                                          "link_width_active",
                                          "link_speed_supported",
                                          "link_speed_enabled",
                                          "link_speed_active"};
constexpr std::string_view extended_fields[]{"link_speed_ext_supported", "link_speed_ext_enabled", "link_speed_ext_active"};
constexpr std::string_view xdr_fields[]{"link_speed_ext_active2", "link_speed_ext_supported2", "link_speed_ext_enabled2"};
constexpr std::string_view m_key_fields[]{"m_key", "m_key_lease_period", "m_key_protect_bits"};
constexpr std::uint32_t extended_speeds_bit = 1U << 31;  // of PortInfo's attribute modifier (IBA 14.2.5.6)

/// A port as it is asked about and shown.
struct Asked {
  Target target;
  unsigned port{};
  smp::NodeInfo node;
  Side side;
  std::vector<std::uint8_t> bytes, mlnx_bytes;  ///< PortInfo; MlnxExtPortInfo where the node has it

  bool is_switch() const { return node.node_type == smp::NodeType::switch_; }
  bool has_mlnx() const { return subnet::has_mlnx_ext_port_info(node); }
};

class Ibportstate : public Legacy {
 public:
  const Tool& tool() const override { return ibportstate_tool; }

  Task<> run(Context& context) override {
    const auto& arguments = context.arguments;
    if (arguments.size() < 2) throw Stop{2, usage_text(ibportstate_tool)};
    Fabric fabric(context);
    auto target = co_await fabric.resolve(arguments[0]);
    if (!target) throw Failure("main", fmt::format("can't resolve destination port {}", arguments[0]));
    Asked asked{*target, static_cast<unsigned>(static_cast<int>(context.number(1))), {}, {}, {}, {}};
    const Operations ops = read_operations(arguments);
    co_await read_node(fabric, asked);
    if (ops.m_key_fields() && asked.is_switch() && asked.port != 0) throw Failure("main", "Can't set M_Key fields on switch port != 0");
    context.out.print("{}{} PortInfo:\n", ops.change() ? "Initial " : "", asked.is_switch() ? "Switch" : "CA/RT");
    co_await read_port(fabric, asked);
    show_port(context, asked);
    if (asked.has_mlnx()) {
      co_await read_mlnx(fabric, asked);
      show_mlnx(context, asked);
    }
    if (ops.change()) {
      co_await set(context, fabric, asked, ops);
    } else if (asked.is_switch() && asked.port != 0 && asked.side.info.port_state == smp::PortState::active) {
      co_await query_peer(context, fabric, asked);
    }
  }

 private:
  static Task<> read_node(Fabric& fabric, Asked& asked) {
    const auto node = co_await fabric.get<smp::NodeInfo>(asked.target);
    if (!node) throw Failure("get_node_info", "smp query nodeinfo failed");
    asked.node = *node;
  }

  static void took(Asked& asked, std::vector<std::uint8_t> bytes) {
    asked.bytes = std::move(bytes);
    asked.side.info = smp::PortInfo::unpack(asked.bytes);
  }

  static Task<> read_port(Fabric& fabric, Asked& asked) {
    std::optional<smp::PortInfo> port0;  // of a switch it tells what all its ports can
    if (asked.is_switch()) {
      port0 = co_await fabric.get<smp::PortInfo>(asked.target);
      if (!port0) throw Failure("get_port_info", "smp query port 0 portinfo failed");
    }
    auto bytes = co_await fabric.smp_get(asked.target, smp::PortInfo::attribute_id, asked.port);
    if (!bytes) throw Failure("get_port_info", "smp query portinfo failed");
    took(asked, std::move(*bytes));
    const std::uint32_t capabilities = (port0 ? *port0 : asked.side.info).capability_mask;
    asked.side.extended_speeds = (capabilities & smp::capability_mask::is_extended_speeds_supported) != 0;
  }

  static Task<> read_mlnx(Fabric& fabric, Asked& asked) {
    auto bytes = co_await fabric.smp_get(asked.target, smp::MlnxExtPortInfo::attribute_id, asked.port);
    if (!bytes) throw Failure("get_mlnx_ext_port_info", "smp query ext portinfo failed");
    asked.mlnx_bytes = std::move(*bytes);
    asked.side.mlnx = smp::MlnxExtPortInfo::unpack(asked.mlnx_bytes);
  }

  static void show_port(Context& context, const Asked& asked) {
    tools::TextOut& out = context.out;
    const smp::PortInfo& info = asked.side.info;
    const StructInfo& all = smp::PortInfo::info();
    out.print("# Port info: {} port {}\n", asked.target.text, static_cast<int>(asked.port));
    out.write(libibmad_listing(asked.bytes, all, state_fields));
    if (asked.side.extended_speeds) out.write(libibmad_listing(asked.bytes, all, extended_fields));
    // Younger than the tool whose text this is.
    const bool xdr = info.link_speed_ext_active2 != 0 || info.link_speed_ext_supported2 != 0 || info.link_speed_ext_enabled2 != 0;
    if (xdr) out.write(libibmad_listing(asked.bytes, all, xdr_fields));
    if (asked.is_switch() && asked.port != 0) return;
    out.write(libibmad_listing(asked.bytes, all, m_key_fields, context.settings.keys));
  }

  static void show_mlnx(Context& context, const Asked& asked) {
    context.out.print("# MLNX ext Port info: {} port {}\n{}", asked.target.text, static_cast<int>(asked.port),
                      libibmad_listing(asked.mlnx_bytes, smp::MlnxExtPortInfo::info()));
  }

  static Task<> set(Context& context, Fabric& fabric, Asked& asked, const Operations& ops) {
    if (ops.state == StateOp::on && asked.side.info.port_physical_state != smp::PortPhysicalState::disabled) {
      context.out.write("Port is already in enable state\n");
      co_return;
    }
    if (ops.state == StateOp::disable || ops.state == StateOp::off) context.out.write("Disable may be irreversible\n");
    if (ops.fdr10) co_await set_mlnx(context, fabric, asked, *ops.fdr10);
    smp::PortInfo info = asked.side.info;
    ops.apply(info);
    std::array<std::uint8_t, smp::PortInfo::wire_size> bytes{};
    info.pack(bytes);
    const std::uint32_t modifier = asked.port | (asked.side.extended_speeds ? extended_speeds_bit : 0U);
    auto answer = co_await fabric.smp_set(asked.target, smp::PortInfo::attribute_id, modifier, bytes);
    if (!answer) throw Failure("set_port_info", "smp set portinfo failed");
    took(asked, std::move(*answer));
    context.out.write("\nAfter PortInfo set:\n");
    show_port(context, asked);
  }

  static Task<> set_mlnx(Context& context, Fabric& fabric, Asked& asked, std::uint8_t enabled) {
    smp::MlnxExtPortInfo info = asked.side.mlnx;
    info.state_change_enable = 1;  // FDR10
    info.link_speed_enabled = enabled;
    std::array<std::uint8_t, smp::MlnxExtPortInfo::wire_size> bytes{};
    info.pack(bytes);
    auto answer = co_await fabric.smp_set(asked.target, smp::MlnxExtPortInfo::attribute_id, asked.port, bytes);
    if (!answer) throw Failure("set_mlnx_ext_port_info", "smp set MLNX ext portinfo failed");
    asked.mlnx_bytes = std::move(*answer);
    context.out.write("\nAfter MLNXExtendedPortInfo set:\n");
    show_mlnx(context, asked);
  }

  static Task<> query_peer(Context& context, Fabric& fabric, const Asked& asked) {
    Asked peer{fabric.beyond(asked.target, asked.port), 0, {}, {}, {}, {}};
    co_await read_node(fabric, peer);
    peer.port = peer.node.local_port_num;
    context.out.write("Peer PortInfo:\n");
    co_await read_port(fabric, peer);
    if (peer.has_mlnx()) co_await read_mlnx(fabric, peer);
    show_port(context, peer);
    if (peer.has_mlnx()) show_mlnx(context, peer);
    validate(asked.side, peer.side);
  }
};

}  // namespace
}  // namespace portstate

int ibportstate(std::span<char* const> words) { return run_legacy<portstate::Ibportstate>(words); }

}  // namespace ib::diags
