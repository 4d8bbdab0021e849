// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "base/split.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/parse.hpp"

namespace ib {
namespace {

constexpr std::size_t most_hosts = 1U << 17;  // more than a subnet has LIDs

/// A list is what stands between two separators that are not in brackets.
std::string_view take_word(std::string_view& text) {
  bool is_inside = false;
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    if (text[end] == '[') is_inside = true;
    if (text[end] == ']') is_inside = false;
    if (!is_inside && (text[end] == ',' || std::string_view(" \t\r\n").find(text[end]) != std::string_view::npos)) break;
  }
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

std::optional<std::uint64_t> number_of(std::string_view digits) {
  return std::ranges::all_of(digits, is_digit) ? parse_digits(digits, 10) : std::nullopt;
}

[[noreturn]] void refuse(std::string_view word, std::string_view why) {
  throw UsageError(fmt::format("{} is not a list of hosts: {}", in_quotes(word), why));
}

/// Calls use() with each number of "001-064,100", with as many digits as the first of a range has.
template <class Use>
void each_number(std::string_view ranges, std::string_view word, Use use) {
  for (const std::string_view range : split_list(ranges)) {
    const std::string_view first = range.substr(0, range.find('-'));
    const std::string_view last = first.size() == range.size() ? first : range.substr(first.size() + 1);
    const std::optional<std::uint64_t> low = number_of(first), high = number_of(last);
    if (!low || !high || *low > *high) refuse(word, fmt::format("{} is not a range of numbers", in_quotes(range)));
    if (*high - *low >= most_hosts) refuse(word, "the range is too long");
    for (std::uint64_t step = 0; step <= *high - *low; ++step) use(fmt::format("{:0{}}", *low + step, first.size()));
  }
}

/// Adds the names of one word: each range in it has all its numbers.
void expand(const std::string& before, std::string_view rest, std::string_view word, std::set<std::string>& names) {
  if (names.size() > most_hosts) refuse(word, "these are too many");
  const std::size_t open = rest.find('[');
  if (open == std::string_view::npos) {
    if (rest.find(']') != std::string_view::npos) refuse(word, "a bracket is not opened");
    names.insert(before + std::string(rest));
    return;
  }
  const std::size_t close = rest.find(']', open);
  if (close == std::string_view::npos) refuse(word, "a bracket is not closed");
  if (close == open + 1) refuse(word, "brackets are empty");
  const std::string prefix = before + std::string(rest.substr(0, open));
  each_number(rest.substr(open + 1, close - open - 1), word,
              [&](const std::string& number) { expand(prefix + number, rest.substr(close + 1), word, names); });
}

}  // namespace

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find_first_of(separators);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> split_list(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts = split(text, separators);
  if (parts.back().empty()) parts.pop_back();
  return parts;
}

std::set<std::string> expand_hosts(std::string_view text) {
  std::set<std::string> names;
  while (!text.empty()) {
    const std::string_view word = take_word(text);
    if (!word.empty()) expand({}, word, word, names);
  }
  return names;
}

}  // namespace ib
