// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// dump_fts, dump_lfts and dump_mfts: the forwarding tables of all switches. Some dozens of switches are read in parallel
// and then printed, so that only some dozens of tables are in memory.
#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <span>

#include "subnet/model/order.hpp"
#include "subnet/sweep/survey.hpp"
#include "tools/forwarding_tables/tables.hpp"
#include "tools/frame/commands.hpp"
#include "tools/shared/diags_fabric.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/libibnetdisc.hpp"
#include "tools/shared/table_options.hpp"

namespace ib::tools {
namespace tables {
namespace {

using subnet::NodeIndex;

constexpr std::size_t switches_at_once = 64;

/// Reads the tables of switches, some dozens at a time. If a switch becomes silent, the blocks that it has sent are kept.
class SwitchTableReader {
 public:
  /// All arguments must outlive the object.
  SwitchTableReader(Stack& stack, const subnet::Subnet& subnet, const TableSelection& selection, MakeTable make)
      : stack_(stack), subnet_(subnet), selection_(selection), make_(make) {}

  void add(NodeIndex at, path::Path path, std::string name) { switches_.push_back({at, std::move(path), std::move(name)}); }

  /// Reads the tables of the next switches. Returns false if none is left.
  async::Task<bool> next() {
    tables.clear();
    done_ += reading_.size();
    reading_ = std::span(switches_).subspan(done_);
    reading_ = reading_.first(std::min(reading_.size(), switches_at_once));
    if (reading_.empty()) co_return false;
    std::vector<subnet::PortIndex> ports;
    for (const ListedSwitch& listed : reading_) {
      tables.push_back(empty_table(listed));
      ports.push_back(subnet_.node(listed.node).first_port);
    }
    const subnet::SurveyOptions options(stack_.here(), subnet::SurveyWay::smp);
    const subnet::SurveyQuestion<bool> question = [this](subnet::SurveyPort port) { return read(port); };
    subnet::Surveyed<bool> surveyed = co_await subnet::survey(stack_.transactor(), subnet_, std::move(ports), options, question);
    std::ranges::move(surveyed.failures, std::back_inserter(failures));
    co_return true;
  }

  std::vector<SwitchTable> tables;        ///< those that next() read, in the order in which the switches were added
  std::vector<subnet::Failure> failures;  ///< of all switches so far

 private:
  struct ListedSwitch {
    NodeIndex node{};
    path::Path path;
    std::string name;
  };

  SwitchTable empty_table(const ListedSwitch& listed) const {
    const subnet::Node& node = subnet_.node(listed.node);
    SwitchTable table(listed.path);
    table.name = listed.name;
    table.lid = subnet_.lid(node.first_port);
    table.node = node.info;
    if (node.has_description) table.description = std::string(node.description());
    if (node.has_switch_info) table.info = node.switch_info();
    table.has_info = node.has_switch_info;
    make_(table, selection_);
    return table;
  }

  async::Task<mad::Result<bool>> read(subnet::SurveyPort port) {
    const auto listed = std::ranges::find(reading_, subnet_.port(port.index).node, &ListedSwitch::node);
    SwitchTable& table = tables[static_cast<std::size_t>(listed - reading_.begin())];
    if (!table.has_info) {
      const mad::Result<smp::SwitchInfo> answer = co_await port.transactor.try_subn_get<smp::SwitchInfo>(port.path);
      table.error = answer ? nullptr : answer.shared_error();
      if (table.error) co_return table.error;
      table.info = *answer;
      table.has_info = true;
      make_(table, selection_);
    }
    co_await table.read(port.transactor, port.path);
    if (table.error) co_return table.error;
    co_return true;
  }

