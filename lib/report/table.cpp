// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <iterator>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/split.hpp"

namespace ib::report {
namespace {

/// Whether a spreadsheet may take a text that begins with `code` for a formula. Also an apostrophe, which marks such texts.
bool begins_formula(char32_t code) {
  constexpr std::u32string_view all = U"=+-@\t\r\n'＝＋－＠";
  return all.find(code) != std::u32string_view::npos;
}

/// `value` as UTF-8 that no spreadsheet takes for a formula and no terminal obeys.
std::string harmless_cell(std::string_view value) {
  constexpr std::string_view replacement = "\xef\xbf\xbd";
  std::string text;
  if (!value.empty() && begins_formula(decode_utf8(value).code)) text = "'";
  while (!value.empty()) {
    const Utf8Char c = decode_utf8(value);
    const bool is_kept = c.valid && (!is_hostile(c.code) || c.code == '\t' || c.code == '\r' || c.code == '\n');
    text += is_kept ? value.substr(0, c.size) : replacement;
    value.remove_prefix(c.size);
  }
  return text;
}

/// A cell of CSV (RFC 4180): in double quotes where it needs them.
std::string csv_cell(std::string_view value) {
  std::string text = harmless_cell(value);
  if (text.find_first_of("\",;\t\r\n ") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

/// A cell between tabs: tabs, line feeds, carriage returns and backslashes are \t, \n, \r and \\.
std::string tsv_cell(std::string_view value) {
  std::string escaped;
  for (const char c : harmless_cell(value)) {
    const std::string_view special = "\t\r\n\\", letters = "trn\\";
    const std::size_t at = special.find(c);
    if (at != std::string_view::npos) escaped += '\\';
    escaped += at == std::string_view::npos ? c : letters[at];
  }
  return escaped;
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

std::string known_of(std::string_view names, const std::vector<std::string>& columns) {
  std::string known;
  for (const std::string_view name : split(names)) {
    if (std::ranges::find(columns, name) != columns.end()) add_part(known, name, ",");
  }
  return known;
}

}  // namespace

TableSink::TableSink(TextOut out, TableStyle style, std::string_view rows, TableChoice choice, std::string_view usual, std::size_t width)
    : out_(std::move(out)), style_(style), choice_(std::move(choice)), usual_(usual), width_(width) {
  for (const std::string_view part : split(rows, ".")) path_.emplace_back(part);
}

std::string TableSink::encoded(std::string_view value) const {
  if (style_ == TableStyle::aligned) return std::string(value);
  return style_ == TableStyle::csv ? csv_cell(value) : tsv_cell(value);
}

/// Whether the member `key` of the present element or document is the list, or the object, that leads to the rows.
bool TableSink::leads_on(std::string_view key) const {
  const bool may_lead = role() == Role::document || role() == Role::element;
  return may_lead && open_.size() < path_.size() && path_[open_.size()] == key;
}

void TableSink::begin_element() {
  levels_.push_back({.role = Role::element, .first_row = rows_.size()});
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
  out_.deliver();
}

void TableSink::begin(std::string_view key, Nest nest) {
  const bool is_object = nest == Nest::object;
  if (json_) {
    json_->begin(key, nest);
    ++json_depth_;
  } else if (levels_.empty()) {
    levels_.push_back({.role = Role::document});
  } else if (!is_object && leads_on(key)) {
    levels_.push_back({.role = Role::list});
  } else if (is_object && (role() == Role::list || (leads_on(key) && open_.size() + 1 == path_.size()))) {
    begin_element();
  } else if (!holds_cells()) {
    levels_.push_back({.role = Role::ignored});
  } else if (is_object) {
    levels_.push_back({.role = Role::inside, .prefix = prefix_.size()});
    prefix_ += std::string(key) + ".";
  } else {
    begin_json(key);
  }
}

void TableSink::end(Nest nest) {
  if (json_) {
    json_->end(nest);
    if (--json_depth_ > 0) return;
    json_.reset();
    json_text_.pop_back();  // the newline behind a document
    open_.back().push_back({json_name_, encoded(json_text_)});
    return;
  }
  assert(!levels_.empty());
  if (role() == Role::element) return end_element();
  if (role() == Role::inside) prefix_.resize(levels_.back().prefix);
  levels_.pop_back();
  if (!levels_.empty()) return;
  if (columns_.empty() && !announced_.empty()) write_head(names_of(announced_));
  if (!columns_.empty() && !is_streaming()) write_kept();
  out_.deliver();
}

void TableSink::columns(const std::vector<std::string>& names) {
  if (role() != Role::list || !columns_.empty() || !announced_.empty()) return;
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
  if (levels_.size() > 1) levels_.resize(1, {.role = Role::document});
}

TableSink::Names TableSink::names_in(const Cells& cells) {
  Names names;
  for (const Cell& one : cells) names.push_back(one.name);
  return names;
}

/// The names of columns. A member of an element around a row that has the name of a member of the row is LIST.MEMBER.
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

/// Writes the first line. Names that were announced stand before the names of the first row, unless this has others too.
void TableSink::write_head(Names names) {
  columns_ = std::move(names);
  std::vector<ColumnInfo> infos(columns_.size());
  for (std::size_t at = 0; at < columns_.size(); ++at) infos[at].key = columns_[at];
  if (choice_.columns) chosen_ = chosen_columns(*choice_.columns, infos);
  if (is_streaming()) line({columns_.begin(), columns_.end()});
}

void TableSink::add_line(const std::vector<std::string_view>& cells) {
  if (!is_streaming()) {
    kept_.emplace_back(cells.begin(), cells.end());
  } else if (written_++ < choice_.top.value_or(unlimited_width)) {
    line(cells);
  }
}

void TableSink::write_kept() {
  std::vector<Column<Words>> columns;
  for (std::size_t at = 0; at < columns_.size(); ++at)
    columns.push_back({{.key = columns_[at], .heading = columns_[at]}, [at](const Words& words) { return value_of(words[at]); }});
  const std::string usual = known_of(usual_, columns_);
  TableChoice choice = choice_;
  choice.wide = choice.wide || usual.empty();
  if (!choice.columns && !choice.wide) choice.columns = usual;
  const Table<Words> table(columns, choice);
  table.arrange(kept_);
  if (style_ == TableStyle::aligned)
    return table.write_text(kept_, choice.wide ? unlimited_width : width_, [this](std::string_view text) { out_.buffer() += text; });
  line({columns_.begin(), columns_.end()});
  for (const Words& words : kept_) line({words.begin(), words.end()});
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
  add_line(cells_of(row));
}

void TableSink::line(const std::vector<std::string_view>& cells) {
  const std::size_t count = chosen_.empty() ? cells.size() : chosen_.size();
  for (std::size_t at = 0; at < count; ++at) {
    if (at != 0) out_.buffer() += style_ == TableStyle::csv ? ',' : '\t';
    out_.buffer() += cells[chosen_.empty() ? at : chosen_[at]];
  }
  out_.buffer() += style_ == TableStyle::csv ? "\r\n" : "\n";
}

}  // namespace ib::report
