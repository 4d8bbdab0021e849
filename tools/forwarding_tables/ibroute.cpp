// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibroute: the linear or the multicast forwarding table of one switch.
#include <fmt/format.h>

#include <algorithm>

#include "async/group.hpp"
#include "base/escape.hpp"
#include "iba/dump.hpp"
#include "path/json.hpp"
#include "tools/forwarding_tables/destinations.hpp"
#include "tools/forwarding_tables/tables.hpp"
#include "tools/frame/commands.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools {
namespace tables {
namespace {

constexpr std::chrono::milliseconds diags_destination_timeout{100};
constexpr std::chrono::milliseconds push_every{200};  // rows that wait in the buffer of standard output
constexpr std::size_t most_complaints = 16;           // about single LIDs

struct RouteReport final : Report {
  const Session& session;
  const Wanted& wanted;
  const subnet::NodeNameMap& names;
  const SwitchTable& table;
  const Destinations& destinations;

  RouteReport(const Session& with, const Wanted& what, const subnet::NodeNameMap& map, const SwitchTable& of, const Destinations& whose)
      : session(with), wanted(what), names(map), table(of), destinations(whose) {}

  TableText printer() const {
    return {session, wanted, names, [this](Lid lid) { return destinations.find(lid); }};
  }
  void visit(report::Sink& sink) const override {
    sink.begin_array("switches");
    printer().visit(sink, table);
    sink.end_array();
    sink.begin_array("silent_lids");
    for (const auto& [lid, error] : destinations.silent()) sink.value({}, lid.value);
    sink.end_array();
    sink.begin_array("unrequested_lids");
    for (const Lid lid : destinations.unrequested()) sink.value({}, lid.value);
    sink.end_array();
  }
  void text(TextOut& out) const override { printer().text(out, table); }
  void diags_text(TextOut& out) const override {
    TableText print = printer();
    print.diags_remarks(table);
    print.diags_text(out, table);
  }
  Exit status() const override {
    const bool is_complete = !table.error && destinations.silent().empty() && destinations.unrequested().empty();
    return is_complete ? Exit::ok : Exit::incomplete;
  }
};

/// Prints the rows of a linear table, each as soon as the owners of all LIDs up to its own are known.
async::Task<> print_rows(TextOut& out, const RouteReport& report, Destinations& destinations, bool diags) {
  TableText print = report.printer();
  if (diags) print.diags_remarks(report.table);
  TableText::Rows rows = print.begin_rows(out, report.table, diags);
  for (; rows.lid < rows.end; ++rows.lid) {
    co_await destinations.settled(Lid{static_cast<std::uint16_t>(rows.lid)});
    if (!print.row(out, report.table, rows)) break;
  }
  print.end_rows(out, report.table, rows);
}

/// Never ends.
async::Task<> push_now_and_then(async::Loop& loop, TextOut& out) {
  for (;;) {
    co_await loop.sleep_for(push_every);
    out.push();
  }
}

class Ibroute final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    constexpr Range<std::uint32_t> lids{0, permissive_lid.value};
    set.target("TARGET", target_);
    set.optional_operands();
    set.integer("START_LID", wanted_.first, lids);
    set.integer("END_LID", wanted_.last, lids);
    set.flag("-a --all", wanted_.all, "Show also LIDs to which nothing is forwarded.");
    set.flag("-n --no_dests --no-dests", wanted_.no_destinations, "Do not ask whose the LIDs are.");
    set.flag("-M --Multicast --multicast", wanted_.multicast, "Show the multicast forwarding table.");
    add_discovery(set, discovery_);
    add_common(set, common, group_target);
  }

  void diags_options(DiagsOptions& set) override {
    set.without("K");
    set.target("LID|GUID|ROUTE", target_);
    set.optional_operands();
    set.integer("START_LID", wanted_.first);
    set.integer("END_LID", wanted_.last);
    set.flag("all", 'a', wanted_.all, "Show also LIDs to which nothing is forwarded.");
    set.flag("no_dests", 'n', wanted_.no_destinations, "Do not ask whose the LIDs are.");
    set.flag("Multicast", 'M', wanted_.multicast, "Show the multicast forwarding table.");
    set.node_name_map();
    as_diags_ = true;
  }

