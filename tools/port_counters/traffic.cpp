// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibdatacounters and ibdatacounts: data and packets of all ports of the fabric, or of one port. All ports of a switch are one row.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/escape.hpp"
#include "counters/difference.hpp"
#include "counters/readings.hpp"
#include "iba/dialects.hpp"
#include "iba/dump.hpp"
#include "report/sink.hpp"
#include "subnet/model/names.hpp"
#include "subnet/model/order.hpp"
#include "subnet/model/port_paths.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/manners.hpp"
#include "tools/shared/interval.hpp"
#include "tools/shared/one_node.hpp"
#include "tools/shared/table_options.hpp"
#include "tools/shared/watched_fabric.hpp"

namespace ib::tools {
namespace port_counters {
namespace {

using report::Cell;

struct TrafficCounter {
  std::string_view name, rate_key, rate_heading;

  const FieldInfo& field() const { return *counters::find_counter(name)->narrow; }
};
constexpr std::array<TrafficCounter, 4> traffic_counters{{{"port_xmit_data", "port_xmit_data_per_second", "XmitData/s"},
                                                          {"port_rcv_data", "port_rcv_data_per_second", "RcvData/s"},
                                                          {"port_xmit_pkts", "port_xmit_pkts_per_second", "XmitPkts/s"},
                                                          {"port_rcv_pkts", "port_rcv_pkts_per_second", "RcvPkts/s"}}};

/// Data and packets of a port, or of all ports of a switch together, whose port 0 is `port`.
struct TrafficRow : PortLine {
  bool all_ports{};
  std::array<counters::CounterChange, traffic_counters.size()> counts{};
  std::shared_ptr<const Error> failure{};  ///< the reason why the counters are not known; null if they are

  void add(const counters::RowDifference& difference) {
    for (std::size_t at = 0; at < counts.size(); ++at)
      counts.at(at).add(difference.change(counters::column_of(traffic_counters.at(at).name)));
  }
};

/// The rows of a node: one for a switch, one for each port of another node; and what was counted since the rows in `history`, which gets
/// these. Each port counts for the time between its own two readings.
std::vector<TrafficRow> traffic_of(const Fabric& fabric, const counters::PmaNode& node, counters::CounterHistory& history) {
  const subnet::Subnet& subnet = fabric.subnet;
  std::vector<TrafficRow> rows;
  const auto add = [&](TrafficRow& row, const counters::PmaReading& reading) {
    if (!reading.known()) {
      row.failure = counters::why_not(reading.problems.back());
      return;
    }
    std::optional<double> rate;
    if (reading.select != subnet::all_ports) rate = counters::octets_per_second(subnet, reading.port);
    const auto before = history.take(counters::counter_key(subnet, node.node, reading.select), reading.row);
    row.add({before ? &*before : nullptr, reading.row, rate});
  };
  const bool is_switch = subnet.node(node.node).kind() == subnet::NodeKind::sw;
  if (is_switch) rows.push_back({{&fabric, node.first}, true});
  if (is_switch && node.all) add(rows.front(), *node.all);
  for (const counters::PmaReading& reading : node.ports) {
    if (!is_switch) rows.push_back({{&fabric, reading.port}});
    add(rows.back(), reading);
  }
  return rows;
}

/// The columns of a port, and of data and packets; with `rates` also how fast they grow.
std::vector<report::Column<TrafficRow>> traffic_columns(bool rates) {
  auto columns = listed_columns_of<TrafficRow>({"node_description", "lid", "port_num", "peer.node_description"});
  std::ranges::find(columns, "port_num", &report::ColumnInfo::key)->get = [](const TrafficRow& row) {
    return row.all_ports ? Cell() : std::uint64_t{row.fabric->subnet.port(row.port).number};
  };
  columns.push_back({{.key = "error", .heading = "ERROR"},
                     [](const TrafficRow& row) { return report::text_cell(row.failure ? row.failure->message() : ""); }});
  for (std::size_t at = 0; at < traffic_counters.size(); ++at) {
    const TrafficCounter& counter = traffic_counters.at(at);
    const FieldInfo& field = counter.field();
    columns.push_back({{.key = field.name, .heading = dialects_of(field).libibmad, .measure = report::counter(field.unit), .usual = !rates},
                       [at](const TrafficRow& row) { return row.failure ? Cell() : row.counts.at(at).now; }});
    if (!rates) continue;
    columns.push_back({{.key = counter.rate_key, .heading = counter.rate_heading, .measure = report::gauge(), .usual = true},
                       [at](const TrafficRow& row) { return row.failure ? Cell() : report::cell(row.counts.at(at).per_second); }});
  }
  return columns;
}

/// Throws UsageError for options that name a column that is not there, or for JSON as rows of ports.
void check_traffic_table(const TableOptions& options, Format format, bool rates) {
  options.refuse_for_json(format, "ports with their counters in columns", "counters in lists");
  report::Table<TrafficRow>(traffic_columns(rates), options);
}

class TrafficReport final : public FabricReport {
 public:
  TrafficReport(const Fabric& of, const CommonOptions& options)
      : FabricReport(of), verbose_(options.error_level() >= 1), int_names_(options.int_names) {}

