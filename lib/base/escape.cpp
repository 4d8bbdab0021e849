// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "base/escape.hpp"

#include <algorithm>

#include "base/utf8.hpp"

namespace ib {

namespace {

constexpr bool is_plain(char c) { return c >= 0x20 && c < 0x7f && c != '\\'; }

void append_hex(std::string& out, std::string_view prefix, char32_t value, int digits) {
  out += prefix;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out += "0123456789abcdef"[value >> shift & 0xf];
}

/// The letter that represents a character after a backslash, or NUL if the character has no such letter.
char escape_letter(char32_t code) {
  switch (code) {
    case '\\':
      return '\\';
    case '\t':
      return 't';
    case '\n':
      return 'n';
    case '\r':
      return 'r';
    default:
      return '\0';
  }
}

void append_escape(std::string& out, char32_t code) {
  if (const char letter = escape_letter(code); letter != '\0') {
    out += '\\';
    out += letter;
  } else if (code < 0x100) {
    append_hex(out, "\\x", code, 2);
  } else if (code < 0x10000) {
    append_hex(out, "\\u", code, 4);
  } else {
    append_hex(out, "\\U", code, 8);
  }
}

/// Escapes each byte of `bytes`, which are not valid UTF-8.
void append_bytes(std::string& out, std::string_view bytes) {
  for (const char byte : bytes) append_hex(out, "\\x", static_cast<unsigned char>(byte), 2);
}

/// Appends `text`, escaped. A `quote` within `text` is escaped too, unless `quote` is NUL.
void append_escaped(std::string& out, std::string_view text, char quote) {
  while (!text.empty()) {
    const auto plain = static_cast<std::size_t>(
        std::find_if(text.begin(), text.end(), [&](char c) { return !is_plain(c) || (quote != '\0' && c == quote); }) - text.begin());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) return;
    if (quote != '\0' && text[0] == quote) {
      out += '\\';
      out += quote;
      text.remove_prefix(1);
      continue;
    }
    const auto c = decode_utf8(text);
    if (c.valid) {
      append_escape(out, c.code);
    } else {
      append_bytes(out, text.substr(0, c.size));
    }
    text.remove_prefix(c.size);
  }
}

/// Whether a character of the user's own words may be shown unchanged.
bool is_harmless(const Utf8Char& c) { return c.valid && (!is_hostile(c.code) || c.code == '\n' || c.code == '\t'); }

/// The user's own words, with or without their line ends.
std::string shown(std::string_view text, bool has_lines) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto c = decode_utf8(text);
    if (is_harmless(c) && (has_lines || c.code != '\n')) {
      out += text.substr(0, c.size);
    } else if (c.valid) {
      append_escape(out, c.code);
    } else {
      append_bytes(out, text.substr(0, c.size));
    }
    text.remove_prefix(c.size);
  }
  return out;
}

/// Appends the JSON escape of one character (RFC 8259 7).
void append_json_escape(std::string& out, char32_t code) {
  const char letter = code == '"' ? '"' : escape_letter(code);
  if (letter == '\0') return append_hex(out, "\\u", code, 4);
  out += '\\';
  out += letter;
}

}  // namespace

std::string_view fixed_text(Bytes field) {
  const std::string_view all(reinterpret_cast<const char*>(field.data()), field.size());
  return all.substr(0, all.find('\0'));
}

std::string escaped(std::string_view text) {
  const bool both = text.find('\'') != std::string_view::npos && text.find('"') != std::string_view::npos;
  std::string out;
  out.reserve(text.size());
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
  out.reserve(text.size());
  while (!text.empty()) {
    const auto c = decode_utf8(text);
    out += is_harmless(c) ? text.substr(0, c.size) : std::string_view(" ");
    text.remove_prefix(c.size);
  }
  return out;
}

std::string hex_text(Bytes bytes) {
  std::string out;
  for (const std::uint8_t byte : bytes) append_hex(out, "", byte, 2);
  return out;
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const auto plain =
        static_cast<std::size_t>(std::find_if(text.begin(), text.end(), [](char c) { return !is_plain(c) || c == '"'; }) - text.begin());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const auto c = decode_utf8(text);
    if (!c.valid) {
      out += "\xef\xbf\xbd";  // U+FFFD REPLACEMENT CHARACTER
    } else if (c.code == '"' || c.code == '\\' || is_hostile(c.code)) {
      append_json_escape(out, c.code);
    } else {
      out += text.substr(0, c.size);
    }
    text.remove_prefix(c.size);
  }
  out += '"';
}

}  // namespace ib
