// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Ports with errors as a table: what is known of the port, its counters in words, and a column for each counter.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "iba/dialects.hpp"
#include "tools/ibqueryerrors/report.hpp"

namespace ib::tools::ibqueryerrors {
namespace {

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
  const std::vector<std::size_t> errors = line.report->rules.errors_of(line.counts);
  std::string words = words_of(line.counts, [&](std::size_t column) { return std::ranges::find(errors, column) != errors.end(); });
  return report::Nested{std::move(words), [&line](report::Sink& sink, std::string_view key) {
                          line.report->visit_errors(sink, key, line.counts, line.report->rules.errors_of(line.counts));
                        }};
}

Cell details_cell(const ErrorLine& line) {
  const auto is_detail = [](std::size_t column) {
    return counters::columns[column].source == counters::Source::discard_details ||
           counters::columns[column].source == counters::Source::error_details;
  };
  return report::Nested{words_of(line.counts, is_detail),
                        [&line](report::Sink& sink, std::string_view key) { ErrorReport::visit_details(sink, key, line.counts); }};
}

template <std::size_t column>
Cell count_cell(const ErrorLine& line) {
  return report::cell(line.counts.count(column));
}

/// A column for each counter that is read. Usual ones are data, and without errors packets too.
template <std::size_t... at>
void add_counters(Columns& to, const Wanted& wanted, std::index_sequence<at...> /*of counters::columns*/) {
  const auto add = [&](std::size_t column, Cell (*get)(const ErrorLine&)) {
    const counters::Column& of = counters::columns[column];
    const bool is_read = of.source == counters::Source::counters
                             ? (of.is_traffic() ? wanted.data || wanted.data_only : !wanted.data_only)
                             : of.source != counters::Source::fec && wanted.details && !wanted.data_only;
    if (!is_read) return;
    const counters::CounterInfo* counter = counters::find_counter(of.field);
    const counters::CounterRow row;
    const FieldInfo& field = row.named_field(column);
    const bool is_usual =
        counter != nullptr && counter->traffic && counter->narrow != nullptr && (wanted.data_only || counter->octets != 0);
    to.push_back(
        {{.key = of.field, .heading = dialects_of(field).libibmad, .measure = report::counter(field.unit), .usual = is_usual}, get});
  };
  (add(at, count_cell<at>), ...);
}

}  // namespace

Columns error_columns(const Wanted& wanted) {
  Columns columns = listed_columns_of<ErrorLine>({"node_description", "port_num", "peer.node_description", "peer.port_num"});
  if (!wanted.data_only) columns.push_back({{.key = "errors", .heading = "ERRORS", .usual = true, .is_list = true}, errors_cell});
  if (wanted.details && !wanted.data_only)
    columns.push_back({{.key = "details", .heading = "DETAILS", .usual = true, .is_list = true}, details_cell});
  add_counters(columns, wanted, std::make_index_sequence<counters::columns.size()>());
  return columns;
}

}  // namespace ib::tools::ibqueryerrors
