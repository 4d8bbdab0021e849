// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "iba/text.hpp"

#include "support/catch.hpp"

namespace iba_test_text_tests {

using namespace ib;

TEST_CASE("GUIDs have three colons") {
  CHECK(to_text(Guid{0x0002c90300001491}) == "0002:c903:0000:1491");
  CHECK(parse_guid("0002:c903:0000:1491") == Guid{0x0002c90300001491});
  CHECK(parse_guid("2:C903:0:1491") == Guid{0x0002c90300001491});
  CHECK(parse_guid("0x2c90300001491") == Guid{0x0002c90300001491});
  for (const char* bad : {"", ":", "1:2:3", "1:2:3:4:5", "1:2:3:00004", "0x", "0x10000000000000000", "1:2:3:g", " 1:2:3:4", "1:2:3:4 ",
                          "1:2:3:", ":1:2:3", "1::2:3", "-1:2:3:4", "1:2:3:+4", "1:2:3:0x4", "123"})
    CHECK_FALSE(parse_guid(bad));
}

TEST_CASE("GIDs are IPv6 addresses") {
  const Gid gid = Gid::from(link_local_prefix, Guid{0x0002c90300001491});
  CHECK(to_text(gid) == "fe80::2:c903:0:1491");
  CHECK(to_text(Gid{}) == "::");
  CHECK(parse_gid("fe80::2:c903:0:1491") == gid);
  CHECK(parse_gid("FE80:0000:0000:0000:0002:C903:0000:1491") == gid);
  for (const char* bad : {"", "fe80", "fe80::1%ib0", "::1::", "1:2:3:4:5:6:7:8:9", "fe80::g", " ::1", "::1 ", "12345::"})
    CHECK_FALSE(parse_gid(bad));
  CHECK_FALSE(parse_gid(std::string_view("::1\0::2", 7)));
  CHECK_FALSE(parse_gid(std::string(1000, ':')));
}

TEST_CASE("prefixes are networks") {
  CHECK(to_text(link_local_prefix) == "fe80::/64");
  for (const char* good : {"fe80::/64", "fe80::", "0xfe80000000000000", "fe80:0000:0000:0000"})
    CHECK(parse_gid_prefix(good) == link_local_prefix);
  for (const char* bad : {"fe80::1/64", "fe80::/63", "fe80::1", "/64", ""}) CHECK_FALSE(parse_gid_prefix(bad));
}

TEST_CASE("LIDs are numbers") {
  CHECK(to_text(Lid{17}) == "17");
  CHECK(parse_lid("17") == Lid{17});
  CHECK(parse_lid("0x11") == Lid{17});
  CHECK(parse_lid("0017") == Lid{17});
  CHECK(parse_lid("65535") == permissive_lid);
  for (const char* bad : {"", "65536", "0x10000", "-1", "+1", "1 ", "0x", "1.0", "99999999999999999999"}) CHECK_FALSE(parse_lid(bad));
}

TEST_CASE("numbers are C's") {
  CHECK(parse_number("10") == 10U);
  CHECK(parse_number("0x10") == 16U);
  CHECK(parse_number("010") == 8U);
  CHECK(parse_number("0") == 0U);
  CHECK(parse_number("0xffffffffffffffff") == ~std::uint64_t{0});
  for (const char* bad : {"", "08", "0x", "x", "1e3", "18446744073709551616", "-1", " 1"}) CHECK_FALSE(parse_number(bad));
  CHECK(to_hex(0, 4) == "0x0000");
  CHECK(to_hex(0) == "0x0");
  CHECK(to_hex(0x12345, 4) == "0x12345");
  CHECK(to_hex(~std::uint64_t{0}) == "0xffffffffffffffff");
}

}  // namespace iba_test_text_tests
