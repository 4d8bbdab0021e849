// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "base/unescape.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace ib {
namespace {

constexpr std::array<std::pair<char, char>, 4> letters{{{'\\', '\\'}, {'t', '\t'}, {'n', '\n'}, {'r', '\r'}}};
constexpr std::array<std::pair<char, std::size_t>, 3> numbers{{{'x', 2}, {'u', 4}, {'U', 8}}};  // with the number of digits
constexpr char32_t last_character = 0x10ffff;

void append_utf8(std::string& out, char32_t code) {
  const auto more = [&out, code](unsigned shift) { out += static_cast<char>(0x80U | (code >> shift & 0x3fU)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0U | code >> 6U);
    more(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0U | code >> 12U);
    more(6);
    more(0);
  } else {
    out += static_cast<char>(0xf0U | code >> 18U);
    more(12);
    more(6);
    more(0);
  }
}

/// The character of an escape whose backslash is left out, and the length of its rest. Nothing if it is none.
std::optional<std::pair<char32_t, std::size_t>> character_of(std::string_view rest) {
  if (rest.empty()) return std::nullopt;
  for (const auto& [letter, character] : letters)
    if (rest[0] == letter) return std::pair(static_cast<char32_t>(character), std::size_t{1});
  for (const auto& [letter, digits] : numbers) {
    if (rest[0] != letter || rest.size() <= digits) continue;
    std::uint32_t code = 0;
    const char* const end = rest.data() + 1 + digits;
    const auto [read, error] = std::from_chars(rest.data() + 1, end, code, 16);
    if (error == std::errc() && read == end && code <= last_character) return std::pair(char32_t{code}, digits + 1);
  }
  return std::nullopt;
}

}  // namespace

std::string unescaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t plain = std::min(text.find('\\'), text.size());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const auto character = character_of(text.substr(1));
    if (character) {
      append_utf8(out, character->first);
    } else {
      out += '\\';
    }
    text.remove_prefix(1 + (character ? character->second : 0));
  }
  return out;
}

}  // namespace ib
