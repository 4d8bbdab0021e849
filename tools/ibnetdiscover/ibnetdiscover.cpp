// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibnetdiscover: prints the topology of the subnet as a topology file, as a list of nodes or as a report on ports.
#include <algorithm>
#include <cerrno>
#include <ctime>
#include <memory>

#include "formats/topology_text.hpp"
#include "subnet/order.hpp"
#include "tools/frame/commands.hpp"
#include "tools/ibnetdiscover/topology_diff.hpp"
#include "tools/shared/diags_topology.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/stored_fabric.hpp"
#include "tools/shared/sweep_trace.hpp"

namespace ib::tools {
namespace {

using subnet::NodeIndex;
using subnet::NodeKind;

struct ShownTopology {
  bool list{}, cas{}, switches{}, routers{}, ports{}, full{}, grouping{}, max_hops{};
  bool any_list() const { return list || cas || switches || routers; }
  /// If several of -H, -S and -R are given, the last one in this order is used.
  std::optional<NodeKind> kind() const {
    if (routers) return NodeKind::router;
    if (switches) return NodeKind::sw;
    if (cas) return NodeKind::ca;
    return std::nullopt;
  }

  // For infiniband-diags only.
  bool steps{};                      ///< print the sweep, answer by answer
  std::vector<NodeKind> diags_list;  ///< the kinds that the last option for a list selects
};

struct TopologyReport final : FabricReport {
  TopologyReport(const Fabric& of, const ShownTopology& what, bool fdr10)
      : FabricReport(of), shown(what), order(subnet::breadth_first(of.subnet)), asks_fdr10(fdr10) {
    if (!shown.any_list() || !shown.kind()) return;
    std::erase_if(order, [&](NodeIndex at) { return of.subnet.node(at).kind() != *shown.kind(); });
  }

  void visit(report::Sink& sink) const override {
    const subnet::Port& start = fabric.subnet.port(fabric.subnet.start);
    sink.begin_object("initiated_from");
    visit_names(sink, start.node);
    sink.value("port_num", start.number);
    sink.value("port_guid", fabric.subnet.end_port_guid(fabric.subnet.start));
    sink.end_object();
    if (shown.max_hops) sink.value("max_hops", max_hops());
    visit_nodes(sink, order, shown.ports || !shown.any_list() ? known_ports() : PortFilter());
    visit_failures(sink);
  }

  void text(TextOut& out) const override {
    formats::TopologyText text(fabric.subnet, &fabric.names);
    text.full = shown.full;
    if (shown.ports) {
      for (const NodeIndex at : order) text.ports(out.buffer(), at), out.write({});
    } else if (shown.any_list()) {
      for (const NodeIndex at : order) text.listed(out.buffer(), at), out.write({});
    } else {
      topology(out, text);
    }
  }

  void diags_text(TextOut& out) const override {
    subnet::LegacySweep sweep;
    if (fabric.stored) {
      sweep.hops = fabric.stored->max_hops;
    } else {
      sweep = subnet::legacy_sweep(fabric.subnet, shown.steps, asks_fdr10);
    }
    DiagsTopology topology(fabric.subnet, fabric.names);
    topology.full = shown.full;
    if (debug) {
      // To stdout, where the topology may go to a file.
      topology.debug = [this, &out](std::string& text, std::string_view function, std::string_view words) {
        (file != nullptr ? out.buffer() : text) += debug_line(function, words);
      };
    }
    if (shown.max_hops) topology.sweep = &sweep;
    for (const subnet::LegacyStep& step : sweep.steps) topology.step(out.buffer(), step), out.write({});
    if (steps_only) return;
    TextOut& listing = file != nullptr ? *file : out;
    const std::vector<NodeIndex> nodes = diags_order(fabric, asks_fdr10);
    const auto each = [&](NodeKind kind, auto use) {
      for (const NodeIndex at : nodes) {
        if (fabric.subnet.node(at).kind() == kind) use(at);
        listing.write({});
      }
    };
    if (shown.ports) {  // the report on ports always goes to stdout
      for (const NodeIndex at : nodes) topology.ports(out.buffer(), at), out.write({});
    } else if (!shown.diags_list.empty()) {
      for (const NodeKind kind : shown.diags_list) each(kind, [&](NodeIndex at) { topology.listed(listing.buffer(), at); });
    } else {
      subnet::Grouping grouping;
      if (shown.grouping) {
        grouping = subnet::group(fabric.subnet, nodes);
        topology.grouping = &grouping;
      }
      topology.topology(listing.buffer(), nodes, [&listing] { listing.write({}); });
    }
  }

