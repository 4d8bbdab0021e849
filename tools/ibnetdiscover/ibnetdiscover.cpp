// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibnetdiscover: prints the topology of the subnet as a topology file, as a list of nodes or as a report on ports.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/split.hpp"
#include "formats/topology_text.hpp"
#include "snapshot/snapshot.hpp"
#include "snapshot/stored_fabric.hpp"
#include "subnet/model/order.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/fabric_diff.hpp"
#include "tools/shared/libibnetdisc.hpp"
#include "tools/shared/table_options.hpp"
namespace ib::tools {
namespace {

using formats::TopologyWriter;
using subnet::NodeIndex;
using subnet::NodeKind;
using subnet::none;

constexpr DiffKey topology_diff_keys[] = {
    {"sw", &DiffChecks::switches}, {"ca", &DiffChecks::cas},   {"router", &DiffChecks::routers},
    {"port", &DiffChecks::ports},  {"lid", &DiffChecks::lids}, {"nodedesc", &DiffChecks::descriptions},
};

DiffSide of_kind(DiffSide side, NodeKind kind) {
  std::erase_if(side.nodes, [&](NodeIndex at) { return side.subnet.node(at).kind() != kind; });
  return side;
}

std::vector<NodeDifference> compare(const DiffSide& before, const DiffSide& after, const DiffChecks& checks) {
  std::vector<NodeDifference> all;
  for (const auto& [wanted, kind] :
       {std::pair(checks.switches, NodeKind::sw), std::pair(checks.cas, NodeKind::ca), std::pair(checks.routers, NodeKind::router)}) {
    if (wanted)
      std::ranges::move(differences(of_kind(before, kind), of_kind(after, kind), checks, DiffWay::topology), std::back_inserter(all));
  }
  return all;
}

void append_lines(std::string& out, std::string_view lines, std::string_view mark) {
  for (const std::string_view line : split_list(lines, "\n")) out.append(mark).append(line).append("\n");
}

/// What is different of a node, or the whole node if only one fabric has it, as a listing whose lines are marked by their fabric. Of a head
/// that differs only the last line is there twice.
std::string difference(const TopologyWriter& was, const TopologyWriter& is, const NodeDifference& found) {
  std::string text;
  const auto add = [&](void (TopologyWriter::*write)(std::string&, std::uint32_t) const, std::uint32_t before, std::uint32_t after) {
    std::string old_lines, new_lines;
    if (before != none) (was.*write)(old_lines, before);
    if (after != none) (is.*write)(new_lines, after);
    append_lines(text, old_lines, old_side);
    append_lines(text, new_lines, new_side);
  };
  if (found.before == none || found.after == none) {
    add(&TopologyWriter::node, found.before, found.after);
    return text;
  }
  was.head(text, found.before);
  if (found.head) {
    std::string old_head = std::exchange(text, {}), new_head;
    is.head(new_head, found.after);
    const auto last_line = [](const std::string& head) { return head.rfind('\n', head.size() - 2) + 1; };
    text = old_head.substr(0, last_line(old_head));
    append_lines(text, old_head.substr(last_line(old_head)), old_side);
    append_lines(text, new_head.substr(last_line(new_head)), new_side);
  }
  if (found.num_ports) add(&TopologyWriter::num_ports, found.before, found.after);
  for (const PortDifference& port : found.ports) add(&TopologyWriter::link, port.before, port.after);
  return text;
}

struct DiffReport final : FabricReport {
  /// Both fabrics must outlive the report. `full` adds the codes of speed, width and VLCap.
  DiffReport(const Fabric& stored, const Fabric& now, const DiffChecks& checks, bool full)
      : FabricReport(now),
        before_(stored),
        full_(full),
        found_(compare({stored.subnet, subnet::breadth_first(stored.subnet), &stored.failures},
                       {now.subnet, subnet::breadth_first(now.subnet), &now.failures}, checks)) {}

