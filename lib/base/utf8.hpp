// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Decodes UTF-8 text that may be broken.
#pragma once

#include <cstddef>
#include <string_view>

namespace ib {

/// One decoded character, or a broken sequence.
struct Utf8Char {
  char32_t code;     ///< undefined if not valid
  std::size_t size;  ///< bytes of the character; if not valid, the bytes to replace together (Unicode 15, 3.9, "maximal subpart")
  bool valid;
};

/// The character at the front of `text`, which must not be empty. Overlong forms, surrogates and codes above U+10FFFF are not
/// valid.
Utf8Char decode_utf8(std::string_view text);

/// Whether `code` can change the behaviour of a terminal or the look of the text around it: control characters of both sets,
/// line separators and the marks that reverse text.
bool is_hostile(char32_t code);

}  // namespace ib
