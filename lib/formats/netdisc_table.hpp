// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The order of ports in a file of libibnetdisc, which is that of a hash table, so that its programs and ours write the same bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "iba/types.hpp"

namespace ib::formats {

/// The bucket of a GUID in libibnetdisc's hash table of ports.
constexpr unsigned netdisc_bucket(Guid guid) {
  constexpr std::uint32_t buckets = 137, low_factor = 101, high_factor = 103;
  const auto low = static_cast<std::uint32_t>(guid.value), high = static_cast<std::uint32_t>(guid.value >> 32U);
  return ((low * low_factor) ^ (high * high_factor)) % buckets;
}

/// Sorts ports from the order in which libibnetdisc found them to the order of its table: by bucket, and the last found first.
template <class T, class GuidOf>
void sort_as_table(std::vector<T>& ports, GuidOf guid_of) {
  std::ranges::reverse(ports);
  std::ranges::stable_sort(ports, {}, [&](const T& port) { return netdisc_bucket(guid_of(port)); });
}

}  // namespace ib::formats
