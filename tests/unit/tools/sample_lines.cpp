// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "unit/tools/sample_lines.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "support/catch.hpp"
#include "support/snapshot_file.hpp"
#include "support/stored_fabric.hpp"
#include "tools/frame/commands.hpp"
#include "unit/tools/sample_directory.hpp"

namespace ibtest {
namespace {

/// A line `PROPERTY ARGUMENT…: COMMAND WORD…`.
struct ReadLine : SampleLine {
  std::string property;
};

/// The words of a text, between blanks that are not in single quotes.
Line words_in(const std::string& text) {
  Line words;
  bool is_quoted = false, has_word = false;
  for (const char c : text) {
    if (c == '\'') {
      is_quoted = !is_quoted;
    } else if (c == ' ' && !is_quoted) {
      has_word = false;
      continue;
    }
    if (!has_word) words.emplace_back();
    has_word = true;
    if (c != '\'') words.back() += c;
  }
  return words;
}

ReadLine line_in(const std::string& text) {
  ReadLine line;
  const std::size_t colon = text.find(": ");
  INFO("not a sample line: " << text);
  REQUIRE(colon != std::string::npos);
  line.arguments = words_in(text.substr(0, colon));
  line.words = words_in(text.substr(colon + 2));
  line.property = line.arguments.front();
  line.arguments.erase(line.arguments.begin());
  return line;
}

const std::vector<ReadLine>& all_lines() {
  static const std::vector<ReadLine> all = [] {
    std::set<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(sample_directory)) {
      if (entry.path().extension() == ".txt") files.insert(entry.path());
    }
    std::vector<ReadLine> lines;
    for (const std::filesystem::path& file : files) {
      std::ifstream texts(file);
      for (std::string text; std::getline(texts, text);) lines.push_back(line_in(text));
    }
    return lines;
  }();
  return all;
}

std::string with_places(std::string word, const std::map<std::string, std::string>& places) {
  for (std::size_t begin = word.find('{'); begin != std::string::npos; begin = word.find('{', begin)) {
    const std::size_t end = word.find('}', begin);
    REQUIRE(end != std::string::npos);
    const auto place = places.find(word.substr(begin + 1, end - begin - 1));
    INFO("a place that is not known: " << word);
    REQUIRE(place != places.end());
    word.replace(begin, end + 1 - begin, place->second);
    begin += place->second.size();
  }
  return word;
}

}  // namespace

std::vector<SampleLine> sample_lines(std::string_view property, const std::map<std::string, std::string>& places) {
  std::vector<SampleLine> lines;
  for (const ReadLine& line : all_lines()) {
    if (line.property != property) continue;
    lines.push_back(line);
    for (std::string& word : lines.back().words) word = with_places(std::move(word), places);
  }
  return lines;
}

bool has_sample(std::string_view property, std::string_view command) {
  return std::ranges::any_of(all_lines(), [&](const ReadLine& line) { return line.property == property && line.words.front() == command; });
}

const std::vector<SampleLine>& our_lines() {
  static const std::vector<SampleLine> lines = sample_lines("attacked", {{"new", snapshot_file()}, {"fabric", stored_fabric()}});
  return lines;
}

const std::vector<SampleLine>& diags_lines() {
  static const std::vector<SampleLine> lines = sample_lines("attacked-legacy");
  return lines;
}

}  // namespace ibtest

namespace tools_sample_lines_tests {

TEST_CASE("sample lines have known properties, and belong to a command") {
  const std::set<std::string_view> known{"attacked",   "attacked-legacy", "asks-nothing", "looks-here", "asks-once",   "asks-once-legacy",
                                         "json",       "json-failure",    "no-json",      "table",      "no-table",    "changes",
                                         "reads-file", "no-smp",          "needs-smps",   "target",     "needs-fabric"};
  for (const auto& line : ibtest::all_lines()) {
    INFO(line.property);
    CHECK(known.contains(line.property));
    const auto is_command = [](const std::string& word) { return ib::tools::find_command(word) != nullptr; };
    CHECK(std::ranges::any_of(line.words, is_command));
  }
  CHECK(ibtest::all_lines().size() > 400);
}

}  // namespace tools_sample_lines_tests
