// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibroute: the linear or the multicast forwarding table of one switch.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "async/event.hpp"
#include "async/group.hpp"
#include "async/task.hpp"
#include "base/escape.hpp"
#include "iba/dump.hpp"
#include "mad/transactor.hpp"
#include "subnet/set/set_target.hpp"
#include "tools/forwarding_tables/tables.hpp"
#include "tools/frame/commands.hpp"
#include "tools/frame/explanation.hpp"
#include "tools/shared/table_options.hpp"
namespace ib::tools {
namespace tables {
namespace {

constexpr std::chrono::milliseconds diags_owner_timeout{100};
constexpr std::chrono::milliseconds push_every{200};  // rows that wait in the buffer of standard output

/// More than the engine sends at once: most silent ones wait for their next try.
constexpr std::size_t lids_at_once = 1024;
constexpr unsigned lids_of_largest_lmc = 128;
constexpr std::chrono::milliseconds longest_wait_for_base{200};

LidOwner owner_of(const smp::NodeInfo& node, std::string description, const smp::PortInfo& port) {
  return {node.node_guid, node.port_guid, node.node_type, std::move(description), port.lid, port.lmc};
}

class LidOwners {
 public:
  /// `like` is a path of SMPs by LID. The paths of requests are copies of it with other LIDs.
  LidOwners(mad::Transactor& transactor, path::IbPath like) : transactor_(transactor), like_(std::move(like)) {}

  void know(const smp::NodeInfo& node, std::string description, const smp::PortInfo& port) {
    keep(std::make_shared<LidOwner>(owner_of(node, std::move(description), port)));
  }
  /// The time after which no further LID gets a request. The largest tables of live fabrics take seconds.
  static constexpr std::chrono::seconds longest{60};

  /// Sets the LIDs that get requests in read(), in ascending order. Known LIDs are left out.
  void plan(const std::vector<Lid>& lids) {
    for (const Lid lid : lids) {
      if (!found_.contains(lid)) planned_.try_emplace(lid);
    }
  }
  async::Task<> read() {
    async::Loop& loop = co_await async::current_loop;
    end_ = loop.now() + longest;
    const auto find_one = [this](auto& planned) { return find_owner(planned.first, planned.second); };
    async::Task<> all = async::for_each(planned_, lids_at_once, find_one);
    co_await std::move(all);
    std::ranges::sort(unrequested_);
  }
  /// Waits until read() has done with `lid`, if that is planned.
  async::Task<> settled(Lid lid) {
    const auto at = planned_.find(lid);
    if (at != planned_.end()) co_await at->second.settled;
  }

  std::optional<LidOwner> find(Lid lid) const {
    const auto found = found_.find(lid);
    return found == found_.end() ? std::nullopt : std::optional(*found->second);
  }
  const std::map<Lid, std::shared_ptr<const mad::MadError>>& silent() const { return silent_; }
  const std::vector<Lid>& unrequested() const { return unrequested_; }

