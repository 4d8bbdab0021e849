// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibdatacounters: data and packets of all ports of the fabric. All ports of a switch are one row.
#include <functional>

#include "counters/history.hpp"
#include "counters/readings.hpp"
#include "subnet/model/port_paths.hpp"
#include "tools/frame/commands.hpp"
#include "tools/port_counters/traffic_report.hpp"
#include "tools/shared/check_rows.hpp"
#include "tools/shared/interval.hpp"
#include "tools/shared/survey.hpp"
#include "tools/shared/watched_fabric.hpp"

namespace ib::tools {
namespace port_counters {
namespace {

using subnet::PortIndex;

class Ibdatacounters final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.flag("--up", only_up_, "Leave out the ports of hosts that are polling or disabled.");
    set.flag("-N --nocolor", plain_, "Accepted for compatibility: it left out colours, which this command never prints.");
    set.value("-T", "FILE", "Accepted for compatibility: it named a file of thresholds of errors, which this command does not check.",
              [](std::string_view) {});
    add_interval(set, interval_);
    add_discovery(set, discovery_);
    add_table_options(set, common, table_, keys_of(traffic_columns(true)));
    add_common(set, common, group_fabric | group_sl);
  }

  std::string_view table_rows() const override {
    if (table_.given()) return interval_.repeats() ? "readings.ports" : "ports";
    return interval_.repeats() ? "readings.ports.traffic" : "ports.traffic";
  }

  async::Task<> run(Session& session, Emit& emit) override {
    check_interval(interval_);
    check_traffic_table(table_, session.options().format, interval_.repeats());
    RoundFabric first;
    co_await discover(session, discovery_, first.fabric);
    first.paths.emplace(first.fabric.subnet, session.here());
    co_await session.read_service_levels(*first.paths);
    first.nodes = nodes_of(first.fabric);
    WatchedFabric watched(session, discovery_, first, nodes_of);
    if (interval_.repeats()) {
      if (emit.json()) emit.sink().begin_array("readings");
      const auto once = [&](Round round) { return read_once(session, emit, watched, std::move(round)); };
      co_await repeat(session, interval_, once);
      if (emit.json()) emit.sink().end_array();
    } else {
      co_await read_once(session, emit, watched, Round());
    }
    note_discovered(session, "all_LIDs, all_NodeDescription, all_NodeInfo, all_PortInfo, all_topology");
  }

 private:
  async::Task<> read_once(Session& session, Emit& emit, WatchedFabric& watched, Round round) {
    const bool is_new = co_await watched.renew();
    const Fabric& fabric = watched.now().fabric;
    if (is_new) {
      pmas_ = {};
      history_.keep_nodes_of(fabric.subnet);
    }
    TrafficReport report(fabric);
    report.verbose = session.options().error_level() >= 1;
    report.int_names = session.options().int_names;
    report.element = interval_.repeats();
    report.round = std::move(round);
    bool any = false;
    std::vector<counters::PortChanges> waiting;  // rows before the first known one: if nothing can be read, only the failures are printed
    const auto print = [&] {
      for (counters::PortChanges& row : waiting) report.add(std::move(row), emit.json() || table_.given() ? nullptr : &emit.text());
      waiting.clear();
    };
    const auto told = [&](const counters::PmaNode& node) {
      for (counters::PortChanges& row : rows_of(fabric.subnet, node)) {
        any = any || !row.failure;
        waiting.push_back(std::move(row));
      }
      if (any) print();
    };
    counters::PmaReadings readings = co_await read(session, watched.now(), told);
    watched.take(readings);
    require_read(any, readings.failures);
    print();
    report.add_failures(session, std::move(readings.failures));
    report.emit(emit, table_, session.world().out);
    emit.raise(report.status());
    if (report.element) emit.flush();  // each reading is visible immediately
  }

  using Told = std::function<void(const counters::PmaNode&)>;

  static std::vector<subnet::NodeIndex> nodes_of(const Fabric& fabric) {
    std::vector<subnet::NodeIndex> nodes;
    for (const PortIndex end : end_ports(fabric.subnet)) {
      const subnet::NodeIndex node = fabric.subnet.port(end).node;
      if (nodes.empty() || nodes.back() != node) nodes.push_back(node);
    }
    return nodes;
  }

  async::Task<counters::PmaReadings> read(Session& session, const RoundFabric& of, Told told) {
    subnet::SurveyOptions options = gmp_survey(session, *of.paths);
    counters::ReadingPlan plan;
    plan.owners = interval_.repeats() ? owner_transactor(session) : owner_transactor(session, discovery_.load_cache);
    plan.counts = counters::ReadingPlan::Counts::traffic;
    plan.ports = counters::ReadingPlan::Ports::of_hosts;
    plan.pmas = &pmas_;
    plan.on_node = std::move(told);
    co_return co_await counters::read_pmas(session.transactor(), of.fabric.subnet, of.nodes, std::move(plan), std::move(options));
  }

  bool is_left_out(const subnet::Port& port) const { return only_up_ && port.is_polling_or_disabled(); }

  /// The rows of a node: one for all ports of a switch, one for each port of another node.
  std::vector<counters::PortChanges> rows_of(const subnet::Subnet& subnet, const counters::PmaNode& node) {
    std::vector<counters::PortChanges> rows;
    if (subnet.node(node.node).kind() == subnet::NodeKind::sw) {
      counters::PortChanges& row = rows.emplace_back();
      row.port = node.first;
      row.all_ports = true;
      if (node.all) add(subnet, row, node, *node.all);
      for (const counters::PmaReading& reading : node.ports) add(subnet, row, node, reading);
      return rows;
    }
    for (const counters::PmaReading& reading : node.ports) {
      if (is_left_out(subnet.port(reading.port))) continue;
      counters::PortChanges& row = rows.emplace_back();
      row.port = reading.port;
      add(subnet, row, node, reading);
    }
    return rows;
  }

  /// Adds a reading to a row, and what was counted since the reading before. Each port counts for the time between its own two readings.
  void add(const subnet::Subnet& subnet, counters::PortChanges& row, const counters::PmaNode& node, const counters::PmaReading& reading) {
    if (!reading.known()) {
      row.failure = counters::why_not(reading.problems.back());
      return;
    }
    const counters::CounterKey key = counters::counter_key(subnet, node.node, reading.select);
    std::optional<double> rate;
    if (reading.select != subnet::all_ports) rate = counters::octets_per_second(subnet, reading.port);
    const std::optional<counters::CounterRow> before = history_.take(key, reading.row);
    const counters::RowDifference difference(before ? &*before : nullptr, reading.row, rate);
    add_traffic(row, difference);
  }

  DiscoveryOptions discovery_;
  Interval interval_;
  TableOptions table_;
  bool only_up_{}, plain_{};
  counters::KnownPmas pmas_;
  counters::CounterHistory history_;
};

}  // namespace
}  // namespace port_counters

constinit const CommandInfo rooms::ibdatacounters{
    .name = "ibdatacounters",
    .group = HelpGroup::counters,
    .summary = "Print data and packets of all ports of the fabric, or how fast they grow.",
    .make = make_command<port_counters::Ibdatacounters>,
};

}  // namespace ib::tools
