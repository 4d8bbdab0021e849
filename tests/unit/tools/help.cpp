// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Help comes from the tables; the table of commands is in order, and every command can say how it is called.
#include "tools/frame/help.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "support/catch.hpp"
#include "tools/build_info.hpp"
#include "tools/frame/command.hpp"

namespace tools_help_tests {

using namespace ib::tools;

TEST_CASE("the table of commands is sorted, without doubles, and finds names and aliases") {
  const auto table = commands();
  CHECK(std::is_sorted(table.begin(), table.end(), [](const auto* a, const auto* b) { return a->name < b->name; }));
  std::set<std::string_view> names;
  for (const CommandInfo* at : table) {
    const CommandInfo& command = *at;
    CHECK(names.insert(command.name).second);
    CHECK(find_command(command.name) == &command);
    if (command.alias.empty()) continue;
    CHECK(names.insert(command.alias).second);
    CHECK(find_command(command.alias) == &command);
  }
  CHECK(find_command("nosuch") == nullptr);
  CHECK(find_command("") == nullptr);
}

TEST_CASE("the legacy names that are installed are those that are spoken") {
  std::vector<std::string_view> spoken;
  for (const CommandInfo* command : commands()) {
    if (command->make_diags != nullptr) spoken.push_back(command->name);
  }
  CHECK(spoken == std::vector<std::string_view>(legacy_names.begin(), legacy_names.end()));
}

TEST_CASE("every command has help in which no line is too long and no option comes twice") {
  for (const CommandInfo* listed : commands()) {
    const CommandInfo& command = *listed;
    INFO(command.name);
    const std::unique_ptr<Command> made = command.make();
    CommonOptions common;
    General general;
    OptionSet set;
    add_options(command, *made, set, common, general);
    std::set<std::string> spellings;
    for (const Option& option : set.options()) {
      if (option.letter != 0) CHECK(spellings.insert(std::string(1, option.letter)).second);
      for (const std::string& name : option.names) CHECK(spellings.insert(name).second);
      if (option.letter != 0 || !option.names.empty()) CHECK_FALSE(option.help.empty());
    }
    const std::string help = help_of(command);
    CHECK_THAT(help, ibtest::contains("Usage: ibtool " + std::string(command.name)));
    for (std::size_t at = 0; at < help.size();) {
      const std::size_t end = std::min(help.find('\n', at), help.size());
      CHECK(end - at <= 78);
      at = end + 1;
    }
  }
}

TEST_CASE("every legacy name has help in which no option comes twice") {
  for (const CommandInfo* command : commands()) {
    if (command->make_diags == nullptr) continue;
    INFO(command->name);
    const std::unique_ptr<Command> made = command->make_diags();
    CommonOptions common = diags_defaults();
    OptionSet set(command->name);
    made->diags_options(set, common);
    if (!set.is_script() && !set.is_perl()) add_diags_common(set, common);
    std::set<std::string> spellings;
    for (const Option& option : set.options()) {
      CHECK(option.names.size() <= 1);
      if (option.letter != 0) CHECK(spellings.insert(std::string(1, option.letter)).second);
      for (const std::string& name : option.names) CHECK(spellings.insert("--" + name).second);
      if (option.is_reachable()) CHECK_FALSE(option.help.empty());
    }
    CHECK_THAT(diags_usage(set), ibtest::starts_with("Usage: " + std::string(command->name) + " [options]"));
  }
}

TEST_CASE("the list names every command") {
  const std::string list = command_list();
  for (const CommandInfo* command : commands()) CHECK_THAT(list, ibtest::contains("\n  " + std::string(command->name) + " "));
}

}  // namespace tools_help_tests
