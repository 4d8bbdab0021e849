// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// iblinkinfo: prints the ports of all switches, or of one switch: state, width and speed, the port at the other end, and whether the
// link could be faster or wider.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "base/escape.hpp"
#include "iba/text.hpp"
#include "subnet/model/names.hpp"
#include "subnet/model/order.hpp"
#include "subnet/model/rate.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/explanation.hpp"
#include "tools/iblinkinfo/diags_links.hpp"
#include "tools/shared/attribute_text.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/table_options.hpp"
namespace ib::tools {
namespace {

using subnet::NodeKind;

struct LinkOptions {
  bool port_guids{}, line{}, additional{}, down{}, up{};
};

struct LinkReport final : FabricReport {
  LinkReport(const Fabric& of, const LinkOptions& what, std::vector<NodeIndex> which)
      : FabricReport(of), shown(what), switches(std::move(which)) {}

  /// Like the text: only the wanted ports, and only switches with such ports.
  void visit(report::Sink& sink) const override {
    std::vector<NodeIndex> nodes;
    std::ranges::copy_if(switches, std::back_inserter(nodes), [this](NodeIndex at) { return !shown_ports(at).empty(); });
    visit_nodes(sink, nodes, [this](PortIndex at) { return is_shown(at); });
    visit_failures(sink);
  }

  void text(TextOut& out) const override {
    for (const NodeIndex at : switches) print_switch(out, at);
  }

  std::vector<PortLine> lines() const {
    std::vector<PortLine> ports;
    for (const NodeIndex at : switches)
      for (const PortIndex port : shown_ports(at)) ports.push_back({&fabric, port});
    return ports;
  }

  const LinkOptions& shown;
  std::vector<NodeIndex> switches;

 private:
  std::string name(NodeIndex at) const { return in_quotes(subnet::name_of(fabric.subnet.node(at), &fabric.names)); }

  bool is_shown(PortIndex at) const {
    const subnet::Port& port = fabric.subnet.port(at);
    if (shown.down && port.is_link_up()) return false;
    return !(shown.up && port.physical_state() == smp::PortPhysicalState::polling);
  }

  std::vector<PortIndex> shown_ports(NodeIndex at) const {
    const subnet::Node& node = fabric.subnet.node(at);
    std::vector<PortIndex> ports;
    for (PortIndex port = node.first_port + 1; port < node.first_port + node.slots; ++port)
      if (is_shown(port)) ports.push_back(port);
    return ports;
  }

  void print_switch(TextOut& out, NodeIndex at) const {
    const subnet::Node& node = fabric.subnet.node(at);
    const std::string guid = to_text(shown.port_guids ? node.info.port_guid : node.guid());
    std::string heading = shown.line ? std::string() : fmt::format("Switch {} {}:\n", guid, name(at));
    const std::string begin = shown.line ? fmt::format("{} {} ", guid, name(at)) : "   ";
    for (const PortIndex index : shown_ports(at))
      out.print("{}{}{:<40}==> {}\n", std::exchange(heading, {}), begin, near_end(index), far_end(index));
  }

  std::string near_end(PortIndex index) const {
    const subnet::Port& port = fabric.subnet.port(index);
    const bool is_listed = fabric.subnet.node(port.node).is_listed;
    std::string state = is_listed ? "not read" : "no answer";
    if (port.has_info && !is_listed)
      state =
          link_state_text(static_cast<unsigned>(port.state())) + '/' + phys_link_state_text(static_cast<unsigned>(port.physical_state()));
    if (port.has_info && port.is_link_up()) {
      const subnet::LinkRate rate = subnet::active_rate(fabric.subnet, index);
      state = fmt::format("{:2}x {} {}", rate.lanes, subnet::name(rate.speed), state);
    }
    std::string text = fmt::format("{:3} {:4}[  ] ==({})", fabric.subnet.lid(index).value, port.number, state);
    if (shown.additional && !is_listed) {
      const smp::PortInfo info = port.info();
      text += fmt::format(" (HOQ:{} VL_Stall:{})", info.hoq_life, info.vl_stall_count);
    }
    return text;
  }

