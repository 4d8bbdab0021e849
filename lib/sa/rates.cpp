// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "sa/rates.hpp"

#include <iterator>

namespace ib::sa {
namespace {

constexpr std::uint32_t by_code[] = {0,       0,       2'500,  10'000,  30'000,  5'000,   20'000,   40'000,  60'000,
                                     80'000,  120'000, 14'000, 56'000,  112'000, 168'000, 25'000,   100'000, 200'000,
                                     300'000, 28'000,  50'000, 400'000, 600'000, 800'000, 1'200'000};

}  // namespace

std::uint32_t mbps(Rate rate) {
  const auto code = static_cast<std::size_t>(rate);
  return code < std::size(by_code) ? by_code[code] : 0;
}

Rate next_lower(Rate rate) {
  Rate best{};
  for (std::size_t code = 0; code < std::size(by_code); ++code) {
    const auto other = static_cast<Rate>(code);
    if (mbps(other) < mbps(rate) && mbps(other) > mbps(best)) best = other;
  }
  return best;
}

}  // namespace ib::sa
