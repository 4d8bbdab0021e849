// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// dump_fts, dump_lfts and dump_mfts: the forwarding tables of all switches. Some dozens of switches are read in parallel
// and then printed, so that only some dozens of tables are in memory.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <ranges>

#include "subnet/model/order.hpp"
#include "subnet/sweep/survey.hpp"
#include "tools/forwarding_tables/tables.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/manners.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/libibnetdisc.hpp"
#include "tools/shared/table_options.hpp"

namespace ib::tools {
namespace tables {
namespace {

using subnet::NodeIndex;

/// The switch `at` as the sweep knows it, without its table.
SwitchTable switch_of(const subnet::Subnet& subnet, NodeIndex at, path::Path path, std::string name) {
  const subnet::Node& node = subnet.node(at);
  SwitchTable table(std::move(path));
  table.name = std::move(name);
  table.lid = subnet.lid(node.first_port);
  table.node = node.info;
  table.index = at;
  if (node.has_description) table.description = std::string(node.description());
  if (node.has_switch_info) table.info = node.switch_info();
  table.has_info = node.has_switch_info;
  return table;
}

async::Task<mad::Result<bool>> read_table(subnet::SurveyPort port, SwitchTable& table, const TableSelection& selection) {
  if (!table.has_info) {
    const mad::Result<smp::SwitchInfo> answer = co_await port.transactor.try_subn_get<smp::SwitchInfo>(port.path);
    if (!answer) co_return table.error = answer.shared_error();
    table.info = *answer;
    table.has_info = true;
    make_table(table, selection);
  }
  co_await table.read(port.transactor, port.path);
  if (table.error) co_return table.error;
  co_return true;
}

/// Reads the tables of the first of `switches` and takes these away. Switches without an answer go to `failures`; the blocks that they sent
/// are kept.
async::Task<std::vector<SwitchTable>> read_some(Stack& stack, const subnet::Subnet& subnet, std::deque<SwitchTable>& switches,
                                                const TableSelection& selection, subnet::Failures& failures) {
  constexpr std::size_t switches_at_once = 64;
  const auto end = switches.begin() + static_cast<std::ptrdiff_t>(std::min(switches.size(), switches_at_once));
  std::vector<SwitchTable> tables(std::move_iterator(switches.begin()), std::move_iterator(end));
  switches.erase(switches.begin(), end);
  std::vector<subnet::PortIndex> ports;
  for (SwitchTable& table : tables) {
    make_table(table, selection);
    ports.push_back(subnet.node(table.index).first_port);
  }
  const subnet::SurveyOptions options(stack.here(), subnet::SurveyWay::smp);
  const subnet::SurveyQuestion<bool> question = [&](subnet::SurveyPort port) {
    return read_table(port, *std::ranges::find(tables, subnet.port(port.index).node, &SwitchTable::index), selection);
  };
  subnet::Surveyed<bool> surveyed = co_await subnet::survey(stack.transactor(), subnet, std::move(ports), options, question);
  std::ranges::move(surveyed.failures, std::back_inserter(failures));
  co_return tables;
}

struct RestReport final : FabricReport {
  using FabricReport::FabricReport;
  void visit(report::Sink& sink) const override { visit_failures(sink); }
};

bool is_switch(const subnet::Subnet& subnet, NodeIndex at) { return subnet.node(at).kind() == subnet::NodeKind::sw; }

enum class DumpKind { any, linear, multicast };

class DumpTables final : public Command {
 public:
  explicit DumpTables(DumpKind kind) : kind_(kind) { selection_.multicast = kind == DumpKind::multicast; }

  void options(OptionSet& set, CommonOptions& common) override {
    kind_ == DumpKind::any ? add_selection(set, selection_, true) : set.flag("-a --all", selection_.all, all_help);
    set.action("-D", "As --discovery=DR.", [this] { discovery_.mode = "DR"; });
    add_discovery(set, discovery_);
    add_table_options(set, common, table_);
    add_common(set, common, group_fabric);
  }

  std::string_view table_rows() const override { return selection_.multicast ? "switches.groups" : "switches.routes"; }

