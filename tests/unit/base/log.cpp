// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What stderr shows of diagnostics.
#include "base/log.hpp"

#include <unistd.h>

#include <cstdio>

#include "support/catch.hpp"

using ib::log::Level;

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

TEST_CASE("diagnostics carry their level's letter, on every line", "[log]") {
  const auto text = stderr_of([] {
    ib::log::debug("not shown");
    ib::log::warning("one");
    ib::log::error("two\nthree {} %s\n");
    ib::log::set_level(Level::debug);
    ib::log::debug("four");
    ib::log::debug("");
    ib::log::set_level(Level::error);
    ib::log::warning("not shown");
    ib::log::set_level(Level::warning);
  });
  CHECK(text == "W: one\nE: two\nE: three {} %s\nD: four\nD: \n");
  CHECK_FALSE(ib::log::enabled(Level::debug));
  CHECK(ib::log::enabled(Level::error));
}
