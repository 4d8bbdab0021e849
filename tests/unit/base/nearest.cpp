// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "base/nearest.hpp"

#include <array>

#include "support/catch.hpp"

namespace base_nearest_tests {

using namespace ib;

TEST_CASE("letters left out, added, changed and swapped count") {
  CHECK(letters_between("", "") == 0);
  CHECK(letters_between("", "abc") == 3);
  CHECK(letters_between("smpquery", "smpquery") == 0);
  CHECK(letters_between("smpqery", "smpquery") == 1);
  CHECK(letters_between("smpquerry", "smpquery") == 1);
  CHECK(letters_between("smpquary", "smpquery") == 1);
  CHECK(letters_between("smpqeury", "smpquery") == 1);
  CHECK(letters_between("SMPQUERY", "smpquery") == 0);
  CHECK(letters_between("kitten", "sitting") == 3);
}

TEST_CASE("the nearest word is meant, if it is near") {
  constexpr std::array<std::string_view, 5> commands{"ibstat", "ibstatus", "ibping", "saquery", "smpquery"};
  CHECK(nearest("smpqery", commands) == "smpquery");
  CHECK(nearest("squery", commands) == "saquery");
  CHECK(nearest("ibsatt", commands) == "ibstat");
  CHECK(nearest("ibpong", commands) == "ibping");
  CHECK(nearest("zz", commands).empty());
  CHECK(nearest("x", commands).empty());
  CHECK(nearest("", commands).empty());
  CHECK(nearest("perfectly unlike", commands).empty());
  CHECK(nearest(std::string(100'000, 's'), commands).empty());
  CHECK(did_you_mean("smpqery", commands) == ": did you mean smpquery?");
  CHECK(did_you_mean("zz", commands).empty());
}

}  // namespace base_nearest_tests
