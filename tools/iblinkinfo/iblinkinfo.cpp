// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// iblinkinfo: prints the ports of all switches, or of one switch: state, width and speed, the port at the other end, and whether the
// link could be faster or wider.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <tuple>

#include "base/escape.hpp"
#include "iba/text.hpp"
#include "mad/transactor.hpp"
#include "path/parse.hpp"
#include "subnet/model/chassis.hpp"
#include "subnet/model/names.hpp"
#include "subnet/model/order.hpp"
#include "subnet/model/rate.hpp"
#include "tools/frame/commands.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/explanation.hpp"
#include "tools/iblinkinfo/diags_links.hpp"
#include "tools/shared/attribute_text.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/fabric_columns.hpp"
#include "tools/shared/fabric_source.hpp"
#include "tools/shared/libibnetdisc.hpp"
#include "tools/shared/table_options.hpp"
namespace ib::tools {
namespace {

using subnet::NodeIndex;
using subnet::NodeKind;
using subnet::PortIndex;

struct ShownLinks {
  bool port_guids{}, line{}, additional{}, down{}, up{};
};

struct LinkReport final : FabricReport {
  LinkReport(const Fabric& of, const ShownLinks& what, std::vector<NodeIndex> which)
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

  const ShownLinks& shown;
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
    bool first = true;
    for (const PortIndex index : shown_ports(at)) {
      if (shown.line) {
        out.print("{} {} {:<40}==> {}\n", guid, name(at), near_end(index), far_end(index));
        continue;
      }
      if (first) out.print("Switch {} {}:\n", guid, name(at));
      first = false;
      out.print("   {:<40}==> {}\n", near_end(index), far_end(index));
    }
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

  /// The widths and speeds that both ends support and the link does not use.
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
    auto table = table_of<PortLine>(listed_port_columns(), table_);
    table_.refuse_for_json(session.host().options().format, "ports", "nodes");
    discovery_.needs.switch_infos = emit.json() || table_.given();
    Fabric fabric;
    std::vector<NodeIndex> switches;
    if (target_.given()) {
      const NodeIndex at = co_await discover_around(session, discovery_, target_, fabric);
      check_switch(fabric, at);
      switches.push_back(at);
    } else {
      co_await discover(session, discovery_, fabric);
      switches = subnet::breadth_first(fabric.subnet);
      std::erase_if(switches, [&](NodeIndex at) { return fabric.subnet.node(at).kind() != NodeKind::sw; });
    }
    const LinkReport report(fabric, shown_, std::move(switches));
    if (table_.given() || is_table(session.host().options().format)) {
      emit(TableReport<PortLine>(fabric, "ports", std::move(table), report.lines(), session.host().world().out));
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
  ShownLinks shown_;
  TableOptions table_;
  DiscoveryOptions discovery_;
};

/// Opens the end port, or ends as infiniband-diags does.
void open(Stack& stack) {
  try {
    std::ignore = stack.lowest_transactor();
  } catch (const DiagsFailure&) {
    throw DiagsExit(
        1, fmt::format("Failed to open {} port {}\n", diags_device(stack.host().options()), diags_port_number(stack.host().options())));
  }
}

bool has_line_board(const subnet::Subnet& subnet) {
  return std::ranges::any_of(subnet.nodes(), [](const subnet::Node& node) {
    return node.info.vendor_id == subnet::voltaire::vendor_id &&
           subnet::voltaire::line_board(node.info.device_id) != subnet::voltaire::Line::none;
  });
}

class PartialScan {
 public:
  std::optional<std::string> route;  ///< -D; takes precedence over the GUID
  std::optional<std::string> guid;   ///< -S and -G
  bool all{};                        ///< -a: print all nodes that were found on the way
  unsigned hops{};                   ///< -n; 0: not given
  std::optional<std::string> file;   ///< --load-cache

