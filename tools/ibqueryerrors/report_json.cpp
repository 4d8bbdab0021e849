// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Ports with errors in JSON, and as a table: what is known of the port, its counters in words, and a column for each counter.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "iba-gen/pm.hpp"
#include "iba/dialects.hpp"
#include "report/sink.hpp"
#include "tools/ibqueryerrors/ibqueryerrors.hpp"

namespace ib::tools::ibqueryerrors {
namespace {

void visit_count(report::Sink& sink, const counters::CounterRow& row, std::size_t column) {
  sink.value("counter", counters::columns[column].field);
  sink.value("count", row.value(column), report::counter(row.field(column).unit));
}

template <class IsWanted>
void visit_counts(report::Sink& sink, const counters::CounterRow& row, IsWanted is_wanted) {
  for (std::size_t column = 0; column < counters::columns.size(); ++column) {
    if (!is_wanted(counters::columns[column]) || !row.is_known(column)) continue;
    sink.begin_object();
    visit_count(sink, row, column);
    sink.end_object();
  }
}

void visit_errors(report::Sink& sink, std::string_view key, const QueryOptions& wanted, const counters::CounterRow& row,
                  const std::vector<std::size_t>& errors) {
  sink.objects(key, errors, [&](std::size_t error) {
    visit_count(sink, row, error);
    sink.value("threshold", wanted.threshold_of(counters::columns[error].field));
    sink.value("saturated", row.is_full(error));
  });
}

void visit_details(report::Sink& sink, std::string_view key, const counters::CounterRow& row) {
  sink.begin_array(key);
  for (const counters::Source source : {counters::Source::discard_details, counters::Source::error_details})
    visit_counts(sink, row, [source](const counters::Column& column) { return column.source == source; });
  sink.end_array();
}

void visit_traffic(report::Sink& sink, std::string_view key, const counters::CounterRow& row) {
  sink.begin_array(key);
  visit_counts(sink, row, [](const counters::Column& column) { return column.is_traffic(); });
  sink.end_array();
}

using report::Cell;
using Columns = std::vector<report::Column<ErrorLine>>;

/// "SymbolErrorCounter 12, PortRcvErrors 3": the columns of the row that are known, and not 0 unless they are `errors`.
template <class IsWanted>
std::string words_of(const counters::CounterRow& row, IsWanted is_wanted) {
  std::string words;
  for (std::size_t column = 0; column < counters::columns.size(); ++column) {
    if (!row.is_known(column) || row.value(column) == 0 || !is_wanted(column)) continue;
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", dialects_of(row.named_field(column)).libibmad, row.value(column));
  }
  return words;
}

Cell errors_cell(const ErrorLine& line) {
  const std::vector<std::size_t> errors = line.report->wanted.errors_of(line.counts);
  std::string words = words_of(line.counts, [&](std::size_t column) { return std::ranges::find(errors, column) != errors.end(); });
  return report::Nested{std::move(words), [&line](report::Sink& sink, std::string_view key) {
                          visit_errors(sink, key, line.report->wanted, line.counts, line.report->wanted.errors_of(line.counts));
                        }};
}

Cell details_cell(const ErrorLine& line) {
  const auto is_detail = [](std::size_t column) {
    return counters::columns[column].source == counters::Source::discard_details ||
           counters::columns[column].source == counters::Source::error_details;
  };
  return report::Nested{words_of(line.counts, is_detail),
                        [&line](report::Sink& sink, std::string_view key) { visit_details(sink, key, line.counts); }};
}

/// A column for each counter that is read. Usual ones are data, and without errors packets too.
void add_counters(Columns& to, const QueryOptions& wanted) {
  const counters::CounterRow any;
  for (std::size_t at = 0; at < counters::columns.size(); ++at) {
    const counters::Column& of = counters::columns[at];
    const bool is_read = of.source == counters::Source::counters
                             ? (of.is_traffic() ? wanted.data || wanted.data_only : !wanted.data_only)
                             : of.source != counters::Source::fec && wanted.details && !wanted.data_only;
    if (!is_read) continue;
    const counters::CounterInfo* counter = counters::find_counter(of.field);
    const FieldInfo& field = any.named_field(at);
    const bool is_usual =
        counter != nullptr && counter->traffic && counter->narrow != nullptr && (wanted.data_only || counter->octets != 0);
    to.push_back({{.key = of.field, .heading = dialects_of(field).libibmad, .measure = report::counter(field.unit), .usual = is_usual},
                  [at](const ErrorLine& line) { return report::cell(line.counts.count(at)); }});
  }
}

}  // namespace

void visit_summary(report::Sink& sink, const counters::ErrorSummary& summary) {
  sink.value("nodes_checked", summary.nodes);
  sink.value("nodes_bad", summary.bad_nodes);
  sink.value("ports_checked", summary.ports);
  sink.value("ports_bad", summary.bad_ports);
}

void ErrorReport::visit_reading(report::Sink& sink, const counters::PmaReading& reading, const std::vector<std::size_t>& errors) const {
  if (!wanted.data_only) visit_errors(sink, "errors", wanted, reading.row, errors);
  if (wanted.details) visit_details(sink, "details", reading.row);
  if (wanted.data || wanted.data_only) visit_traffic(sink, "traffic", reading.row);
}

void ErrorReport::visit_all_ports(report::Sink& sink, const counters::PmaReading* all) const {
  if (all == nullptr) {
    return sink.null_object("all_ports", [this](report::Sink& unknown) {
      if (!wanted.data_only) unknown.null("errors");
      if (wanted.details) unknown.null("details");
      if (wanted.data || wanted.data_only) unknown.null("traffic");
    });
  }
  sink.begin_object("all_ports");
  visit_reading(sink, *all, wanted.errors_of(all->row));
  sink.end_object();
}

void ErrorReport::visit_port(report::Sink& sink, const counters::PmaReading& reading, const std::vector<std::size_t>& errors) const {
  sink.begin_object();
  visit_port_members(sink, reading.port);
  visit_reading(sink, reading, errors);
  sink.end_object();
}

/// Writes the members of a node with a port of which all counters are known and one is an error.
void ErrorReport::visit_example(report::Sink& sink) const {
  counters::PmaReading reading;
  reading.port = 0;
  reading.row.known = ~std::uint64_t{0};
  visit_names(sink, fabric.subnet.port(reading.port).node);
  visit_all_ports(sink, nullptr);
  sink.begin_array("ports");
  visit_port(sink, reading, {counters::column_of(counters::error_counters().front()->name)});
  sink.end_array();
}

void ErrorReport::visit(report::Sink& sink) const {
  sink.begin_array("nodes");
  if (!fabric.subnet.ports().empty()) report::announce(sink, [this](report::Sink& to) { visit_example(to); });
  for (const counters::PmaNode& node : readings.nodes) {
    const bool reported = (node.all && is_reported(*node.all)) ||
                          std::ranges::any_of(node.ports, [this](const counters::PmaReading& reading) { return is_reported(reading); });
    if (!reported) continue;
    sink.begin_object();
    visit_names(sink, node.node);
    visit_all_ports(sink, node.all && is_reported(*node.all) ? &*node.all : nullptr);
    sink.begin_array("ports");
    each_reported_port(node, [&](const counters::PmaReading& reading) { visit_port(sink, reading, wanted.errors_of(reading.row)); });
    sink.end_array();
    sink.end_object();
  }
  sink.end_array();
  visit_summary(sink, summary);
  sink.objects("thresholds", wanted.thresholds.all(), [&](const counters::ErrorThresholds::Threshold& threshold) {
    sink.value("counter", threshold.counter->name);
    sink.value("threshold", threshold.value);
  });
  sink.array("suppressed", wanted.suppressed, [&](const std::string& counter) {
    const auto is_called = [&counter](const FieldInfo& field) { return dialects_of(field).libibmad == counter; };
    const auto field = std::ranges::find_if(pm::PortCounters::info().fields, is_called);
    sink.value({}, field->name);
  });
  visit_failures(sink);
}

Columns error_columns(const QueryOptions& wanted) {
  Columns columns = listed_columns_of<ErrorLine>({"node_description", "port_num", "peer.node_description", "peer.port_num"});
  if (!wanted.data_only) columns.push_back({{.key = "errors", .heading = "ERRORS", .usual = true}, errors_cell});
  if (wanted.details && !wanted.data_only) columns.push_back({{.key = "details", .heading = "DETAILS", .usual = true}, details_cell});
  add_counters(columns, wanted);
  return columns;
}

}  // namespace ib::tools::ibqueryerrors
