// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/port_counters/traffic_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/escape.hpp"
#include "iba/dialects.hpp"
#include "iba/dump.hpp"
#include "report/member_names.hpp"
#include "subnet/model/names.hpp"

namespace ib::tools::port_counters {
namespace {

using report::Cell;

constexpr std::array<std::string_view, traffic_counters.size()> headings_of_rates{"XmitData/s", "RcvData/s", "XmitPkts/s", "RcvPkts/s"};

Cell traffic_port_num(const TrafficLine& line) {
  return line.counts.all_ports ? Cell() : Cell(std::uint64_t{line.fabric->subnet.port(line.port).number});
}
template <std::size_t at>
Cell traffic_count(const TrafficLine& line) {
  return line.counts.failure ? Cell() : Cell(line.counts.changes.at(at).now);
}
template <std::size_t at>
Cell traffic_rate(const TrafficLine& line) {
  return line.counts.failure ? Cell() : report::cell(line.counts.changes.at(at).per_second);
}

template <std::size_t at>
void add_traffic_columns(std::vector<report::Column<TrafficLine>>& to, bool rates) {
  static const std::string key_of_rate = std::string(traffic_counters.at(at)) + "_per_second";
  const FieldInfo& field = *counters::find_counter(traffic_counters.at(at))->narrow;
  to.push_back({{.key = field.name, .heading = dialects_of(field).libibmad, .measure = report::counter(field.unit), .usual = !rates},
                traffic_count<at>});
  if (rates)
    to.push_back({{.key = key_of_rate, .heading = headings_of_rates.at(at), .measure = report::gauge(), .usual = true}, traffic_rate<at>});
}

}  // namespace

std::vector<report::Column<TrafficLine>> traffic_columns(bool rates) {
  auto columns = listed_columns_of<TrafficLine>({"node_description", "lid", "port_num", "peer.node_description"});
  std::ranges::find(columns, "port_num", &report::ColumnInfo::key)->get = traffic_port_num;
  columns.push_back({{.key = "error", .heading = "ERROR"},
                     [](const TrafficLine& line) { return report::text_cell(line.counts.failure ? line.counts.failure->message() : ""); }});
  add_traffic_columns<0>(columns, rates);
  add_traffic_columns<1>(columns, rates);
  add_traffic_columns<2>(columns, rates);
  add_traffic_columns<3>(columns, rates);
  return columns;
}

void check_traffic_table(const TableOptions& options, Format format, bool rates) {
  options.refuse_for_json(format, "ports with their counters in columns", "counters in lists");
  table_of<TrafficLine>(traffic_columns(rates), options);
}

void TrafficReport::emit(Emit& emit, const TableOptions& options, std::FILE* file) {
  if (!options.given()) return emit(*this);
  auto table = table_of<TrafficLine>(traffic_columns(element), options);
  std::vector<TrafficLine> lines;
  lines.reserve(rows.size());
  for (counters::PortChanges& row : rows) lines.push_back({{&fabric, row.port}, std::move(row)});
  TableReport<TrafficLine> shown(fabric, "ports", std::move(table), std::move(lines), file);
  if (element) shown.round = round;
  emit(shown);
}

void add_traffic(counters::PortChanges& row, const counters::RowDifference& difference) {
  row.changes.resize(traffic_counters.size());
  for (std::size_t at = 0; at < traffic_counters.size(); ++at)
    row.changes[at].add(difference.change(counters::column_of(traffic_counters.at(at))));
}

void TrafficReport::add(counters::PortChanges row, TextOut* out) {
  if (!row.failure) ++checked_;
  if (out != nullptr) return row_text(*out, row);
  rows.push_back(std::move(row));
}

std::string TrafficReport::place(const counters::PortChanges& row) const {
  const unsigned lid = fabric.subnet.lid(row.port).value;
  const std::string called(subnet::name_of(fabric.subnet.node(fabric.subnet.port(row.port).node), &fabric.names));
  const std::string number = row.all_ports ? "all ports" : fmt::format("port {}", fabric.subnet.port(row.port).number);
  return fmt::format("Error check lid {}{} {}:", lid, called.empty() ? "" : fmt::format(" ({})", escaped(called)), number);
}

std::string TrafficReport::name(const FieldInfo& field) const {
  return styled_name(field, int_names ? NameStyle::iba : NameStyle::perfquery);
}

void TrafficReport::row_text(TextOut& out, const counters::PortChanges& row) const {
  constexpr std::size_t dots = 33;
  if (row.failure) {
    if (!single) out.print("{} not read\n#error: {}\n", place(row), row.failure->message());
    return;  // of a single row, the error that ends the command says it
  }
  if (verbose && single) out.print("{} ", place(row));
  const std::string number = row.all_ports ? "all ports" : fmt::format("port {}", fabric.subnet.port(row.port).number);
  out.print("# Port counters: Lid {} {}\n", fabric.subnet.lid(row.port).value, number);
  for (std::size_t at = 0; at < traffic_counters.size(); ++at) {
    const counters::CounterInfo& info = *counters::find_counter(traffic_counters.at(at));
    const std::string counter = name(*info.narrow) + ':';
    growth_line(out, fmt::format("{:.<{}}", counter, dots + 1), row.changes.at(at));
  }
  if (verbose && single) out.write("OK\n");
  if (verbose && !single) out.print("{} OK\n", place(row));
}

void TrafficReport::text(TextOut& out) const {
  if (single) return row_text(out, rows.front());
  out.write("## Summary: 0 nodes checked, 0 bad nodes found\n");
  out.print("##          {} ports checked, 0 ports have errors beyond threshold\n", checked_);
}

void TrafficReport::visit(report::Sink& sink) const {
  counters::PortChanges example;
  example.port = 0;
  for (const std::string_view counter : traffic_counters) example.changes.push_back({.counter = counters::find_counter(counter)->narrow});
  const bool has_example = !fabric.subnet.ports().empty();
  if (element) {
    if (has_example) report::announce(sink, [&](report::Sink& to) { visit_element(to, {example}); });
    return visit_element(sink, rows);
  }
  sink.begin_array("ports");
  if (has_example) report::announce(sink, [&](report::Sink& to) { visit_row(to, example); });
  for (const counters::PortChanges& row : rows) visit_row(sink, row);
  sink.end_array();
  visit_failures(sink);
}

void TrafficReport::visit_element(report::Sink& sink, const std::vector<counters::PortChanges>& ports) const {
  begin_round(sink, round);
  sink.array("ports", ports, [&](const counters::PortChanges& row) { visit_row(sink, row); });
  visit_failures(sink);
  sink.end_object();
}

void TrafficReport::visit_row(report::Sink& sink, const counters::PortChanges& row) const {
  sink.begin_object();
  visit_names(sink, fabric.subnet.port(row.port).node);
  sink.value("lid", fabric.subnet.lid(row.port));
  row.all_ports ? sink.null("port_num") : sink.value("port_num", fabric.subnet.port(row.port).number);
  sink.text_or_null("error", row.failure ? row.failure->message() : "");
  sink.begin_array("traffic");
  for (std::size_t at = 0; at < traffic_counters.size() && !row.failure; ++at) {
    const counters::CounterChange& change = row.changes.at(at);
    if (element) {
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

}  // namespace ib::tools::port_counters
