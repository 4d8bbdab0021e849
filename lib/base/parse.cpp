// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "base/parse.hpp"

#include <algorithm>
#include <charconv>

namespace ib {

namespace {

constexpr std::string_view blanks = " \t\r\n\v\f";

/// Removes the digits at the front of `text` and returns them without leading zeros.
std::string_view take_number(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && is_digit(text[end])) ++end;
  std::string_view number = text.substr(0, end);
  text.remove_prefix(end);
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  return number;
}

}  // namespace

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::optional<std::uint64_t> parse_digits(std::string_view text, unsigned base) {
  text = trim(text);
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value, static_cast<int>(base));
  if (text.empty() || result.ec != std::errc{} || result.ptr != end) return std::nullopt;
  return value;
}

std::optional<SettingLine> SettingLines::next() {
  while (!rest_.empty()) {
    const std::string_view whole = rest_.substr(0, rest_.find('\n'));
    rest_.remove_prefix(std::min(whole.size() + 1, rest_.size()));
    ++number_;
    const std::string_view line = trim(whole);
    if (line.empty() || line.front() == '#') continue;
    const std::size_t equals = std::min(line.find('='), line.size()), behind = std::min(equals + 1, line.size());
    return SettingLine{number_, whole, trim(line.substr(0, equals)), trim(line.substr(behind)), equals < line.size()};
  }
  return std::nullopt;
}

bool natural_less(std::string_view a, std::string_view b) {
  std::string_view x = a;
  std::string_view y = b;
  while (!x.empty() && !y.empty()) {
    if (is_digit(x[0]) && is_digit(y[0])) {
      const auto m = take_number(x);
      const auto n = take_number(y);
      if (m.size() != n.size()) return m.size() < n.size();
      if (m != n) return m < n;
      continue;
    }
    if (x[0] != y[0]) return static_cast<unsigned char>(x[0]) < static_cast<unsigned char>(y[0]);
    x.remove_prefix(1);
    y.remove_prefix(1);
  }
  if (x.empty() != y.empty()) return x.empty();
  return a < b;  // equal but for leading zeros: any fixed order will do
}

}  // namespace ib
