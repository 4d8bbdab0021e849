// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Pasted bytes in their two forms, and what is refused.
#include "tools/shared/hex_input.hpp"

#include "base/error.hpp"
#include "support/catch.hpp"

namespace tools_hex_input_tests {

using namespace ib::tools;
using Data = std::vector<std::uint8_t>;

TEST_CASE("hexadecimal digits with blanks anywhere") {
  CHECK(hex_bytes("") == Data{});
  CHECK(hex_bytes("01 02\r\n0a\tF f\n") == Data{1, 2, 10, 255});
  CHECK(hex_bytes("00ff10") == Data{0, 0xff, 0x10});
  CHECK_THROWS_WITH(hex_bytes("0"), "The input has an odd number of hexadecimal digits");
  CHECK_THROWS_WITH(hex_bytes("0x01"), "Non-hexadecimal digit found");
  CHECK_THROWS_AS(hex_bytes("thisisnothex"), ib::UsageError);
  CHECK_THROWS_AS(hex_bytes("\xc3\xa9"), ib::UsageError);
}

TEST_CASE("string literals of C and Python") {
  CHECK(is_literal("\"a\""));
  CHECK(is_literal("'a'"));
  CHECK_FALSE(is_literal("0102"));
  CHECK(literal_bytes("\"\\x01\\x02A\\n\\\\\\\"\"\n") == Data{1, 2, 'A', '\n', '\\', '"'});
  CHECK(literal_bytes("'\\0\\101\\1012'") == Data{0, 'A', 'A', '2'});
  CHECK(literal_bytes("'it\"s'") == Data{'i', 't', '"', 's'});
  for (const char* wrong : {"\"", "\"\\", "\"\\x\"", "\"\\x1\"", "\"\\xg0\"", "\"\\q\"", "\"a", "\"a\"b", "'a\""}) {
    INFO(wrong);
    CHECK_THROWS_AS(literal_bytes(wrong), ib::UsageError);
  }
}

}  // namespace tools_hex_input_tests
