// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// dump_fts, dump_lfts and dump_mfts: the forwarding tables of all switches. Some dozens of switches are read in parallel
// and then printed, so that only some dozens of tables are in memory.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "subnet/names.hpp"
#include "subnet/order.hpp"
#include "subnet/survey.hpp"
#include "tools/forwarding_tables/tables.hpp"
#include "tools/frame/commands.hpp"
#include "tools/shared/diags_name.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/sweep_trace.hpp"

namespace ib::tools {
namespace tables {
namespace {

using subnet::NodeIndex;

constexpr std::size_t switches_at_once = 64;

/// Reads the tables of switches. If a switch becomes silent, the blocks that it has sent are kept.
class Reader {
 public:
  Reader(const subnet::Subnet& subnet, const Wanted& wanted, bool diags) : subnet_(subnet), wanted_(wanted), diags_(diags) {}

  std::map<NodeIndex, SwitchTable> tables;

  async::Task<mad::Result<bool>> read(subnet::SurveyPort port) {
    const NodeIndex at = subnet_.port(port.index).node;
    SwitchTable& table = tables.at(at);
    if (!subnet_.node(at).has_switch_info) {
      const mad::Result<smp::SwitchInfo> answer = co_await port.transactor.try_subn_get<smp::SwitchInfo>(port.path);
      if (!answer) {
        if (!diags_) table.error = answer.shared_error();
        co_return answer.shared_error();
      }
      table.info = *answer;
      table.has_info = true;
      make_table(table, wanted_, diags_);
    }
    if (table.linear) {
      table.error = co_await subnet::read_table(port.transactor, port.path, *table.linear);
    } else {
      table.error = co_await subnet::read_table(port.transactor, port.path, *table.multicast);
    }
    if (table.error) co_return table.error;
    co_return true;
  }

 private:
  const subnet::Subnet& subnet_;
  const Wanted& wanted_;
  bool diags_;
};

/// The command that runs, one of three.
enum class Kind { any, linear, multicast };

class DumpTables final : public Command {
 public:
  explicit DumpTables(Kind kind) : kind_(kind) { wanted_.multicast = kind == Kind::multicast; }

  void options(OptionSet& set, CommonOptions& common) override {
    constexpr Range<std::uint32_t> lids{0, permissive_lid.value};
    if (kind_ == Kind::any) {
      set.optional_operands();
      set.integer("START_LID", wanted_.first, lids);
      set.integer("END_LID", wanted_.last, lids);
      set.flag("-M --Multicast --multicast", wanted_.multicast, "Show the multicast forwarding tables.");
      set.flag("-n --no_dests --no-dests", wanted_.no_destinations, "Do not say whose the LIDs are.");
    }
    set.flag("-a --all", wanted_.all, "Show also LIDs to which nothing is forwarded.");
    set.action("-D", "As --discovery=DR.", [this] { discovery_.mode = "DR"; });
    add_discovery(set, discovery_);
    add_common(set, common, group_fabric);
  }

  void diags_options(DiagsOptions& set) override {
    set.without("KGDLs");
    set.optional_operands();
    set.integer("START_LID", wanted_.first);
    set.integer("END_LID", wanted_.last);
    set.flag("all", 'a', wanted_.all, "Show also LIDs to which nothing is forwarded.");
    set.flag("no_dests", 'n', wanted_.no_destinations, "Do not say whose the LIDs are.");
    set.flag("Multicast", 'M', wanted_.multicast, "Show the multicast forwarding tables.");
    set.node_name_map();
    discover_as_diags(discovery_);
    as_diags_ = true;
  }

  std::string_view table_rows() const override { return wanted_.multicast ? "switches.groups" : "switches.routes"; }

