// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Makes text from the wire, a file or sysfs safe to show, and reads such text back. A NodeDescription may hold any 64 bytes: terminal
// controls, broken UTF-8, no terminator. Each dialect has one way to show such text, and all of these ways are here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/bytes.hpp"

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
/// Appends the character `code`.
void append_utf8(std::string& out, char32_t code);

/// Whether `code` can change the behaviour of a terminal or the look of the text around it: control characters of both sets,
/// line separators and the marks that reverse text.
bool is_hostile(char32_t code);

/// A fixed-length string field (IBA 14.2.5.2) up to its first NUL, or the whole field if there is no NUL.
std::string_view fixed_text(Bytes field);

/// For the ibtool dialect: printable ASCII stays. All other characters become `\\`, `\t`, `\n`, `\r`, `\x1b`, `\xe9`, `\u20ac`
/// or `\U0001f600`. A byte that is not valid UTF-8 becomes `\xNN`.
std::string escaped(std::string_view text);

/// The text from which escaped() makes `text`. `\xNN` from 80 on becomes a character, although escaped() writes broken UTF-8 so, too. What
/// escaped() does not write stays as it is.
std::string unescaped(std::string_view text);

/// For the ibtool dialect: escaped() in single quotes, or in double quotes if the text has single quotes and no double quotes.
std::string in_quotes(std::string_view text);

/// For diagnostics that repeat words of the command line: UTF-8, line ends, tabs and backslashes stay. Characters that could
/// disturb a terminal and bytes that are not valid UTF-8 are shown as escaped() shows them.
std::string harmless(std::string_view text);

/// As harmless(), for what must stay within one line: line ends are shown as escaped() shows them.
std::string harmless_line(std::string_view text);

/// For the diags dialect: replaces every byte that is not printable ASCII by `substitute`.
std::string printable(std::string_view text, char substitute = ' ');

/// For the diags dialect, for words of the user (operands, names of a map, files): UTF-8, line ends and tabs stay. Each
/// character that could disturb a terminal, and each broken UTF-8 sequence, becomes one blank.
std::string printable_words(std::string_view text);

/// `bytes` as lower-case hexadecimal, two digits a byte.
std::string hex_text(Bytes bytes);

/// Appends `text` as a JSON string with its quotes. Broken UTF-8 becomes U+FFFD. Characters that could disturb a terminal
/// become \uXXXX. The result is valid JSON whatever `text` holds.
void append_json_string(std::string& out, std::string_view text);

}  // namespace ib