  /// Fills `fabric`. Returns the port GUID of the only node to print, or nothing for all nodes. Throws DiagsExit if nothing can be read.
  async::Task<std::optional<Guid>> read(Session& session, LibibnetdiscFabric& fabric) const {
    if (file) {
      co_await read_stored(session, fabric);
      co_return guid && !all ? std::optional(Guid{c_number(*guid)}) : std::nullopt;
    }
    open(session.stack());
    std::ignore = session.manners().node_name_map();
    std::optional<path::Path> start = co_await resolve(session.stack());
    std::optional<Guid> wanted;
    if (guid && !all) wanted = Guid{c_number(*guid)};
    std::optional<smp::NodeInfo> known;
    if (route && start) {
      const mad::Result<smp::NodeInfo> info = co_await session.stack().transactor().try_subn_get<smp::NodeInfo>(*start);
      if (!info && !all) session.manners().report_failure(info.error());
      if (info) known = *info;
      if (info && !all && !wanted) wanted = info->port_guid;
    }
    if (route && !all && !wanted) throw DiagsExit(1, "Failed to get local Node Info\n");
    if (start) {
      co_await read_around(session, *start, known, fabric);
    } else {
      LibibnetdiscWanted bounded;
      bounded.max_hops = hops;
      bounded.silent = true;
      co_await discover_as_libibnetdisc(session, bounded, fabric);
    }
    libibnetdisc_failures(session.host(), fabric, !start);
    co_return wanted;
  }

