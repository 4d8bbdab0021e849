// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// How a command shows a table of columns: --format with table and wide, --columns, --sort and --top. A text has the usual columns and fits
// the terminal; CSV, TSV and JSON have all columns.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "report/columns.hpp"
#include "report/table.hpp"
#include "tools/frame/report.hpp"
#include "tools/shared/fabric_report.hpp"
#include "tools/shared/interval.hpp"

namespace ib::tools {

class Emit;
class Host;
class OptionSet;
struct CommonOptions;
enum class Format : std::uint8_t;

struct TableOptions : report::TableChoice {
  bool as_table{};

  /// Whether the command line wants a table, and not the text that the command has besides.
  bool given() const { return as_table || wide || columns || sort || top; }

  /// For a table with other rows than the list of JSON: throws UsageError where --columns, --sort or --top are given with JSON.
  void refuse_for_json(Format format, std::string_view rows, std::string_view of_json) const;
};

/// Shows the list of the document as a table, if `options` want one. `usual`: the keys of the columns of a text.
void show_list(Emit& emit, const TableOptions& options, const Host& host, std::string_view usual);

/// Adds --format, which takes the place of the common one, --columns, --sort and --top. `keys` are the keys of the columns.
void add_table_options(OptionSet& set, CommonOptions& common, TableOptions& options, std::vector<std::string> keys);
/// As above, for a table whose columns the rest of the command line decides, or of show_list().
void add_table_options(OptionSet& set, CommonOptions& common, TableOptions& options,
                       const std::function<std::vector<std::string>()>& keys = {});

template <class Columns>
std::vector<std::string> keys_of(const Columns& columns) {
  std::vector<std::string> keys;
  for (const auto& column : columns) keys.emplace_back(column.key);
  return keys;
}

/// The width of the terminal that gets the text.
std::size_t table_width(const TextOut& out);

template <class Row>
struct ListReport final : Report {
  /// `member` is the name of the list in JSON.
  ListReport(std::string_view member, report::Table<Row> shown, std::vector<Row> lines)
      : key(member), table(std::move(shown)), rows(std::move(lines)) {
    table.arrange(rows);
  }

  void visit(report::Sink& sink) const override { table.visit(sink, key, rows); }
  void text(TextOut& out) const override {
    table.write_text(rows, table_width(out), [&out](std::string_view line) { out.write(line); });
  }

  std::string_view key;
  report::Table<Row> table;
  std::vector<Row> rows;
};

/// Emits `report`, or if there is a `list` that in its place, with the exit status of the report.
void emit_either(Emit& emit, const Report& report, const Report* list);

/// Emits `report`, or where `options` want a table the list of its rows, which `lines` makes. The exit status is as of the report.
template <class Row, class Lines>
void emit_either(Emit& emit, const TableOptions& options, const Report& report, std::string_view member,
                 std::span<const report::Column<Row>> columns, Lines lines) {
  if (!options.given()) return emit_either(emit, report, nullptr);
  const ListReport<Row> list(member, report::Table<Row>(columns, options), lines());
  emit_either(emit, report, &list);
}

/// A list of a fabric as a table.
template <class Row>
struct TableReport : FabricReport {
  TableReport(const Fabric& of, std::string_view member, report::Table<Row> shown, std::vector<Row> lines)
      : FabricReport(of), list(member, std::move(shown), std::move(lines)) {}

  void visit(report::Sink& sink) const override {
    if (round) begin_round(sink, *round);
    list.visit(sink);
    visit_failures(sink);
    if (round) sink.end_object();
  }
  void text(TextOut& out) const override {
    if (round && !round->seconds) return;
    if (round) out.print("{}\n", round->time);
    list.text(out);
  }

  ListReport<Row> list;
  /// Of one of several readings, in JSON an element of the list that is open. The first one has no text: there are no rates yet.
  std::optional<Round> round{};
};

/// Two lists of a fabric for JSON, where a table has either.
template <class First, class Second>
struct DocumentReport final : FabricReport {
  DocumentReport(const Fabric& of, ListReport<First> one, ListReport<Second> other)
      : FabricReport(of), first(std::move(one)), second(std::move(other)) {}

  void visit(report::Sink& sink) const override {
    first.visit(sink);
    second.visit(sink);
    visit_failures(sink);
  }

  ListReport<First> first;
  ListReport<Second> second;
};

}  // namespace ib::tools
