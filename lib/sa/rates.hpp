// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The order of rates. The codes of a rate (IBA 15.2.5.16) do not rise with the rate.
#pragma once

#include <cstdint>

#include "iba-gen/sa.hpp"

namespace ib::sa {

/// The rate of a code in Mb/s. 0 for a code without meaning.
std::uint32_t mbps(Rate rate);

/// The next lower rate. Nothing is lower than 2.5 Gb/s: the result is then Rate{0}, as for a code without meaning.
Rate next_lower(Rate rate);

}  // namespace ib::sa
