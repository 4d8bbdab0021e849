// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Text of unknown origin: addresses, numbers, node name maps, and what the output makes of any bytes.
#include <nlohmann/json.hpp>

#include "base/escape.hpp"
#include "base/parse.hpp"
#include "formats/node_name_map.hpp"
#include "fuzz.hpp"
#include "iba/text.hpp"

namespace ibtest::fuzz_words {

using namespace ib;

namespace {

bool is_ascii(std::string_view text) {
  for (const char c : text) {
    if (c < 0x20 || c > 0x7e) return false;
  }
  return true;
}

/// Neither broken nor hostile, but for line ends and tabs.
bool is_harmless(std::string_view text) {
  while (!text.empty()) {
    const Utf8Char c = decode_utf8(text);
    if (!c.valid || (is_hostile(c.code) && c.code != '\n' && c.code != '\t')) return false;
    text.remove_prefix(c.size);
  }
  return true;
}

template <class T, class Parse>
void round_trip(std::string_view text, Parse parse) {
  const std::optional<T> value = parse(text);
  if (value) ibtest::must(parse(to_text(*value)) == value, "an address is not what it says");
}

}  // namespace

int try_input(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ibtest::must(is_ascii(escaped(text)) && is_ascii(in_quotes(text)) && is_ascii(printable(text)), "unsafe for a terminal");
  ibtest::must(is_harmless(harmless(text)) && harmless(harmless(text)) == harmless(text), "a diagnostic that is unsafe for a terminal");
  ibtest::must(is_harmless(printable_words(text)), "a user's own words that are unsafe for a terminal");
  std::string json;
  append_json_string(json, text);
  ibtest::must(nlohmann::json::parse(json, nullptr, false).is_string(), "not JSON");
  round_trip<Guid>(text, parse_guid);
  round_trip<Gid>(text, parse_gid);
  round_trip<Lid>(text, parse_lid);
  round_trip<GidPrefix>(text, parse_gid_prefix);
  static_cast<void>(parse_number(text));
  const auto half = text.substr(size / 2);
  ibtest::must(!(natural_less(text, half) && natural_less(half, text)) && !natural_less(text, text), "an order that is none");
  static_cast<void>(formats::parse_node_name_map(text));
  static_cast<void>(formats::parse_node_name_map_as_diags(text));
  return 0;
}

std::vector<std::string> seeds() {
  return {"0002:c903:0000:1491",
          "0x0002c90300001491",
          "fe80::2:c903:0:1491",
          "fe80::/64",
          "49151",
          "0xc000",
          "mlx5_10",
          "0x0008f10400411a08  \"leaf switch 7\"   # comment\n\n# only a comment\n0x0008f10400411a09 plain name\n",
          "0008:f104:0041:1a08 \"leaf\"\n0008f10400411a09 leaf\nno guid\n1:2:3 x\n",
          "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \x1b[2J 'a' \"b\" \\",
          "0x10 \"\x9b[2J \u202egnippiks\u2066\" \xc0\xaf\n"};
}

}  // namespace ibtest::fuzz_words