 private:
  struct Planned {
    async::Event settled;
    async::Event passed;  ///< set when settled, or when it takes long: LIDs that wait for this one go on
  };
  struct Overdue final : async::Timer {
    explicit Overdue(Planned& of) : planned(of) {}
    void expired() override { planned.passed.set(); }
    Planned& planned;
  };
  async::Task<> find_owner(Lid lid, Planned& planned) {
    if (Planned* before = parent(lid)) co_await before->passed;
    async::Loop& loop = co_await async::current_loop;
    if (found_.contains(lid)) {
      // The port of an earlier LID has this LID too, by its LMC.
    } else if (loop.now() < *end_) {
      Overdue overdue(planned);
      loop.arm(overdue, loop.now() + longest_wait_for_base);
      co_await request_owner(lid);
    } else {
      unrequested_.push_back(lid);
    }
    planned.settled.set();
    planned.passed.set();
  }
  async::Task<> request_owner(Lid lid) {
    path::IbPath to = like_;
    to.dlid = lid;
    const path::Path path = to;
    const auto is_silent = [this, lid](const auto& answer) {
      if (!answer) silent_[lid] = answer.shared_error();
      return !answer;
    };
    const mad::Result<smp::NodeDescription> description = co_await transactor_.try_subn_get<smp::NodeDescription>(path);
    if (is_silent(description)) co_return;
    const mad::Result<smp::PortInfo> port = co_await transactor_.try_subn_get<smp::PortInfo>(path);
    if (is_silent(port)) co_return;
    const mad::Result<smp::NodeInfo> node = co_await transactor_.try_subn_get<smp::NodeInfo>(path);
    if (is_silent(node)) co_return;
    const auto found = std::make_shared<LidOwner>(owner_of(*node, std::string(fixed_text(description->node_string)), *port));
    found_[lid] = found;
    const unsigned base = found->base.value;
    if (lid.value >= base && lid.value < base + (1U << found->lmc)) keep(found);
  }
  /// The nearest planned LID before `lid` that may be the base LID of the same port, or null.
  Planned* parent(Lid lid) {
    for (unsigned value = lid.value; value % lids_of_largest_lmc != 0;) {
      value &= value - 1;  // without the lowest bit
      const auto at = planned_.find(Lid{static_cast<std::uint16_t>(value)});
      if (at != planned_.end()) return &at->second;
    }
    return nullptr;
  }
  void keep(const std::shared_ptr<const LidOwner>& found) {
    const unsigned base = found->base.value;
    for (unsigned lid = base; lid < base + (1U << found->lmc) && lid <= last_unicast_lid; ++lid) {
      found_.emplace(Lid{static_cast<std::uint16_t>(lid)}, found);
    }
  }

  mad::Transactor& transactor_;
  path::IbPath like_;
  std::map<Lid, std::shared_ptr<const LidOwner>> found_;
  std::map<Lid, std::shared_ptr<const mad::MadError>> silent_;
  std::map<Lid, Planned> planned_;
  std::optional<async::Time> end_;
  std::vector<Lid> unrequested_;
};

struct RouteReport final : Report {
  const TableText& print;
  const SwitchTable& table;
  const LidOwners& owners;

  RouteReport(const TableText& with, const SwitchTable& of, const LidOwners& whose) : print(with), table(of), owners(whose) {}

