// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Help comes from the tables; the table of commands is in order, and every command can say how it is called.
#include "tools/frame/help.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tools/build_info.hpp"
#include "tools/frame/commands.hpp"

namespace tools_help_tests {

using namespace ib::tools;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream stream{std::string(text)};
  return {std::istream_iterator<std::string>(stream), {}};
}

}  // namespace

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

TEST_CASE("each legacy name that is installed is a program of infiniband-diags") {
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
    CommandLine line(command);
    OptionSet& set = line.set;
    std::set<std::string> spellings;
    for (const Option& option : set.options()) {
      if (option.letter != 0) CHECK(spellings.insert(std::string(1, option.letter)).second);
      for (const std::string& name : option.names) CHECK(spellings.insert(name).second);
      CHECK_FALSE(option.help.empty());
    }
    const std::string help = command_help(command, CommandLine(command).set);
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
      CHECK_FALSE(option.help.empty());
    }
    CHECK_THAT(diags_usage(set), ibtest::starts_with("Usage: " + std::string(command->name) + " [options]"));
  }
}

TEST_CASE("help fits one screen: tasks with the commands for them, then all commands") {
  const std::string text = overview();
  const std::vector<std::string> lines = lines_of(text);
  CHECK(lines.size() <= 40);
  for (const std::string& line : lines) CHECK(line.size() <= 80);
  CHECK_THAT(lines.at(2), ibtest::contains("health"));  // the first task
  for (const CommandInfo* command : commands()) CHECK_THAT(text, ibtest::contains(std::string(command->name)));
  for (const HelpTask& task : help_tasks()) {
    for (const std::string& name : words_of(task.commands)) {
      INFO(task.question << " " << name);
      CHECK(find_command(name) != nullptr);
    }
  }
}

TEST_CASE("help WORD finds commands by name, task, summary and option, and pages by their words") {
  const auto names = [](const std::vector<const CommandInfo*>& hits) {
    std::vector<std::string> all;
    for (const CommandInfo* command : hits) all.emplace_back(command->name);
    return all;
  };
  const auto search = [](std::vector<std::string> words) { return search_help(words); };
  CHECK(names(search({"cable"}).best).front() == "health");
  CHECK(std::ranges::count(names(search({"cable"}).commands), "modules") == 1);
  CHECK(names(search({"firmware"}).best).front() == "firmware");
  CHECK(names(search({"slow"}).best).front() == "iblinkinfo");
  CHECK(names(search({"errors"}).best).front() == "ibqueryerrors");
  CHECK(names(search({"ERROR"}).best) == names(search({"errors"}).best));
  // All words must fit.
  CHECK(names(search({"which", "firmware"}).best) == std::vector<std::string>{"firmware", "environment"});
  CHECK_FALSE(search({"firmware", "zebra"}).any());
  CHECK_FALSE(search({""}).any());
  // An option of one command, and one of most, which stands once.
  const HelpHits tries = search({"timeout"});
  const auto is_common = [](const HelpHits::OfOption& hit) { return hit.command == nullptr && hit.option == "--timeout"; };
  CHECK(std::ranges::count_if(tries.options, is_common) == 1);
  const HelpHits sorted = search({"psid"});
  CHECK(names(sorted.commands).front() == "firmware");
  // A word that only the prose of a page has.
  const HelpHits found = search({"textfile"});
  CHECK(names(found.commands) == std::vector<std::string>{"exporter"});
}

TEST_CASE("every command has two examples or more, of lines that it accepts") {
  for (const CommandInfo* command : commands()) {
    const HelpPage& page = help_page(command->name);
    REQUIRE(page.command == command->name);
    CHECK(page.examples.size() >= 2);
    CHECK_THAT(command_help(*command, CommandLine(*command).set),
               ibtest::ends_with("\nManual page: man ibtool-" + std::string(command->name) + "\n"));
    for (const HelpExample& example : page.examples) {
      INFO(example.line);
      CHECK_THAT(command_help(*command, CommandLine(*command).set), ibtest::contains("\n  " + std::string(example.line)));
      std::vector<std::string> words = words_of(example.line);
      REQUIRE(words.size() >= 2);
      CHECK(words.at(1) == command->name);
      words.erase(words.begin(), words.begin() + 2);
      CommandLine line(*command);
      OptionSet& set = line.set;
      CHECK_NOTHROW(set.parse(words));
    }
  }
}

TEST_CASE("no option has a text that says nothing") {
  for (const CommandInfo* command : commands()) {
    CommandLine line(*command);
    OptionSet& set = line.set;
    for (const Option& option : set.options()) {
      INFO(command->name << " " << option.help);
      CHECK_FALSE(option.help.starts_with("Nothing"));
    }
  }
}

TEST_CASE("the list names every command") {
  const std::string list = command_list();
  for (const CommandInfo* command : commands()) CHECK_THAT(list, ibtest::contains("\n  " + std::string(command->name) + " "));
}

}  // namespace tools_help_tests
