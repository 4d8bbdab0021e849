// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Numbers out of text that nobody vouches for: command lines, files, sysfs. All of the text must be the number,
// overflow is a failure and nothing throws. Names with numbers in them sort as people count.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ib {

/// `text` without leading and trailing blanks (space, tab, CR, LF, VT, FF).
std::string_view trim(std::string_view text);

/// The unsigned integer that `text` is, in `base` (2…36, without prefix). Blanks around it are allowed, signs are not.
std::optional<std::uint64_t> parse_digits(std::string_view text, unsigned base);

/// Whether `a` comes before `b` where runs of digits compare by value: mlx5_2 before mlx5_10.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace ib
