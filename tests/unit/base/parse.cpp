// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Numbers and names: what is read, what is refused, how names sort.
#include "base/parse.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "support/catch.hpp"

using ib::parse_digits;
using ib::parse_unsigned;

TEST_CASE("parse_unsigned reads the usual bases", "[parse]") {
  CHECK(parse_unsigned("0") == 0);
  CHECK(parse_unsigned("12") == 12);
  CHECK(parse_unsigned(" 12\n") == 12);
  CHECK(parse_unsigned("0xc") == 12);
  CHECK(parse_unsigned("0XFF") == 255);
  CHECK(parse_unsigned("0b101") == 5);
  CHECK(parse_unsigned("0o17") == 15);
  CHECK(parse_unsigned("017") == 15);
  CHECK(parse_unsigned("00") == 0);
  CHECK(parse_unsigned("18446744073709551615") == UINT64_MAX);
}

TEST_CASE("parse_unsigned refuses all else", "[parse]") {
  for (const std::string text :
       {"", " ", "-1", "+1", "0x", "0b", "0o", "0x ", "0x 1", "08", "1 2", "1x", "x", "0xg", "18446744073709551616", "1e3", "0x-1", "１"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_unsigned(text));
  }
  CHECK_FALSE(parse_unsigned("65536", 65535));
  CHECK(parse_unsigned("65535", 65535) == 65535);
  CHECK_FALSE(parse_digits("0x1", 16));
  CHECK(parse_digits("fF", 16) == 255);
}

TEST_CASE("natural order counts", "[parse]") {
  std::vector<std::string> names{"mlx5_10",
                                 "mlx5_2",
                                 "mlx5_1",
                                 "a",
                                 "mlx5_",
                                 "mlx5_02",
                                 "mlx5_2x",
                                 "b10c2",
                                 "b10c10",
                                 "b9",
                                 "99999999999999999999999",
                                 "100000000000000000000000"};
  std::sort(names.begin(), names.end(), ib::natural_less);
  CHECK(names == std::vector<std::string>{"99999999999999999999999", "100000000000000000000000", "a", "b9", "b10c2", "b10c10", "mlx5_",
                                          "mlx5_1", "mlx5_02", "mlx5_2", "mlx5_2x", "mlx5_10"});
}