  void visit(report::Sink& sink) const override {
    visit_differences(sink, before_, found_);
    visit_failures(sink);
  }
  void text(TextOut& out) const override {
    formats::TopologyText was(before_.subnet, &fabric.names), is(fabric.subnet, &fabric.names);
    was.full = is.full = full_;
    for (const NodeDifference& found : found_) out.write(difference(was, is, found) + "\n");
  }
  Exit status() const override { return found_.empty() ? FabricReport::status() : Exit::findings; }

 private:
  const Fabric& before_;
  bool full_;
  std::vector<NodeDifference> found_;
};

struct ShownTopology {
  bool lists{}, ports{}, full{}, grouping{}, max_hops{};
  std::time_t time{};  ///< of the fabric
  DiffOptions diff{topology_diff_keys, {.switches = true, .cas = true, .routers = true, .ports = true}};
};

/// Adds the options that both dialects have. `choose` gets the kinds of nodes of an option for a list.
void add_shown(OptionSet& set, ShownTopology& shown, std::function<void(const std::vector<NodeKind>& kinds)> choose) {
  const auto list = [&](const Spelling& spelling, std::vector<NodeKind> kinds, std::string_view help) {
    set.action(spelling, help, [&shown, choose, kinds = std::move(kinds)] { shown.lists = true, choose(kinds); });
  };
  list("-l --list", {NodeKind::ca, NodeKind::sw, NodeKind::router}, "List the nodes, one a line.");
  list("-H --Hca_list", {NodeKind::ca}, "List only the channel adapters.");
  list("-S --Switch_list", {NodeKind::sw}, "List only the switches.");
  list("-R --Router_list", {NodeKind::router}, "List only the routers.");
  set.flag("-p --ports", shown.ports, "List the ports that are linked, one a line.");
  set.flag("-f --full", shown.full, "Print also the codes of speed, width and VLCap.");
  set.flag("-g --grouping", shown.grouping, "Group the nodes of a chassis and name their slots.");
  set.flag("-m --max_hops", shown.max_hops, "Print also the greatest number of hops to a node.");
  add_diff(set, shown.diff);
}

/// The time of the fabric, which a listing of it has. It is now unless a snapshot says when it was read.
std::time_t time_of_fabric(Stack& stack, const std::optional<std::string>& load_cache) {
  constexpr std::int64_t a_second = 1000, last = 253402300799;  // the year 9999
  std::optional<std::int64_t> ended;
  if (load_cache && snapshot::is_snapshot_file(*load_cache)) ended = snapshot::open_fabric(*load_cache)->ended();
  if (!load_cache && stack.host().options().from) ended = stack.host().stored().ended();
  return ended ? static_cast<std::time_t>(std::clamp<std::int64_t>(*ended / a_second, 0, last))
               : std::chrono::system_clock::to_time_t(stack.loop().clock().wall_time());
}

struct TopologyReport final : FabricReport {
  TopologyReport(const Fabric& of, const ShownTopology& what, std::optional<NodeKind> kind)
      : FabricReport(of), shown(what), order(subnet::breadth_first(of.subnet)) {
    if (kind) std::erase_if(order, [&](NodeIndex at) { return of.subnet.node(at).kind() != *kind; });
  }

  void visit(report::Sink& sink) const override {
    const subnet::Port& start = fabric.subnet.port(fabric.subnet.start);
    sink.begin_object("initiated_from");
    visit_names(sink, start.node);
    sink.value("port_num", start.number);
    sink.value("port_guid", fabric.subnet.end_port_guid(fabric.subnet.start));
    sink.end_object();
    if (shown.max_hops) sink.value("max_hops", max_hops());
    visit_nodes(sink, order, shown.ports || !shown.lists ? known_ports() : PortFilter());
    visit_failures(sink);
  }

