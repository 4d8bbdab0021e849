// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Hostile text per dialect. The expected forms of the ibtool dialect come from Python 2's repr() of a unicode string.
#include "base/escape.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <random>

#include "support/catch.hpp"

namespace base_escape_tests {

using namespace std::string_literals;
using ib::escaped;
using ib::in_quotes;
using ib::printable;
using ib::unescaped;

TEST_CASE("a fixed field ends at its NUL or at its end", "[escape]") {
  const std::array<std::uint8_t, 4> full{'a', 'b', 'c', 'd'};
  const std::array<std::uint8_t, 4> part{'a', 0, 'c', 'd'};
  CHECK(ib::fixed_text(full) == "abcd");
  CHECK(ib::fixed_text(part) == "a");
  CHECK(ib::fixed_text({}).empty());
}

TEST_CASE("quotes follow the text", "[escape]") {
  CHECK(in_quotes("Switch1") == "'Switch1'");
  CHECK(in_quotes("") == "''");
  CHECK(in_quotes("it's node06") == "\"it's node06\"");
  CHECK(in_quotes("leaf \"3\"") == "'leaf \"3\"'");
  CHECK(in_quotes("a'b\"c") == "'a\\'b\"c'");
  CHECK(escaped("it's node06") == "it's node06");
  CHECK(escaped("a'b\"c") == "a\\'b\"c");
}

TEST_CASE("terminal control characters are escaped", "[escape]") {
  CHECK(escaped("node07\\x") == "node07\\\\x");
  CHECK(escaped("\t\n\r") == "\\t\\n\\r");
  CHECK(escaped("\x1b[2J\x07\x7f\0z"s) == "\\x1b[2J\\x07\\x7f\\x00z");
  CHECK(escaped("caf\xc3\xa9") == "caf\\xe9");
  CHECK(escaped("\xe2\x82\xac") == "\\u20ac");
  CHECK(escaped("\xf0\x9f\x98\x80") == "\\U0001f600");
  CHECK(escaped("\xff\xc0\xaf|\xe2\x82") == "\\xff\\xc0\\xaf|\\xe2\\x82");
  CHECK(escaped("\xc0\xaf\xed\xa0\x80") == "\\xc0\\xaf\\xed\\xa0\\x80");  // overlong, surrogate
  CHECK(printable("a\tb\x1b\xc3\xa9~") == "a b   ~");
  CHECK(printable("a\x7f", '?') == "a?");
  CHECK(ib::printable_words("caf\xc3\xa9\t\n~") == "caf\xc3\xa9\t\n~");
  CHECK(ib::printable_words("\x1b[2J\xc2\x9b\xff\xe2\x80\xaez\r") == " [2J   z ");
  CHECK(ib::hex_text(std::array<std::uint8_t, 3>{0, 0x7f, 0xe9}) == "007fe9");
}

TEST_CASE("JSON strings are valid whatever they hold", "[escape]") {
  const auto json = [](std::string_view text) {
    std::string out;
    ib::append_json_string(out, text);
    return out;
  };
  CHECK(json("a\"b\\c\n") == R"("a\"b\\c\n")");
  CHECK(json("\x1b\x7f\xc2\x9b") == R"("\u001b\u007f\u009b")");
  CHECK(json("caf\xc3\xa9") == "\"caf\xc3\xa9\"");
  CHECK(json("\xe2\x80\xae") == R"("\u202e")");
  CHECK(json("a\xffz") == "\"a\xef\xbf\xbdz\"");
  CHECK(json("\xf0\x9f\x98") == "\"\xef\xbf\xbd\"");
  CHECK(json("\xed\xa0\x80") == "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string text(random() % 12, '\0');
    for (auto& c : text) c = static_cast<char>(random() % 3 == 0 ? 0xc0 + random() % 64 : random());
    const auto parsed = nlohmann::json::parse(json(text), nullptr, false);  // another program's parser
    REQUIRE(parsed.is_string());
    bool valid = true;
    for (std::string_view rest = text; !rest.empty();) {
      const auto c = ib::decode_utf8(rest);
      REQUIRE(c.size >= 1);
      REQUIRE(c.size <= rest.size());
      valid = valid && c.valid;
      rest.remove_prefix(c.size);
    }
    if (valid) {
      REQUIRE(parsed.get<std::string>() == text);
    } else {
      REQUIRE(nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) == parsed.dump());
    }
    for (const char c : json(text)) REQUIRE((static_cast<unsigned char>(c) >= 0x20 && c != 0x7f));
  }
}

TEST_CASE("escaped text is read back unchanged") {
  for (const std::string_view text :
       {"", "leaf 1", "a\\b", "\\x41", "tab\t end\n\r", "\x1b[31m", "\xc3\xa9", "\xe2\x82\xac \xf0\x9f\x98\x80", "\\"}) {
    CAPTURE(text);
    CHECK(unescaped(escaped(text)) == text);
  }
  CHECK(escaped(unescaped("\\xc3\\xa9")) == "\\xc3\\xa9");  // of broken UTF-8 the text stays
  for (const std::string_view text : {"\\", "\\q", "\\x4", "\\xzz", "\\u12", "\\Uffffffff", "a\\"}) CHECK(unescaped(text) == text);
}

}  // namespace base_escape_tests
