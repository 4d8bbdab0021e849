// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "base/utf8.hpp"

namespace ib {

Utf8Char decode_utf8(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {first, 1, true};
  if (first < 0xc2 || first > 0xf4) return {0, 1, false};
  const std::size_t size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  // The range of the second byte excludes overlong forms, surrogates and codes above U+10FFFF (Unicode 15, table 3-7).
  const unsigned low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  char32_t code = first & (0xffU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if (i >= text.size() || byte(i) < (i == 1 ? low : 0x80U) || byte(i) > (i == 1 ? high : 0xbfU)) return {0, i, false};
    code = code << 6 | (byte(i) & 0x3fU);
  }
  return {code, size, true};
}

bool is_hostile(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200e && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0x061c || code == 0xfeff;
}

}  // namespace ib
