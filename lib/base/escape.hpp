// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Makes text from the wire, a file or sysfs safe to show. A NodeDescription may hold any 64 bytes: terminal controls, broken
// UTF-8, no terminator. Each dialect has one way to show such text, and all of these ways are here.
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.hpp"

namespace ib {

/// A fixed-length string field (IBA 14.2.5.2) up to its first NUL, or the whole field if there is no NUL.
std::string_view fixed_text(Bytes field);

/// For the ibtool dialect: printable ASCII stays. All other characters become `\\`, `\t`, `\n`, `\r`, `\x1b`, `\xe9`, `\u20ac`
/// or `\U0001f600`. A byte that is not valid UTF-8 becomes `\xNN`.
std::string escaped(std::string_view text);

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
