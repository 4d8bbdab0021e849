// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/table_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "tools/frame/common_options.hpp"
#include "tools/frame/options.hpp"
#include "tools/frame/terminal.hpp"

namespace ib::tools {

std::size_t table_width(std::FILE* file) { return terminal_size(file).width.value_or(report::unlimited_width); }

void TableOptions::refuse_for_json(Format format, std::string_view rows, std::string_view of_json) const {
  const std::string_view given = columns ? "--columns" : sort ? "--sort" : top ? "--top" : "";
  if (is_document(format) && !given.empty())
    throw UsageError(fmt::format("{} is for a table, whose rows are {}: JSON has {}", given, rows, of_json));
}

ListSink::ListSink(Emit& emit, const TableOptions& options, Format format, std::string_view rows, std::string_view usual, std::FILE* file)
    : emit_(emit) {
  options.refuse_for_json(format, "those of CSV", "the whole list");
  if (!options.given()) return;
  const auto style = !is_table(format)       ? report::TableStyle::aligned
                     : format == Format::csv ? report::TableStyle::csv
                                             : report::TableStyle::tsv;
  table_.emplace(text_, style, rows, options, usual, table_width(file));
  table_->begin_object();
}

void ListSink::operator()(const Report& report) {
  if (!table_) return emit_(report);
  report.visit(*table_);
  emit_.raise(report.status());
}

void ListSink::end() {
  if (!table_) return;
  table_->end_object();
  emit_.text().write(text_);
}

void add_table_options(OptionSet& set, CommonOptions& common, TableOptions& options, std::vector<std::string> keys) {
  add_table_options(set, common, options, OfferedWords([keys = std::move(keys)] { return keys; }));
}

void add_table_options(OptionSet& set, CommonOptions& common, TableOptions& options, const OfferedWords& keys) {
  const std::string_view format_help =
      "Print the result as a table that fits the terminal, as one with all columns (wide), as JSON, JSON lines, CSV or tab-separated "
      "values.";
  std::vector<std::string> forms{"table", "wide"};
  std::ranges::copy(format_names(), std::back_inserter(forms));
  set.choice("--format", std::move(forms), format_help, [&common, &options](const std::string& name) {
    options.as_table = name == "table";
    options.wide = name == "wide";
    common.format = format_named(name).value_or(Format::text);
  });
  set.text("--columns", options.columns, "KEY[,KEY...]", "Show these columns, by their names in JSON; all: every one.");
  set.offer(keys);
  set.text("--sort", options.sort, "KEY", "Sort by this column; --sort=-KEY: the greatest value first.");
  set.offer(keys);
  set.number("--top", options.top, "N", "Show the first N rows only.", {.low = 1});
}

}  // namespace ib::tools