  async::Task<> run(Session& session, Emit& emit) override {
    if (wanted_.first && wanted_.last && !as_diags_ && *wanted_.first > *wanted_.last)
      throw UsageError(fmt::format("START_LID {} is behind END_LID {}", *wanted_.first, *wanted_.last));
    if (wanted_.multicast) discovery_.needs.descriptions = discovery_.needs.end_ports = {subnet::NodeKind::sw};
    Fabric fabric;
    async::Task<> sweep = discover_switches(session, fabric);
    co_await std::move(sweep);
    if (as_diags_) trace_sweep(session, fabric, emit.text());
    const Routes routes = as_diags_ ? diags_routes(session, fabric.subnet) : Routes();
    const std::vector<NodeIndex> switches = as_diags_ ? diags_order(routes) : order(fabric.subnet);
    TableText print(session, wanted_, fabric.names, [&fabric](Lid lid) { return find(fabric.subnet, lid); });
    print.whole_blocks = kind_ == Kind::linear;
    print.nobody = "node info not available fabric scan";
    print.breaks_off = false;
    if (emit.json()) emit.sink().begin_array("switches");
    std::vector<subnet::Failure> failures;
    for (std::size_t first = 0; first < switches.size(); first += switches_at_once) {
      const std::size_t end = std::min(switches.size(), first + switches_at_once);
      const std::vector<NodeIndex> some(switches.begin() + static_cast<std::ptrdiff_t>(first),
                                        switches.begin() + static_cast<std::ptrdiff_t>(end));
      Reader reader(fabric.subnet, wanted_, as_diags_);
      for (const NodeIndex at : some) add_table(session, fabric.subnet, routes, reader, at);
      async::Task<std::vector<subnet::Failure>> reading = read(session, fabric.subnet, some, reader);
      std::vector<subnet::Failure> found = co_await std::move(reading);
      if (first == 0 && !as_diags_) {
        const auto any_read = [&](NodeIndex at) { return reader.tables.at(at).any_read(); };
        require_read(std::ranges::any_of(some, any_read), found);
      }
      std::ranges::move(found, std::back_inserter(failures));
      for (const NodeIndex at : some) show(session, emit, print, fabric.names, reader.tables.at(at));
    }
    if (emit.json()) emit.sink().end_array();
    finish(session, emit, fabric, std::move(failures));
  }

 private:
  /// The switches in the order in which infiniband-diags finds them, each with the route by which it finds the switch.
  using Routes = std::vector<std::pair<NodeIndex, std::vector<std::uint8_t>>>;

  async::Task<> discover_switches(Session& session, Fabric& fabric) const {
    bool failed = false;
    try {
      if (as_diags_) open_for_libibnetdisc(session);
      co_await discover(session, discovery_, fabric);
    } catch (const Error&) {
      if (!as_diags_) throw;
      failed = true;
    }
    if (failed) throw DiagsExit(diags_failed, "Failed to discover fabric\n");
  }

  static Routes diags_routes(const Session& session, const subnet::Subnet& subnet) {
    Routes routes;
    const subnet::LegacySweep sweep = subnet::legacy_sweep(subnet, true, session.options().mlnx_extended_port_info);
    for (const subnet::LegacyStep& step : sweep.steps) {
      const NodeIndex at = subnet.port(step.port).node;
      if (step.is_new && is_switch(subnet, at)) routes.emplace_back(at, step.route);
    }
    return routes;
  }

  /// The reverse order, because infiniband-diags adds nodes at the front of its lists.
  static std::vector<NodeIndex> diags_order(const Routes& routes) {
    std::vector<NodeIndex> nodes;
    for (const auto& route : routes) nodes.push_back(route.first);
    std::ranges::reverse(nodes);
    return nodes;
  }

  static std::vector<NodeIndex> order(const subnet::Subnet& subnet) {
    std::vector<NodeIndex> nodes = subnet::breadth_first(subnet);
    std::erase_if(nodes, [&](NodeIndex at) { return !is_switch(subnet, at); });
    return nodes;
  }
  static bool is_switch(const subnet::Subnet& subnet, NodeIndex at) { return subnet.node(at).kind() == subnet::NodeKind::sw; }

  static std::optional<Destination> find(const subnet::Subnet& subnet, Lid lid) {
    const subnet::PortIndex at = subnet.find_lid(lid);
    if (at == subnet::none) return std::nullopt;
    const subnet::Port& port = subnet.port(at);
    const subnet::Node& node = subnet.node(port.node);
    Destination to{node.guid(), node.kind() == subnet::NodeKind::sw ? node.info.port_guid : port.guid, node.info.node_type, {}, {}, 0};
    if (node.has_description) to.description = node.description();
    to.base = subnet.lid(at);
    to.lmc = subnet.lmc(at);
    return to;
  }

  /// The path to a switch in texts. It is a path by LID if the fabric was discovered by LID.
  path::Path path_to(Session& session, const subnet::Subnet& subnet, NodeIndex at) const {
    const bool by_lid = discovery_.mode ? *discovery_.mode != "DR" : session.options().use_sa || session.end_port().is_active();
    const path::Path from = session.here();
    const auto path = by_lid ? subnet::lid_path(subnet, subnet.node(at).first_port, from, Qpn{0}) : std::nullopt;
    return path ? *path : subnet::smp_path(subnet, at, from);
  }

  void add_table(Session& session, const subnet::Subnet& subnet, const Routes& routes, Reader& reader, NodeIndex at) const {
    const subnet::Node& node = subnet.node(at);
    SwitchTable table(path_to(session, subnet, at));
    if (as_diags_) {
      const auto route = std::ranges::find(routes, at, &Routes::value_type::first);
      table.name = libibnetdisc_route(route->second);
    } else {
      table.name = session.name_of(table.path);
    }
    table.lid = subnet.lid(node.first_port);
    table.node = node.info;
    if (node.has_description) table.description = std::string(node.description());
    if (node.has_switch_info) table.info = node.switch_info();
    table.has_info = node.has_switch_info;
    make_table(table, wanted_, as_diags_);
    reader.tables.emplace(at, std::move(table));
  }

