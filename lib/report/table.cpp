// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <iterator>

#include "base/error.hpp"
#include "report/cell.hpp"

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

}  // namespace

TableSink::TableSink(Output out, TableStyle style, std::string_view rows) : out_(std::move(out)), style_(style), path_(parts_of(rows)) {}

std::string TableSink::encoded(std::string_view value) const { return style_ == TableStyle::csv ? csv_cell(value) : tsv_cell(value); }

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
  if (columns_.empty() && !announced_.empty()) write_head(names_of(announced_));
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
    if (column == columns_.size()) throw Error(fmt::format("This is no table: a row has '{}', which the first row has not", names[at]));
    sorted[column] = cells[at];
  }
  return sorted;
}

/// Writes the first line. Names that were announced stand before those of the first row, unless this has others too.
void TableSink::write_head(Names names) {
  columns_ = std::move(names);
  line({columns_.begin(), columns_.end()});
}

void TableSink::write(const Row& row) {
  if (columns_.empty()) {
    Names names = names_of(row), announced = names_of(announced_);
    const bool has_all =
        std::ranges::all_of(names, [&](const auto& name) { return std::ranges::find(announced, name) != announced.end(); });
    if (has_all && announced != names) {
      write_head(std::move(announced));
    } else {
      write_head(std::move(names));
      for (const auto& part : row) std::ranges::move(names_in(*part), std::back_inserter(members_));
    }
  }
  line(cells_of(row));
}

void TableSink::line(const std::vector<std::string_view>& cells) {
  for (std::size_t at = 0; at < cells.size(); ++at) {
    if (at != 0) out_.text() += style_ == TableStyle::csv ? ',' : '\t';
    out_.text() += cells[at];
  }
  out_.text() += style_ == TableStyle::csv ? "\r\n" : "\n";
}

}  // namespace ib::report
