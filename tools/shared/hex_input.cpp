// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Every digit is checked, because pasted text may be anything.
#include "tools/shared/hex_input.hpp"

#include "base/error.hpp"
#include "base/parse.hpp"

namespace ib::tools {
namespace {

/// The value of a hexadecimal digit, or −1.
int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Reads the part of an escape sequence after its backslash, and removes it from `rest`.
std::uint8_t escape(std::string_view& rest) {
  constexpr std::string_view letters = "abfnrtv\\'\"", meanings = "\a\b\f\n\r\t\v\\'\"";
  if (rest.empty()) throw UsageError("The string ends within an escape sequence");
  if (rest[0] == 'x') {
    if (rest.size() < 3 || digit(rest[1]) < 0 || digit(rest[2]) < 0) throw UsageError("\\x needs two hexadecimal digits");
    const int value = digit(rest[1]) * 16 + digit(rest[2]);
    rest.remove_prefix(3);
    return static_cast<std::uint8_t>(value);
  }
  if (rest[0] >= '0' && rest[0] <= '7') {
    unsigned value = 0;
    for (int i = 0; i < 3 && !rest.empty() && rest[0] >= '0' && rest[0] <= '7'; ++i) {
      value = value * 8 + static_cast<unsigned>(rest[0] - '0');
      rest.remove_prefix(1);
    }
    return static_cast<std::uint8_t>(value);
  }
  const std::size_t which = letters.find(rest[0]);
  if (which == std::string_view::npos) throw UsageError("The string has an unknown escape sequence");
  rest.remove_prefix(1);
  return static_cast<std::uint8_t>(meanings[which]);
}

}  // namespace

std::string without_blanks(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') result += c;
  }
  return result;
}

std::vector<std::uint8_t> hex_bytes(std::string_view text) {
  const std::string digits = without_blanks(text);
  if (digits.size() % 2 != 0) throw UsageError("The input has an odd number of hexadecimal digits");
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const int high = digit(digits[i]), low = digit(digits[i + 1]);
    if (high < 0 || low < 0) throw UsageError("Non-hexadecimal digit found");
    bytes.push_back(static_cast<std::uint8_t>(high * 16 + low));
  }
  return bytes;
}

bool is_literal(std::string_view text) { return text.starts_with('"') || text.starts_with('\''); }

std::vector<std::uint8_t> literal_bytes(std::string_view text) {
  text = trim(text);
  const char mark = text[0];
  text.remove_prefix(1);
  std::vector<std::uint8_t> bytes;
  while (!text.empty() && text[0] != mark) {
    const char c = text[0];
    text.remove_prefix(1);
    bytes.push_back(c == '\\' ? escape(text) : static_cast<std::uint8_t>(c));
  }
  if (text != std::string_view(&mark, 1)) throw UsageError("The string must be in quotes, with nothing behind it");
  return bytes;
}

}  // namespace ib::tools
