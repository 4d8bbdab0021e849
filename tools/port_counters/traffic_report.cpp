// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/port_counters/traffic_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/escape.hpp"
#include "iba/dump.hpp"
#include "subnet/names.hpp"

namespace ib::tools::port_counters {

void TrafficReport::add(TrafficRow row, TextOut* out) {
  if (row.failure.empty()) ++checked_;
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
    growth_line(out, fmt::format("{:.<{}}", counter, dots + 1), row.counts.at(at));
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
      const Growth& grown = row.counts.at(at);
      if (element) {
        visit_growth(sink, grown);
        continue;
      }
      sink.begin_object();
      sink.value("counter", grown.change.counter->name);
      sink.value("count", grown.change.now, report::counter(grown.change.counter->unit));
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