  std::string far_end(PortIndex index) const {
    const subnet::Port& port = fabric.subnet.port(index);
    if (port.peer == subnet::none) return "[  ] \"\" ( )";
    const subnet::Port& peer = fabric.subnet.port(port.peer);
    return fmt::format("{:3} {:4}[  ] {}{}", fabric.subnet.lid(port.peer).value, peer.number, name(peer.node), remark(index));
  }

  std::string remark(PortIndex index) const {
    const subnet::LinkRate active = subnet::active_rate(fabric.subnet, index), best = subnet::best_rate(fabric.subnet, index);
    std::string text;
    if (best.lanes > active.lanes) text = fmt::format("Could be {}x", best.lanes);
    if (best.speed > active.speed) text += fmt::format("{}Could be {}", text.empty() ? "" : ",", subnet::name(best.speed));
    return text.empty() ? text : " (" + text + ")";
  }
};

class Iblinkinfo final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.optional_operands();
    set.target_each("TARGET", target_);
    set.flag("-g --portguids", shown_.port_guids, "Name switches by their port GUID instead of their node GUID.");
    set.flag("-l --line", shown_.line, "Begin each line with the GUID and the name of the switch.");
    set.flag("-p --additional", shown_.additional, "Print also VLStallCount and HOQLife.");
    set.flag("--down", shown_.down, "Print only the ports whose link is not up.");
    set.flag("--up", shown_.up, "Leave out the ports that are polling.");
    add_discovery(set, discovery_);
    add_table_options(set, common, table_, keys_of(listed_port_columns()));
    add_common(set, common, group_target);
  }

  std::string_view table_rows() const override { return "ports"; }

  async::Task<> run(Session& session, Emit& emit) override {
    auto table = report::Table<PortLine>(listed_port_columns(), table_);
    table_.refuse_for_json(session.host().options().format, "ports", "nodes");
    discovery_.needs.switch_infos = emit.json() || table_.given();
    Fabric fabric;
    std::vector<NodeIndex> switches;
    if (target_.given()) {
      const NodeIndex at = co_await discover_around(session, discovery_, target_, fabric);
      check_switch(fabric, at);
      switches.push_back(at);
    } else {
      fabric = co_await discover(session, discovery_);
      switches = subnet::breadth_first(fabric.subnet);
      std::erase_if(switches, [&](NodeIndex at) { return fabric.subnet.node(at).kind() != NodeKind::sw; });
    }
    const LinkReport report(fabric, shown_, std::move(switches));
    if (table_.given() || is_table(session.host().options().format)) {
      emit(TableReport<PortLine>(fabric, "ports", std::move(table), report.lines()));
    } else {
      emit(report);
    }
    note_discovered(session.host(), "all_LIDs, all_NodeDescription, all_NodeInfo, all_PortInfo, all_topology");
  }

 private:
  /// Throws Error if the node is not a switch. A listing by switches has no lines for it.
  static void check_switch(const Fabric& fabric, NodeIndex at) {
    const subnet::Node& node = fabric.subnet.node(at);
    if (node.kind() == NodeKind::sw) return;
    path::IbPath path;
    const PortIndex port = fabric.subnet.port_of(at, node.entry_port);
    if (port != subnet::none) path.dlid = fabric.subnet.lid(port);
    const std::string whom = called(node.description(), path);
    throw Error(fmt::format("{} is {}, and iblinkinfo lists switches: its link is in ibtool ibportstate {} {}", whom,
                            kind_text(node.info.node_type), path.dlid.value, unsigned{node.entry_port}));
  }

  Target target_;
  LinkOptions shown_;
  TableOptions table_;
  DiscoveryOptions discovery_;
};

}  // namespace

constinit const CommandInfo rooms::iblinkinfo{
    .name = "iblinkinfo",
    .group = HelpGroup::topology,
    .summary = "Print the links of every switch: state, width, speed, peer.",
    .make = make_command<Iblinkinfo>,
    .make_diags = make_iblinkinfo_diags,
    .alias = "iblinkinfo.pl",
};

}  // namespace ib::tools
