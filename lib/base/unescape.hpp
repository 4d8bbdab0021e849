// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reads back text that escaped() (escape.hpp) made.
#pragma once

#include <string>
#include <string_view>

namespace ib {

/// The text from which escaped() makes `text`. `\xNN` from 80 on becomes a character, although escaped() writes broken UTF-8 so, too. What
/// escaped() does not write stays as it is.
std::string unescaped(std::string_view text);

}  // namespace ib
