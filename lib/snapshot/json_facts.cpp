// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/json_facts.hpp"

#include <algorithm>
#include <charconv>

namespace ib::snapshot {
namespace {

constexpr unsigned deepest = 8;

/// What a letter after a backslash stands for, or 0.
char unescaped(char letter) {
  switch (letter) {
    case '"':
    case '\\':
    case '/':
      return letter;
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return 0;
  }
}

void skip_blanks(std::string_view& rest) { rest.remove_prefix(std::min(rest.find_first_not_of(" \t\r\n"), rest.size())); }

char take(std::string_view& rest) {
  if (rest.empty()) throw JsonFacts::NotFound();
  const char c = rest.front();
  rest.remove_prefix(1);
  return c;
}

/// Skips blanks, and `c` if it comes next.
bool skip(std::string_view& rest, char c) {
  skip_blanks(rest);
  if (!rest.starts_with(c)) return false;
  rest.remove_prefix(1);
  return true;
}

void expect(std::string_view& rest, char c) {
  if (!skip(rest, c)) throw JsonFacts::NotFound();
}

std::uint64_t read_number(std::string_view& rest, int base = 10) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number, base);
  if (error != std::errc() || (base == 10 && rest.front() == '0' && end != rest.data() + 1)) throw JsonFacts::NotFound();
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return number;
}

/// The byte for which the character stands whose first byte, or backslash, was `first`.
char read_character(std::string_view& rest, char first) {
  const auto lead = static_cast<unsigned char>(first);
  if (first == '\\') {
    const char letter = take(rest);
    if (const char c = unescaped(letter); c != 0) return c;
    std::string_view digits = rest.substr(0, 4);
    if (letter != 'u' || digits.size() != 4) throw JsonFacts::NotFound();
    rest.remove_prefix(digits.size());
    const std::uint64_t number = read_number(digits, 16);
    if (!digits.empty() || number > 0xff) throw JsonFacts::NotFound();
    return static_cast<char>(number);
  }
  if (lead >= ' ' && lead < 0x80) return first;
  const auto next = static_cast<unsigned char>(take(rest));
  if ((lead != 0xc2 && lead != 0xc3) || (next & 0xc0U) != 0x80) throw JsonFacts::NotFound();
  return static_cast<char>((lead & 3U) << 6U | (next & 0x3fU));
}

std::string read_text(std::string_view& rest) {
  std::string text;
  for (char c = take(rest); c != '"'; c = take(rest)) text += read_character(rest, c);
  return text;
}

}  // namespace

std::string as_utf8(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      text += c;
    } else {
      text += static_cast<char>(0xc0U | byte >> 6U);
      text += static_cast<char>(0x80U | (byte & 0x3fU));
    }
  }
  return text;
}

JsonFacts::JsonFacts(std::string_view text) {
  read_value(text, "", 0);
  skip_blanks(text);
  if (!text.empty()) throw NotFound();
}

void JsonFacts::read_value(std::string_view& rest, const std::string& name, unsigned depth) {
  skip_blanks(rest);
  if (depth == deepest) throw NotFound();
  if (skip(rest, '{')) {
    read_members(rest, name, depth, true);
  } else if (skip(rest, '[')) {
    read_members(rest, name, depth, false);
  } else if (skip(rest, '"')) {
    facts_[name] = read_text(rest);
  } else {
    facts_[name] = read_number(rest);
  }
}

void JsonFacts::read_members(std::string_view& rest, const std::string& name, unsigned depth, bool is_object) {
  const char end = is_object ? '}' : ']';
  if (skip(rest, end)) return;
  std::size_t index = 0;
  do {
    std::string member = std::to_string(index++);
    if (is_object) {
      expect(rest, '"');
      member = read_text(rest);
      expect(rest, ':');
    }
    read_value(rest, name + "/" + member, depth + 1);
  } while (skip(rest, ','));
  expect(rest, end);
}

const std::string& JsonFacts::bytes(std::string_view name) const {
  const auto found = facts_.find(name);
  const auto* const text = found == facts_.end() ? nullptr : std::get_if<std::string>(&found->second);
  if (text == nullptr) throw NotFound();
  return *text;
}

std::uint64_t JsonFacts::number_up_to(std::string_view name, std::uint64_t largest) const {
  const auto found = facts_.find(name);
  const auto* const number = found == facts_.end() ? nullptr : std::get_if<std::uint64_t>(&found->second);
  if (number == nullptr || *number > largest) throw NotFound();
  return *number;
}

}  // namespace ib::snapshot