  void visit(report::Sink& sink) const override {
    sink.begin_array("switches");
    print.visit(sink, table);
    sink.end_array();
    sink.array("silent_lids", owners.silent(), [&](const auto& silent) { sink.value({}, silent.first.value); });
    sink.array("unrequested_lids", owners.unrequested(), [&](const Lid lid) { sink.value({}, lid.value); });
  }
  void text(TextOut& /*out*/) const override {}  // rows are printed as they become known
  Exit status() const override {
    return !table.error && owners.silent().empty() && owners.unrequested().empty() ? Exit::ok : Exit::incomplete;
  }
};

async::Task<> push_now_and_then(async::Loop& loop, TextOut& out) {
  for (;;) {
    co_await loop.sleep_for(push_every);
    out.push();
  }
}

/// Prints a table while the owners of its LIDs are being found.
async::Task<> show(async::Loop& loop, TextOut& out, LidOwners& owners, async::Task<> printing) {
  async::TaskGroup both(loop), side(loop);
  side.spawn(push_now_and_then(loop, out));
  both.spawn(owners.read());
  both.spawn(std::move(printing));
  co_await both.join();
}

async::Task<> read_description(Stack& stack, SwitchTable& table) {
  const mad::Result<smp::NodeDescription> description = co_await stack.transactor().try_subn_get<smp::NodeDescription>(table.path);
  table.description = std::string(fixed_text(stack.manners().take(description, "dump tables: node desc failed").node_string));
}

async::Task<> read_switch_info(Stack& stack, SwitchTable& table) {
  if (table.node.node_type != smp::NodeType::switch_) {
    const std::string whom = co_await named_node(stack, table.path);
    stack.manners().refuse(Error(no_table_text(whom, table.node.node_type)), "dump tables: not a switch");
  }
  const mad::Result<smp::SwitchInfo> info = co_await stack.transactor().try_subn_get<smp::SwitchInfo>(table.path);
  table.info = stack.manners().take(info, "dump tables: switch info failed: is a switch node?");
  table.has_info = true;
}

/// The LIDs that the table forwards; with `up_to_gap` only those before the first entry that was not read.
std::vector<Lid> forwarded_lids(const SwitchTable& table, bool up_to_gap) {
  std::vector<Lid> lids;
  for (unsigned value = std::max(1U, table.linear->first()); value < table.linear->end(); ++value) {
    const Lid lid{static_cast<std::uint16_t>(value)};
    if (up_to_gap && !table.linear->is_known(lid)) break;
    if (table.linear->is_known(lid) && table.linear->out_port(lid) <= table.node.num_ports) lids.push_back(lid);
  }
  return lids;
}

path::IbPath path_to_owners(Stack& stack) {
  path::Path path = subnet::smp_path_to(stack.host().end_port(), Lid{});
  stack.apply_options(path);
  return path.ib();
}

std::string lids_text(std::size_t lids, std::string_view more = {}) { return fmt::format("{} {}LID{}", lids, more, lids == 1 ? "" : "s"); }

std::string unrequested_text(std::size_t lids) {
  return fmt::format("the owners of {} were not requested: the requests for the others took {} s", lids_text(lids),
                     LidOwners::longest.count());
}

void add_route_options(OptionSet& set, TableSelection& selection) {
  add_range(set, selection);
  set.flag("-a --all", selection.all, "Show also LIDs to which nothing is forwarded.");
  set.flag("-n --no_dests --no-dests", selection.no_destinations, "Do not look up the owners of LIDs.");
  set.flag("-M --Multicast --multicast", selection.multicast, "Show the multicast forwarding table.");
}

class Ibroute final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.target_each("TARGET", target_);
    add_route_options(set, selection_);
    add_discovery(set, discovery_);
    add_table_options(set, common, table_);
    add_common(set, common, group_target);
  }

  std::string_view table_rows() const override { return selection_.multicast ? "switches.groups" : "switches.routes"; }

  async::Task<> run(Session& session, Emit& emit) override {
    check_range(selection_);
    ListSink list(emit, table_, session.host().options().format, table_rows(),
                  "node_description,dlid,out_port,destination.node_description,mlid,out_ports", session.host().world().out);
    if (table_.given() && session.targets().has_pattern())
      throw UsageError("--format table and wide, --columns, --sort and --top are for one switch: ibtool dump_fts has all");
    if (discovery_.mode == "SA") session.stack().read_from_sa();
    co_await prepare_cache(session, discovery_);
    const subnet::NodeNameMap& names = session.manners().node_name_map();
    const Destination node = co_await session.manners().smp_node(target_);
    SwitchTable table(node.path);
    table.name = node.name;
    co_await read_switch(session.stack(), emit, table);
    make_table(table, selection_);
    co_await table.read(session.stack().transactor(), table.path);
    const auto* unread = dynamic_cast<const mad::NotRead*>(table.error.get());
    if (unread != nullptr && !table.any_read()) throw Error(unread->cause());
    LidOwners owners(session.stack().transactor(), path_to_owners(session.stack()));
    if (table.linear) co_await plan_owners(session.stack(), table, owners);
    TableText print(selection_, names, [&owners](Lid lid) { return owners.find(lid); });
    print.settled = [&owners](Lid lid) { return owners.settled(lid); };
    const RouteReport report(print, table, owners);
    if (list.is_wanted()) {
      co_await owners.read();
      list(report);
    } else {
      async::Task<> printing = print.text(emit.text(), table);
      co_await show(session.stack().loop(), emit.text(), owners, std::move(printing));
      emit.raise(report.status());
    }
    list.end();
    report_failures(session.stack(), table, owners);
  }

