// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A table as rows × columns. A column is a key, a heading, a measure, a meaning and a function that gets the value of a row. The columns of
// a table are stated once, and from them come its aligned text, its JSON and with report::TableSink its CSV and TSV.
//
//   constexpr Column<Row> columns[] = {{"lid", "LID", {}, "LID of the port.", [](const Row& row) { return Cell(row.lid); }}, …};
//   Table<Row> table(columns); table.choose("lid,name"); table.sort_by("-lid"); table.arrange(rows);
//   out.write(table.text(rows));  table.visit(sink, "ports", rows);
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
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

/// The value of a row in a column. std::monostate: not known. A std::string_view is of a text that lives as long as the row.
using Cell = std::variant<std::monostate, bool, std::uint64_t, double, std::string, Guid, Coded, Numbers, Nested, std::string_view>;

/// An optional value as a cell.
template <class T>
Cell cell(const std::optional<T>& value) {
  if (!value) return std::monostate{};
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return static_cast<std::uint64_t>(*value);
  } else {
    return *value;
  }
}
/// A text as a cell; an empty one is not known.
inline Cell text_cell(std::string text) { return text.empty() ? Cell(std::monostate{}) : Cell(std::move(text)); }

/// The type of a member of JSON.
enum class JsonType : std::uint8_t {
  boolean,
  integer,
  number,  ///< an integer or a decimal
  text,
  guid,    ///< a text: 0002:c903:0000:1491
  gid,     ///< a text: an IPv6 address
  hex,     ///< a text: two lower-case hex digits a byte
  object,  ///< its members are in the dictionary too
  fields,  ///< an object whose members are the fields of a structure that is named beside it
};

/// The description of a column, without its rows.
struct ColumnInfo {
  std::string_view key;      ///< the member in JSON; "module.vendor" is the member `vendor` of the object `module`
  std::string_view heading;  ///< in a text
  Measure measure{};
  bool usual{};      ///< shown in a text where no columns are chosen
  bool coded{};      ///< its cells are Coded: it is two members, KEY and KEY_text
  bool text_only{};  ///< not in JSON, CSV and TSV: a picture of what other columns have
  // For the dictionary of JSON; a column without a meaning has its word there.
  std::string_view meaning{};
  JsonType type{};   ///< of the value, or of each element of the list
  bool is_list{};    ///< its cells are Numbers
  bool is_needed{};  ///< the object of which it is the first column is null where this cell is std::monostate
};

template <class Row>
struct Column : ColumnInfo {
  Cell (*get)(const Row& row);
};

/// The value as a word of a text: "-" where it is not known, escaped where it came from the fabric.
std::string cell_text(const Cell& cell);
/// Writes the value as the member `key`.
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

inline constexpr std::size_t unlimited_width = std::numeric_limits<std::size_t>::max();
/// Writes the cells of a row as members of the open object.
template <class Row>
void write_members(Sink& sink, std::span<const Column<Row>> columns, const Row& row) {
  MemberWriter writer(sink);
  for (const Column<Row>& column : columns) writer.write(column, column.get(row));
  writer.end();
}

/// Lines of words in columns that are as wide as their widest word. Numbers stand at the right of their column. All words are measured
/// before the first line is written, so that no line is kept.
class Aligned {
 public:
  explicit Aligned(std::size_t columns) : widths_(columns), is_right_(columns, true) {}
  void measure_heading(std::size_t column, std::string_view word) { widths_[column] = std::max(widths_[column], word.size()); }
  void measure(std::size_t column, const Cell& cell);
  /// Where lines are wider than `width`, cuts the widest columns of words (".." at the end), to eight characters at most.
  void fit(std::size_t width);
  /// Appends the word of the next column of a line.
  void word(std::string& line, std::size_t column, std::string_view word) const;

 private:
  std::vector<std::size_t> widths_;
  std::vector<bool> is_right_;
};

/// `Col` is a ColumnInfo with a member `get` that can be called with a row (report/field_columns.hpp has another one).
template <class Row, class Col = Column<Row>>
class Table {
 public:
  explicit Table(std::span<const Col> columns) : columns_(columns.begin(), columns.end()) {}

  /// Shows only these columns, in this order: keys between commas, or "all". Throws UsageError.
  void choose(std::string_view list) {
    chosen_ = chosen_columns(list, infos());
    all_ = chosen_.empty();
  }
  /// Shows all columns in a text too.
  void show_all() { all_ = true; }
  /// Shows no more rows than these: the first ones, after they were sorted.
  void keep_first(std::size_t count) { most_rows_ = count; }
  /// Sorts by the column with that key; "-KEY" is in descending order. Throws UsageError.
  void sort_by(std::string_view word) {
    reverse_ = word.starts_with('-');
    if (reverse_) word.remove_prefix(1);
    sorted_by_ = chosen_columns(word, infos()).at(0);
  }

