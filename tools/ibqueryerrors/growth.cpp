// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/ibqueryerrors/growth.hpp"

#include <algorithm>
#include <utility>

#include "base/escape.hpp"
#include "iba/text.hpp"
#include "subnet/names.hpp"

namespace ib::tools::ibqueryerrors {

using Kind = counters::CounterChange::Kind;

std::vector<Growth> GrowthReport::errors_of(const counters::RowDifference& difference) const {
  std::vector<Growth> errors;
  for (const counters::CounterInfo* counter : error_counters()) {
    const counters::CounterChange change = difference.change(counters::column_of(counter->name));
    const std::uint64_t threshold = rules_.threshold_of(*counter);
    const bool is_unclear = change.kind == Kind::reset || change.kind == Kind::implausible;
    if (rules_.is_suppressed(*counter) || (!is_unclear && change.delta.value_or(0) <= threshold)) continue;
    errors.emplace_back(change, difference.error_seconds());
    errors.back().threshold = threshold;
  }
  return errors;
}

void GrowthReport::take(const counters::PmaNode& node, counters::CounterHistory& history, TextOut* out) {
  ++nodes_;
  bool is_bad = false, has_heading = false;
  for (const counters::PmaReading& reading : node.ports) {
    ++ports_;
    if (!reading.known()) continue;
    const counters::CounterKey key = counters::counter_key(fabric.subnet, node.node, reading.select);
    const std::optional<counters::CounterRow> before = history.take(key, reading.row);
    if (!before) continue;
    const counters::RowDifference difference(&*before, reading.row, counters::octets_per_second(fabric.subnet, reading.port));
    GrownPort port{reading.port, {}, {}, wanted_.data_only ? difference.traffic_seconds() : difference.error_seconds()};
    if (!wanted_.data_only) port.errors = errors_of(difference);
    if (wanted_.data || wanted_.data_only) port.traffic = traffic_growth(difference);
    const bool has_counted = std::ranges::any_of(port.errors, [](const Growth& error) { return error.change.delta.has_value(); });
    bad_ports_ += has_counted ? 1 : 0;
    is_bad = is_bad || has_counted;
    if (port.errors.empty() && !wanted_.data_only) continue;
    if (out == nullptr) {
      grown_ports_.push_back(std::move(port));
      continue;
    }
    if (!std::exchange(has_heading, true)) {
      const subnet::Node& of = fabric.subnet.node(node.node);
      out->print("{} for {} {}\n", wanted_.data_only ? "Data Counters" : "Errors", to_text(of.guid()),
                 in_quotes(subnet::name_of(of, &fabric.names)));
    }
    port_text(*out, port);
  }
  bad_nodes_ += is_bad ? 1 : 0;
}

void GrowthReport::port_text(TextOut& out, const GrownPort& port) const {
  std::string words;
  for (const auto* list : {&port.errors, &port.traffic}) {
    for (const Growth& counter : *list) words += growth_words(counter.change.counter->libibmad_name, counter);
  }
  out.print("   GUID {} port {}:{}\n", to_text(fabric.subnet.port_guid(port.port)), fabric.subnet.port(port.port).number, words);
}

void GrowthReport::text(TextOut& out) const {
  out.print("\n## Summary: {} nodes checked, {} bad nodes found\n", nodes_, bad_nodes_);
  out.print("##          {} ports checked, {} ports have errors beyond threshold\n", ports_, bad_ports_);
}

void GrowthReport::visit(report::Sink& sink) const {
  begin_round(sink, round);
  sink.objects("ports", grown_ports_, [&](const GrownPort& port) {
    visit_names(sink, fabric.subnet.port(port.port).node);
    visit_port_members(sink, port.port);
    sink.value("seconds", port.seconds);
    if (!wanted_.data_only) visit_growth(sink, "errors", port.errors, {.threshold = true});
    if (wanted_.data || wanted_.data_only) visit_growth(sink, "traffic", port.traffic);
  });
  sink.value("nodes_checked", nodes_);
  sink.value("nodes_bad", bad_nodes_);
  sink.value("ports_checked", ports_);
  sink.value("ports_bad", bad_ports_);
  visit_failures(sink);
  sink.end_object();
}

}  // namespace ib::tools::ibqueryerrors