  Stack& stack_;
  const subnet::Subnet& subnet_;
  const TableSelection& selection_;
  MakeTable make_;
  std::vector<ListedSwitch> switches_;
  std::span<const ListedSwitch> reading_;
  std::size_t done_{};
};

struct RestReport final : FabricReport {
  using FabricReport::FabricReport;
  void visit(report::Sink& sink) const override { visit_failures(sink); }
  void text(TextOut& /*out*/) const override {}
};

bool is_switch(const subnet::Subnet& subnet, NodeIndex at) { return subnet.node(at).kind() == subnet::NodeKind::sw; }

std::optional<LidOwner> owner_in(const subnet::Subnet& subnet, Lid lid) {
  const subnet::PortIndex at = subnet.find_lid(lid);
  if (at == subnet::none) return std::nullopt;
  const subnet::Node& node = subnet.node_of(at);
  LidOwner to{node.guid(), subnet.end_port_guid(at), node.info.node_type, {}, {}, 0};
  if (node.has_description) to.description = node.description();
  to.base = subnet.lid(at);
  to.lmc = subnet.lmc(at);
  return to;
}

enum class DumpKind { any, linear, multicast };

void add_dump_options(OptionSet& set, TableSelection& selection, DumpKind kind) {
  set.flag("-a --all", selection.all, "Show also LIDs to which nothing is forwarded.");
  if (kind != DumpKind::any) return;
  add_range(set, selection);
  set.flag("-n --no_dests --no-dests", selection.no_destinations, "Do not say whose the LIDs are.");
  set.flag("-M --Multicast --multicast", selection.multicast, "Show the multicast forwarding tables.");
}

class DumpTables final : public Command {
 public:
  explicit DumpTables(DumpKind kind) : kind_(kind) { selection_.multicast = kind == DumpKind::multicast; }

  void options(OptionSet& set, CommonOptions& common) override {
    add_dump_options(set, selection_, kind_);
    set.action("-D", "As --discovery=DR.", [this] { discovery_.mode = "DR"; });
    add_discovery(set, discovery_);
    add_table_options(set, common, table_);
    add_common(set, common, group_fabric);
  }

  std::string_view table_rows() const override { return selection_.multicast ? "switches.groups" : "switches.routes"; }

  async::Task<> run(Session& session, Emit& emit) override {
    check_range(selection_);
    ListSink list(emit, table_, session.host().options().format, table_rows(),
                  "node_description,dlid,out_port,destination.node_description,mlid,out_ports", session.host().world().out);
    if (selection_.multicast) discovery_.needs.descriptions = discovery_.needs.end_ports = {subnet::NodeKind::sw};
    Fabric fabric;
    co_await discover(session, discovery_, fabric);
    TableText print(selection_, fabric.names, [&fabric](Lid lid) { return owner_in(fabric.subnet, lid); });
    print.whole_blocks = kind_ == DumpKind::linear;
    SwitchTableReader reader(session.stack(), fabric.subnet, selection_, make_table);
    for (const NodeIndex at : subnet::breadth_first(fabric.subnet)) {
      if (!is_switch(fabric.subnet, at)) continue;
      const path::Path path = path_to(session.stack(), fabric.subnet, at);
      reader.add(at, path, session.manners().name_of(path));
    }
    if (list.is_wanted()) {
      list.sink().begin_array("switches");
      print.announce(list.sink(), SwitchTable(session.stack().here()));
    }
    for (bool is_first = true; co_await reader.next(); is_first = false) {
      if (is_first) require_read(std::ranges::any_of(reader.tables, &SwitchTable::any_read), reader.failures);
      for (const SwitchTable& table : reader.tables) {
        if (list.is_wanted()) {
          print.visit(list.sink(), table);
        } else {
          co_await print.text(emit.text(), table);
        }
      }
    }
    if (list.is_wanted()) list.sink().end_array();
    add_failures(session.host(), fabric, std::move(reader.failures));
    list(RestReport(fabric));
    list.end();
    note_discovered(session.host(), kind_ == DumpKind::multicast
                                        ? "all_NodeInfo, all_SwitchInfo, all_topology"
                                        : "all_LIDs, all_NodeDescription, all_NodeInfo, all_SwitchInfo, all_topology");
  }

 private:
  /// The path to a switch in texts. It is a path by LID if the fabric was discovered by LID.
  path::Path path_to(Stack& stack, const subnet::Subnet& subnet, NodeIndex at) const {
    const bool by_lid = discovery_.mode ? *discovery_.mode != "DR" : stack.host().options().use_sa || stack.host().end_port().is_active();
    const path::Path from = stack.here();
    const auto path = by_lid ? subnet::lid_path(subnet, subnet.node(at).first_port, from, Qpn{0}) : std::nullopt;
    return path ? *path : subnet::smp_path(subnet, at, from);
  }

  DumpKind kind_;
  TableSelection selection_;
  DiscoveryOptions discovery_;
  TableOptions table_;
};

/// The three programs of infiniband-diags, of which two are scripts that run dump_fts.
class DumpTablesDiags final : public Command {
 public:
  explicit DumpTablesDiags(DumpKind kind) { selection_.multicast = kind == DumpKind::multicast; }

