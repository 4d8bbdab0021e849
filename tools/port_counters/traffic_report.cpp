// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/port_counters/traffic_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/escape.hpp"
#include "iba/dump.hpp"
#include "subnet/names.hpp"

namespace ib::tools::port_counters {
namespace {

const subnet::CounterInfo& info_of(std::string_view name) {
  return *std::ranges::find(subnet::counter_infos(), name, &subnet::CounterInfo::name);
}

}  // namespace

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
    const std::string counter = name(*info_of(traffic_counters.at(at)).narrow);
    out.print("{}:{:.<{}}", counter, "", dots - std::min(dots, counter.size()));
    const std::uint64_t value = row.counts.at(at).value;
    if (row.deltas.at(at).value_or(0) != 0 && row.rates.at(at)) {
      out.print("{:<8} (+ {:.3f}/s)\n", value, *row.rates.at(at));
    } else {
      out.print("{}\n", value);
    }
  }
  if (verbose && single) out.write("OK\n");
  if (verbose && !single) out.print("{} OK\n", place(row));
}

void TrafficReport::text(TextOut& out) const {
  for (const TrafficRow& row : rows) row_text(out, row);
  if (single) return;
  out.write("## Summary: 0 nodes checked, 0 bad nodes found\n");
  out.print("##          {} ports checked, {} ports have errors beyond threshold\n", rows.size(),
            std::ranges::count_if(rows, [](const TrafficRow& row) { return !row.failure.empty(); }));
}

void TrafficReport::visit(out::Sink& sink) const {
  if (element) {
    sink.begin_object();
    sink.value("time", round.time);
    round.seconds ? sink.value("seconds", *round.seconds) : sink.null("seconds");
  }
  sink.begin_array("ports");
  for (const TrafficRow& row : rows) {
    sink.begin_object();
    visit_names(sink, fabric.subnet.port(row.port).node);
    sink.value("lid", fabric.subnet.lid(row.port));
    row.all_ports ? sink.null("port_num") : sink.value("port_num", fabric.subnet.port(row.port).number);
    sink.text_or_null("error", row.failure);
    sink.begin_array("traffic");
    for (std::size_t at = 0; at < traffic_counters.size() && row.failure.empty(); ++at) {
      sink.begin_object();
      sink.value("counter", traffic_counters.at(at));
      sink.value("count", row.counts.at(at).value);
      if (element) {
        row.deltas.at(at) ? sink.value("delta", *row.deltas.at(at)) : sink.null("delta");
        row.rates.at(at) ? sink.value("per_second", *row.rates.at(at)) : sink.null("per_second");
      }
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
