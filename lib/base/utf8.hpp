// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Decoding of UTF-8 that may be broken.
#pragma once

#include <cstddef>
#include <string_view>

namespace ib {

struct Utf8Char {
  char32_t code;     ///< undefined if not valid
  std::size_t size;  ///< bytes it takes; for broken text the bytes to replace together (Unicode 15, 3.9, "maximal subpart")
  bool valid;
};

/// The character at the front of `text`, which must not be empty. Overlong forms, surrogates and codes above U+10FFFF
/// are not valid.
Utf8Char decode_utf8(std::string_view text);

/// Whether showing `code` can change what a terminal does or how the text around it looks: control characters of both sets,
/// line separators and the marks that reverse text.
bool is_hostile(char32_t code);

}  // namespace ib