 private:
  async::Task<std::optional<path::Path>> resolve(Stack& stack) const {
    if (!route && !guid) co_return std::nullopt;
    Target target;
    target.word = route ? *route : *guid;
    std::optional<path::Path> path;
    try {
      const Destination node = co_await stack.manners().smp_node(target);
      path = node.path;
    } catch (const DiagsFailure&) {
      // The failure is printed below.
    }
    if (!path)
      warn(stack.host().world(), "main", fmt::format("Failed to resolve {}; attempting full scan{}", *target.word, route ? "" : "\n"));
    co_return path;
  }
  /// A file is always read as a whole. No port of this host is needed for it.
  async::Task<> read_stored(Session& session, LibibnetdiscFabric& fabric) const {
    if (route) throw DiagsExit(1, "Cannot specify cache and direct route path\n");
    LibibnetdiscWanted stored;
    stored.load_cache = file;
    try {
      co_await discover_as_libibnetdisc(session, stored, fabric);
    } catch (const CannotLoad&) {
      throw DiagsExit(1, "loading cached fabric failed\n");
    }
  }
  async::Task<> read_around(Session& session, path::Path start, std::optional<smp::NodeInfo> known, LibibnetdiscFabric& fabric) const {
    const unsigned bound = std::max(hops, 1U);
    const path::IbDrPath* directed = start.directed();
    const std::uint8_t length = directed != nullptr ? directed->hops : std::uint8_t{0};
    subnet::LegacyScan bounds;
    bounds.max_hops = bound;
    bounds.start_hops = length;
    bounds.by_lid = directed == nullptr;
    bounds.mlnx = session.host().options().mlnx_extended_port_info;
    // An end node does not forward directed routes. The sweep begins at the switch before it.
    const bool from_end_node = known && known->node_type != smp::NodeType::switch_ && length > 1;
    std::optional<subnet::KnownNode> first;
    if (known) first = subnet::KnownNode{*known};
    if (from_end_node) {
      path::IbDrPath before = *directed;
      first->beyond = before.retreat();
      start = before;
    }
    bool cuts = all;
    const unsigned radius = radius_for_libibnetdisc(bound);
    co_await discover_part_as_libibnetdisc(session, start, all ? radius : bound, fabric, first);
    if (!all && has_line_board(fabric.subnet)) {
      // The panel number of a line board's port depends on the spine board to which it is wired. This spine may be one link too far.
      fabric = LibibnetdiscFabric();
      cuts = true;
      co_await discover_part_as_libibnetdisc(session, start, radius, fabric, first);
    }
    if (!cuts && known && directed != nullptr && length == 0) co_await read_link_back(session.stack(), fabric, start, bound);
    if (bounds.by_lid && is_cut_off(fabric)) bounds.start = co_await read_all_for(session, fabric);
    fabric.compute_sweep(session.host());
    if (!cuts || fabric.subnet.start == subnet::none) co_return;
    if (from_end_node) {
      const subnet::PortIndex port = fabric.subnet.port_of(fabric.subnet.port(fabric.subnet.start).node, first->beyond);
      if (port == subnet::none || fabric.subnet.port(port).peer == subnet::none) co_return;
      bounds.start = fabric.subnet.port(port).peer;
    }
    fabric.keep(subnet::legacy_sweep(fabric.subnet, bounds));
  }
  /// If a switch does not answer directed routes that begin at its LID, sweeps the whole subnet for it. Returns the port 0 of the switch.
  async::Task<subnet::PortIndex> read_all_for(Session& session, LibibnetdiscFabric& fabric) const {
    const Guid wanted = fabric.subnet.node(fabric.subnet.port(fabric.subnet.start).node).guid();
    fabric = LibibnetdiscFabric();
    LibibnetdiscWanted whole;
    whole.silent = true;
    co_await discover_as_libibnetdisc(session, whole, fabric);
    const subnet::NodeIndex node = fabric.subnet.find_node(wanted);
    if (node == subnet::none) co_return subnet::none;
    if (!all) std::erase_if(fabric.failures, [node](const subnet::Failure& failure) { return failure.node != node; });
    co_return fabric.subnet.node(node).first_port;
  }
};

class IblinkinfoDiags final : public Command {
 public:
  void diags_options(OptionSet& set, CommonOptions& common) override {
    const auto port_guid = [this, &set, &common](const Spelling& spelling) {
      set.value(spelling, "PORT_GUID", "Show only the node with this port GUID.", [this, &common](const std::string& word) {
        scan_.guid = word;
        if (!scan_.route) common.address = path::Form::guid;
      });
    };
    add_node_name_map(set, common);
    port_guid("-S --switch");
    port_guid("-G --port-guid");
    set.value("-D --Direct", "ROUTE", "Show only the node at the end of this directed route.", [this, &common](const std::string& word) {
      scan_.route = word;
      common.address = path::Form::direct;
    });
    set.flag("-a --all", scan_.all, "Show all nodes that were found around the node of -S, -G or -D.");
    set.value("-n --hops", "N", "How many hops around that node, or around this host, to sweep.",
              [this](const std::string& text) { scan_.hops = static_cast<unsigned>(c_number(text)); });
    set.flag("-d --down", down_, "Print only the ports that are down.");
    set.flag("-l --line", line_, "Print all of a link in its line, without headings.");
    set.flag("-p --additional", additional_, "Print also HOQLife and VLStallCount.");
    set.text("--load-cache", scan_.file, "FILE", "Read this file of ibnetdiscover --cache, and no fabric.");
    add_diff(set, diff_);
    set.text("--filterdownports", without_down_, "FILE", "Leave out the ports that were down in this file of ibnetdiscover --cache.");
    add_outstanding_smps(set, common);
    set.action("--switches-only", "Show only switches.", [this] { only_kind_ = NodeKind::sw; });
    set.action("--cas-only", "Show only channel adapters.", [this] { only_kind_ = NodeKind::ca; });
    set.without("aDdGgKLlnpRS");
  }

  async::Task<> run(Session& session, Emit& emit) override {
    if (diff_.file) load(*diff_.file, stored_, "diff");
    if (without_down_) load(*without_down_, down_before_, "filterdownports");
    const std::optional<Guid> wanted = co_await scan_.read(session, fabric_);
    if (wanted) {
      const NodeIndex at = node_of(*wanted);
      if (at == subnet::none) {
        print_on_stderr(session.host().world(), fmt::format("Failed to find port: {}\n", scan_.guid ? *scan_.guid : *scan_.route));
        co_return;
      }
      only_node_ = fabric_.subnet.node(at).guid();
    }
    const std::vector<NodeIndex> nodes = shown_nodes(fabric_.subnet, fabric_.order);
    const subnet::Grouping grouping = subnet::group(fabric_.subnet, fabric_.order);
    const DiagsLinks links = links_of(fabric_.subnet, grouping);
    if (diff_.file) {
      stored_.compute_sweep(session.host());
      print_differences(emit.text(), links, nodes);
    } else {
      for (const NodeIndex at : nodes) links.node(emit.text().buffer(), at), emit.text().write({});
    }
    for (const unsigned width : links.bad_widths()) warn(session.host().world(), "mad_dump_linkwidth", fmt::format("bad width {}", width));
    for (unsigned i = 0; i < links.cut(); ++i) print_on_stderr(session.host().world(), "WARN: string buffer overflow\n");
  }

