// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reads bytes that people paste: hexadecimal digits with blanks anywhere, the output of a program that dumps packets, or a string literal
// of C or Python. Every digit is checked, because pasted text may be anything.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace ib {

/// The bytes of hexadecimal digits. Blanks, commas and the "0x" before a word are ignored, and so are the offset at the beginning of each
/// line and what stands behind its bytes, as tcpdump -xX, hexdump -C, xxd and dump_words() print them. Throws UsageError with the place.
std::vector<std::uint8_t> hex_bytes(std::string_view text);
/// Whether `text` begins with a quote.
bool is_literal(std::string_view text);
/// The bytes of a literal: \xNN, \NNN (octal) and the one-letter escapes of C; other bytes stand for themselves. Throws
/// UsageError.
std::vector<std::uint8_t> literal_bytes(std::string_view text);

}  // namespace ib