  void visit(report::Sink& sink) const override {
    if (round && !fabric.subnet.ports().empty()) report::announce(sink, [this](report::Sink& to) { visit(to, {example()}); });
    visit(sink, rows);
  }
  /// The summary; of a report about one port, its row.
  void text(TextOut& out) const override {
    if (single) return row_text(out, rows.front());
    out.write("## Summary: 0 nodes checked, 0 bad nodes found\n");
    out.print("##          {} ports checked, 0 ports have errors beyond threshold\n", checked_);
  }

  void emit(Emit& emit, const TableOptions& options) {
    if (!options.given()) return emit(*this);
    auto table = report::Table<TrafficRow>(traffic_columns(round.has_value()), options);
    TableReport<TrafficRow> shown(fabric, "ports", std::move(table), std::move(rows));
    shown.round = round;
    emit(shown);
  }

  /// Adds a row. With `out` it is printed, and not kept.
  void add(TrafficRow row, TextOut* out) {
    if (!row.failure) ++checked_;
    if (out != nullptr) return row_text(*out, row);
    rows.push_back(std::move(row));
  }

  std::vector<TrafficRow> rows;  ///< as far as they are kept
  bool single{};                 ///< the report is about one port and has no summary
  std::optional<Round> round{};  ///< of one of several readings: in JSON, an element of the open list

 private:
  std::string place(const TrafficRow& row) const {
    const unsigned lid = fabric.subnet.lid(row.port).value;
    const std::string called(subnet::name_of(fabric.subnet.node(fabric.subnet.port(row.port).node), &fabric.names));
    return fmt::format("Error check lid {}{} {}:", lid, called.empty() ? "" : fmt::format(" ({})", escaped(called)), number_text(row));
  }
  std::string number_text(const TrafficRow& row) const {
    return row.all_ports ? "all ports" : fmt::format("port {}", fabric.subnet.port(row.port).number);
  }
  void row_text(TextOut& out, const TrafficRow& row) const {
    constexpr std::size_t dots = 33;
    if (row.failure) {
      if (!single) out.print("{} not read\n#error: {}\n", place(row), row.failure->message());
      return;  // of a single row, the error that ends the command says it
    }
    if (verbose_ && single) out.print("{} ", place(row));
    out.print("# Port counters: Lid {} {}\n", fabric.subnet.lid(row.port).value, number_text(row));
    for (std::size_t at = 0; at < row.counts.size(); ++at) {
      const std::string counter = styled_name(traffic_counters.at(at).field(), int_names_ ? NameStyle::iba : NameStyle::perfquery) + ':';
      out.write(growth_line(fmt::format("{:.<{}}", counter, dots + 1), row.counts.at(at)));
    }
    if (verbose_) out.print("{}OK\n", single ? "" : place(row) + ' ');
  }
  TrafficRow example() const {
    TrafficRow row{{&fabric, 0}};
    for (std::size_t at = 0; at < row.counts.size(); ++at) row.counts.at(at).counter = &traffic_counters.at(at).field();
    return row;
  }
  /// Writes the members; of an element of a list, it.
  void visit(report::Sink& sink, const std::vector<TrafficRow>& ports) const {
    if (round) begin_round(sink, *round);
    sink.begin_array("ports");
    if (!round && !fabric.subnet.ports().empty()) report::announce(sink, [this](report::Sink& to) { visit_row(to, example()); });
    for (const TrafficRow& row : ports) visit_row(sink, row);
    sink.end_array();
    visit_failures(sink);
    if (round) sink.end_object();
  }
  void visit_row(report::Sink& sink, const TrafficRow& row) const {
    sink.begin_object();
    visit_names(sink, fabric.subnet.port(row.port).node);
    sink.value("lid", fabric.subnet.lid(row.port));
    row.all_ports ? sink.null("port_num") : sink.value("port_num", fabric.subnet.port(row.port).number);
    sink.text_or_null("error", row.failure ? row.failure->message() : "");
    sink.begin_array("traffic");
    for (const counters::CounterChange& change : row.counts) {
      if (row.failure) break;
      if (round) {
        visit_growth(sink, change);
        continue;
      }
      sink.begin_object();
      sink.value("counter", change.counter->name);
      sink.value("count", change.now, report::counter(change.counter->unit));
      sink.end_object();
    }
    sink.end_array();
    sink.end_object();
  }