  std::string_view table_rows() const override { return wanted_.multicast ? "switches.groups" : "switches.routes"; }

  async::Task<> run(Session& session, Emit& emit) override {
    if (!as_diags_ && wanted_.first && wanted_.last && *wanted_.first > *wanted_.last)
      throw UsageError(fmt::format("START_LID {} is behind END_LID {}", *wanted_.first, *wanted_.last));
    if (discovery_.mode == "SA") session.read_from_sa();
    if (!as_diags_) co_await prepare_cache(session, discovery_);
    const subnet::NodeNameMap& names = session.node_name_map();
    const ib::tools::Destination node = co_await session.smp_node(target_);
    SwitchTable table(node.path);
    table.name = node.name;
    co_await read_switch(session, emit, table);
    make_table(table, wanted_, as_diags_);
    co_await read_table(session, table);
    const auto* unread = dynamic_cast<const mad::NotRead*>(table.error.get());
    if (!as_diags_ && unread != nullptr && !table.any_read()) throw Error(unread->cause());
    Destinations destinations(session.transactor(), like(session));
    destinations.in_order = as_diags_ && session.options().debug > 0;
    if (!wanted_.multicast) {
      std::vector<Lid> lids = lids_of(table, node.path);
      // The NodeInfo of the switch is known already. Its LIDs are not.
      const bool may_be_wanted = node.path.directed() != nullptr ? !lids.empty() : std::ranges::count(lids, node.path.ib().dlid) != 0;
      if (!as_diags_ && may_be_wanted) {
        const mad::Result<smp::PortInfo> port = co_await session.transactor().try_subn_get<smp::PortInfo>(node.path);
        if (port) destinations.know(table.node, table.description.value_or(""), *port);
      }
      destinations.plan(lids);
    }
    const RouteReport report(session, wanted_, names, table, destinations);
    if (table.linear && !emit.json()) {
      co_await show_rows(session, emit, report, destinations);
    } else {
      co_await destinations.read();
      emit(report);
    }
    tell_failures(session, table, destinations);
  }

 private:
  /// Prints a linear table while the owners of its LIDs are being found.
  async::Task<> show_rows(Session& session, Emit& emit, const RouteReport& report, Destinations& destinations) const {
    async::TaskGroup both(session.loop()), side(session.loop());
    side.spawn(push_now_and_then(session.loop(), emit.text()));
    both.spawn(destinations.read());
    both.spawn(print_rows(emit.text(), report, destinations, as_diags_));
    co_await both.join();
    if (!as_diags_) emit.raise(report.status());
  }

  /// Reads the node, which must be a switch.
  async::Task<> read_switch(Session& session, Emit& emit, SwitchTable& table) const {
    mad::Transactor& transactor = session.transactor();
    session.diags_debug(emit.text(), "check_switch", "checking node type");
    const mad::Result<smp::NodeInfo> node = co_await transactor.try_subn_get<smp::NodeInfo>(table.path);
    if (!node && as_diags_) {
      session.tell_failure(node.error());
      constexpr std::array<std::uint8_t, 64> nothing{};
      tell(session.world(), "nodeinfo\n" + hex_words(nothing));
      throw DiagsFailure({"main", "dump tables: node info failed: valid addr?"});
    }
    table.node = session.take(node, {});
    const mad::Result<smp::NodeDescription> description = co_await transactor.try_subn_get<smp::NodeDescription>(table.path);
    table.description = std::string(fixed_text(session.take(description, {"main", "dump tables: node desc failed"}).node_string));
    if (table.node.node_type != smp::NodeType::switch_) {
      if (!as_diags_ && session.options().verbosity > 0) show_node(emit, table.node, session.options().keys);
      session.refuse(not_a_switch(table.path, table.node), {"main", "dump tables: not a switch"});
    }
    session.diags_debug(emit.text(), "check_switch", "Gathering information about switch");
    const mad::Result<smp::SwitchInfo> info = co_await transactor.try_subn_get<smp::SwitchInfo>(table.path);
    table.info = session.take(info, {"main", "dump tables: switch info failed: is a switch node?"});
    table.has_info = true;
  }