 private:
  static void load(const std::string& file, Fabric& fabric, std::string_view what) {
    try {
      load_diags_fabric(file, fabric);
    } catch (const CannotLoad&) {
      throw DiagsFailure(fmt::format("loading cached fabric for {} failed\n", what));
    }
  }

  /// The node of the wanted kind with that port GUID.
  NodeIndex node_of(Guid guid) const {
    const PortIndex port = fabric_.subnet.find_port(guid);
    if (port == subnet::none || !fabric_.subnet.port(port).has_info) return subnet::none;
    const NodeIndex at = fabric_.subnet.port(port).node;
    return only_kind_ && fabric_.subnet.node(at).kind() != *only_kind_ ? subnet::none : at;
  }

  std::vector<NodeIndex> shown_nodes(const subnet::Subnet& subnet, std::vector<NodeIndex> nodes) const {
    std::erase_if(nodes, [&](NodeIndex at) {
      const subnet::Node& node = subnet.node(at);
      return (only_kind_ && node.kind() != *only_kind_) || (only_node_ && node.guid() != *only_node_);
    });
    return nodes;
  }

  DiagsLinks links_of(const subnet::Subnet& subnet, const subnet::Grouping& grouping) const {
    DiagsLinks links(subnet, fabric_.names, grouping);
    links.line = line_;
    links.additional = additional_;
    links.down = down_;
    if (without_down_) links.hides = [this, &subnet](PortIndex at) { return was_down(subnet, at); };
    return links;
  }

  /// Whether the port was down in the fabric of --filterdownports.
  bool was_down(const subnet::Subnet& subnet, PortIndex at) const {
    const subnet::Subnet& before = down_before_.subnet;
    const NodeIndex node = before.find_node(subnet.node(subnet.port(at).node).guid());
    const PortIndex port = node == subnet::none ? node : before.port_of(node, subnet.port(at).number);
    return port != subnet::none && before.port(port).state() == smp::PortState::down;
  }

  /// infiniband-diags compares a single node with itself: the node is printed only if the stored fabric lacks it.
  void print_differences(TextOut& out, const DiagsLinks& is, const std::vector<NodeIndex>& nodes) const {
    if (only_node_ && stored_.subnet.find_node(*only_node_) != subnet::none) return;
    const subnet::Grouping grouping = subnet::group(stored_.subnet, stored_.order);
    const DiffSide before{stored_.subnet, shown_nodes(stored_.subnet, stored_.order), {}}, after{fabric_.subnet, nodes, {}};
    print_link_differences(out.buffer(), links_of(stored_.subnet, grouping), before, is, after, diff_.checks);
    out.write({});
  }

  bool line_{}, additional_{}, down_{};
  std::optional<NodeKind> only_kind_;
  PartialScan scan_;
  DiffOptions diff_ = link_diff_options();
  std::optional<std::string> without_down_;
  LibibnetdiscFabric fabric_, stored_;  ///< the fabric, and the fabric of --diff
  Fabric down_before_;                  ///< the fabric of --filterdownports
  std::optional<Guid> only_node_;       ///< the only node to print
};

}  // namespace

constinit const CommandInfo rooms::iblinkinfo{
    .name = "iblinkinfo",
    .group = HelpGroup::topology,
    .summary = "Print the links of every switch: state, width, speed, peer.",
    .make = make_command<Iblinkinfo>,
    .make_diags = make_command<IblinkinfoDiags>,
    .alias = "iblinkinfo.pl",
};

}  // namespace ib::tools