  /// Whether rows can be written as they come: nothing is sorted.
  bool streams() const { return !sorted_by_; }
  /// The number of rows that keep_first() said.
  std::size_t most_rows() const { return most_rows_; }

  /// Sorts rows as sort_by() said, where rows that are equal keep their order, and leaves those that keep_first() said.
  void arrange(std::vector<Row>& rows) const {
    if (sorted_by_) sort(rows);
    if (rows.size() > most_rows_) rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(most_rows_), rows.end());
  }

  /// The member `key`: an array with an object for each row.
  void visit(Sink& sink, std::string_view key, const std::vector<Row>& rows) const {
    begin(sink, key);
    const std::vector<std::size_t> columns = shown(false);
    for (const Row& row : rows) write_row(sink, columns, row);
    sink.end_array();
  }
  /// Begins the array; each row follows by visit_row(), and sink.end_array().
  void begin(Sink& sink, std::string_view key) const {
    sink.begin_array(key);
    std::vector<std::string> names;
    for (const std::size_t at : shown(false)) {
      names.emplace_back(columns_[at].key);
      if (columns_[at].coded) names.push_back(std::string(columns_[at].key) + "_text");
    }
    sink.columns(names);
  }
  void visit_row(Sink& sink, const Row& row) const { write_row(sink, shown(false), row); }

  /// The rows below the headings of their columns, which are there without rows too. `width` as for Aligned::fit(). `write` gets line by
  /// line, so that the text is never whole in memory; the values of each row are got twice.
  template <class Write>
  void write_text(const std::vector<Row>& rows, std::size_t width, Write write) const {
    const std::vector<std::size_t> columns = shown(true);
    Aligned aligned(columns.size());
    for (std::size_t at = 0; at < columns.size(); ++at) aligned.measure_heading(at, columns_[columns[at]].heading);
    for (const Row& row : rows)
      for (std::size_t at = 0; at < columns.size(); ++at) aligned.measure(at, columns_[columns[at]].get(row));
    aligned.fit(all_ ? unlimited_width : width);
    std::string line;
    const auto write_line = [&](const auto& word_of) {
      line.clear();
      for (std::size_t at = 0; at < columns.size(); ++at) aligned.word(line, at, word_of(columns[at]));
      line.erase(line.find_last_not_of(' ') + 1);
      line += '\n';
      write(std::string_view(line));
    };
    write_line([&](std::size_t column) { return columns_[column].heading; });
    for (const Row& row : rows) write_line([&](std::size_t column) { return cell_text(columns_[column].get(row)); });
  }
  /// As above, as one text.
  std::string text(const std::vector<Row>& rows, std::size_t width = unlimited_width) const {
    std::string text;
    write_text(rows, width, [&text](std::string_view line) { text += line; });
    return text;
  }

 private:
  /// Gets the value to sort by once for each row.
  void sort(std::vector<Row>& rows) const {
    std::vector<std::pair<Cell, std::size_t>> keys;
    keys.reserve(rows.size());
    for (const Row& row : rows) keys.emplace_back(columns_[*sorted_by_].get(row), keys.size());
    std::stable_sort(keys.begin(), keys.end(), [this](const auto& a, const auto& b) { return comes_before(a.first, b.first, reverse_); });
    std::vector<Row> sorted;
    sorted.reserve(rows.size());
    for (const auto& key : keys) sorted.push_back(std::move(rows[key.second]));
    rows = std::move(sorted);
  }

  void write_row(Sink& sink, const std::vector<std::size_t>& columns, const Row& row) const {
    sink.begin_object();
    MemberWriter writer(sink);
    for (const std::size_t at : columns) writer.write(columns_[at], columns_[at].get(row));
    writer.end();
    sink.end_object();
  }

  std::vector<std::size_t> shown(bool in_text) const {
    std::vector<std::size_t> columns;
    for (std::size_t at = 0; at < columns_.size() && chosen_.empty(); ++at) {
      if (!in_text || all_ || columns_[at].usual) columns.push_back(at);
    }
    if (!chosen_.empty()) columns = chosen_;
    if (!in_text) std::erase_if(columns, [this](std::size_t at) { return columns_[at].text_only; });
    return columns;
  }

  std::vector<ColumnInfo> infos() const { return {columns_.begin(), columns_.end()}; }

  std::vector<Col> columns_;
  std::vector<std::size_t> chosen_;
  bool all_{}, reverse_{};
  std::size_t most_rows_ = std::numeric_limits<std::size_t>::max();
  std::optional<std::size_t> sorted_by_;
};

}  // namespace ib::report
