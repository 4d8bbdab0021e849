// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A text in a constant table. A std::string_view is a pointer, which is relocated at each start of the program; an offset is not.
#pragma once

#include <cstdint>
#include <string_view>

namespace ib {

/// A part of one long text.
struct StoredText {
  std::uint32_t at : 24, size : 8;

  constexpr std::string_view in(const char* texts) const { return {texts + at, size}; }
};

}  // namespace ib
