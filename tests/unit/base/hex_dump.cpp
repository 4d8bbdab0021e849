// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Pasted bytes in their two forms, and what is refused.
#include "base/hex_dump.hpp"

#include "base/error.hpp"
#include "support/catch.hpp"

namespace base_hex_dump_tests {

using namespace ib;
using Data = std::vector<std::uint8_t>;

TEST_CASE("hexadecimal digits with blanks anywhere") {
  CHECK(hex_bytes("") == Data{});
  CHECK(hex_bytes("01 02\r\n0a\tF f\n") == Data{1, 2, 10, 255});
  CHECK(hex_bytes("00ff10") == Data{0, 0xff, 0x10});
  CHECK(hex_bytes("0x01, 0x02,\n0X03") == Data{1, 2, 3});
  CHECK(hex_bytes("0x0102 03") == Data{1, 2, 3});
  CHECK_THROWS_WITH(hex_bytes("01 0"), "Byte 1, the last one, has only one hexadecimal digit (line 1)");
  CHECK_THROWS_WITH(hex_bytes("0102\n\n 0z"), "Byte 2 (line 3, column 3): 'z' is not a hexadecimal digit");
  CHECK_THROWS_WITH(hex_bytes("0x0g"), "Byte 0 (line 1, column 4): 'g' is not a hexadecimal digit");
  CHECK_THROWS_WITH(hex_bytes("01\x1b"), "Byte 1 (line 1, column 3): '\\x1b' is not a hexadecimal digit");
  CHECK_THROWS_AS(hex_bytes("\xc3\xa9"), ib::UsageError);
}

TEST_CASE("the output of programs that dump packets") {
  Data numbers(36);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::uint8_t>(i + 0x41);
  SECTION("tcpdump -x, and text beside it as with -X") {
    CHECK(hex_bytes("\t0x0000:  4142 4344 4546 4748 494a 4b4c 4d4e 4f50\n"
                    "\t0x0010:  5152 5354 5556 5758 595a 5b5c 5d5e 5f60\n"
                    "\t0x0020:  6162 6364\n") == numbers);
    CHECK(hex_bytes("\t0x0000:  4142 4344 4546 4748 494a 4b4c 4d4e 4f50  ABCDEFGHIJKLMNOP\n"
                    "\t0x0010:  5152 5354 5556 5758 595a 5b5c 5d5e 5f60  QRSTUVWXYZ[\\]^_`\n"
                    "\t0x0020:  6162 6364                                abcd\n") == numbers);
    CHECK(hex_bytes("\t0x0000:  6162 6364  abcd\n") == Data{0x61, 0x62, 0x63, 0x64});
  }
  SECTION("hexdump -C, with its last line") {
    CHECK(hex_bytes("00000000  41 42 43 44 45 46 47 48  49 4a 4b 4c 4d 4e 4f 50  |ABCDEFGHIJKLMNOP|\n"
                    "00000010  51 52 53 54 55 56 57 58  59 5a 5b 5c 5d 5e 5f 60  |QRSTUVWXYZ[\\]^_`|\n"
                    "00000020  61 62 63 64                                       |abcd|\n"
                    "00000024\n") == numbers);
    CHECK(hex_bytes("00000000  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|\n"
                    "*\n"
                    "00000030  01 02 03 04                                       |....|\n"
                    "00000034\n") == [] {
      Data bytes(0x30);
      bytes.insert(bytes.end(), {1, 2, 3, 4});
      return bytes;
    }());
    CHECK(hex_bytes("00000000  41 42 43 44 45 46 47 48  49 4a   |ABCDEFGHIJ|\n") == Data(numbers.begin(), numbers.begin() + 10));
  }
  SECTION("xxd, Wireshark") {
    CHECK(hex_bytes("00000000: 4142 4344 4546 4748 494a 4b4c 4d4e 4f50  ABCDEFGHIJKLMNOP\n"
                    "00000010: 5152 5354 5556 5758 595a 5b5c 5d5e 5f60  QRSTUVWXYZ[\\]^_`\n"
                    "00000020: 6162 6364                                abcd\n") == numbers);
    CHECK(hex_bytes("0000   41 42 43 44 45 46 47 48 49 4a 4b 4c 4d 4e 4f 50   ABCDEFGHIJKLMNOP\n"
                    "0010   51 52 53 54 55 56 57 58 59 5a 5b 5c 5d 5e 5f 60   QRSTUVWXYZ[\\]^_`\n"
                    "0020   61 62 63 64                                       abcd\n") == numbers);
  }
  SECTION("ibtool -dd: words with decimal offsets and their fields") {
    CHECK(hex_bytes("  0 41424344 baseVersion=1,mgmtClass=1\n  4 45464748 status=0\n  8 494A4B4C\n 12 4D4E4F50 abcd=1\n") ==
          Data(numbers.begin(), numbers.begin() + 16));
  }
  SECTION("lines that begin with no offset are bytes") {
    CHECK(hex_bytes("00000000 41424344\n00000001 45464748\n") ==
          Data{0, 0, 0, 0, 0x41, 0x42, 0x43, 0x44, 0, 0, 0, 1, 0x45, 0x46, 0x47, 0x48});
    CHECK(hex_bytes("00000000 41424344") == Data{0, 0, 0, 0, 0x41, 0x42, 0x43, 0x44});
  }
  SECTION("a digit that is none names its place") {
    CHECK_THROWS_WITH(hex_bytes("0000: 4142 4344\n0004: 45g6 4748\n0008: 494a 4b4c\n"),
                      "Byte 5 (line 2, column 9): 'g' is not a hexadecimal digit");
  }
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

}  // namespace base_hex_dump_tests
