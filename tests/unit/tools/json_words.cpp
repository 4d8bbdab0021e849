// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Every command's JSON, held against the dictionary: one document, the same as lines, and what is printed where a command fails.
#include "man/json_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <set>

#include "support/catch.hpp"
#include "support/json_check.hpp"
#include "tools/frame/commands.hpp"
#include "unit/tools/json_cases.hpp"
#include "unit/tools/sample_lines.hpp"

namespace tools_json_words_tests {

using namespace ib;
using ibtest::Complaints;
using ibtest::json_cases;
using ibtest::JsonCase;
using ibtest::run_json_case;
using nlohmann::json;

namespace {

enum class Rule { words, frame, lines, errors };

struct NotYet {
  std::string_view command;  ///< "*" for all of them
  Rule rule;
};
/// What does not conform yet. A row that is no longer needed fails the test.
constexpr std::array<NotYet, 0> not_yet{};

/// What fails before there is a result, for each command and then by its own ways.
std::vector<JsonCase> failing_lines() {
  std::vector<JsonCase> all = ibtest::failing_cases();
  for (const tools::CommandInfo* info : tools::commands()) all.push_back({{std::string(info->name), "--no-such-option"}, {}, 2});
  all.push_back({{"nosuch"}, {}, 2});
  return all;
}

std::string line_of(const JsonCase& wanted, std::string_view form) { return fmt::format("{} {}", fmt::join(wanted.words, " "), form); }

/// Complaints by command; those that are expected are taken out, and expectations that are not met are complained of.
class Findings {
 public:
  explicit Findings(Rule rule) : rule_(rule) {}

  void add(const JsonCase& wanted, std::string_view form, const Complaints& complaints) {
    const std::string& command = wanted.words[0];
    if (is_expected(command) || is_expected("*")) {
      if (!complaints.empty()) met_.insert(is_expected(command) ? command : "*");
      return;
    }
    for (const std::string& complaint : complaints) UNSCOPED_INFO(line_of(wanted, form) << ": " << complaint);
    CHECK(complaints.empty());
  }
  void finish() const {
    for (const NotYet& row : not_yet) {
      if (row.rule != rule_) continue;
      INFO(row.command << " conforms now: take it out of not_yet");
      CHECK(met_.contains(std::string(row.command)));
    }
  }

 private:
  bool is_expected(std::string_view command) const {
    return std::ranges::any_of(not_yet, [&](const NotYet& row) { return row.rule == rule_ && row.command == command; });
  }

  Rule rule_;
  std::set<std::string> met_;
};

Complaints checked(const std::function<Complaints()>& check) {
  try {
    return check();
  } catch (const std::exception& error) {
    return {error.what()};
  }
}

}  // namespace

TEST_CASE("the dictionary of JSON finds its words") {
  for (const tools::JsonWord& word : tools::json_words()) {
    CHECK(tools::find_json_word(word.key) == &word);
    CHECK((!word.key.ends_with("_text") || word.key == "device_text"));  // what a device says, beside no code
  }
  CHECK(tools::find_json_word("nosuch") == nullptr);
  CHECK(type_name(*tools::find_json_word("guids")) == "list of GUIDs");
}

TEST_CASE("every command has a case here") {
  for (const tools::CommandInfo* info : tools::commands()) {
    INFO(info->name);
    CHECK(ibtest::has_sample("json", info->name) != ibtest::has_sample("no-json", info->name));
  }
}

TEST_CASE("every command's JSON has the words of the dictionary and nothing else") {
  Findings words(Rule::words), frame(Rule::frame);
  for (const JsonCase& one : json_cases()) {
    const auto outcome = run_json_case(one, "--json");
    INFO(line_of(one, "--json") << '\n' << outcome.err);
    CHECK(outcome.status == one.status);
    words.add(one, "--json", checked([&] { return ibtest::word_complaints(json::parse(outcome.out)); }));
    frame.add(one, "--json", checked([&] { return ibtest::frame_complaints(json::parse(outcome.out), one.words[0], one.status); }));
  }
  words.finish();
  frame.finish();
}

TEST_CASE("the lines of every command are its document") {
  Findings lines(Rule::lines);
  for (const JsonCase& one : json_cases()) {
    const auto document = run_json_case(one, "--json"), text = run_json_case(one, "--json=lines");
    CHECK(text.status == one.status);
    lines.add(one, "--json=lines", checked([&]() -> Complaints {
                json joined = ibtest::joined_lines(text.out), whole = json::parse(document.out);
                // Each run has its own transaction IDs.
                for (json* of : {&joined, &whole}) {
                  if (of->contains("mad") && (*of)["mad"].is_object()) (*of)["mad"].erase("transaction_id");
                }
                if (joined == whole) return {};
                return {json::diff(whole, joined).dump().substr(0, 200)};
              }));
  }
  lines.finish();
}

TEST_CASE("a command that fails prints one object, with the error and the status") {
  Findings errors(Rule::errors);
  for (const JsonCase& one : failing_lines()) {
    for (const std::string form : {"--json", "--json=lines"}) {
      const auto outcome = run_json_case(one, form);
      INFO(line_of(one, form) << '\n' << outcome.err);
      CHECK(outcome.status == one.status);
      errors.add(one, form, checked([&] {
                   const json document = json::parse(outcome.out);  // throws where two objects are there
                   Complaints found = ibtest::frame_complaints(document, one.words[0], one.status);
                   const Complaints wrong = ibtest::word_complaints(document);
                   found.insert(found.end(), wrong.begin(), wrong.end());
                   return found;
                 }));
    }
  }
  errors.finish();
}

}  // namespace tools_json_words_tests
