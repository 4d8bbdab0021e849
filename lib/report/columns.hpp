// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A table as rows × columns. A column is a key, a heading, a measure and a function that gets the value of a row. The columns of
// a table are stated once, and from them come its aligned text, its JSON and with report::TableSink its CSV and TSV.
//
//   const std::vector<Column<Row>> columns{{{.key = "lid", .heading = "LID"}, [](const Row& row) { return row.lid; }}, …};
//   const Table<Row> table(columns, {.columns = "lid,name", .sort = "-lid"}); table.arrange(rows);
//   table.write_text(rows, width, [&](std::string_view line) { out.write(line); });  table.visit(sink, "ports", rows);
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "iba/types.hpp"
#include "report/sink.hpp"

namespace ib::report {

/// A coded value: in JSON the number, and its word as KEY_text. Absent where it is not known.
struct Coded {
  std::optional<double> number;
  std::string word;  ///< empty: the number has none
};
/// A list of numbers, each of which may be not known; nothing where the list itself is not known.
using Numbers = std::optional<std::vector<std::optional<double>>>;

/// A value that has members of its own. `write` writes it as the member `key` of JSON; a text has `words`.
struct Nested {
  std::string words;  ///< empty: not known
  std::function<void(Sink& sink, std::string_view key)> write;
};

using CellValue = std::variant<std::monostate, bool, std::uint64_t, double, std::string, Guid, Coded, Numbers, Nested, std::string_view>;
/// The value of a row in a column. std::monostate: not known. A std::string_view is of a text that lives as long as the row. Its special
/// members are not those of a variant, so that the files that make columns do not compile all that those need.
class Cell : public CellValue {
 public:
  using CellValue::CellValue;
  Cell();
  Cell(const Cell& other);
  Cell(Cell&& other) noexcept;
  Cell& operator=(const Cell& other);
  Cell& operator=(Cell&& other) noexcept;
  ~Cell();
};

template <class T>
Cell cell(const std::optional<T>& value) {
  if (!value) return std::monostate{};
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return static_cast<std::uint64_t>(*value);
  } else {
    return *value;
  }
}
/// An enumerator with the word that to_text() has for it.
template <class Enum>
Coded coded_cell(bool is_known, Enum value) {
  return is_known ? Coded{static_cast<double>(value), std::string(to_text(value))} : Coded{};
}
/// LID 0 is not known.
inline Cell lid_cell(Lid lid) { return lid == Lid{} ? Cell() : std::uint64_t{lid.value}; }
/// A text as a cell; an empty one is not known.
inline Cell text_cell(std::string text) { return text.empty() ? Cell(std::monostate{}) : Cell(std::move(text)); }

struct ColumnInfo {
  std::string_view key;      ///< the member in JSON; "module.vendor" is the member `vendor` of the object `module`
  std::string_view heading;  ///< in a text
  Measure measure{};
  bool usual{};      ///< shown in a text where no columns are chosen
  bool coded{};      ///< its cells are Coded: it is two members, KEY and KEY_text
  bool text_only{};  ///< not in JSON, CSV and TSV: a picture of what other columns have
  bool is_needed{};  ///< the object of which it is the first column is null where this cell is std::monostate
};

template <class Row>
struct Column : ColumnInfo {
  std::function<Cell(const Row& row)> get;
  std::shared_ptr<const std::string> name{};  ///< what `key` is a view of, where that is no literal
};

/// The columns of a part of a row as columns of the row: `part_of(row)` is the part.
template <class Row, class Part, class PartOf>
std::vector<Column<Row>> columns_of_part(std::span<const Column<Part>> columns, PartOf part_of) {
  std::vector<Column<Row>> all;
  for (const Column<Part>& column : columns) {
    all.push_back(
        {static_cast<const ColumnInfo&>(column), [get = column.get, part_of](const Row& row) { return get(part_of(row)); }, column.name});
  }
  return all;
}

/// The value as a word of a text: "-" where it is not known, escaped where it came from the fabric.
std::string cell_text(const Cell& cell);
void write_cell(Sink& sink, std::string_view key, const Cell& cell, const Measure& measure);
/// Whether `a` comes before `b`. What is not known comes after everything else, also in the reverse order.
bool comes_before(const Cell& a, const Cell& b, bool reverse);
/// The number of the column in a list between commas, for each of its words; empty for "all". Throws UsageError.
std::vector<std::size_t> chosen_columns(std::string_view list, std::span<const ColumnInfo> columns);

