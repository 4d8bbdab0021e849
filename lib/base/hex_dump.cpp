// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "base/hex_dump.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/parse.hpp"

namespace ib {
namespace {

constexpr std::string_view word_separators = " \t\r,";
constexpr std::size_t most_offset = 1U << 20;

/// The value of a hexadecimal digit, or −1.
int hex_digit(char c) {
  const std::size_t at = std::string_view("0123456789abcdef0123456789ABCDEF").find(c);
  return at != std::string_view::npos ? static_cast<int>(at % 16) : -1;
}

/// Reads the part of an escape sequence after its backslash, and removes it from `rest`.
std::uint8_t take_escape(std::string_view& rest) {
  constexpr std::string_view letters = "abfnrtv\\'\"", meanings = "\a\b\f\n\r\t\v\\'\"";
  if (rest.empty()) throw UsageError("The string ends within an escape sequence");
  if (rest[0] == 'x') {
    if (rest.size() < 3 || hex_digit(rest[1]) < 0 || hex_digit(rest[2]) < 0) throw UsageError("\\x needs two hexadecimal digits");
    const int value = hex_digit(rest[1]) * 16 + hex_digit(rest[2]);
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

/// A word of the input, and where it stands, counted from 1.
struct PastedWord {
  std::string_view text;
  std::size_t line{}, column{};
};

/// The words of a line that has some.
struct PastedLine {
  std::vector<PastedWord> words;
  bool is_repeated{};  ///< up to the next offset: hexdump then prints a line with an asterisk only
};

/// The lines that are not blank. Commas stand between words as blanks do.
std::vector<PastedLine> pasted_lines(std::string_view text) {
  std::vector<PastedLine> lines;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    PastedLine found;
    for (std::size_t at = line.find_first_not_of(word_separators); at != line.npos;) {
      const std::size_t end = std::min(line.find_first_of(word_separators, at), line.size());
      found.words.push_back({line.substr(at, end - at), number, at + 1});
      at = line.find_first_not_of(word_separators, end);
    }
    if (found.words.size() == 1 && found.words[0].text == "*" && !lines.empty()) {
      lines.back().is_repeated = true;
    } else if (!found.words.empty()) {
      lines.push_back(std::move(found));
    }
  }
  return lines;
}

std::string_view without_0x(std::string_view word) {
  if (word.starts_with("0x") || word.starts_with("0X")) word.remove_prefix(2);
  return word;
}

bool is_hex(std::string_view word) {
  word = without_0x(word);
  return !word.empty() && std::ranges::all_of(word, [](char c) { return hex_digit(c) >= 0; });
}

/// The number that a line begins with, if it can be the number of the bytes before it ("0x0010:", "00000010", "16").
std::optional<std::size_t> offset_in(std::string_view word, unsigned base) {
  if (word.ends_with(':')) word.remove_suffix(1);
  word = without_0x(word);
  const std::optional<std::uint64_t> value = parse_digits(word, base);
  return value && *value <= most_offset ? value : std::nullopt;
}

/// How many bytes the words of a line after its first one hold, up to the first that is not hexadecimal.
std::size_t bytes_after_offset(const PastedLine& line) {
  std::size_t digits = 0;
  for (const PastedWord& word : std::span(line.words).subspan(1)) {
    if (!is_hex(word.text)) break;
    digits += without_0x(word.text).size();
  }
  return digits / 2;
}

/// Whether the first word of a line may be an offset: it has a colon behind it, or not as many digits as the word after it. After the last
/// line hexdump prints the number of all bytes.
bool may_begin_with_offset(const PastedLine& line, bool is_last) {
  const std::string_view first = line.words[0].text;
  if (first.ends_with(':')) return true;
  return line.words.size() > 1 ? without_0x(first).size() != without_0x(line.words[1].text).size() : is_last;
}

/// The offsets with which all lines begin, as tcpdump, hexdump, xxd and Wireshark print them in hexadecimal and dump_words() in decimal
/// digits. Empty if the lines hold nothing but bytes.
std::vector<std::size_t> offsets_of(const std::vector<PastedLine>& lines) {
  for (const int base : {16, 10}) {
    std::vector<std::size_t> offsets;
    for (const PastedLine& line : lines) {
      const std::optional<std::size_t> here =
          may_begin_with_offset(line, &line == &lines.back()) ? offset_in(line.words[0].text, base) : std::nullopt;
      if (!here || (offsets.empty() ? *here != 0 : *here <= offsets.back())) break;
      offsets.push_back(*here);
    }
    if (offsets.size() == lines.size()) return offsets;
  }
  return {};
}

/// The bytes of hexadecimal digits, of which two that make a byte may stand in two words.
std::vector<std::uint8_t> bytes_of(const std::vector<PastedWord>& words) {
  std::vector<std::uint8_t> bytes;
  std::optional<int> high;
  for (const PastedWord& word : words) {
    const std::string_view digits = without_0x(word.text);
    for (std::size_t i = 0; i < digits.size(); ++i) {
      const int value = hex_digit(digits[i]);
      const std::size_t column = word.column + (word.text.size() - digits.size()) + i;
      if (value < 0)
        throw UsageError(fmt::format("Byte {} (line {}, column {}): '{}' is not a hexadecimal digit", bytes.size(), word.line, column,
                                     escaped(digits.substr(i, 1))));
      if (high) bytes.push_back(static_cast<std::uint8_t>(*high * 16 + value));
      high = high ? std::nullopt : std::optional(value);
    }
  }
  if (high)
    throw UsageError(fmt::format("Byte {}, the last one, has only one hexadecimal digit (line {})", bytes.size(), words.back().line));
  return bytes;
}

}  // namespace

std::vector<std::uint8_t> hex_bytes(std::string_view text) {
  const std::vector<PastedLine> lines = pasted_lines(text);
  const std::vector<std::size_t> offsets = offsets_of(lines);
  std::vector<PastedWord> digits;
  // How many bytes a line with an offset has is known from the next offset. The last line has no more than the one before it, and its text
  // begins in the column of the text before.
  std::size_t step = std::string_view::npos, text_column = step;
  for (std::size_t which = 0; which < lines.size(); ++which) {
    const auto& [words, is_repeated] = lines[which];
    if (offsets.empty()) {
      digits.insert(digits.end(), words.begin(), words.end());
      continue;
    }
    const bool is_last = which + 1 == lines.size();
    const std::size_t most = bytes_after_offset(lines[which]);
    if (!is_last) step = offsets[which + 1] - offsets[which];
    const std::size_t times = is_repeated && !is_last ? step / std::max<std::size_t>(most, 1) : 1;
    std::size_t at = 1;
    for (std::size_t left = is_repeated || is_last ? std::min(step, most) : step; at < words.size() && left != 0; ++at) {
      const std::size_t previous_end = at == 1 ? 0 : words[at - 1].column + words[at - 1].text.size();
      const bool is_text =
          words[at].column >= text_column || (lines.size() == 1 && at > 1 && words[at].column > previous_end + 1 && at != 9);
      if (is_last && (is_text || !is_hex(words[at].text))) break;
      left -= std::min(left, without_0x(words[at].text).size() / 2);
    }
    for (std::size_t n = 0; n < times; ++n) digits.insert(digits.end(), words.begin() + 1, words.begin() + static_cast<std::ptrdiff_t>(at));
    text_column = at < words.size() ? words[at].column : std::string_view::npos;
  }
  return bytes_of(digits);
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
    bytes.push_back(c == '\\' ? take_escape(text) : static_cast<std::uint8_t>(c));
  }
  if (text != std::string_view(&mark, 1)) throw UsageError("The string must be in quotes, with nothing behind it");
  return bytes;
}

}  // namespace ib
