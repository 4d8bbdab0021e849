// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Text that came from the wire, a file or sysfs, made safe to show. A NodeDescription may hold any 64 bytes: terminal
// controls, broken UTF-8, no terminator. Every dialect has one way to show them and all of it is here.
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.hpp"

namespace ib {

/// A fixed-length string field (IBA 14.2.5.2) up to its first NUL, or all of it where there is none.
std::string_view fixed_text(Bytes field);

/// For the ibtool dialect: printable ASCII with `\\`, `\t`, `\n`, `\r`, `\x1b`, `\xe9`, `\u20ac`, `\U0001f600` for all else.
/// A byte that is not UTF-8 is shown as `\xNN` too.
std::string escaped(std::string_view text);

/// For the ibtool dialect: escaped() in quotes, which are 'single' unless the text itself has such and no "double" ones.
std::string quoted(std::string_view text);

/// For diagnostics, which repeat words of the command line: UTF-8, line ends, tabs and backslashes stay; what could disturb a
/// terminal and bytes that are not UTF-8 are shown as by escaped().
std::string harmless(std::string_view text);

/// For the diags dialect: every byte that is not printable ASCII replaced by `substitute`.
std::string printable(std::string_view text, char substitute = ' ');

/// For the diags dialect, where it repeats words of its user (operands, names of a map, files): UTF-8, line ends and tabs stay; what
/// could disturb a terminal and bytes that are not UTF-8 become blanks.
std::string printable_words(std::string_view text);

/// Two lower-case hexadecimal digits a byte.
std::string hex_text(Bytes bytes);

/// Appends `text` as a JSON string with its quotes. What is not UTF-8 becomes U+FFFD; what could disturb a terminal is
/// written as \uXXXX. The result is valid JSON whatever `text` holds.
void append_json_string(std::string& out, std::string_view text);

}  // namespace ib