  async::Task<std::vector<subnet::Failure>> read(Session& session, const subnet::Subnet& subnet, std::vector<NodeIndex> switches,
                                                 Reader& reader) const {
    std::vector<subnet::PortIndex> ports;
    for (const NodeIndex at : switches) ports.push_back(subnet.node(at).first_port);
    const subnet::SurveyOptions options(session.here(), subnet::SurveyWay::smp);
    const subnet::SurveyQuestion<bool> ask = [&reader](subnet::SurveyPort port) { return reader.read(port); };
    subnet::Surveyed<bool> surveyed = co_await subnet::survey(session.transactor(), subnet, std::move(ports), options, ask);
    co_return std::move(surveyed.failures);
  }

  void show(const Session& session, Emit& emit, TableText& print, const subnet::NodeNameMap& names, const SwitchTable& table) const {
    if (emit.json()) return print.visit(emit.sink(), table);
    if (!as_diags_) return print.text(emit.text(), table);
    print.diags_remarks(table);
    print.diags_text(emit.text(), table);
    if (!table.error) return;
    session.tell_failure(*table.error);
    const std::vector<std::uint32_t> unknown = table.linear ? table.linear->unknown_blocks() : table.multicast->unknown_blocks();
    for (const std::uint32_t block : unknown) {
      tell(session.world(),
           fmt::format("SubnGet({}) failed on switch '{}' {} Node GUID {:#x} SMA LID {}; MAD status {:#x} AM {:#x}\n",
                       table.linear ? "LFT" : "MFT", diags_node_name(names, table.node.node_guid, table.description.value_or("")),
                       table.name, table.node.node_guid.value, table.lid.value, table.error->status(), block));
    }
  }

  /// Prints what is missing, after the tables.
  void finish(const Session& session, Emit& emit, Fabric& fabric, std::vector<subnet::Failure> failures) const {
    struct Rest final : FabricReport {
      using FabricReport::FabricReport;
      void visit(report::Sink& sink) const override { visit_failures(sink); }
      void text(TextOut& /*out*/) const override {}
    };
    if (as_diags_) {
      std::ranges::move(failures, std::back_inserter(fabric.failures));
    } else {
      add_failures(session, fabric, std::move(failures));
    }
    emit(Rest(fabric));
    if (as_diags_) return;
    note_discovered(session, kind_ == Kind::multicast ? "all_NodeInfo, all_SwitchInfo, all_topology"
                                                      : "all_LIDs, all_NodeDescription, all_NodeInfo, all_SwitchInfo, all_topology");
  }

  Kind kind_;
  Wanted wanted_;
  DiscoveryOptions discovery_;
  bool as_diags_{};
};

template <Kind kind>
std::unique_ptr<Command> make() {
  return std::make_unique<DumpTables>(kind);
}

constexpr DiagsScript lfts_script{
    .runs = "/usr/sbin/dump_fts",
    .last_words = "\n*** WARNING ***: this command has been replaced by dump_fts\n\n\n",
};
constexpr DiagsScript mfts_script{
    .runs = "/usr/sbin/dump_fts",
    .last_words = "\n*** WARNING ***: this command has been replaced by dump_fts -M\n\n\n",
};
constexpr std::string_view lfts_aliases[]{"dump_lfts.sh"};
constexpr std::string_view mfts_aliases[]{"dump_mfts.sh"};

}  // namespace
}  // namespace tables

constinit const CommandInfo rooms::dump_fts{
    .name = "dump_fts",
    .group = HelpGroup::forwarding,
    .summary = "Show the forwarding tables of all switches, unicast or multicast.",
    .make = tables::make<tables::Kind::any>,
    .make_diags = tables::make<tables::Kind::any>,
};
constinit const CommandInfo rooms::dump_lfts{
    .name = "dump_lfts",
    .group = HelpGroup::forwarding,
    .summary = "Show the linear forwarding tables of all switches.",
    .make = tables::make<tables::Kind::linear>,
    .make_diags = tables::make<tables::Kind::linear>,
    .aliases = tables::lfts_aliases,
    .script = &tables::lfts_script,
};
constinit const CommandInfo rooms::dump_mfts{
    .name = "dump_mfts",
    .group = HelpGroup::forwarding,
    .summary = "Show the multicast forwarding tables of all switches.",
    .make = tables::make<tables::Kind::multicast>,
    .make_diags = tables::make<tables::Kind::multicast>,
    .aliases = tables::mfts_aliases,
    .script = &tables::mfts_script,
};

}  // namespace ib::tools
