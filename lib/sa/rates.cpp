// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "sa/rates.hpp"

#include <cmath>
#include <iterator>

namespace ib::sa {
namespace {

// By code 0…24: twice the rate that 8b/10b coding needs for the same data, in Gb/s. Only their order matters.
constexpr double order_per_mbps = 2 * 1.25 / 1000;
constexpr std::uint16_t by_code[] = {0,   0,   5,  20,  60,  10,  40, 80,  120,  160,  240,  34,  136,
                                     272, 408, 63, 250, 500, 750, 70, 125, 1000, 1500, 2000, 3000};

}  // namespace

unsigned order_of(Rate rate) {
  const auto code = static_cast<std::size_t>(rate);
  return code < std::size(by_code) ? by_code[code] : 0;
}

unsigned order_of_data(double data_mbps) { return static_cast<unsigned>(std::lround(data_mbps * order_per_mbps)); }

Rate next_lower(Rate rate) {
  Rate best{};
  for (std::size_t code = 0; code < std::size(by_code); ++code) {
    const auto other = static_cast<Rate>(code);
    if (order_of(other) < order_of(rate) && order_of(other) > order_of(best)) best = other;
  }
  return best;
}

}  // namespace ib::sa
