// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// How a command shows a table of columns: --format with table and wide, --columns, --sort and --top. A text has the usual columns, at most
// eight, and fits the terminal; CSV, TSV and JSON have all columns.
#pragma once

#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/columns.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/terminal.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools {

struct TableOptions {
  std::optional<std::string> columns, sort;
  std::optional<std::size_t> top;
  bool as_table{}, wide{};

  /// Whether the command line wants a table, and not the text that the command has besides.
  bool given() const { return as_table || wide || columns || sort || top; }

  /// For a table with other rows than the list of JSON: throws UsageError where --columns, --sort or --top are given with JSON.
  void refuse_for_json(Format format, std::string_view rows, std::string_view of_json) const;

  /// Throws UsageError for a column that is not there.
  template <class Row>
  void apply(report::Table<Row>& table) const {
    if (wide) table.show_all();
    if (columns) table.choose(*columns);
    if (sort) table.sort_by(*sort);
    if (top) table.keep_first(*top);
  }
};

/// Adds --format, which takes the place of the common one, --columns, --sort and --top. `keys` are those of the columns.
void add_table_options(OptionSet& set, CommonOptions& common, TableOptions& options, std::vector<std::string> keys);

/// The keys of columns.
template <class Columns>
std::vector<std::string> keys_of(const Columns& columns) {
  std::vector<std::string> keys;
  for (const auto& column : columns) keys.emplace_back(column.key);
  return keys;
}

/// A list of a fabric as a table.
template <class Row>
struct TableReport : FabricReport {
  /// `member` is the name of the list in JSON. A text is for `file`.
  TableReport(const Fabric& of, std::string_view member, report::Table<Row> shown, std::vector<Row> lines, std::FILE* file)
      : FabricReport(of),
        key(member),
        table(std::move(shown)),
        rows(std::move(lines)),
        most_width(terminal_of(file).width.value_or(report::unlimited_width)) {
    table.arrange(rows);
  }

  void visit(report::Sink& sink) const override {
    table.visit(sink, key, rows);
    visit_failures(sink);
  }
  void text(TextOut& out) const override { out.write(table.text(rows, most_width)); }

  std::string_view key;
  report::Table<Row> table;
  std::vector<Row> rows;
  std::size_t most_width;
};

/// A table for a document: the member of its list, its columns and its rows.
template <class Row>
struct DocumentTable {
  std::string_view key;
  report::Table<Row> table;
  std::vector<Row> rows;
};

/// Two lists of a fabric for JSON, where a table has either.
template <class First, class Second>
struct DocumentReport final : FabricReport {
  DocumentReport(const Fabric& of, DocumentTable<First> one, DocumentTable<Second> other)
      : FabricReport(of), first(std::move(one)), second(std::move(other)) {
    first.table.arrange(first.rows);
    second.table.arrange(second.rows);
  }

  void visit(report::Sink& sink) const override {
    first.table.visit(sink, first.key, first.rows);
    second.table.visit(sink, second.key, second.rows);
    visit_failures(sink);
  }
  void text(TextOut& /*out*/) const override {}

  DocumentTable<First> first;
  DocumentTable<Second> second;
};

}  // namespace ib::tools