  const ShownTopology& shown;
  std::vector<NodeIndex> order;
  bool asks_fdr10;  ///< whether infiniband-diags would request MlnxExtPortInfo
  TextOut* file{};  ///< for infiniband-diags: the file for the topology; null: stdout
  bool steps_only = false, debug = false;

 private:
  unsigned max_hops() const {
    unsigned hops = 0;
    for (const subnet::Node& node : fabric.subnet.nodes()) hops = std::max<unsigned>(hops, node.hops);
    return hops;
  }

  void topology(TextOut& out, formats::TopologyText& text) const {
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

  void chassis(TextOut& out, const formats::TopologyText& text, const subnet::Chassis& box) const {
    text.chassis(out.buffer(), box);
    const auto section = [&](std::string_view title, const auto& nodes, std::optional<NodeKind> kind) {
      out.print("\n# {}\n", title);
      for (const NodeIndex at : nodes) {
        if (at != subnet::none && (!kind || fabric.subnet.node(at).kind() == *kind)) block(out, text, at);
      }
    };
    section("Spine Nodes", box.spines, std::nullopt);
    section("Line Nodes", box.lines, std::nullopt);
    std::vector<NodeIndex> others(box.unlisted.begin(), box.unlisted.end());
    others.insert(others.end(), box.others.begin(), box.others.end());
    section("Chassis Switches", others, NodeKind::sw);
    section("Chassis CAs", others, NodeKind::ca);
    out.write("\n");
  }

  static void block(TextOut& out, const formats::TopologyText& text, NodeIndex at) {
    text.node(out.buffer(), at);
    out.write("\n");
  }
};

class Ibnetdiscover final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.flag("-l --list", shown_.list, "List the nodes, one a line.");
    set.flag("-H --Hca_list", shown_.cas, "List the channel adapters alone.");
    set.flag("-S --Switch_list", shown_.switches, "List the switches alone.");
    set.flag("-R --Router_list", shown_.routers, "List the routers alone.");
    set.flag("-p --ports", shown_.ports, "List the ports that are linked, one a line.");
    set.flag("-f --full", shown_.full, "Print also the codes of speed, width and VLCap.");
    set.flag("-g --grouping", shown_.grouping, "Group the nodes of a chassis and name their slots.");
    set.flag("-m --max_hops", shown_.max_hops, "Print also the greatest number of hops to a node.");
    add_diff(set, diff_);
    for (const std::string_view list : {"--list", "--Hca_list", "--Switch_list", "--Router_list", "--ports"}) set.one_of({"--diff", list});
    add_discovery(set, discovery_);
    add_common(set, common, group_fabric);
  }

  void diags_options(DiagsOptions& set) override {
    const auto list = [this, &set](std::string_view name, char letter, std::vector<NodeKind> kinds, std::string_view help) {
      set.action(name, letter, help, [this, kinds] { shown_.diags_list = kinds; });
    };
    const auto file = [&set](std::string_view name, std::optional<std::string>& to, std::string_view help) {
      set.value(name, 0, "FILE", help, [&to](const std::string& word) { to = word; });
    };
    set.optional_operands();
    set.word("FILE", file_);
    set.flag("full", 'f', shown_.full, "Print also the codes of speed, width and VLCap.");
    set.flag("show", 's', shown_.steps, "Print the sweep, answer by answer.");
    list("list", 'l', {NodeKind::ca, NodeKind::sw, NodeKind::router}, "List the nodes, one a line.");
    set.flag("grouping", 'g', shown_.grouping, "Group the nodes of a chassis and name their slots.");
    list("Hca_list", 'H', {NodeKind::ca}, "List the channel adapters alone.");
    list("Switch_list", 'S', {NodeKind::sw}, "List the switches alone.");
    list("Router_list", 'R', {NodeKind::router}, "List the routers alone.");
    set.node_name_map();
    file("cache", cache_, "Store what was found in this file.");
    file("load-cache", discovery_.load_cache, "Read this file of --cache, and no fabric.");
    add_diff(set, diff_);
    set.flag("ports", 'p', shown_.ports, "List the ports that are linked, one a line.");
    set.flag("max_hops", 'm', shown_.max_hops, "Print also the greatest number of hops to a node.");
    set.outstanding_smps();
    set.without("DGKLs");
    discover_as_diags(discovery_);
  }

