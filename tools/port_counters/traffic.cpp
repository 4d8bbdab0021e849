// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibdatacounters and ibdatacounts: data and packets of all ports of the fabric, or of one port. All ports of a switch are one row.
#include "counters/history.hpp"
#include "counters/readings.hpp"
#include "subnet/model/order.hpp"
#include "subnet/model/port_paths.hpp"
#include "tools/frame/commands.hpp"
#include "tools/port_counters/traffic_report.hpp"
#include "tools/shared/interval.hpp"
#include "tools/shared/one_node.hpp"
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
    check_traffic_table(table_, session.host().options().format, interval_.repeats());
    RoundFabric first;
    co_await discover(session, discovery_, first.fabric);
    first.paths.emplace(first.fabric.subnet, session.stack().here());
    co_await session.stack().read_service_levels(*first.paths);
    first.nodes = nodes_of(first.fabric);
    WatchedFabric watched(session, discovery_, first, nodes_of);
    if (interval_.repeats()) {
      if (emit.json()) emit.sink().begin_array("readings");
      const auto once = [&](Round round) { return read_once(session.stack(), emit, watched, std::move(round)); };
      co_await repeat(session.stack(), interval_, once);
      if (emit.json()) emit.sink().end_array();
    } else {
      co_await read_once(session.stack(), emit, watched, Round());
    }
    note_discovered(session.host(), "all_LIDs, all_NodeDescription, all_NodeInfo, all_PortInfo, all_topology");
  }

 private:
  async::Task<> read_once(Stack& stack, Emit& emit, WatchedFabric& watched, Round round) {
    co_await watched.renew();
    const Fabric& fabric = watched.now().fabric;
    TrafficReport report(fabric);
    report.verbose = stack.host().options().error_level() >= 1;
    report.int_names = stack.host().options().int_names;
    report.element = interval_.repeats();
    report.round = std::move(round);
    bool any = false;
    std::vector<counters::PortChanges> waiting;  // rows before the first known one: if nothing can be read, only the failures are printed
    const auto print = [&] {
      for (counters::PortChanges& row : waiting) report.add(std::move(row), emit.json() || table_.given() ? nullptr : &emit.text());
      waiting.clear();
    };
    counters::ReadingPlan plan;
    plan.owners = interval_.repeats() ? owner_transactor(stack) : owner_transactor(stack, discovery_.load_cache);
    plan.counts = counters::ReadingPlan::Counts::traffic;
    plan.ports = counters::ReadingPlan::Ports::of_hosts;
    plan.on_node = [&](const counters::PmaNode& node) {
      for (counters::PortChanges& row : rows_of(fabric.subnet, node, watched.history())) {
        any = any || !row.failure;
        waiting.push_back(std::move(row));
      }
      if (any) print();
    };
    counters::PmaReadings readings = co_await watched.read(std::move(plan));
    require_read(any, readings.failures);
    print();
    report.add_failures(stack.host(), std::move(readings.failures));
    report.emit(emit, table_, stack.host().world().out);
    emit.raise(report.status());
    if (report.element) emit.flush();  // each reading is visible immediately
  }

  static std::vector<subnet::NodeIndex> nodes_of(const Fabric& fabric) { return subnet::breadth_first(fabric.subnet); }

  bool is_left_out(const subnet::Port& port) const { return only_up_ && port.is_polling_or_disabled(); }

  /// The rows of a node: one for all ports of a switch, one for each port of another node.
  std::vector<counters::PortChanges> rows_of(const subnet::Subnet& subnet, const counters::PmaNode& node,
                                             counters::CounterHistory& history) const {
    std::vector<counters::PortChanges> rows;
    if (subnet.node(node.node).kind() == subnet::NodeKind::sw) {
      counters::PortChanges& row = rows.emplace_back();
      row.port = node.first;
      row.all_ports = true;
      if (node.all) add(subnet, row, node, *node.all, history);
      for (const counters::PmaReading& reading : node.ports) add(subnet, row, node, reading, history);
      return rows;
    }
    for (const counters::PmaReading& reading : node.ports) {
      if (is_left_out(subnet.port(reading.port))) continue;
      counters::PortChanges& row = rows.emplace_back();
      row.port = reading.port;
      add(subnet, row, node, reading, history);
    }
    return rows;
  }

  /// Adds a reading to a row, and what was counted since the reading before. Each port counts for the time between its own two readings.
  static void add(const subnet::Subnet& subnet, counters::PortChanges& row, const counters::PmaNode& node,
                  const counters::PmaReading& reading, counters::CounterHistory& history) {
    if (!reading.known()) {
      row.failure = counters::why_not(reading.problems.back());
      return;
    }
    const counters::CounterKey key = counters::counter_key(subnet, node.node, reading.select);
    std::optional<double> rate;
    if (reading.select != subnet::all_ports) rate = counters::octets_per_second(subnet, reading.port);
    const std::optional<counters::CounterRow> before = history.take(key, reading.row);
    const counters::RowDifference difference(before ? &*before : nullptr, reading.row, rate);
    add_traffic(row, difference);
  }

  DiscoveryOptions discovery_;
  Interval interval_;
  TableOptions table_;
  bool only_up_{}, plain_{};
};

class Ibdatacounts final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    counted_.options(set);
    add_table_options(set, common, table_, keys_of(traffic_columns(false)));
    add_common(set, common, group_target | group_sl);
  }

  std::string_view table_rows() const override {
    return counted_.shows_thresholds ? "thresholds" : table_.given() ? "ports" : "ports.traffic";
  }

  async::Task<> run(Session& session, Emit& emit) override {
    const auto thresholds = counters::ErrorThresholds::given_or_usual(counted_.thresholds_file, session.host().log());
    check_traffic_table(table_, session.host().options().format, false);
    if (counted_.shows_thresholds) co_return emit(ThresholdReport(thresholds));
    Fabric fabric;
    const Destination node = co_await session.manners().smp_node(counted_.target);
    const OnePort one = co_await find_one_port(session.stack(), node, fabric, counted_.port);
    co_await describe(session.stack(), node, fabric, one);
    const mad::Result<counters::CounterRow> reading =
        co_await read_counters(session.stack(), fabric, one, counters::ReadingPlan::Counts::traffic);
    TrafficReport report(fabric);
    report.single = true;
    report.verbose = session.host().options().error_level() >= 1;
    report.int_names = session.host().options().int_names;
    counters::PortChanges& row = report.rows.emplace_back();
    row.port = one.port;
    row.all_ports = one.all_ports;
    if (!reading) row.failure = reading.shared_error();
    if (reading) add_traffic(row, counters::RowDifference(nullptr, *reading, {}));
    report.emit(emit, table_, session.host().world().out);
    if (!reading) reading.error().raise();
  }

 private:
  CountedPort counted_;
  TableOptions table_;
};

}  // namespace
}  // namespace port_counters

constinit const CommandInfo rooms::ibdatacounters{
    .name = "ibdatacounters",
    .group = HelpGroup::counters,
    .summary = "Print data and packets of all ports of the fabric, or how fast they grow.",
    .make = make_command<port_counters::Ibdatacounters>,
};
constinit const CommandInfo rooms::ibdatacounts{
    .name = "ibdatacounts",
    .group = HelpGroup::counters,
    .summary = "Print data and packets of a port, or of all ports of a switch.",
    .make = make_command<port_counters::Ibdatacounts>,
};

}  // namespace ib::tools
