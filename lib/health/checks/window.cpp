// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/checks/window.hpp"

#include <algorithm>
#include <cmath>

namespace ib::health {

double chance_of(std::uint64_t count, double mean) {
  if (count == 0) return 1;
  if (mean <= 0) return 0;
  // The sum of the terms from `count` on. They shrink from there, as `count` is beyond the mean; else it is not a rare event.
  if (static_cast<double>(count) <= mean) return 1;
  const auto first = static_cast<double>(count);
  double term = std::exp(first * std::log(mean) - mean - std::lgamma(first + 1)), sum = 0;
  for (double at = first; term > sum * 1e-9 && at < first + 1e4; ++at) {
    sum += term;
    term *= mean / (at + 1);
  }
  return std::min(sum, 1.0);
}

Confidence confidence_in(std::uint64_t count, double mean, std::size_t links) {
  constexpr double rare = 1e-3;
  const double chance = chance_of(count, mean);
  if (chance * static_cast<double>(std::max<std::size_t>(links, 1)) < rare) return Confidence::sure;
  return chance < rare ? Confidence::likely : Confidence::possible;
}

}  // namespace ib::health
