// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reads a line from its front: fixed words and numbers, each either taken whole or left where it is.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ib::formats {

class Scanner {
 public:
  explicit Scanner(std::string_view line) : rest_(line) {}

  std::string_view rest() const { return rest_; }
  bool at_end() const { return rest_.empty(); }

  /// Takes `word` if the line goes on with it.
  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  void skip_blanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t')) rest_.remove_prefix(1);
  }
  /// Takes a number: hexadecimal with 0x, else decimal. Nothing if none stands here, or one above `most`.
  std::optional<std::uint64_t> number(std::uint64_t most) {
    const bool hex = rest_.starts_with("0x") || rest_.starts_with("0X");
    const char* begin = rest_.data() + (hex ? 2 : 0);
    std::uint64_t value = 0;
    const auto end = std::from_chars(begin, rest_.data() + rest_.size(), value, hex ? 16 : 10);
    if (end.ec != std::errc{} || value > most) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end.ptr - rest_.data()));
    return value;
  }
  /// Takes the text up to `end`, and `end`. Nothing if the line has none.
  std::optional<std::string_view> until(std::string_view end) {
    const auto at = rest_.find(end);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view word = rest_.substr(0, at);
    rest_.remove_prefix(at + end.size());
    return word;
  }

 private:
  std::string_view rest_;
};

}  // namespace ib::formats
