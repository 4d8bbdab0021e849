// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/ibqueryerrors/growth.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "base/escape.hpp"
#include "iba/dialects.hpp"
#include "iba/text.hpp"
#include "report/member_names.hpp"
#include "subnet/model/names.hpp"

namespace ib::tools::ibqueryerrors {

namespace {

using Kind = counters::CounterChange::Kind;

/// The counters of errors, which come first.
std::span<const counters::CounterChange> errors_in(const counters::PortChanges& port) {
  const auto is_traffic = [](const counters::CounterChange& of) {
    return counters::columns[counters::column_of(of.counter->name)].is_traffic();
  };
  return {port.changes.begin(), std::ranges::find_if(port.changes, is_traffic)};
}

}  // namespace

counters::PortChanges GrowthReport::changes_of(const counters::RowDifference& difference) const {
  counters::PortChanges traffic = difference.traffic();
  if (wanted_.data_only) return traffic;
  counters::PortChanges port;
  port.port = traffic.port;
  port.seconds = difference.error_seconds();
  for (const counters::CounterInfo* counter : error_counters()) {
    const counters::CounterChange change = difference.change(counters::column_of(counter->name));
    const bool is_unclear = change.kind == Kind::reset || change.kind == Kind::implausible;
    const bool is_beyond = is_unclear || change.delta.value_or(0) > rules_.threshold_of(counter->name);
    if (is_beyond && !rules_.is_suppressed(*counter)) port.changes.push_back(change);
  }
  if (wanted_.data) std::ranges::move(traffic.changes, std::back_inserter(port.changes));
  return port;
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
    counters::PortChanges port = changes_of(difference);
    const auto errors = errors_in(port);
    const bool has_counted = std::ranges::any_of(errors, [](const counters::CounterChange& error) { return error.delta.has_value(); });
    bad_ports_ += has_counted ? 1 : 0;
    is_bad = is_bad || has_counted;
    if (errors.empty() && !wanted_.data_only) continue;
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

void GrowthReport::port_text(TextOut& out, const counters::PortChanges& port) const {
  std::string words;
  for (const counters::CounterChange& change : port.changes) words += growth_words(dialects_of(*change.counter).libibmad, change);
  out.print("   GUID {} port {}:{}\n", to_text(fabric.subnet.port_guid(port.port)), fabric.subnet.port(port.port).number, words);
}

void GrowthReport::text(TextOut& out) const {
  out.print("\n## Summary: {} nodes checked, {} bad nodes found\n", nodes_, bad_nodes_);
  out.print("##          {} ports checked, {} ports have errors beyond threshold\n", ports_, bad_ports_);
}

void GrowthReport::visit(report::Sink& sink) const {
  if (!fabric.subnet.ports().empty()) {
    counters::PortChanges example;
    example.port = 0;
    for (const FieldInfo* counter : {&error_counters().front()->field(), counters::find_counter("port_xmit_data")->narrow})
      example.changes.push_back({.counter = counter});
    report::announce(sink, [&](report::Sink& to) { visit(to, {example}); });
  }
  visit(sink, grown_ports_);
}

void GrowthReport::visit(report::Sink& sink, const std::vector<counters::PortChanges>& ports) const {
  begin_round(sink, round);
  sink.objects("ports", ports, [&](const counters::PortChanges& port) {
    visit_names(sink, fabric.subnet.port(port.port).node);
    visit_port_members(sink, port.port);
    sink.value("seconds", port.seconds);
    const auto errors = errors_in(port);
    if (!wanted_.data_only) {
      sink.array("errors", errors, [&](const counters::CounterChange& error) {
        visit_growth(sink, error, {.threshold = rules_.threshold_of(error.counter->name)});
      });
    }
    if (!wanted_.data && !wanted_.data_only) return;
    sink.array("traffic", std::span(port.changes).subspan(errors.size()),
               [&](const counters::CounterChange& change) { visit_growth(sink, change); });
  });
  sink.value("nodes_checked", nodes_);
  sink.value("nodes_bad", bad_nodes_);
  sink.value("ports_checked", ports_);
  sink.value("ports_bad", bad_ports_);
  visit_failures(sink);
  sink.end_object();
}

}  // namespace ib::tools::ibqueryerrors
