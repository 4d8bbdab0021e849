// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "base/escape.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace ib {

namespace {

/// The characters that a letter stands for behind a backslash, and the letters of numbers with their counts of hex digits.
constexpr std::array<std::pair<char, char>, 4> escape_letters{{{'\\', '\\'}, {'t', '\t'}, {'n', '\n'}, {'r', '\r'}}};
constexpr std::array<std::pair<char, std::size_t>, 3> escape_numbers{{{'x', 2}, {'u', 4}, {'U', 8}}};
constexpr char32_t last_character = 0x10ffff;

constexpr bool is_plain(char c) { return c >= 0x20 && c < 0x7f && c != '\\'; }

void append_hex(std::string& out, std::string_view prefix, char32_t value, int digits) {
  out += prefix;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out += "0123456789abcdef"[value >> shift & 0xf];
}

/// The letter that represents a character after a backslash, or NUL if the character has no such letter.
char escape_letter(char32_t code) {
  const auto found = std::ranges::find(escape_letters, code, [](const auto& letter) { return static_cast<char32_t>(letter.second); });
  return found == escape_letters.end() ? '\0' : found->first;
}

/// Appends the escape of a character, or of each byte of a broken sequence.
void append_escape(std::string& out, const Utf8Char& c, std::string_view bytes) {
  if (!c.valid) {
    for (const char byte : bytes) append_hex(out, "\\x", static_cast<unsigned char>(byte), 2);
  } else if (const char letter = escape_letter(c.code); letter != '\0') {
    (out += '\\') += letter;
  } else if (c.code < 0x100) {
    append_hex(out, "\\x", c.code, 2);
  } else if (c.code < 0x10000) {
    append_hex(out, "\\u", c.code, 4);
  } else {
    append_hex(out, "\\U", c.code, 8);
  }
}

/// Appends the plain characters of `text` but `quote`, and calls `use` with each other character and its bytes.
template <class Use>
void append_text(std::string& out, std::string_view text, char quote, const Use& use) {
  while (!text.empty()) {
    const auto special = std::ranges::find_if(text, [quote](char c) { return !is_plain(c) || c == quote; });
    const auto plain = static_cast<std::size_t>(special - text.begin());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) return;
    const Utf8Char c = decode_utf8(text);
    use(c, text.substr(0, c.size));
    text.remove_prefix(c.size);
  }
}

/// Appends `text`, escaped. A `quote` within `text` is escaped too, unless `quote` is NUL.
void append_escaped(std::string& out, std::string_view text, char quote) {
  append_text(out, text, quote, [&out, quote](const Utf8Char& c, std::string_view bytes) {
    quote != '\0' && bytes[0] == quote ? void((out += '\\') += quote) : append_escape(out, c, bytes);
  });
}

/// Whether a character of the user's own words may be shown unchanged.
bool is_harmless(const Utf8Char& c) { return c.valid && (!is_hostile(c.code) || c.code == '\n' || c.code == '\t'); }

/// The user's own words, with or without their line ends.
std::string shown(std::string_view text, bool has_lines) {
  std::string out;
  append_text(out, text, '\0', [&out, has_lines](const Utf8Char& c, std::string_view bytes) {
    const bool is_kept = is_harmless(c) && (has_lines || c.code != '\n');
    is_kept ? void(out += bytes) : append_escape(out, c, bytes);
  });
  return out;
}

/// The character of an escape whose backslash is left out, and the length of its rest. Nothing if it is none.
std::optional<std::pair<char32_t, std::size_t>> character_of(std::string_view rest) {
  if (rest.empty()) return std::nullopt;
  for (const auto& [letter, character] : escape_letters)
    if (rest[0] == letter) return std::pair(static_cast<char32_t>(character), std::size_t{1});
  for (const auto& [letter, digits] : escape_numbers) {
    if (rest[0] != letter || rest.size() <= digits) continue;
    std::uint32_t code = 0;
    const char* const end = rest.data() + 1 + digits;
    const auto [read, error] = std::from_chars(rest.data() + 1, end, code, 16);
    if (error == std::errc() && read == end && code <= last_character) return std::pair(char32_t{code}, digits + 1);
  }
  return std::nullopt;
}

}  // namespace

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

void append_utf8(std::string& out, char32_t code) {
  constexpr std::array<unsigned, 4> leads{0, 0xc0, 0xe0, 0xf0};
  const unsigned more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;  // bytes behind the first
  out += static_cast<char>(leads[more] | code >> 6 * more);
  for (unsigned left = more; left-- > 0;) out += static_cast<char>(0x80U | (code >> 6 * left & 0x3fU));
}

std::string_view fixed_text(Bytes field) {
  const std::string_view all = as_text(field);
  return all.substr(0, all.find('\0'));
}

std::string escaped(std::string_view text) {
  const bool both = text.find('\'') != std::string_view::npos && text.find('"') != std::string_view::npos;
  std::string out;
  append_escaped(out, text, both ? '\'' : '\0');
  return out;
}

std::string in_quotes(std::string_view text) {
  const bool doubles = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
  const char quote = doubles ? '"' : '\'';
  std::string out(1, quote);
  out.reserve(text.size() + 2);
  append_escaped(out, text, quote);
  out += quote;
  return out;
}

std::string harmless(std::string_view text) { return shown(text, true); }

std::string harmless_line(std::string_view text) { return shown(text, false); }

std::string printable(std::string_view text, char substitute) {
  std::string out(text);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c < 0x20 || c > 0x7e; }, substitute);
  return out;
}

std::string printable_words(std::string_view text) {
  std::string out;
  append_text(out, text, '\0', [&out](const Utf8Char& c, std::string_view bytes) { out += is_harmless(c) ? bytes : " "; });
  return out;
}

std::string hex_text(Bytes bytes) {
  std::string out;
  for (const std::uint8_t byte : bytes) append_hex(out, "", byte, 2);
  return out;
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  append_text(out, text, '"', [&out](const Utf8Char& c, std::string_view bytes) {
    const char letter = c.code == '"' ? '"' : escape_letter(c.code);  // RFC 8259 7
    if (!c.valid) {
      out += "\xef\xbf\xbd";  // U+FFFD REPLACEMENT CHARACTER
    } else if (letter != '\0') {
      (out += '\\') += letter;
    } else if (is_hostile(c.code)) {
      append_hex(out, "\\u", c.code, 4);
    } else {
      out += bytes;
    }
  });
  out += '"';
}

std::string unescaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t plain = std::min(text.find('\\'), text.size());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const auto character = character_of(text.substr(1));
    append_utf8(out, character ? character->first : U'\\');
    text.remove_prefix(1 + (character ? character->second : 0));
  }
  return out;
}

}  // namespace ib
