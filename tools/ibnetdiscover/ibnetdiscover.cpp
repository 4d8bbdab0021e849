// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibnetdiscover: the topology of the subnet, as a topology file, as a listing of nodes or as a report on ports.
#include <ctime>

#include "subnet/order.hpp"
#include "subnet/topology_text.hpp"
#include "tools/diags/tools.hpp"
#include "tools/frame/commands.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools {
namespace {

using subnet::NodeIndex;
using subnet::NodeKind;

struct Shown {
  bool list{}, cas{}, switches{}, routers{}, ports{}, full{}, grouping{}, max_hops{};
  bool any_list() const { return list || cas || switches || routers; }
  /// The last of -H, -S and -R in this order decides what is listed.
  std::optional<NodeKind> kind() const {
    if (routers) return NodeKind::router;
    if (switches) return NodeKind::sw;
    if (cas) return NodeKind::ca;
    return std::nullopt;
  }
};

struct TopologyReport final : FabricReport {
  TopologyReport(const Fabric& of, const Shown& what) : FabricReport(of), shown(what), order(subnet::breadth_first(of.subnet)) {
    if (!shown.any_list() || !shown.kind()) return;
    std::erase_if(order, [&](NodeIndex at) { return of.subnet.node(at).kind() != *shown.kind(); });
  }

  void visit(out::Sink& sink) const override {
    const subnet::Port& start = fabric.subnet.port(fabric.subnet.start);
    sink.begin_object("initiated_from");
    visit_names(sink, start.node);
    sink.value("port_num", start.number);
    sink.value("port_guid",
               fabric.subnet.node(start.node).kind() == NodeKind::sw ? fabric.subnet.node(start.node).info.port_guid : start.guid);
    sink.end_object();
    if (shown.max_hops) sink.value("max_hops", max_hops());
    visit_nodes(sink, order, shown.ports || !shown.any_list() ? known_ports() : PortFilter());
    visit_failures(sink);
  }

  void text(TextOut& out) const override {
    subnet::TopologyText text(fabric.subnet, &fabric.names);
    text.full = shown.full;
    if (shown.ports) {
      for (const NodeIndex at : order) text.ports(out.buffer(), at), out.write({});
    } else if (shown.any_list()) {
      for (const NodeIndex at : order) text.listed(out.buffer(), at), out.write({});
    } else {
      topology(out, text);
    }
  }

  const Shown& shown;
  std::vector<NodeIndex> order;

 private:
  unsigned max_hops() const {
    unsigned hops = 0;
    for (const subnet::Node& node : fabric.subnet.nodes()) hops = std::max<unsigned>(hops, node.hops);
    return hops;
  }

  void topology(TextOut& out, subnet::TopologyText& text) const {
    text.header(out.buffer(), std::time(nullptr));
    if (shown.max_hops) out.print("# Reported max hops discovered: {}\n", max_hops());
    out.write("\n");
    subnet::Grouping grouping;
    if (shown.grouping) {
      grouping = subnet::group(fabric.subnet, order);
      text.grouping = &grouping;
      for (const subnet::Chassis& box : grouping.chassis) {
        if (box.number != 0) chassis(out, text, box);
      }
      out.write("Non-Chassis Nodes\n\n");
    }
    for (const NodeIndex at : order) {
      if (!shown.grouping || !grouping.grouped(at)) block(out, text, at);
    }
  }

  void chassis(TextOut& out, const subnet::TopologyText& text, const subnet::Chassis& box) const {
    text.chassis(out.buffer(), box);
    const auto section = [&](std::string_view title, const auto& nodes, std::optional<NodeKind> kind) {
      out.print("\n# {}\n", title);
      for (const NodeIndex at : nodes) {
        if (at != subnet::none && (!kind || fabric.subnet.node(at).kind() == *kind)) block(out, text, at);
      }
    };
    section("Spine Nodes", box.spines, std::nullopt);
    section("Line Nodes", box.lines, std::nullopt);
    section("Chassis Switches", box.others, NodeKind::sw);
    section("Chassis CAs", box.others, NodeKind::ca);
    out.write("\n");
  }

  static void block(TextOut& out, const subnet::TopologyText& text, NodeIndex at) {
    text.node(out.buffer(), at);
    out.write("\n");
  }
};

class Ibnetdiscover final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.usage("", 0, 0);
    set.flag("-l --list", shown_.list, "Show a summary listing of all nodes");
    set.flag("-H --Hca_list", shown_.cas, "Show a summary listing of all CA nodes");
    set.flag("-S --Switch_list", shown_.switches, "Show a summary listing of all switch nodes");
    set.flag("-R --Router_list", shown_.routers, "Show a summary listing of all router nodes");
    set.flag("-p --ports", shown_.ports, "Show a report of all connected ports, one a line");
    set.flag("-f --full", shown_.full, "Show also the speed, width and VLCap codes of the links");
    set.flag("-g --grouping", shown_.grouping, "Group the nodes of a chassis and name their slots");
    set.flag("-m --max_hops", shown_.max_hops, "Show also the greatest number of hops to a node");
    add_discovery(set, discovery_);
    add_common(set, common, group_fabric);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    session.read_operands({}, 0);
    Fabric fabric;
    co_await discover(session, discovery_, fabric);
    emit(TopologyReport(fabric, shown_));
    note_discovered(session, "all_LIDs, all_NodeDescription, all_NodeInfo, all_PortInfo, all_topology");
  }

 private:
  Shown shown_;
  DiscoveryOptions discovery_;
};

}  // namespace

constinit const CommandInfo rooms::ibnetdiscover{.name = "ibnetdiscover", .group = HelpGroup::topology, .summary = "Print the topology: every node with its ports and what is at their other ends.", .make = make_command<Ibnetdiscover>, .diags = true, .legacy = diags::ibnetdiscover};

}  // namespace ib::tools
