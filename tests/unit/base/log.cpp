// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What stderr shows of diagnostics.
#include "base/log.hpp"

#include <unistd.h>

#include <cstdio>

#include "support/catch.hpp"

namespace {

/// What `act` writes to stderr.
template <class Act>
std::string stderr_of(Act act) {
  std::FILE* file = std::tmpfile();
  std::fflush(stderr);
  const int saved = ::dup(STDERR_FILENO);
  ::dup2(::fileno(file), STDERR_FILENO);
  act();
  std::fflush(stderr);
  ::dup2(saved, STDERR_FILENO);
  ::close(saved);
  std::string text(4096, '\0');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

}  // namespace

TEST_CASE("a diagnostic carries its level's letter on its first line", "[log]") {
  const auto text = stderr_of([] {
    ib::log::warning("one");
    ib::log::error("two {} %s\n", {"  0 0102 field=1"});
    ib::log::debug("");
  });
  CHECK(text == "W: one\nE: two {} %s\n  0 0102 field=1\nD: \n");
}

TEST_CASE("a word with a line end makes no further diagnostic", "[log]") {
  const auto text = stderr_of([] {
    ib::log::error("open 'a\nE: b': No such file", {"  0 01\n02"});
    ib::log::warning("c\n d\te");
  });
  CHECK(text == "E: open 'a\\nE: b': No such file\n  0 01\\n02\nW: c\\n d\te\n");
}

TEST_CASE("a diagnostic does nothing to the terminal", "[log]") {
  const auto text =
      stderr_of([] { ib::log::error("\x1b[31mred\a\r\tcaf\u00e9 \u009b\x7f \xe9\nnext \x9b[2J \u202ecba\u2066 \xc0\xaf C:\\"); });
  CHECK(text == "E: \\x1b[31mred\\x07\\r\tcaf\u00e9 \\x9b\\x7f \\xe9\\nnext \\x9b[2J \\u202ecba\\u2066 \\xc0\\xaf C:\\\n");
}
