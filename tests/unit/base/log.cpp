// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What stderr shows of diagnostics.
#include "base/log.hpp"

#include <cstdio>

#include "support/catch.hpp"

namespace base_log_tests {

namespace {

/// What `act` writes to a log.
template <class Act>
std::string written_by(Act act) {
  std::FILE* file = std::tmpfile();
  ib::Log log(file);
  act(log);
  std::fflush(file);
  std::string text(4096, '\0');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

}  // namespace

TEST_CASE("a diagnostic carries its level's letter on its first line", "[log]") {
  const auto text = written_by([](ib::Log& log) {
    log.warning("one");
    log.error("two {} %s\n", {"  0 0102 field=1"});
    log.debug("");
  });
  CHECK(text == "W: one\nE: two {} %s\n  0 0102 field=1\nD: \n");
}

TEST_CASE("a word with a line end makes no further diagnostic", "[log]") {
  const auto text = written_by([](ib::Log& log) {
    log.error("open 'a\nE: b': No such file", {"  0 01\n02"});
    log.warning("c\n d\te");
  });
  CHECK(text == "E: open 'a\\nE: b': No such file\n  0 01\\n02\nW: c\\n d\te\n");
}

TEST_CASE("a diagnostic does nothing to the terminal", "[log]") {
  const auto text =
      written_by([](ib::Log& log) { log.error("\x1b[31mred\a\r\tcaf\u00e9 \u009b\x7f \xe9\nnext \x9b[2J \u202ecba\u2066 \xc0\xaf C:\\"); });
  CHECK(text == "E: \\x1b[31mred\\x07\\r\tcaf\u00e9 \\x9b\\x7f \\xe9\\nnext \\x9b[2J \\u202ecba\\u2066 \\xc0\\xaf C:\\\n");
}

}  // namespace base_log_tests
