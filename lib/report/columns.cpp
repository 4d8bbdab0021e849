// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "report/columns.hpp"

#include <fmt/format.h>

#include <iterator>
#include <numeric>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/nearest.hpp"
#include "base/split.hpp"
#include "iba/text.hpp"

namespace ib::report {
namespace {

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

constexpr std::string_view not_known = "-";
constexpr std::size_t between_columns = 2;  // blanks

std::string number_text(double number) { return fmt::format("{:.4g}", number); }

/// A number to sort by; texts have none.
std::optional<double> number_of(const Cell& cell) {
  return std::visit(Overloaded{[](bool value) { return std::optional<double>(value ? 1 : 0); },
                               [](std::uint64_t value) { return std::optional(static_cast<double>(value)); },
                               [](double value) { return std::optional(value); }, [](const Coded& value) { return value.number; },
                               [](const auto&) { return std::optional<double>(); }},
                    cell);
}

bool is_known(const Cell& cell) {
  if (const auto* coded = std::get_if<Coded>(&cell)) return coded->number.has_value();
  if (const auto* numbers = std::get_if<Numbers>(&cell)) return numbers->has_value();
  if (const auto* nested = std::get_if<Nested>(&cell)) return !nested->words.empty();
  return !std::holds_alternative<std::monostate>(cell);
}

/// Cuts the widest columns of words, to eight characters at most, until a line is not wider than `width`.
void cut_to(std::size_t width, std::vector<std::size_t>& widths, const std::vector<bool>& is_right) {
  constexpr std::size_t least = 8;
  std::size_t total = std::accumulate(widths.begin(), widths.end(), between_columns * (widths.size() - 1));
  while (total > width) {
    std::size_t widest = widths.size();
    for (std::size_t column = 0; column < widths.size(); ++column) {
      if (!is_right[column] && widths[column] > least && (widest == widths.size() || widths[column] > widths[widest])) widest = column;
    }
    if (widest == widths.size()) break;
    --widths[widest];
    --total;
  }
}

}  // namespace

Cell::Cell() = default;
Cell::Cell(const Cell& other) = default;
Cell::Cell(Cell&& other) noexcept = default;
Cell& Cell::operator=(const Cell& other) = default;
Cell& Cell::operator=(Cell&& other) noexcept = default;
Cell::~Cell() = default;

std::string cell_text(const Cell& cell) {
  if (!is_known(cell)) return std::string(not_known);
  return std::visit(
      Overloaded{[](std::monostate) { return std::string(not_known); }, [](bool value) { return std::string(value ? "yes" : "no"); },
                 [](std::uint64_t value) { return std::to_string(value); }, [](double value) { return number_text(value); },
                 [](std::string_view value) { return escaped(value); }, [](Guid value) { return to_text(value); },
                 [](const Coded& value) { return value.word.empty() ? number_text(*value.number) : value.word; },
                 [](const Nested& value) { return escaped(value.words); },
                 [](const Numbers& values) {
                   std::string text;
                   for (const auto& value : *values)
                     text += fmt::format("{}{}", text.empty() ? "" : ",", value ? number_text(*value) : std::string(not_known));
                   return text.empty() ? std::string(not_known) : text;
                 }},
      cell);
}

void write_cell(Sink& sink, std::string_view key, const Cell& cell, const Measure& measure) {
  std::visit(
      Overloaded{[&](std::monostate) { sink.null(key); }, [&](bool value) { sink.value(key, value); },
                 [&](std::uint64_t value) { sink.value(key, value, measure); }, [&](double value) { sink.value(key, value, measure); },
                 [&](std::string_view value) { sink.text(key, value); }, [&](Guid value) { sink.value(key, value); },
                 [&](const Coded& value) { value.number ? sink.symbol(key, *value.number, value.word) : sink.no_symbol(key); },
                 [&](const Nested& value) { value.write(sink, key); },
                 [&](const Numbers& values) { values ? sink.values(key, *values) : sink.null(key); }},
      cell);
}

bool comes_before(const Cell& a, const Cell& b, bool reverse) {
  if (!is_known(a) || !is_known(b)) return is_known(a) && !is_known(b);
  const Cell& first = reverse ? b : a;
  const Cell& second = reverse ? a : b;
  const auto number = number_of(first), other = number_of(second);
  return number && other ? *number < *other : cell_text(first) < cell_text(second);
}

std::vector<std::size_t> chosen_columns(std::string_view list, std::span<const ColumnInfo> columns) {
  std::vector<std::size_t> chosen;
  if (list == "all") return chosen;
  std::vector<std::string_view> keys;
  for (const ColumnInfo& column : columns) keys.push_back(column.key);
  const std::string choices = ": there are " + joined(keys, ", ");
  for (const std::string_view word : split(list)) {
    const auto found = std::ranges::find(keys, word);
    if (found == keys.end()) throw UsageError(fmt::format("no column is called {}{}", in_quotes(word), did_you_mean(word, keys, choices)));
    chosen.push_back(static_cast<std::size_t>(found - keys.begin()));
  }
  if (chosen.empty()) throw UsageError("no columns are named");
  return chosen;
}

void MemberWriter::write(const ColumnInfo& column, const Cell& cell) {
  const std::size_t dot = column.key.find('.');
  const std::string_view object = dot == std::string_view::npos ? std::string_view{} : column.key.substr(0, dot);
  if (object != object_) {
    end();
    is_null_ = column.is_needed && std::holds_alternative<std::monostate>(cell);
    if (!object.empty() && !is_null_) sink_.begin_object(object);
    object_ = object;
  }
  if (is_null_) return absent_.push_back(&column);
  const std::string_view key = object.empty() ? column.key : column.key.substr(dot + 1);
  if (column.coded && !is_known(cell)) return sink_.no_symbol(key);
  write_cell(sink_, key, cell, column.measure);
}

void MemberWriter::end() {
  if (is_null_) {
    sink_.null_object(object_, [this](Sink& unknown) {
      for (const ColumnInfo* column : absent_) {
        const std::string_view key = column->key.substr(object_.size() + 1);
        column->coded ? unknown.no_symbol(key) : unknown.null(key);
      }
    });
    absent_.clear();
    is_null_ = false;
  } else if (!object_.empty()) {
    sink_.end_object();
  }
  object_ = {};
}

TableLayout::TableLayout(std::vector<ColumnInfo> columns, const TableChoice& choice)
    : columns_(std::move(columns)), all_(choice.wide), most_rows_(choice.top.value_or(unlimited_width)) {
  if (choice.columns) {
    in_text_ = chosen_columns(*choice.columns, columns_);
    all_ = in_text_.empty();
  }
  if (choice.sort) {
    reverse_ = choice.sort->starts_with('-');
    sorted_by_ = chosen_columns(std::string_view(*choice.sort).substr(reverse_ ? 1 : 0), columns_).at(0);
  }
  std::vector<std::size_t> every(columns_.size());
  std::iota(every.begin(), every.end(), std::size_t{0});
  in_document_ = in_text_.empty() ? every : in_text_;
  std::erase_if(in_document_, [this](std::size_t at) { return columns_[at].text_only; });
  if (in_text_.empty()) std::ranges::copy_if(every, std::back_inserter(in_text_), [this](auto at) { return all_ || columns_[at].usual; });
}

std::vector<std::size_t> TableLayout::arranged(std::size_t rows, const GetCell& get) const {
  std::vector<std::size_t> order(rows);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (sorted_by_) {
    std::vector<Cell> keys;  // each is got once
    keys.reserve(rows);
    for (const std::size_t row : order) keys.push_back(get(row, *sorted_by_));
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return comes_before(keys[a], keys[b], reverse_); });
  }
  order.resize(std::min(rows, most_rows_));
  return order;
}

