// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibroute: the linear or the multicast forwarding table of one switch.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "async/group.hpp"
#include "async/task.hpp"
#include "base/escape.hpp"
#include "iba/dump.hpp"
#include "mad/transactor.hpp"
#include "tools/forwarding_tables/tables.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/explanation.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/targets.hpp"
#include "tools/shared/table_options.hpp"
namespace ib::tools {
namespace tables {
namespace {

constexpr std::chrono::milliseconds diags_owner_timeout{100};
constexpr std::chrono::milliseconds push_every{200};  // rows that wait in the buffer of standard output

struct RouteReport final : Report {
  RouteReport(const TableText& with, const SwitchTable& of, const subnet::LidOwners& whose) : print(with), table(of), owners(whose) {}

  void visit(report::Sink& sink) const override {
    sink.begin_array("switches");
    print.visit(sink, table);
    sink.end_array();
    sink.array("silent_lids", owners.silent(), [&](const auto& silent) { sink.value({}, silent.first.value); });
    sink.array("unrequested_lids", owners.unrequested(), [&](const Lid lid) { sink.value({}, lid.value); });
  }
  Exit status() const override {
    return !table.error && owners.silent().empty() && owners.unrequested().empty() ? Exit::ok : Exit::incomplete;
  }

  const TableText& print;
  const SwitchTable& table;
  const subnet::LidOwners& owners;
};

async::Task<> push_now_and_then(async::Loop& loop, TextOut& out) {
  for (;;) {
    co_await loop.sleep_for(push_every);
    out.push();
  }
}

/// Prints a table while the owners of its LIDs are being found.
async::Task<> show(async::Loop& loop, TextOut& out, subnet::LidOwners& owners, async::Task<> printing) {
  async::TaskGroup both(loop), side(loop);
  side.spawn(push_now_and_then(loop, out));
  both.spawn(owners.read());
  both.spawn(std::move(printing));
  co_await both.join();
}

/// Reads the switch at the end of `path` with the wanted part of its table. Ends the command if the node is not a switch; `remarks` then
/// gets its NodeInfo, if it is not null.
async::Task<SwitchTable> read_switch(Stack& stack, Destination at, const TableSelection& selection, TextOut* remarks) {
  const Manners& manners = stack.manners();
  mad::Transactor& transactor = stack.transactor();
  SwitchTable table(at.path);
  table.name = at.name;
  table.node = co_await manners.get<smp::NodeInfo>(transactor, at.path, 0, "dump tables: node info failed: valid addr?");
  const smp::NodeDescription description =
      co_await manners.get<smp::NodeDescription>(transactor, at.path, 0, "dump tables: node desc failed");
  table.description = std::string(fixed_text(description.node_string));
  if (table.node.node_type != smp::NodeType::switch_) {
    if (remarks != nullptr)
      remarks->print("SMPNodeInfo\n{}", dump_words(wire::packed(table.node), smp::NodeInfo::info(), stack.host().options().keys));
    const std::string whom = co_await named_node(stack, at.path);
    manners.refuse(Error(no_table_text(whom, table.node.node_type)), "dump tables: not a switch");
  }
  table.info = co_await manners.get<smp::SwitchInfo>(transactor, at.path, 0, "dump tables: switch info failed: is a switch node?");
  table.has_info = true;
  make_table(table, selection);
  co_await table.read(transactor, at.path);
  co_return table;
}

/// The LIDs that the table forwards; with `up_to_gap` only those before the first entry that was not read.
std::vector<Lid> forwarded_lids(const SwitchTable& table, bool up_to_gap) {
  std::vector<Lid> lids;
  for (const Lid lid : table.linear->lids()) {
    if (up_to_gap && !table.linear->is_known(lid)) break;
    if (lid != Lid{} && table.linear->is_known(lid) && table.linear->out_port(lid) <= table.node.num_ports) lids.push_back(lid);
  }
  return lids;
}

TableTextBase text_base(const Host& host, const TableSelection& selection, const subnet::NodeNameMap& names, subnet::LidOwners& owners) {
  return {host, selection, names, [&owners](Lid lid) { return owners.find(lid); }, [&owners](Lid lid) { return owners.settled(lid); }};
}

std::string lids_text(std::size_t lids, std::string_view more = {}) { return fmt::format("{} {}LID{}", lids, more, lids == 1 ? "" : "s"); }

std::string unrequested_text(std::size_t lids) {
  return fmt::format("the owners of {} were not requested: the requests for the others took {} s", lids_text(lids),
                     subnet::LidOwners::longest.count());
}

class Ibroute final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.target_each("TARGET", target_);
    add_selection(set, selection_, false);
    add_discovery(set, discovery_);
    add_table_options(set, common, table_);
    add_common(set, common, group_target);
  }

  std::string_view table_rows() const override { return selection_.multicast ? "switches.groups" : "switches.routes"; }

