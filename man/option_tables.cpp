// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The program's own tables of commands, options and words of JSON as JSON, from which the manual's tables are made: what
// stands in a page is what the program takes and prints.
#include <nlohmann/json.hpp>

#include <cstdio>
#include <string>

#include "iba/queries.hpp"
#include "man/json_words.hpp"
#include "tools/frame/commands.hpp"
#include "tools/frame/help.hpp"

namespace {

using namespace ib::tools;
using Tree = nlohmann::ordered_json;

Tree option_json(const Option& option) {
  return {{"names", option.spellings()},
          {"value", option.has_value ? option.metavar : ""},
          {"optional", option.value_optional},
          {"help", option.help},
          {"common", option.common}};
}

Tree command_json(const CommandInfo& info) {
  const ib::tools::CommandLine line(info);
  const OptionSet& set = line.set;
  Tree options = Tree::array();
  for (const Option& option : set.options()) options.push_back(option_json(option));
  return {{"name", info.name},       {"group", group_heading(info.group)},   {"summary", info.summary}, {"operands", set.operand_line()},
          {"changes", info.changes}, {"legacy", info.make_diags != nullptr}, {"options", options}};
}

/// The attributes that smpquery reads by name, and the records of saquery, in the order of their help.
Tree query_json(const ib::QueryInfo& query) {
  const std::string_view operand = query.access == ib::Access::port ? "PORT" : "";
  const auto text = [](std::string_view word) { return word; };
  return {{"by_smp", query.by_smp()},   {"name", text(query.name)},
          {"alias", text(query.alias)}, {"operand", query.by_smp() ? operand : text(query.argument)},
          {"about", text(query.about)}, {"section", query.info->section},
          {"vendor", query.vendor},     {"part", text(query.part)},
          {"classic", query.classic}};
}

}  // namespace

int main() {
  Tree all = Tree::array();
  for (const CommandInfo* info : commands()) all.push_back(command_json(*info));
  Tree words = Tree::array();
  for (const JsonWord& word : json_words())
    words.push_back({{"key", word.key},
                     {"type", type_name(word)},
                     {"coded", word.value.coded},
                     {"measure", name(word.measure.kind)},
                     {"unit", word.measure.unit},
                     {"meaning", word.meaning}});
  Tree queries = Tree::array();
  for (const ib::QueryInfo& query : ib::all_queries()) queries.push_back(query_json(query));
  std::puts(Tree{{"groups", group_headings()}, {"commands", all}, {"json_words", words}, {"queries", queries}}.dump(1).c_str());
}
