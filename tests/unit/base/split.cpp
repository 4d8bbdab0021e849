// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "base/split.hpp"

#include "support/catch.hpp"

namespace base_split_tests {

using Parts = std::vector<std::string_view>;

TEST_CASE("parts of a text, empty ones too") {
  CHECK(ib::split("a,,b") == Parts{"a", "", "b"});
  CHECK(ib::split(",a,") == Parts{"", "a", ""});
  CHECK(ib::split("") == Parts{""});
  CHECK(ib::split("a,b|c", ",|") == Parts{"a", "b", "c"});
}

TEST_CASE("a list may end with a separator") {
  CHECK(ib::split_list("a,,b,") == Parts{"a", "", "b"});
  CHECK(ib::split_list("a,,") == Parts{"a", ""});
  CHECK(ib::split_list(",") == Parts{""});
  CHECK(ib::split_list("").empty());
}

}  // namespace base_split_tests
