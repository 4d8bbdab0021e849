// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reads bytes that people paste: hexadecimal digits with blanks anywhere, or a string literal of C or Python.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ib::tools {

/// `text` without blanks, tabs and line ends.
std::string without_blanks(std::string_view text);
/// The bytes of hexadecimal digits. Blanks are ignored. Throws UsageError.
std::vector<std::uint8_t> hex_bytes(std::string_view text);
/// Whether `text` begins with a quote.
bool is_literal(std::string_view text);
/// The bytes of a literal: \xNN, \NNN (octal) and the one-letter escapes of C; other bytes stand for themselves. Throws
/// UsageError.
std::vector<std::uint8_t> literal_bytes(std::string_view text);

}  // namespace ib::tools
