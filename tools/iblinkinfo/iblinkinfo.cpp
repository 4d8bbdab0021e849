// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// iblinkinfo: prints the ports of all switches, or of one switch: state, width and speed, the port at the other end, and whether the
// link could be faster or wider.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/escape.hpp"
#include "iba/text.hpp"
#include "path/parse.hpp"
#include "subnet/model/chassis.hpp"
#include "subnet/model/names.hpp"
#include "subnet/model/order.hpp"
#include "subnet/model/rate.hpp"
#include "tools/frame/commands.hpp"
#include "tools/frame/explanation.hpp"
#include "tools/iblinkinfo/diags_links.hpp"
#include "tools/iblinkinfo/link_diff.hpp"
#include "tools/iblinkinfo/partial_scan.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/fabric_columns.hpp"
#include "tools/shared/link_state_text.hpp"
#include "tools/shared/stored_fabric.hpp"
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
    std::ranges::copy_if(switches, std::back_inserter(nodes), [this](NodeIndex at) { return has_shown_port(at); });
    visit_nodes(sink, nodes, [this](PortIndex at) { return is_shown(at); });
    visit_failures(sink);
  }

  void text(TextOut& out) const override {
    for (const NodeIndex at : switches) print_switch(out, at);
  }

  /// A row for each wanted port.
  std::vector<PortLine> lines() const {
    std::vector<PortLine> ports;
    for (const NodeIndex at : switches) {
      const subnet::Node& node = fabric.subnet.node(at);
      for (PortIndex port = node.first_port + 1; port < node.first_port + node.slots; ++port)
        if (is_shown(port)) ports.push_back({&fabric, port});
    }
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

  bool has_shown_port(NodeIndex at) const {
    const subnet::Node& node = fabric.subnet.node(at);
    for (unsigned number = 1; number < node.slots; ++number) {
      if (is_shown(node.first_port + number)) return true;
    }
    return false;
  }

  void print_switch(TextOut& out, NodeIndex at) const {
    const subnet::Node& node = fabric.subnet.node(at);
    const std::string guid = to_text(shown.port_guids ? node.info.port_guid : node.guid());
    bool first = true;
    for (unsigned number = 1; number < node.slots; ++number) {
      const PortIndex index = node.first_port + number;
      if (!is_shown(index)) continue;
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

  /// Those of `nodes` that are printed.
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
  LibibnetdiscFabric fabric_, stored_;  ///< the fabric and that of --diff
  Fabric down_before_;                  ///< that of --filterdownports
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