  std::string_view table_rows() const override {
    if (diff_.file) return {};
    return shown_.any_list() && !shown_.ports ? "nodes" : "nodes.ports";
  }

  async::Task<> run(Session& session, Emit& emit) override {
    if (file_) opened_.reset(open_file(session));
    Fabric stored, fabric;
    if (diff_.file) load_stored(session, stored);
    if (discovery_.diags && !discovery_.load_cache) open_for_libibnetdisc(session);
    if (shown_.any_list() || shown_.ports) need_less(emit.json());
    co_await find(session, fabric);
    if (discovery_.diags) trace_sweep(session, fabric, emit.text());
    const bool asks_fdr10 = session.options().mlnx_extended_port_info;
    TopologyReport report(fabric, shown_, asks_fdr10);
    report.debug = session.options().debug > 0;
    if (diff_.file && !shown_.ports && shown_.diags_list.empty()) {
      if (shown_.steps) {
        report.steps_only = true;
        emit.so_far(report);
      }
      DiffReport diff(stored, fabric, diff_.checks, shown_.full, asks_fdr10);
      print(emit, diff);
    } else {
      print(emit, report);
    }
    if (cache_) store(session, fabric);
    if (!discovery_.diags) note_discovered(session, "all_LIDs, all_NodeDescription, all_NodeInfo, all_PortInfo, all_topology");
  }

 private:
  /// The needs of a listing, or of the report on ports.
  void need_less(bool json) {
    subnet::DiscoverNeeds& needs = discovery_.needs;
    needs.switch_infos = json;
    if (shown_.ports) return;
    if (!json && shown_.kind()) needs.descriptions = {*shown_.kind()};
    needs.end_ports = json ? subnet::NodeKinds{NodeKind::sw} : subnet::NodeKinds{};
  }

  void load_stored(const Session& session, Fabric& fabric) const {
    try {
      load_fabric(*diff_.file, fabric);
    } catch (const CannotLoad& error) {
      refuse_file(session, error, "ibnd_load_fabric", "loading cached fabric for diff failed\n");
    }
  }

  async::Task<> find(Session& session, Fabric& fabric) const {
    try {
      co_await discover(session, discovery_, fabric);
    } catch (const CannotLoad& error) {
      refuse_file(session, error, "ibnd_load_fabric", "loading cached fabric failed\n");
    }
  }

  void store(const Session& session, const Fabric& fabric) const {
    try {
      store_fabric(fabric, session.options().mlnx_extended_port_info, *cache_);
    } catch (const Error& error) {
      refuse_file(session, error, "ibnd_cache_fabric", "caching ibnetdiscover data failed\n");
    }
  }

  /// Ends the command. infiniband-diags prints the reason, with the name `function`, only with -d.
  template <class E>
  static void refuse_file(const Session& session, const E& error, std::string_view function, std::string words) {
    session.diags_debug(function, error.message());
    session.refuse(error, {"main", std::move(words)});
  }

  template <class R>
  void print(Emit& emit, R& report) const {
    if (!file_) return emit(report);
    TextOut out(opened_.get());
    report.file = &out;
    emit(report);
    out.finish(*file_);
  }

  std::FILE* open_file(const Session& session) const {
    std::FILE* opened = std::fopen(file_->c_str(), "w");
    const int code = errno;
    if (opened == nullptr) session.refuse(SysError(code, "open", *file_), {"main", fmt::format("can't open file {} for writing", *file_)});
    return opened;
  }

  ShownTopology shown_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> opened_{nullptr, std::fclose};
  DiscoveryOptions discovery_;
  DiffOptions diff_ = topology_diff_options();
  std::optional<std::string> file_, cache_;
};

}  // namespace

constinit const CommandInfo rooms::ibnetdiscover{
    .name = "ibnetdiscover",
    .group = HelpGroup::topology,
    .summary = "Print the topology: every node with its ports and what is at their other ends.",
    .make = make_command<Ibnetdiscover>,
    .make_diags = make_command<Ibnetdiscover>,
};

}  // namespace ib::tools
