// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <iterator>

#include "base/error.hpp"
#include "report/cell.hpp"
#include "report/field_columns.hpp"

namespace ib::report {
namespace {

std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t dot = std::min(path.find('.', at), path.size());
    parts.emplace_back(path.substr(at, dot - at));
    at = dot + 1;
  }
  return parts;
}

/// A word as the value that it is: a number sorts as one.
report::Cell value_of(const std::string& word) {
  std::uint64_t whole{};
  double number{};
  const char *begin = word.data(), *end = begin + word.size();
  if (word.empty()) return std::monostate{};
  if (std::from_chars(begin, end, whole).ptr == end) return whole;
  return std::from_chars(begin, end, number).ptr == end ? report::Cell(Coded{number, word}) : report::Cell(std::string_view(word));
}

/// Whether a text has less need of this column, since the description of the same node is among `columns`.
bool is_described(std::string_view key, const std::vector<std::string>& columns) {
  const std::size_t name_begin = key.find_last_of('.') + 1;
  const std::string_view name = key.substr(name_begin);
  const bool is_of_node = name == "node_guid" || name == "node_name" || name == "node_type_text" || name == "port_guid";
  return is_of_node && std::ranges::find(columns, std::string(key.substr(0, name_begin)) + "node_description") != columns.end();
}

}  // namespace

TableSink::TableSink(Output out, TableStyle style, std::string_view rows, TableChoice choice)
    : out_(std::move(out)), style_(style), choice_(std::move(choice)), path_(parts_of(rows)) {}

std::string TableSink::encoded(std::string_view value) const {
  if (style_ == TableStyle::aligned) return std::string(value);
  return style_ == TableStyle::csv ? csv_cell(value) : tsv_cell(value);
}

/// Whether the member `key` of the present element or document is the list, or the object, that leads to the rows.
bool TableSink::leads_on(std::string_view key) const {
  const bool may_lead = place() == Place::document || place() == Place::element;
  return may_lead && open_.size() < path_.size() && path_[open_.size()] == key;
}

void TableSink::begin_element() {
  levels_.push_back({.place = Place::element, .first_row = rows_.size()});
  open_.emplace_back();
}

void TableSink::end_element() {
  const std::size_t depth = open_.size() - 1;
  const auto cells = std::make_shared<const Cells>(std::move(open_.back()));
  open_.pop_back();
  if (depth + 1 == path_.size()) rows_.emplace_back(path_.size());
  for (std::size_t row = levels_.back().first_row; row < rows_.size(); ++row) rows_[row][depth] = cells;
  levels_.pop_back();
  if (depth != 0) return;
  for (const Row& row : rows_) write(row);
  rows_.clear();
  out_.flush();
}

void TableSink::begin_object(std::string_view key) {
  if (json_) {
    json_->begin_object(key);
    ++json_depth_;
  } else if (levels_.empty()) {
    levels_.push_back({.place = Place::document});
  } else if (place() == Place::list || (leads_on(key) && open_.size() + 1 == path_.size())) {
    begin_element();
  } else if (holds_cells()) {
    levels_.push_back({.place = Place::inside, .prefix = prefix_.size()});
    prefix_ += std::string(key) + ".";
  } else {
    levels_.push_back({.place = Place::ignored});
  }
}

void TableSink::end_object() {
  if (json_) {
    json_->end_object();
    --json_depth_;
    return;
  }
  assert(!levels_.empty());
  if (place() == Place::element) return end_element();
  if (place() == Place::inside) prefix_.resize(levels_.back().prefix);
  levels_.pop_back();
  if (!levels_.empty()) return;
  if (columns_.empty() && !announced_.empty()) write_head(names_of(announced_), announced_.back().size());
  if (!columns_.empty() && !is_streaming()) write_kept();
  out_.flush();
}