  void text(TextOut& out) const override {
    formats::TopologyText text(fabric.subnet, &fabric.names);
    text.full = shown.full;
    text.time = shown.time;
    if (shown.max_hops) text.max_hops = max_hops();
    if (shown.ports) {
      for (const NodeIndex at : order) text.ports(out.buffer(), at), out.write({});
    } else if (shown.lists) {
      for (const NodeIndex at : order) text.listed(out.buffer(), at), out.write({});
    } else {
      const subnet::Grouping grouping = shown.grouping ? subnet::group(fabric.subnet, order) : subnet::Grouping();
      if (shown.grouping) text.grouping = &grouping;
      text.topology(out.buffer(), order, [&out] { out.write({}); });
    }
  }

  const ShownTopology& shown;
  std::vector<NodeIndex> order;

 private:
  unsigned max_hops() const {
    unsigned hops = 0;
    for (const subnet::Node& node : fabric.subnet.nodes()) hops = std::max<unsigned>(hops, node.hops);
    return hops;
  }
};

class Ibnetdiscover final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    add_shown(set, shown_, [this](const std::vector<NodeKind>& kinds) {
      // If several of -H, -S and -R are given, the last one in this order is used.
      if (kinds.size() == 1) kind_ = std::max(kind_, std::optional(kinds.front()));
    });
    for (const std::string_view list : {"--list", "--Hca_list", "--Switch_list", "--Router_list", "--ports"}) set.one_of({"--diff", list});
    add_discovery(set, discovery_);
    add_table_options(set, common, table_);
    add_common(set, common, group_fabric);
  }

  std::string_view table_rows() const override {
    if (shown_.diff.file) return {};
    return shown_.lists && !shown_.ports ? "nodes" : "nodes.ports";
  }

  async::Task<> run(Session& session, Emit& emit) override {
    Fabric stored;
    if (shown_.diff.file) load_fabric(*shown_.diff.file, stored);
    show_list(emit, table_, session.host(),
              "node_description,port_num,lid,state_text,width_text,speed_text,peer.node_description,peer.port_num");
    if (shown_.diff.file && table_.given()) throw UsageError("--diff prints no table");
    if (shown_.lists || shown_.ports) need_less(emit.json());
    Fabric fabric = co_await discover(session, discovery_);
    const auto file =
        session.stack().uses_cache() ? cache_file(discovery_, session.host().world(), session.host().end_port()) : discovery_.load_cache;
    shown_.time = time_of_fabric(session.stack(), file);
    if (shown_.diff.file) {
      emit(DiffReport(stored, fabric, shown_.diff.checks, shown_.full));
    } else {
      emit(TopologyReport(fabric, shown_, kind_));
    }
    note_discovered(session.host(), "all_LIDs, all_NodeDescription, all_NodeInfo, all_PortInfo, all_topology");
  }

 private:
  void need_less(bool json) {
    subnet::DiscoverNeeds& needs = discovery_.needs;
    needs.switch_infos = json;
    if (shown_.ports) return;
    if (!json && kind_) needs.descriptions = {*kind_};
    needs.end_ports = json ? subnet::NodeKinds{NodeKind::sw} : subnet::NodeKinds{};
  }

  ShownTopology shown_;
  std::optional<NodeKind> kind_;  ///< the only kind of nodes in a list
  DiscoveryOptions discovery_;
  TableOptions table_;
};

/// The nodes of `kinds`, kind by kind.
std::vector<NodeIndex> of_kinds(const LibibnetdiscFabric& fabric, const std::vector<NodeKind>& kinds) {
  std::vector<NodeIndex> nodes;
  for (const NodeKind kind : kinds)
    std::ranges::copy_if(fabric.order, std::back_inserter(nodes), [&](NodeIndex at) { return fabric.subnet.node(at).kind() == kind; });
  return nodes;
}