  static void show_node(Emit& emit, const smp::NodeInfo& node, Keys keys) {
    if (emit.json()) return;
    std::array<std::uint8_t, smp::NodeInfo::wire_size> bytes{};
    node.pack(bytes);
    emit.text().print("SMPNodeInfo\n{}", dump_words(bytes, smp::NodeInfo::info(), keys));
  }

  static async::Task<> read_table(Session& session, SwitchTable& table) {
    if (table.linear) {
      table.error = co_await subnet::read_table(session.transactor(), table.path, *table.linear);
    } else {
      table.error = co_await subnet::read_table(session.transactor(), table.path, *table.multicast);
    }
  }

  /// The LIDs whose ports get requests: those that the table forwards.
  std::vector<Lid> lids_of(const SwitchTable& table, const path::Path& path) const {
    std::vector<Lid> lids;
    for (unsigned value = std::max(1U, table.linear->first()); value < table.linear->end(); ++value) {
      const Lid lid{static_cast<std::uint16_t>(value)};
      if (as_diags_ && !table.linear->is_known(lid)) break;  // where the table breaks off
      // The LIDs of the switch itself are included in any case: the switch was read already.
      const bool is_wanted = !wanted_.no_destinations || (!as_diags_ && path.directed() == nullptr && lid == path.ib().dlid);
      if (is_wanted && table.linear->is_known(lid) && table.linear->out_port(lid) <= table.node.num_ports) lids.push_back(lid);
    }
    return lids;
  }

  /// The path of the requests to LIDs, without DLID.
  path::IbPath like(Session& session) const {
    path::IbPath path;
    path.end_port = &session.end_port();
    path.slid = session.end_port().lid;
    path.dqpn = path.sqpn = Qpn{0};
    path.qkey = 0;
    path::Path wrapped = path;
    session.apply_options(wrapped);
    path = wrapped.ib();
    if (as_diags_) path.timeout = diags_destination_timeout;
    return path;
  }

  void tell_failures(const Session& session, const SwitchTable& table, const Destinations& destinations) const {
    std::size_t told = 0;
    for (const auto& [lid, error] : destinations.silent()) {
      if (as_diags_) {
        session.tell_failure(*error);
      } else if (++told > most_complaints) {
        break;
      } else {
        session.report(Error(fmt::format("LID {} does not tell whose it is: {}", lid.value, error->message())));
      }
    }
    const std::size_t silent = destinations.silent().size(), unrequested = destinations.unrequested().size();
    if (!as_diags_ && silent > most_complaints)
      session.report(Error(fmt::format("{} more LIDs do not tell whose they are; --json lists them", silent - most_complaints)));
    if (unrequested != 0) {
      const std::string text = fmt::format("{} LIDs were not asked whose they are: asking the others has taken {} s", unrequested,
                                           Destinations::longest.count());
      as_diags_ ? session.diags_warning("dump_unicast_tables", text) : session.report(Error(text));
    }
    if (!table.error) return;
    if (!as_diags_) return session.report(*table.error);
    session.tell_failure(*table.error);
    const std::vector<std::uint32_t> unknown = table.linear ? table.linear->unknown_blocks() : table.multicast->unknown_blocks();
    tell(session.world(),
         fmt::format("SubnGet() failed; MAD status {:#x} AM {:#x}\n", table.error->status(), unknown.empty() ? 0 : unknown.front()));
  }

  Target target_;
  Wanted wanted_;
  DiscoveryOptions discovery_;
  bool as_diags_{};
};

}  // namespace
}  // namespace tables

constinit const CommandInfo rooms::ibroute{
    .name = "ibroute",
    .group = HelpGroup::forwarding,
    .summary = "Show the forwarding table of a switch, unicast or multicast.",
    .make = make_command<tables::Ibroute>,
    .make_diags = make_command<tables::Ibroute>,
};

}  // namespace ib::tools
