// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/port_counters/traffic_report.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/escape.hpp"
#include "iba/dump.hpp"
#include "subnet/names.hpp"

namespace ib::tools::port_counters {

void TrafficRow::Grown::add(const counters::CounterChange& change, std::optional<double> seconds) {
  const bool is_first = !std::exchange(any, true);
  if (is_first) delta = 0, per_second = 0;
  if (!change.delta || !seconds) per_second.reset();
  if (!change.delta) delta.reset();
  if (delta) *delta += *change.delta;
  if (per_second) *per_second += static_cast<double>(*change.delta) / *seconds;
}

void TrafficReport::add(TrafficRow row, TextOut* out) {
  ++checked_;
  failed_ += row.failure.empty() ? 0 : 1;
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
  if (verbose && single) out.print("{} ", place(row));
  if (!row.failure.empty()) {
    if (!(verbose && single)) out.print("{} ", place(row));
    out.write("FAILED\n");
    if (!single) out.print("#error: {}\n", row.failure);
    return;
  }
  const std::string number = row.all_ports ? "all ports" : fmt::format("port {}", fabric.subnet.port(row.port).number);
  out.print("# Port counters: Lid {} {}\n", fabric.subnet.lid(row.port).value, number);
  for (std::size_t at = 0; at < traffic_counters.size(); ++at) {
    const counters::CounterInfo& info = *counters::find_counter(traffic_counters.at(at));
    const std::string counter = name(*info.narrow) + ':';
    GrownCounter grown{.name = info.name, .count = row.counts.at(at).value, .change = {}, .per_second = row.grown.at(at).per_second};
    grown.change.delta = row.grown.at(at).delta;
    growth_line(out, fmt::format("{:.<{}}", counter, dots + 1), grown);
  }
  if (verbose && single) out.write("OK\n");
  if (verbose && !single) out.print("{} OK\n", place(row));
}

void TrafficReport::text(TextOut& out) const {
  if (single) return row_text(out, rows.front());
  out.write("## Summary: 0 nodes checked, 0 bad nodes found\n");
  out.print("##          {} ports checked, {} ports have errors beyond threshold\n", checked_, failed_);
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
      GrownCounter grown{.name = traffic_counters.at(at), .count = row.counts.at(at).value};
      grown.change.delta = row.grown.at(at).delta;
      grown.per_second = row.grown.at(at).per_second;
      grown.unit = counters::find_counter(grown.name)->field().unit;
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
  if (element) {
    sink.end_object();
  } else {
    visit_failures(sink);
  }
}

}  // namespace ib::tools::port_counters
