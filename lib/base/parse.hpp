// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Numbers from untrusted text: command lines, files, sysfs. The whole text must be the number, overflow is a failure, and
// nothing throws. Also lines NAME=VALUE, and the natural order of names that contain numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ib {

/// Whether it is a decimal digit of ASCII, whatever the locale.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// `text` without leading and trailing blanks (space, tab, CR, LF, VT, FF).
std::string_view trim(std::string_view text);

/// The value of `text` as an unsigned integer in `base` (2…36, without prefix). Blanks around the number are allowed, signs are
/// not. Nothing if `text` is not such a number.
std::optional<std::uint64_t> parse_digits(std::string_view text, unsigned base);

/// A line NAME=VALUE of a file of settings.
struct SettingLine {
  std::size_t number;            ///< from 1
  std::string_view whole;        ///< as in the file, without its end
  std::string_view name, value;  ///< without blanks around them
  bool has_equals;               ///< else the line is wrong
};

/// The settings in `text`, one after another. Empty lines, and lines that begin with '#', are left out.
class SettingLines {
 public:
  explicit SettingLines(std::string_view text) : rest_(text) {}
  /// The next setting; nothing at the end of the text.
  std::optional<SettingLine> next();

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
};

/// Whether `a` comes before `b` in natural order: runs of digits compare by value, so mlx5_2 comes before mlx5_10.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace ib
