// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include <algorithm>

#include "iba-gen/pm.hpp"
#include "tools/ibqueryerrors/report.hpp"

namespace ib::tools::ibqueryerrors {
namespace {

void visit_details(report::Sink& sink, const counters::CounterRow& row, counters::Source source) {
  for (std::size_t column = 0; column < counters::columns.size(); ++column) {
    if (counters::columns[column].source != source || !row.is_known(column)) continue;
    sink.begin_object();
    sink.value("counter", counters::columns[column].field);
    sink.value("count", row.value(column), report::counter(row.field(column).unit));
    sink.end_object();
  }
}

}  // namespace

void ErrorReport::visit_reading(report::Sink& sink, const counters::PmaReading& reading) const {
  if (!wanted.data_only) {
    sink.objects("errors", rules.errors_of(reading), [&](const CountedError& error) {
      sink.value("counter", error.counter->name);
      sink.value("count", error.value.value, report::counter(error.counter->field().unit));
      sink.value("threshold", error.threshold);
      sink.value("saturated", error.value.saturated());
    });
  }
  if (wanted.details) {
    sink.begin_array("details");
    visit_details(sink, reading.row, counters::Source::discard_details);
    visit_details(sink, reading.row, counters::Source::error_details);
    sink.end_array();
  }
  if (!wanted.data && !wanted.data_only) return;
  sink.array("traffic", counters::counter_infos(), [&](const counters::CounterInfo& counter) {
    const counters::CounterValue value = counter.traffic ? reading.row.count(counters::column_of(counter.name)) : counters::CounterValue{};
    if (!value.known()) return;
    sink.begin_object();
    sink.value("counter", counter.name);
    sink.value("count", value.value, report::counter(counter.field().unit));
    sink.end_object();
  });
}

void ErrorReport::visit_node(report::Sink& sink, const counters::PmaNode& node) const {
  sink.begin_object();
  visit_names(sink, node.node);
  if (node.all && is_told(*node.all)) {
    sink.begin_object("all_ports");
    visit_reading(sink, *node.all);
    sink.end_object();
  } else {
    sink.null_object("all_ports", [this](report::Sink& unknown) {
      if (!wanted.data_only) unknown.null("errors");
      if (wanted.details) unknown.null("details");
      if (wanted.data || wanted.data_only) unknown.null("traffic");
    });
  }
  sink.array("ports", node.ports, [&](const counters::PmaReading& reading) {
    if (!is_told(reading)) return;
    sink.begin_object();
    visit_port_members(sink, reading.port);
    visit_reading(sink, reading);
    sink.end_object();
  });
  sink.end_object();
}

void ErrorReport::visit(report::Sink& sink) const {
  sink.array("nodes", readings.nodes, [&](const counters::PmaNode& node) {
    const bool told = (node.all && is_told(*node.all)) ||
                      std::ranges::any_of(node.ports, [this](const counters::PmaReading& reading) { return is_told(reading); });
    if (told) visit_node(sink, node);
  });
  sink.value("nodes_checked", nodes_checked);
  sink.value("nodes_bad", bad_nodes);
  sink.value("ports_checked", ports_checked);
  sink.value("ports_bad", bad_ports);
  sink.objects("thresholds", rules.thresholds(), [&](const counters::ErrorThresholds::Threshold& threshold) {
    sink.value("counter", threshold.counter->name);
    sink.value("threshold", threshold.value);
  });
  sink.array("suppressed", rules.suppressed(), [&](const std::string& counter) {
    const auto field = std::ranges::find(pm::PortCounters::info().fields, counter, &FieldInfo::libibmad_name);
    sink.value({}, field->name);
  });
  visit_failures(sink);
}

}  // namespace ib::tools::ibqueryerrors