void TableLayout::begin(Sink& sink, std::string_view key) const {
  sink.begin_array(key);
  std::vector<std::string> names;
  for (const std::size_t at : in_document_) {
    names.emplace_back(columns_[at].key);
    if (columns_[at].coded) names.push_back(std::string(columns_[at].key) + "_text");
  }
  sink.columns(names);
}

void TableLayout::visit_row(Sink& sink, std::size_t row, const GetCell& get) const {
  sink.begin_object();
  MemberWriter writer(sink);
  for (const std::size_t at : in_document_) writer.write(columns_[at], get(row, at));
  writer.end();
  sink.end_object();
}

void TableLayout::write_text(std::size_t rows, const GetCell& get, std::size_t width,
                             const std::function<void(std::string_view line)>& write) const {
  constexpr std::string_view rest = "..";
  std::vector<std::size_t> widths;
  std::vector<bool> is_right(in_text_.size(), true);
  for (const std::size_t column : in_text_) widths.push_back(columns_[column].heading.size());
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < widths.size(); ++column) {
      const Cell value = get(row, in_text_[column]);
      widths[column] = std::max(widths[column], cell_text(value).size());
      const bool is_number = std::holds_alternative<std::uint64_t>(value) || std::holds_alternative<double>(value);
      if (!is_number && !std::holds_alternative<std::monostate>(value)) is_right[column] = false;
    }
  }
  if (!all_) cut_to(width, widths, is_right);
  std::string line;
  const auto write_line = [&](const auto& word_of) {
    line.clear();
    for (std::size_t column = 0; column < widths.size(); ++column) {
      if (column != 0) line.append(between_columns, ' ');
      std::string word(word_of(column));
      if (word.size() > widths[column]) word = word.substr(0, widths[column] - rest.size()).append(rest);  // the words of a table are ASCII
      const std::string blanks(widths[column] - word.size(), ' ');
      line += is_right[column] ? blanks + word : word + blanks;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    write(line += '\n');
  };
  write_line([&](std::size_t column) { return columns_[in_text_[column]].heading; });
  for (std::size_t row = 0; row < rows; ++row) write_line([&](std::size_t column) { return cell_text(get(row, in_text_[column])); });
}

}  // namespace ib::report
