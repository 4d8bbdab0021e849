// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "formats/line_file.hpp"

#include <fstream>

#include "base/error.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

namespace formats_line_file_tests {

using ib::formats::LineFile;
using ib::formats::longest_line;

namespace {

std::vector<std::string> lines(const std::string& content) {
  const ibtest::TemporaryDirectory directory;
  std::ofstream(directory.file("f"), std::ios::binary) << content;
  LineFile file(directory.file("f"));
  std::vector<std::string> all;
  while (const auto line = file.next()) {
    all.emplace_back(*line);
    CHECK(file.number() == all.size());
  }
  CHECK_FALSE(file.next());
  return all;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("lines come without their ends, the last one with or without an end") {
  CHECK(lines("").empty());
  CHECK(lines("a") == Lines{"a"});
  CHECK(lines("a\nb\r\n\n\rc") == Lines{"a", "b", "", "\rc"});
  CHECK(lines("\n\n") == Lines{"", ""});
  CHECK(lines(std::string("a\0b\n", 4)) == Lines{std::string("a\0b", 3)});
  const std::string longest(longest_line, 'x');
  CHECK(lines(longest + "\r\n" + longest) == Lines{longest, longest});
}

TEST_CASE("lines that lie across what is read at once are whole") {
  std::string text;
  Lines expected;
  for (unsigned i = 0; i < 50000; ++i) {
    expected.push_back(std::to_string(i * 7919) + std::string(i % 61, '-'));
    text += expected.back() + "\n";
  }
  CHECK(lines(text) == expected);
}

TEST_CASE("a line that never ends is refused before it is read whole") {
  CHECK_THROWS_WITH(lines("a\n" + std::string(longest_line + 1, 'x') + "\nb\n"), ibtest::ends_with("/f:2: a line longer than 4096 bytes"));
  CHECK_THROWS_WITH(lines(std::string(1U << 22, 'x')), ibtest::ends_with("/f:1: a line longer than 4096 bytes"));
}

}  // namespace formats_line_file_tests