  void diags_options(OptionSet& set, CommonOptions& common) override {
    set.without("KGDLs");
    add_dump_options(set, selection_, DumpKind::any);
    add_node_name_map(set, common);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    LibibnetdiscFabric fabric;
    LibibnetdiscWanted swept;
    swept.with_steps = true;
    try {
      co_await discover_as_libibnetdisc(session, swept, fabric);
    } catch (const Error&) {
      throw DiagsExit(diags_failed, "Failed to discover fabric\n");
    }
    DiagsTableText print(session.host(), selection_, fabric.names, [&fabric](Lid lid) { return owner_in(fabric.subnet, lid); });
    print.nobody = "node info not available fabric scan";
    print.breaks_off = false;
    SwitchTableReader reader(session.stack(), fabric.subnet, selection_, make_diags_table);
    add_switches(session.stack(), fabric, reader);
    while (co_await reader.next()) {
      for (const SwitchTable& table : reader.tables) {
        co_await print.text(emit.text(), table);
        report_unread(session.host(), fabric.names, table);
      }
    }
  }

 private:
  /// Adds the switches in the reverse of the order in which libibnetdisc finds them, because it adds nodes at the front of its lists. The
  /// name of a switch is the route by which it is found.
  static void add_switches(Stack& stack, const LibibnetdiscFabric& fabric, SwitchTableReader& reader) {
    const subnet::Subnet& subnet = fabric.subnet;
    const path::Path here = stack.here();
    for (const subnet::LegacyStep& step : fabric.sweep.steps | std::views::reverse) {
      const NodeIndex at = subnet.port(step.port).node;
      if (step.is_new && is_switch(subnet, at)) reader.add(at, subnet::smp_path(subnet, at, here), libibnetdisc_route(step.route));
    }
  }

  static void report_unread(const Host& host, const subnet::NodeNameMap& names, const SwitchTable& table) {
    if (!table.error || !table.has_info) return;
    for (const std::uint32_t block : table.unknown_blocks()) {
      print_on_stderr(
          host.world(),
          fmt::format("SubnGet({}) failed on switch '{}' {} Node GUID {:#x} SMA LID {}; MAD status {:#x} AM {:#x}\n",
                      table.linear ? "LFT" : "MFT", diags_node_name(names, table.node.node_guid, table.description.value_or("")),
                      table.name, table.node.node_guid.value, table.lid.value, table.error->status(), block));
    }
  }

  TableSelection selection_;
};

constexpr DiagsScript lfts_script{
    .runs = "/usr/sbin/dump_fts",
    .last_words = "\n*** WARNING ***: this command has been replaced by dump_fts\n\n\n",
};
constexpr DiagsScript mfts_script{
    .runs = "/usr/sbin/dump_fts",
    .last_words = "\n*** WARNING ***: this command has been replaced by dump_fts -M\n\n\n",
};

}  // namespace
}  // namespace tables

constinit const CommandInfo rooms::dump_fts{
    .name = "dump_fts",
    .group = HelpGroup::forwarding,
    .summary = "Show the forwarding tables of all switches, unicast or multicast.",
    .make = make_command<tables::DumpTables, tables::DumpKind::any>,
    .make_diags = make_command<tables::DumpTablesDiags, tables::DumpKind::any>,
};
constinit const CommandInfo rooms::dump_lfts{
    .name = "dump_lfts",
    .group = HelpGroup::forwarding,
    .summary = "Show the linear forwarding tables of all switches.",
    .make = make_command<tables::DumpTables, tables::DumpKind::linear>,
    .make_diags = make_command<tables::DumpTablesDiags, tables::DumpKind::linear>,
    .alias = "dump_lfts.sh",
    .script = &tables::lfts_script,
};
constinit const CommandInfo rooms::dump_mfts{
    .name = "dump_mfts",
    .group = HelpGroup::forwarding,
    .summary = "Show the multicast forwarding tables of all switches.",
    .make = make_command<tables::DumpTables, tables::DumpKind::multicast>,
    .make_diags = make_command<tables::DumpTablesDiags, tables::DumpKind::multicast>,
    .alias = "dump_mfts.sh",
    .script = &tables::mfts_script,
};

}  // namespace ib::tools
