// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Numbers and names: what is read, what is refused, how names sort.
#include "base/parse.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace base_parse_tests {

using ib::parse_digits;

TEST_CASE("parse_digits reads a whole number in its base", "[parse]") {
  CHECK(parse_digits("0", 10) == 0);
  CHECK(parse_digits(" 12\n", 10) == 12);
  CHECK(parse_digits("010", 10) == 10);
  CHECK(parse_digits("fF", 16) == 255);
  CHECK(parse_digits("18446744073709551615", 10) == UINT64_MAX);
}

TEST_CASE("parse_digits refuses all else", "[parse]") {
  for (const std::string text : {"", " ", "-1", "+1", "0x1", "1 2", "1x", "x", "18446744073709551616", "1e3", "１"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_digits(text, 10));
  }
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

}  // namespace base_parse_tests