class IbnetdiscoverDiags final : public Command {
 public:
  void diags_options(OptionSet& set, CommonOptions& common) override {
    set.optional_operands();
    set.word("FILE", file_);
    add_shown(set, shown_, [this](const std::vector<NodeKind>& kinds) { kinds_ = kinds; });
    set.flag("-s --show", wanted_.with_steps, "Print the sweep, answer by answer.");
    add_node_name_map(set, common);
    set.text("--cache", cache_, "FILE", "Store what was found in this file.");
    set.text("--load-cache", wanted_.load_cache, "FILE", "Read this file of --cache, and no fabric.");
    add_outstanding_smps(set, common);
    set.without("DGKLs");
  }

  async::Task<> run(Session& session, Emit& emit) override {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> opened(file_ ? std::fopen(file_->c_str(), "w") : nullptr, std::fclose);
    if (file_ && !opened) throw DiagsFailure(fmt::format("can't open file {} for writing", *file_));
    LibibnetdiscFabric stored, fabric;
    if (shown_.diff.file) stored.load(session.host(), *shown_.diff.file, "diff");
    try {
      co_await discover_as_libibnetdisc(session, wanted_, fabric);
    } catch (const CannotLoad&) {
      throw DiagsFailure("loading cached fabric failed\n");
    }
    shown_.time = time_of_fabric(session.stack(), wanted_.load_cache);
    if (opened) {
      TextOut out(opened.get());
      print(stored, fabric, emit.text(), out);
      out.finish(*file_);
    } else {
      print(stored, fabric, emit.text(), emit.text());
    }
    try {
      if (cache_) store_fabric(fabric, *cache_);
    } catch (const Error&) {
      throw DiagsFailure("caching ibnetdiscover data failed\n");
    }
  }

 private:
  /// `listing` gets the topology, the list of nodes or the differences. The steps of the sweep and the report on ports go to `out`.
  void print(const LibibnetdiscFabric& stored, const LibibnetdiscFabric& fabric, TextOut& out, TextOut& listing) const {
    formats::DiagsTopology topology(fabric.subnet, &fabric.names);
    topology.full = shown_.full;
    topology.time = shown_.time;
    for (const subnet::LegacyStep& step : fabric.sweep.steps) topology.step(out.buffer(), step), out.write({});
    if (shown_.ports) {
      for (const NodeIndex at : fabric.order) topology.ports(out.buffer(), at), out.write({});
    } else if (shown_.lists) {
      for (const NodeIndex at : of_kinds(fabric, kinds_)) topology.listed(listing.buffer(), at), listing.write({});
    } else if (shown_.diff.file) {
      formats::DiagsTopology was(stored.subnet, &fabric.names);
      was.full = shown_.full;
      for (const NodeDifference& found : compare({stored.subnet, stored.order, {}}, {fabric.subnet, fabric.order, {}}, shown_.diff.checks))
        listing.write("\n" + difference(was, topology, found));
    } else {
      if (shown_.max_hops) topology.sweep = &fabric.sweep;
      const subnet::Grouping grouping = shown_.grouping ? subnet::group(fabric.subnet, fabric.order) : subnet::Grouping();
      if (shown_.grouping) topology.grouping = &grouping;
      topology.topology(listing.buffer(), of_kinds(fabric, {NodeKind::sw, NodeKind::ca, NodeKind::router}),
                        [&listing] { listing.write({}); });
    }
  }

  ShownTopology shown_;
  std::vector<NodeKind> kinds_;  ///< the kinds that the last option for a list selects
  LibibnetdiscWanted wanted_;
  std::optional<std::string> file_, cache_;
};

}  // namespace

constinit const CommandInfo rooms::ibnetdiscover{
    .name = "ibnetdiscover",
    .group = HelpGroup::topology,
    .summary = "Print the topology: every node with its ports and what is at their other ends.",
    .make = make_command<Ibnetdiscover>,
    .make_diags = make_command<IbnetdiscoverDiags>,
};

}  // namespace ib::tools