  async::Task<> run(Session& session, Emit& emit) override {
    check_range(selection_);
    show_list(emit, table_, session.host(), "node_description,dlid,out_port,destination.node_description,mlid,out_ports");
    if (selection_.multicast) discovery_.needs.descriptions = discovery_.needs.end_ports = {subnet::NodeKind::sw};
    Fabric fabric = co_await discover(session, discovery_);
    const auto find = [&fabric](Lid lid) { return subnet::find_owner(fabric.subnet, lid); };
    const TableText print{{session.host(), selection_, fabric.names, find}, kind_ == DumpKind::linear};
    std::deque<SwitchTable> switches;
    for (const NodeIndex at : subnet::breadth_first(fabric.subnet)) {
      if (!is_switch(fabric.subnet, at)) continue;
      const path::Path path = path_to(session.stack(), fabric.subnet, at);
      switches.push_back(switch_of(fabric.subnet, at, path, session.manners().name_of(path)));
    }
    if (emit.json()) {
      emit.sink().begin_array("switches");
      print.announce(emit.sink(), SwitchTable(session.stack().here()));
    }
    subnet::Failures failures;
    for (bool is_first = true; !switches.empty(); is_first = false) {
      const std::vector<SwitchTable> tables = co_await read_some(session.stack(), fabric.subnet, switches, selection_, failures);
      if (is_first) require_read(std::ranges::any_of(tables, &SwitchTable::any_read), failures);
      for (const SwitchTable& table : tables) {
        if (emit.json()) {
          print.visit(emit.sink(), table);
        } else {
          co_await print.text(emit.text(), table);
        }
      }
    }
    if (emit.json()) emit.sink().end_array();
    add_failures(session.host(), fabric, std::move(failures));
    emit(RestReport(fabric));
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
  explicit DumpTablesDiags(DumpKind kind) : selection_{.diags = true, .multicast = kind == DumpKind::multicast} {}

  void diags_options(OptionSet& set, CommonOptions& common) override {
    set.without("KGDLs");
    add_selection(set, selection_, true);
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
    const auto find = [&fabric](Lid lid) { return subnet::find_owner(fabric.subnet, lid); };
    const DiagsTableText print{{session.host(), selection_, fabric.names, find}, "node info not available fabric scan", false};
    std::deque<SwitchTable> switches;
    // In the reverse of the order in which libibnetdisc finds them, because it adds nodes at the front of its lists. The name of a switch
    // is the route by which it is found.
    for (const subnet::LegacyStep& step : fabric.sweep.steps | std::views::reverse) {
      const NodeIndex at = fabric.subnet.port(step.port).node;
      if (!step.is_new || !is_switch(fabric.subnet, at)) continue;
      path::Path path = subnet::smp_path(fabric.subnet, at, session.stack().here());
      switches.push_back(switch_of(fabric.subnet, at, std::move(path), libibnetdisc_route(step.route)));
    }
    subnet::Failures failures;  // report_unread() says what is missing
    while (!switches.empty()) {
      const std::vector<SwitchTable> tables = co_await read_some(session.stack(), fabric.subnet, switches, selection_, failures);
      for (const SwitchTable& table : tables) {
        co_await print.text(emit.text(), table);
        report_unread(session.host(), fabric.names, table);
      }
    }
  }

 private:
  static void report_unread(const Host& host, const subnet::NodeNameMap& names, const SwitchTable& table) {
    if (!table.error || !table.has_info) return;
    for (const std::uint32_t block : table.table()->unknown_blocks()) {
      print_on_stderr(
          host.world(),
          fmt::format("SubnGet({}) failed on switch '{}' {} Node GUID {:#x} SMA LID {}; MAD status {:#x} AM {:#x}\n",
                      table.linear ? "LFT" : "MFT", diags_node_name(names, table.node.node_guid, table.description.value_or("")),
                      table.name, table.node.node_guid.value, table.lid.value, table.error->status(), block));
    }
  }

  TableSelection selection_;
};

constexpr DiagsScript lfts_script{"/usr/sbin/dump_fts", "\n*** WARNING ***: this command has been replaced by dump_fts\n\n\n"};
constexpr DiagsScript mfts_script{"/usr/sbin/dump_fts", "\n*** WARNING ***: this command has been replaced by dump_fts -M\n\n\n"};

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