  async::Task<> run(Session& session, Emit& emit) override {
    check_range(selection_);
    show_list(emit, table_, session.host(), "node_description,dlid,out_port,destination.node_description,mlid,out_ports");
    if (table_.given() && session.targets().has_pattern())
      throw UsageError("--format table and wide, --columns, --sort and --top are for one switch: ibtool dump_fts has all");
    if (discovery_.mode == "SA") session.stack().read_from_sa();
    co_await prepare_cache(session, discovery_);
    const subnet::NodeNameMap& names = session.manners().node_name_map();
    const Destination node = co_await session.manners().smp_node(target_);
    TextOut* const remarks = session.host().options().verbosity > 0 && !emit.json() ? &emit.text() : nullptr;
    const SwitchTable table = co_await read_switch(session.stack(), node, selection_, remarks);
    const auto* unread = dynamic_cast<const mad::NotRead*>(table.error.get());
    if (unread != nullptr && !table.any_read()) throw Error(unread->cause());
    subnet::LidOwners owners(session.stack().transactor(), session.stack().smp_path_to(Lid{}).ib());
    if (table.linear) co_await plan_owners(session.stack(), table, owners);
    const TableText print{text_base(session.host(), selection_, names, owners)};
    const RouteReport report(print, table, owners);
    if (emit.json()) {
      co_await owners.read();
      emit(report);
    } else {
      async::Task<> printing = print.text(emit.text(), table);
      co_await show(session.stack().loop(), emit.text(), owners, std::move(printing));
      emit.raise(report.status());
    }
    report_failures(session.stack(), table, owners);
  }

 private:
  /// Plans the requests to the LIDs that the table forwards. The owner of the LIDs of the switch itself is known in any case.
  async::Task<> plan_owners(Stack& stack, const SwitchTable& table, subnet::LidOwners& owners) const {
    const bool by_lid = table.path.directed() == nullptr;
    const auto is_own = [&](Lid lid) { return by_lid && lid == table.path.ib().dlid; };
    std::vector<Lid> lids = forwarded_lids(table, false);
    if (selection_.no_destinations) std::erase_if(lids, [&](Lid lid) { return !is_own(lid); });
    // The NodeInfo of the switch is known already. Its LIDs are not.
    if (by_lid ? std::ranges::any_of(lids, is_own) : !lids.empty()) {
      const mad::Result<smp::PortInfo> port = co_await stack.transactor().try_subn_get<smp::PortInfo>(table.path);
      if (port) owners.know({table.node, table.description.value_or(""), port->lid, port->lmc});
    }
    owners.plan(lids);
  }

  static void report_failures(const Stack& stack, const SwitchTable& table, const subnet::LidOwners& owners) {
    if (!owners.silent().empty()) {
      const std::size_t more = owners.silent().size() - 1;
      const std::string others = more == 0 ? "" : fmt::format(", nor from the owners of {}: --json lists them", lids_text(more, "more "));
      stack.host().report(Error(owners.silent().begin()->second->message() + others));
    }
    if (!owners.unrequested().empty()) stack.host().report(Error(unrequested_text(owners.unrequested().size())));
    if (table.error) stack.host().report(*table.error);
  }

  Target target_;
  TableSelection selection_;
  DiscoveryOptions discovery_;
  TableOptions table_;
};

class IbrouteDiags final : public Command {
 public:
  void diags_options(OptionSet& set, CommonOptions& common) override {
    set.without("K");
    set.target("LID|GUID|ROUTE", target_);
    add_selection(set, selection_, false);
    add_node_name_map(set, common);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    const subnet::NodeNameMap& names = session.manners().node_name_map();
    const Destination node = co_await session.manners().smp_node(target_);
    const SwitchTable table = co_await read_switch(session.stack(), node, selection_, nullptr);
    path::IbPath like = session.stack().smp_path_to(Lid{}).ib();
    like.timeout = diags_owner_timeout;
    subnet::LidOwners owners(session.stack().transactor(), like);
    const DiagsTableText print{text_base(session.host(), selection_, names, owners)};
    if (table.linear && !selection_.no_destinations) owners.plan(forwarded_lids(table, true));
    async::Task<> printing = print.text(emit.text(), table);
    co_await show(session.stack().loop(), emit.text(), owners, std::move(printing));
    report_failures(session.stack(), table, owners);
  }

 private:
  static void report_failures(const Stack& stack, const SwitchTable& table, const subnet::LidOwners& owners) {
    for (const auto& [lid, error] : owners.silent()) stack.manners().report_failure(*error);
    if (!owners.unrequested().empty()) warn(stack.host().world(), "dump_unicast_tables", unrequested_text(owners.unrequested().size()));
    if (!table.error) return;
    const std::vector<std::uint32_t> unknown = table.table()->unknown_blocks();
    print_on_stderr(stack.host().world(), fmt::format("SubnGet() failed; MAD status {:#x} AM {:#x}\n", table.error->status(),
                                                      unknown.empty() ? 0 : unknown.front()));
  }

  Target target_;
  TableSelection selection_{.diags = true};
};

}  // namespace
}  // namespace tables

constinit const CommandInfo rooms::ibroute{
    .name = "ibroute",
    .group = HelpGroup::forwarding,
    .summary = "Show the forwarding table of a switch, unicast or multicast.",
    .make = make_command<tables::Ibroute>,
    .make_diags = make_command<tables::IbrouteDiags>,
};

}  // namespace ib::tools