void TableSink::columns(const std::vector<std::string>& names) {
  if (place() != Place::list || !columns_.empty() || !announced_.empty()) return;
  std::vector<Names> members(path_.size());
  for (std::size_t depth = 0; depth < open_.size(); ++depth) members[depth] = names_in(open_[depth]);
  for (std::string_view name : names) {
    std::size_t depth = open_.size();
    for (; depth + 1 < path_.size() && name.starts_with(path_[depth + 1] + "[]."); ++depth) name.remove_prefix(path_[depth + 1].size() + 3);
    const bool leads_on = depth + 1 < path_.size() && name == path_[depth + 1];
    if (!leads_on && name.find("[].") == std::string_view::npos) members[depth].emplace_back(name);
  }
  if (!members.back().empty()) announced_ = std::move(members);
}

void TableSink::begin_array(std::string_view key) {
  if (json_) {
    json_->begin_array(key);
    ++json_depth_;
  } else if (leads_on(key)) {
    levels_.push_back({.place = Place::list});
  } else if (holds_cells()) {
    begin_json(key);
  } else {
    levels_.push_back({.place = Place::ignored});
  }
}

void TableSink::end_array() {
  if (!json_) {
    levels_.pop_back();
    return;
  }
  json_->end_array();
  if (--json_depth_ > 0) return;
  json_.reset();
  json_text_.pop_back();  // the newline behind a document
  open_.back().push_back({json_name_, encoded(json_text_)});
}

void TableSink::begin_json(std::string_view key) {
  json_name_ = prefix_ + std::string(key);
  json_text_.clear();
  json_.emplace(json_text_, JsonStyle::lines);
  json_->begin_array();
  json_depth_ = 1;
}

/// Adds a cell with an encoded text.
void TableSink::cell(std::string_view key, std::string text) {
  if (holds_cells()) open_.back().push_back({prefix_ + std::string(key), std::move(text)});
}

void TableSink::literal(std::string_view key, std::string_view value, const Measure& measure) {
  if (json_) return json_->literal(key, value, measure);
  if (value != "null") return cell(key, std::string(value));
  if (!leads_on(key)) cell(key, {});
}

void TableSink::text(std::string_view key, std::string_view value) { json_ ? json_->text(key, value) : cell(key, encoded(value)); }

void TableSink::null_object(std::string_view key, const std::function<void(Sink&)>& unknown_members) {
  if (json_ || !holds_cells()) return null(key);
  begin_object(key);
  unknown_members(*this);
  end_object();
}

void TableSink::unwind() {
  json_.reset();
  open_.clear();
  rows_.clear();
  prefix_.clear();
  if (levels_.size() > 1) levels_.resize(1, {.place = Place::document});
}

TableSink::Names TableSink::names_in(const Cells& cells) {
  Names names;
  for (const Cell& one : cells) names.push_back(one.name);
  return names;
}

/// The names of columns, of the names of members by depth. A member of an element around a row that has the name of a member of the row is
/// LIST.MEMBER.
TableSink::Names TableSink::names_of(const std::vector<Names>& members) const {
  Names names;
  for (std::size_t depth = 0; depth < members.size(); ++depth) {
    for (const std::string& name : members[depth]) {
      const bool is_taken = std::any_of(members.begin() + static_cast<std::ptrdiff_t>(depth) + 1, members.end(),
                                        [&](const Names& inner) { return std::ranges::find(inner, name) != inner.end(); });
      names.push_back(is_taken ? path_[depth] + "." + name : name);
    }
  }
  return names;
}

TableSink::Names TableSink::names_of(const Row& row) const {
  std::vector<Names> members;
  for (const auto& cells : row) members.push_back(names_in(*cells));
  return names_of(members);
}

