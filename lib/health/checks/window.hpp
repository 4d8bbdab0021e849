// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What the time between two readings can prove about the error ratio of a link, and what chance explains.
#pragma once

#include <cstddef>
#include <cstdint>

#include "health/finding.hpp"
#include "subnet/model/rate.hpp"

namespace ib::health {

/// The bits that a link carries in `seconds`.
inline double bits_in(const subnet::LinkRate& rate, double seconds) {
  constexpr double per_mbps = 1e6;
  return rate.data_mbps() * per_mbps * seconds;
}

/// The error ratio below which a link is with a confidence of 95 %, if it had no error in `bits` bits: the rule of three.
inline double provable_ratio(double bits) { return 3 / bits; }

/// The probability that a link with `mean` errors on average has `count` errors or more (Poisson).
double chance_of(std::uint64_t count, double mean);

/// How sure it is that `count` errors, where a good link has `mean`, are not chance. `links`: the number of links that were looked at, each
/// of which has its chance.
Confidence confidence_in(std::uint64_t count, double mean, std::size_t links);

}  // namespace ib::health
