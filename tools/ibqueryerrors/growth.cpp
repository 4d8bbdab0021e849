// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/ibqueryerrors/growth.hpp"

#include <fmt/format.h>

#include "base/escape.hpp"
#include "iba/text.hpp"
#include "subnet/names.hpp"
#include "tools/shared/diags_fabric.hpp"

namespace ib::tools::ibqueryerrors {
std::vector<Growth> GrowthReport::errors_of(const subnet::PmaReading& now, const subnet::PmaReading& before) const {
  std::vector<Growth> errors;
  for (const subnet::CounterInfo* counter : error_counters()) {
    const subnet::CounterValue value = now.error_count(*counter);
    const auto delta = subnet::least_growth(before.error_count(*counter), value);
    const std::uint64_t threshold = rules_.threshold_of(*counter);
    if (delta && *delta > threshold && !rules_.is_suppressed(*counter)) errors.push_back({counter, value.value, *delta, threshold});
  }
  return errors;
}

std::vector<Growth> GrowthReport::traffic_of(const subnet::PmaReading& now, const subnet::PmaReading& before) const {
  std::vector<Growth> traffic;
  for (const subnet::CounterInfo& counter : subnet::counter_infos()) {
    if (!counter.traffic) continue;
    const subnet::CounterValue value = now.traffic_count(counter);
    if (const auto delta = subnet::least_growth(before.traffic_count(counter), value)) traffic.push_back({&counter, value.value, *delta});
  }
  return traffic;
}

void GrowthReport::take(const subnet::PmaReadings& now, std::map<subnet::PortIndex, subnet::PmaReading>& before) {
  nodes_ = now.nodes.size();
  for (const subnet::PmaNode& node : now.nodes) {
    bool bad = false;
    for (const subnet::PmaReading& reading : node.ports) {
      ++ports_;
      if (!reading.known()) continue;
      if (const auto last = before.find(reading.port); last != before.end()) {
        Row row{reading.port, {}, {}};
        row.error_seconds = seconds_between(last->second.error_time(), reading.error_time());
        row.traffic_seconds = seconds_between(last->second.traffic_time(), reading.traffic_time());
        if (!wanted_.data_only) row.errors = errors_of(reading, last->second);
        if (!row.errors.empty()) ++bad_ports_;
        bad = bad || !row.errors.empty();
        if (wanted_.data || wanted_.data_only) row.traffic = traffic_of(reading, last->second);
        if (!row.errors.empty() || wanted_.data_only) rows_.push_back(std::move(row));
      }
      before[reading.port] = reading;
    }
    bad_nodes_ += bad ? 1 : 0;
  }
}

std::string GrowthReport::growth_text(const std::vector<Growth>& growth, std::optional<double> seconds) {
  std::string text;
  for (const Growth& one : growth) {
    if (one.delta == 0) continue;
    const double rate = seconds ? static_cast<double>(one.delta) / *seconds : 0;
    text += fmt::format(" [{} + {} ({:.3f}/s)]", counter_name(*one.counter), one.delta, rate);
  }
  return text;
}

void GrowthReport::text(TextOut& out) const {
  subnet::NodeIndex last = subnet::none;
  for (const Row& row : rows_) {
    const subnet::Port& port = fabric.subnet.port(row.port);
    const subnet::Node& node = fabric.subnet.node(port.node);
    if (port.node != last) {
      out.print("{} for {} {}\n", wanted_.data_only ? "Data Counters" : "Errors", to_text(node.guid()),
                quoted(subnet::name_of(node, &fabric.names)));
    }
    last = port.node;
    out.print("   GUID {} port {}:{}{}\n", to_text(fabric.subnet.port_guid(row.port)), port.number,
              growth_text(row.errors, row.error_seconds), growth_text(row.traffic, row.traffic_seconds));
  }
  out.print("\n## Summary: {} nodes checked, {} bad nodes found\n", nodes_, bad_nodes_);
  out.print("##          {} ports checked, {} ports have errors beyond threshold\n", ports_, bad_ports_);
}

void GrowthReport::visit_growth(out::Sink& sink, std::string_view key, const std::vector<Growth>& growth, std::optional<double> seconds) {
  sink.begin_array(key);
  for (const Growth& one : growth) {
    sink.begin_object();
    sink.value("counter", one.counter->name);
    sink.value("count", one.count);
    sink.value("delta", one.delta);
    seconds ? sink.value("per_second", static_cast<double>(one.delta) / *seconds) : sink.null("per_second");
    if (!one.counter->traffic) sink.value("threshold", one.threshold);
    sink.end_object();
  }
  sink.end_array();
}

void GrowthReport::visit(out::Sink& sink) const {
  sink.begin_object();
  sink.value("time", round.time);
  round.seconds ? sink.value("seconds", *round.seconds) : sink.null("seconds");
  sink.begin_array("ports");
  for (const Row& row : rows_) {
    sink.begin_object();
    visit_names(sink, fabric.subnet.port(row.port).node);
    visit_port_members(sink, row.port);
    const std::optional<double> seconds = wanted_.data_only ? row.traffic_seconds : row.error_seconds;
    seconds ? sink.value("seconds", *seconds) : sink.null("seconds");
    if (!wanted_.data_only) visit_growth(sink, "errors", row.errors, row.error_seconds);
    if (wanted_.data || wanted_.data_only) visit_growth(sink, "traffic", row.traffic, row.traffic_seconds);
    sink.end_object();
  }
  sink.end_array();
  sink.value("nodes_checked", nodes_);
  sink.value("nodes_bad", bad_nodes_);
  sink.value("ports_checked", ports_);
  sink.value("ports_bad", bad_ports_);
  sink.end_object();
}

}  // namespace ib::tools::ibqueryerrors
