// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/table_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "tools/frame/common_options.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/options.hpp"
#include "tools/frame/terminal.hpp"

namespace ib::tools {

std::size_t table_width(const TextOut& out) {
  const std::optional<std::size_t> width = out.file() != nullptr ? terminal_size(out.file()).width : std::nullopt;
  return width.value_or(report::unlimited_width);
}

void TableOptions::refuse_for_json(Format format, std::string_view rows, std::string_view of_json) const {
  const std::string_view given = columns ? "--columns" : sort ? "--sort" : top ? "--top" : "";
  if (is_document(format) && !given.empty())
    throw UsageError(fmt::format("{} is for a table, whose rows are {}: JSON has {}", given, rows, of_json));
}

void emit_either(Emit& emit, const Report& report, const Report* list) {
  if (list == nullptr) return emit(report);
  emit(*list);
  emit.raise(report.status());
}

void show_list(Emit& emit, const TableOptions& options, const Host& host, std::string_view usual) {
  options.refuse_for_json(host.options().format, "those of CSV", "the whole list");
  if (options.given()) emit.show_table(options, usual, table_width(emit.text()));
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