/// The cells of a row in the order of the columns. Throws Error where it has one that the first row has not.
std::vector<std::string_view> TableSink::cells_of(const Row& row) const {
  std::vector<std::string_view> cells;
  bool is_as_first = true;
  for (const auto& part : row) {
    for (const Cell& one : *part) {
      is_as_first = is_as_first && cells.size() < members_.size() && members_[cells.size()] == one.name;
      cells.emplace_back(one.text);
    }
  }
  if (is_as_first && cells.size() == columns_.size()) return cells;
  const std::vector<std::string> names = names_of(row);
  std::vector<std::string_view> sorted(columns_.size());
  for (std::size_t at = 0; at < names.size(); ++at) {
    const auto column = static_cast<std::size_t>(std::ranges::find(columns_, names[at]) - columns_.begin());
    if (column == columns_.size()) throw Error(fmt::format("This is not a table: a row has '{}', which the first row lacks", names[at]));
    sorted[column] = cells[at];
  }
  return sorted;
}

/// Writes the first line. Names that were announced stand before those of the first row, unless this has others too.
void TableSink::write_head(Names names, std::size_t own) {
  columns_ = std::move(names);
  own_ = own;
  std::vector<ColumnInfo> infos(columns_.size());
  for (std::size_t at = 0; at < columns_.size(); ++at) infos[at].key = columns_[at];
  if (choice_.columns) chosen_ = chosen_columns(*choice_.columns, infos);
  if (is_streaming()) line({columns_.begin(), columns_.end()});
}

/// Writes a row, or keeps it.
void TableSink::add_line(const std::vector<std::string_view>& cells) {
  if (!is_streaming()) {
    kept_.emplace_back(cells.begin(), cells.end());
  } else if (written_++ < choice_.most_rows) {
    line(cells);
  }
}

/// Writes the rows that were kept. A text does not have the numbers of coded values, whose words stand beside them.
void TableSink::write_kept() {
  std::vector<FieldColumn<Words>> columns;
  for (std::size_t at = 0; at < columns_.size(); ++at) {
    FieldColumn<Words>& column = columns.emplace_back();
    column.key = column.heading = columns_[at];
    const bool is_of_row = at + own_ >= columns_.size() || columns_[at] == choice_.also;
    column.usual = is_of_row && std::ranges::count(columns, true, &ColumnInfo::usual) < static_cast<std::ptrdiff_t>(most_usual_columns) &&
                   std::ranges::find(columns_, columns_[at] + "_text") == columns_.end() && !is_described(columns_[at], columns_);
    column.get = [at](const Words& words) { return value_of(words[at]); };
  }
  Table<Words, FieldColumn<Words>> table(columns);
  if (choice_.columns) table.choose(*choice_.columns);
  if (choice_.all_columns) table.show_all();
  if (choice_.sort) table.sort_by(*choice_.sort);
  table.keep_first(choice_.most_rows);
  table.arrange(kept_);
  if (style_ == TableStyle::aligned) return table.write_text(kept_, choice_.width, [this](std::string_view text) { out_.text() += text; });
  line({columns_.begin(), columns_.end()});
  for (const Words& words : kept_) line({words.begin(), words.end()});
}

void TableSink::write(const Row& row) {
  if (columns_.empty()) {
    Names names = names_of(row), announced = names_of(announced_);
    const bool has_all =
        std::ranges::all_of(names, [&](const auto& name) { return std::ranges::find(announced, name) != announced.end(); });
    if (has_all && announced != names) {
      write_head(std::move(announced), announced_.back().size());
    } else {
      write_head(std::move(names), row.back()->size());
      for (const auto& part : row) std::ranges::move(names_in(*part), std::back_inserter(members_));
    }
  }
  add_line(cells_of(row));
}

void TableSink::line(const std::vector<std::string_view>& cells) {
  const std::size_t count = chosen_.empty() ? cells.size() : chosen_.size();
  for (std::size_t at = 0; at < count; ++at) {
    if (at != 0) out_.text() += style_ == TableStyle::csv ? ',' : '\t';
    out_.text() += cells[chosen_.empty() ? at : chosen_[at]];
  }
  out_.text() += style_ == TableStyle::csv ? "\r\n" : "\n";
}

}  // namespace ib::report