/// Writes cells as members of the open object; keys with a dot are members of objects within it.
class MemberWriter {
 public:
  explicit MemberWriter(Sink& sink) : sink_(sink) {}
  /// `column` must outlive the row.
  void write(const ColumnInfo& column, const Cell& cell);
  /// Ends the object that is open within the row.
  void end();

 private:
  Sink& sink_;
  std::string_view object_;
  bool is_null_{};                         ///< the object is null
  std::vector<const ColumnInfo*> absent_;  ///< its columns
};

template <class Row>
void write_members(Sink& sink, std::span<const Column<Row>> columns, const Row& row) {
  MemberWriter writer(sink);
  for (const Column<Row>& column : columns) {
    if (!column.text_only) writer.write(column, column.get(row));
  }
  writer.end();
}

inline constexpr std::size_t unlimited_width = std::numeric_limits<std::size_t>::max();

/// The columns and rows that are wanted of a table.
struct TableChoice {
  std::optional<std::string> columns{};  ///< only these, in this order: keys between commas, or "all"
  std::optional<std::string> sort{};     ///< the column by which rows are sorted: KEY, or -KEY for the greatest value first
  std::optional<std::size_t> top{};      ///< the number of rows, the first ones after they were sorted
  bool wide{};                           ///< all columns in a text too
};

/// What a table does for rows of any type. `get` gives the cell of a row in a column, by their numbers.
class TableLayout {
 public:
  using GetCell = std::function<Cell(std::size_t row, std::size_t column)>;

  /// Throws UsageError for a column that is not there.
  TableLayout(std::vector<ColumnInfo> columns, const TableChoice& choice);
  /// The numbers of the rows that are wanted, in their order.
  std::vector<std::size_t> arranged(std::size_t rows, const GetCell& get) const;
  bool sorts() const { return sorted_by_.has_value(); }
  std::size_t most_rows() const { return most_rows_; }
  void begin(Sink& sink, std::string_view key) const;
  void visit_row(Sink& sink, std::size_t row, const GetCell& get) const;
  void write_text(std::size_t rows, const GetCell& get, std::size_t width, const std::function<void(std::string_view line)>& write) const;

 private:
  std::vector<ColumnInfo> columns_;
  std::vector<std::size_t> in_text_, in_document_;  ///< the columns that are shown there
  bool all_{}, reverse_{};
  std::size_t most_rows_;
  std::optional<std::size_t> sorted_by_;
};

template <class Row>
class Table {
 public:
  /// Throws UsageError for a column that is not there.
  explicit Table(std::span<const Column<Row>> columns, const TableChoice& choice = {})
      : columns_(columns.begin(), columns.end()), layout_({columns.begin(), columns.end()}, choice) {}

  /// Sorts the rows, where equal rows keep their order, and drops the rows that are not wanted.
  void arrange(std::vector<Row>& rows) const {
    if (!layout_.sorts() && rows.size() <= layout_.most_rows()) return;
    std::vector<Row> wanted;
    for (const std::size_t at : layout_.arranged(rows.size(), cells_of(rows))) wanted.push_back(std::move(rows[at]));
    rows = std::move(wanted);
  }

  /// The member `key`: an array with an object for each row.
  void visit(Sink& sink, std::string_view key, const std::vector<Row>& rows) const {
    const TableLayout::GetCell get = cells_of(rows);
    layout_.begin(sink, key);
    for (std::size_t row = 0; row < rows.size(); ++row) layout_.visit_row(sink, row, get);
    sink.end_array();
  }

  /// For who writes rows as they come, where they are not sorted: the begin of the array and each row, until there are most_rows().
  const TableLayout& layout() const { return layout_; }
  void visit_row(Sink& sink, const Row& row) const {
    layout_.visit_row(sink, 0, [this, &row](std::size_t /*row*/, std::size_t column) { return columns_[column].get(row); });
  }

  /// The rows below the headings of their columns, which are there without rows too. A column is as wide as its widest word; numbers stand
  /// at its right. Where lines are wider than `width`, the widest columns of words are cut (".." at the end), to eight characters at most.
  /// `write` gets line by line, so that the text is never whole in memory; each cell is got twice.
  void write_text(const std::vector<Row>& rows, std::size_t width, const std::function<void(std::string_view line)>& write) const {
    layout_.write_text(rows.size(), cells_of(rows), width, write);
  }

 private:
  auto cells_of(const std::vector<Row>& rows) const {
    return [this, &rows](std::size_t row, std::size_t column) { return columns_[column].get(rows[row]); };
  }

  std::vector<Column<Row>> columns_;
  TableLayout layout_;
};

}  // namespace ib::report
