// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Node name maps, line by line as infiniband-diags reads them.
#include "formats/node_name_map.hpp"

#include <string>

#include "base/error.hpp"
#include "support/catch.hpp"

namespace formats_node_name_map_tests {

using ib::Guid;
using ib::subnet::NodeNameMap;

TEST_CASE("names stand between quotes, or reach to the comment") {
  const auto map = ib::formats::parse_node_name_map(
      "# a comment\n"
      "\n"
      "  0x0008f10400411a08 \"leaf switch 7\"  # rack 3\n"
      "0x10\tspine one # left\n"
      "030 octal\r\n"
      "17   \"half open\n"
      "0x12 \"with # inside\"\n");
  CHECK(map.size() == 5);
  CHECK(map.find(Guid{0x0008f10400411a08}) == "leaf switch 7");
  CHECK(map.find(Guid{0x10}) == "spine one ");
  CHECK(map.find(Guid{24}) == "octal");
  CHECK(map.find(Guid{17}) == "half open");
  CHECK(map.find(Guid{0x12}) == "with ");
  CHECK_FALSE(map.find(Guid{0x99}).has_value());
}

TEST_CASE("the first name of a GUID wins, and an empty name is ignored") {
  const auto map = ib::formats::parse_node_name_map("0x1 first\n0x1 second\n0x2 \"\"\n0x3\n0x4 # only a comment");
  CHECK(map.find(Guid{1}) == "first");
  CHECK_FALSE(map.find(Guid{2}).has_value());
  CHECK_FALSE(map.find(Guid{3}).has_value());
  CHECK_FALSE(map.find(Guid{4}).has_value());
}

TEST_CASE("a line without a GUID is reported, and the other lines take effect") {
  for (const char* text : {"leaf 1\n", "0x1 fine\n0x2x bad\n", "0x \"x\"\n", "99999999999999999999 x\n", "\"0x1\" x\n", "1:2:3 x\n"}) {
    CAPTURE(text);
    CHECK(ib::formats::parse_node_name_map(text).bad_lines().size() == 1);
  }
  const auto map = ib::formats::parse_node_name_map("0x1 fine\n 0x2x bad\r\n\n0x3 fine too\n");
  REQUIRE(map.bad_lines().size() == 1);
  CHECK(map.bad_lines()[0].number == 2);
  CHECK(map.bad_lines()[0].text == " 0x2x bad");
  CHECK(map.find(Guid{1}) == "fine");
  CHECK(map.find(Guid{3}) == "fine too");
}

TEST_CASE("a GUID may stand in any form that is printed") {
  const auto map =
      ib::formats::parse_node_name_map("0008:f104:0041:1a08 \"groups\"\n0008f10400411a09 digits\n0x8f10400411a0a#\n8:f104:41:1a0b short\n");
  CHECK(map.bad_lines().empty());
  CHECK(map.find(Guid{0x0008f10400411a08}) == "groups");
  CHECK(map.find(Guid{0x0008f10400411a09}) == "digits");
  CHECK(map.find(Guid{0x0008f10400411a0b}) == "short");
}

TEST_CASE("a map that cannot be read is a system error") {
  CHECK_THROWS_AS(ib::formats::read_node_name_map("/nonexistent/map"), ib::SysError);
}

TEST_CASE("a map that is not a regular file is refused, not read for ever") {
  CHECK_THROWS_AS(ib::formats::read_node_name_map("/dev/zero"), ib::UsageError);
  CHECK_THROWS_AS(ib::formats::read_node_name_map("/"), ib::UsageError);
}

TEST_CASE("maps as infiniband-diags reads them") {
  const auto map = ib::formats::parse_node_name_map_as_diags(
      "# comment\n \n0x1 \"one\" # comment\n0x2#two\n0x3 # three\n\t4 \"#\"#four\"\n-1 \"last\"\n0x10000000000000000 other\n0x5 \"\"\n0x1 "
      "again");
  CHECK(map.bad_lines().empty());
  CHECK(map.size() == 5);
  CHECK(*map.find(Guid{1}) == "one");
  CHECK(*map.find(Guid{2}) == "two");
  CHECK(*map.find(Guid{3}) == " three");
  CHECK(*map.find(Guid{4}) == "four");
  CHECK(*map.find(Guid{UINT64_MAX}) == "last");
}

TEST_CASE("infiniband-diags reads a map up to its first wrong line") {
  const auto map = ib::formats::parse_node_name_map_as_diags("0x1 one\n7cfe9003 two\n0x3 three\n");
  REQUIRE(map.bad_lines().size() == 1);
  CHECK(map.bad_lines()[0].number == 2);
  CHECK(map.bad_lines()[0].text == "7cfe9003 two");
  CHECK(map.size() == 1);

  const std::string full = "0x1 " + std::string(251, 'a');  // as long as infiniband-diags reads at once
  CHECK(ib::formats::parse_node_name_map_as_diags(full + "\n0x2 two").size() == 2);
  CHECK(ib::formats::parse_node_name_map_as_diags(full + "tail\n").bad_lines().at(0).text == "tail");
  CHECK(ib::formats::parse_node_name_map_as_diags(full + "0x3 three\n").size() == 2);
  using namespace std::string_view_literals;
  CHECK(ib::formats::parse_node_name_map_as_diags("\0\n0x1 on\0e\n"sv).find(Guid{1}) == "on");
}

}  // namespace formats_node_name_map_tests