  const bool verbose_, int_names_;
  std::size_t checked_{};  ///< rows with counts that were added
};

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
    first.fabric = co_await discover(session, discovery_);
    first.paths.emplace(first.fabric.subnet, session.stack().here());
    co_await session.stack().read_service_levels(*first.paths);
    first.nodes = nodes_of(first.fabric);
    WatchedFabric watched(session, discovery_, first, nodes_of);
    const auto once = [&](Round round) { return read_once(session.stack(), emit, watched, std::move(round)); };
    if (interval_.repeats()) {
      co_await repeat(session.stack(), emit, interval_, once);
    } else {
      co_await once(Round());
    }
    note_discovered(session.host(), "all_LIDs, all_NodeDescription, all_NodeInfo, all_PortInfo, all_topology");
  }

 private:
  async::Task<> read_once(Stack& stack, Emit& emit, WatchedFabric& watched, Round round) {
    co_await watched.renew();
    const Fabric& fabric = watched.now().fabric;
    TrafficReport report(fabric, stack.host().options());
    if (interval_.repeats()) report.round = std::move(round);
    bool any = false;
    std::vector<TrafficRow> waiting;  // rows before the first known one: if nothing can be read, only the failures are printed
    const auto print = [&] {
      for (TrafficRow& row : waiting) report.add(std::move(row), emit.json() || table_.given() ? nullptr : &emit.text());
      waiting.clear();
    };
    counters::ReadingPlan plan;
    plan.owners = interval_.repeats() ? owner_transactor(stack) : owner_transactor(stack, discovery_.load_cache);
    plan.counts = counters::ReadingPlan::Counts::traffic;
    plan.ports = counters::ReadingPlan::Ports::of_hosts;
    plan.on_node = [&](const counters::PmaNode& node) {
      for (TrafficRow& row : traffic_of(fabric, node, watched.history())) {
        if (only_up_ && !row.all_ports && fabric.subnet.port(row.port).is_polling_or_disabled()) continue;
        any = any || !row.failure;
        waiting.push_back(std::move(row));
      }
      if (any) print();
    };
    counters::PmaReadings readings = co_await watched.read(std::move(plan));
    require_read(any, readings.failures);
    print();
    report.add_failures(stack.host(), std::move(readings.failures));
    report.emit(emit, table_);
    emit.raise(report.status());
    if (report.round) emit.flush();  // each reading is visible immediately
  }

  static std::vector<NodeIndex> nodes_of(const Fabric& fabric) { return subnet::breadth_first(fabric.subnet); }

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
    TrafficReport report(fabric, session.host().options());
    report.single = true;
    TrafficRow& row = report.rows.emplace_back(TrafficRow{{&fabric, one.port}, one.all_ports});
    if (!reading) row.failure = reading.shared_error();
    if (reading) row.add({nullptr, *reading, {}});
    report.emit(emit, table_);
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
