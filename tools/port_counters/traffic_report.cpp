// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/port_counters/traffic_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/escape.hpp"
#include "iba/dump.hpp"
#include "subnet/names.hpp"

namespace ib::tools::port_counters {

void TrafficRow::Grown::add(const counters::CounterChange& of, std::optional<double> seconds) {
  using Kind = counters::CounterChange::Kind;
  const bool is_first = !std::exchange(any, true);
  if (is_first) change = {of.kind, 0}, per_second = 0;
  // If a value is unknown for one port, the sum is unknown.
  if (change.kind == Kind::unknown || of.kind == Kind::unknown) {
    change.kind = Kind::unknown;
  } else {
    change.kind = std::max(change.kind, of.kind);
  }
  if (!of.delta || !seconds) per_second.reset();
  if (!of.delta) change.delta.reset();
  if (change.delta) *change.delta += *of.delta;
  if (per_second) *per_second += static_cast<double>(*of.delta) / *seconds;
}

GrownCounter TrafficRow::grown_counter(std::size_t at) const {
  const counters::CounterInfo& info = *counters::find_counter(traffic_counters.at(at));
  return {.name = info.name,
          .count = counts.at(at).value,
          .change = grown.at(at).change,
          .per_second = grown.at(at).per_second,
          .unit = info.field().unit};
}

void TrafficReport::add(TrafficRow row, TextOut* out) {
  if (row.failure.empty()) ++checked_;
  if (!row.failure.empty()) row.grown = {};
  if (out != nullptr) return row_text(*out, row);
  rows.push_back(std::move(row));
}

std::string TrafficReport::place(const TrafficRow& row) const {
  const unsigned lid = fabric.subnet.lid(row.port).value;
  const std::string called(subnet::name_of(fabric.subnet.node(fabric.subnet.port(row.port).node), &fabric.names));
  const std::string number = row.all_ports ? "all ports" : fmt::format("port {}", fabric.subnet.port(row.port).number);
  return fmt::format("Error check lid {}{} {}:", lid, called.empty() ? "" : fmt::format(" ({})", escaped(called)), number);
}

std::string TrafficReport::name(const FieldInfo& field) const {
  return styled_name(field, int_names ? NameStyle::iba : NameStyle::perfquery);
}

void TrafficReport::row_text(TextOut& out, const TrafficRow& row) const {
  constexpr std::size_t dots = 33;
  if (!row.failure.empty()) {
    if (!single) out.print("{} not read\n#error: {}\n", place(row), row.failure);
    return;  // of a single row, the error that ends the command says it
  }
  if (verbose && single) out.print("{} ", place(row));
  const std::string number = row.all_ports ? "all ports" : fmt::format("port {}", fabric.subnet.port(row.port).number);
  out.print("# Port counters: Lid {} {}\n", fabric.subnet.lid(row.port).value, number);
  for (std::size_t at = 0; at < traffic_counters.size(); ++at) {
    const counters::CounterInfo& info = *counters::find_counter(traffic_counters.at(at));
    const std::string counter = name(*info.narrow) + ':';
    growth_line(out, fmt::format("{:.<{}}", counter, dots + 1), row.grown_counter(at));
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
  if (element) begin_round(sink, round);
  sink.begin_array("ports");
  for (const TrafficRow& row : rows) {
    sink.begin_object();
    visit_names(sink, fabric.subnet.port(row.port).node);
    sink.value("lid", fabric.subnet.lid(row.port));
    row.all_ports ? sink.null("port_num") : sink.value("port_num", fabric.subnet.port(row.port).number);
    sink.text_or_null("error", row.failure);
    sink.begin_array("traffic");
    for (std::size_t at = 0; at < traffic_counters.size() && row.failure.empty(); ++at) {
      const GrownCounter grown = row.grown_counter(at);
      if (element) {
        visit_growth(sink, grown);
        continue;
      }
      sink.begin_object();
      sink.value("counter", grown.name);
      sink.value("count", grown.count, report::counter(grown.unit));
      sink.end_object();
    }
    sink.end_array();
    sink.end_object();
  }
  sink.end_array();
  visit_failures(sink);
  if (element) sink.end_object();
}

}  // namespace ib::tools::port_counters