 private:
  static async::Task<> read_switch(Stack& stack, Emit& emit, SwitchTable& table) {
    const mad::Result<smp::NodeInfo> node = co_await stack.transactor().try_subn_get<smp::NodeInfo>(table.path);
    table.node = stack.manners().take(node, {});
    co_await read_description(stack, table);
    const bool is_switch = table.node.node_type == smp::NodeType::switch_;
    if (!is_switch && stack.host().options().verbosity > 0 && !emit.json())
      emit.text().print("SMPNodeInfo\n{}", dump_words(wire::packed(table.node), smp::NodeInfo::info(), stack.host().options().keys));
    co_await read_switch_info(stack, table);
  }

  /// Plans the requests to the LIDs that the table forwards. The owner of the LIDs of the switch itself is known in any case.
  async::Task<> plan_owners(Stack& stack, const SwitchTable& table, LidOwners& owners) const {
    const bool by_lid = table.path.directed() == nullptr;
    const auto is_own = [&](Lid lid) { return by_lid && lid == table.path.ib().dlid; };
    std::vector<Lid> lids = forwarded_lids(table, false);
    if (selection_.no_destinations) std::erase_if(lids, [&](Lid lid) { return !is_own(lid); });
    // The NodeInfo of the switch is known already. Its LIDs are not.
    if (by_lid ? std::ranges::any_of(lids, is_own) : !lids.empty()) {
      const mad::Result<smp::PortInfo> port = co_await stack.transactor().try_subn_get<smp::PortInfo>(table.path);
      if (port) owners.know(table.node, table.description.value_or(""), *port);
    }
    owners.plan(lids);
  }

  static void report_failures(const Stack& stack, const SwitchTable& table, const LidOwners& owners) {
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
    add_route_options(set, selection_);
    add_node_name_map(set, common);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    const subnet::NodeNameMap& names = session.manners().node_name_map();
    const Destination node = co_await session.manners().smp_node(target_);
    SwitchTable table(node.path);
    table.name = node.name;
    const mad::Result<smp::NodeInfo> info = co_await session.stack().transactor().try_subn_get<smp::NodeInfo>(table.path);
    table.node = session.manners().take(info, "dump tables: node info failed: valid addr?");
    co_await read_description(session.stack(), table);
    co_await read_switch_info(session.stack(), table);
    make_diags_table(table, selection_);
    co_await table.read(session.stack().transactor(), table.path);
    path::IbPath like = path_to_owners(session.stack());
    like.timeout = diags_owner_timeout;
    LidOwners owners(session.stack().transactor(), like);
    DiagsTableText print(session.host(), selection_, names, [&owners](Lid lid) { return owners.find(lid); });
    print.settled = [&owners](Lid lid) { return owners.settled(lid); };
    if (table.linear && !selection_.no_destinations) owners.plan(forwarded_lids(table, true));
    async::Task<> printing = print.text(emit.text(), table);
    co_await show(session.stack().loop(), emit.text(), owners, std::move(printing));
    report_failures(session.stack(), table, owners);
  }

 private:
  static void report_failures(const Stack& stack, const SwitchTable& table, const LidOwners& owners) {
    for (const auto& [lid, error] : owners.silent()) stack.manners().report_failure(*error);
    if (!owners.unrequested().empty()) warn(stack.host().world(), "dump_unicast_tables", unrequested_text(owners.unrequested().size()));
    if (!table.error) return;
    const std::vector<std::uint32_t> unknown = table.unknown_blocks();
    print_on_stderr(stack.host().world(), fmt::format("SubnGet() failed; MAD status {:#x} AM {:#x}\n", table.error->status(),
                                                      unknown.empty() ? 0 : unknown.front()));
  }

  Target target_;
  TableSelection selection_;
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
