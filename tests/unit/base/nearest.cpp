// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "base/nearest.hpp"

#include <array>
#include <vector>

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

TEST_CASE("all words that are as near as the nearest one, or that contain a word that is near none") {
  constexpr std::array<std::string_view, 6> names{"NodeInfo", "LedInfo", "PortInfo", "SwitchInfo", "VLArbitration", "PKeyTable"};
  CHECK(nearest_few("NodeInof", names) == std::vector<std::string_view>{"NodeInfo"});
  CHECK(nearest_few("LodInfo", names) == std::vector<std::string_view>{"LedInfo"});
  CHECK(nearest_few("info", names) == std::vector<std::string_view>{"NodeInfo", "LedInfo", "PortInfo"});  // three at most
  constexpr std::array<std::string_view, 3> around{"NodeInfo", "SMPNodeInfo", "PortInfo"};
  CHECK(nearest_few("info", around) == std::vector<std::string_view>{"NodeInfo", "PortInfo"});
  CHECK(nearest_few("ARB", names) == std::vector<std::string_view>{"VLArbitration"});
  CHECK(nearest_few("ey", names).empty());
  CHECK(nearest_few("", names).empty());
  CHECK(nearest_few(std::string(100'000, 's'), names).empty());
  constexpr std::array<std::string_view, 3> equals{"abc1", "abc2", "other"};
  CHECK(nearest_few("abc3", equals) == std::vector<std::string_view>{"abc1", "abc2"});
  CHECK(did_you_mean_of_list("abc3", equals, "ibtool help") == ": did you mean abc1, abc2? (ibtool help lists all)");
  CHECK(did_you_mean_of_list("zz", equals, "ibtool help") == " (ibtool help lists all)");
  CHECK(did_you_mean_of_list("zz", equals, {}).empty());
}

}  // namespace base_nearest_tests
