// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The order of ports in a file of libibnetdisc, which is that of a hash table, so that its programs and ours write the same bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "iba/types.hpp"

namespace ib::formats {

inline constexpr std::uint32_t netdisc_buckets = 137;

/// The bucket of a GUID in libibnetdisc's hash table of ports.
constexpr unsigned netdisc_bucket(Guid guid) {
  constexpr std::uint32_t low_factor = 101, high_factor = 103;
  const auto low = static_cast<std::uint32_t>(guid.value), high = static_cast<std::uint32_t>(guid.value >> 32U);
  return ((low * low_factor) ^ (high * high_factor)) % netdisc_buckets;
}

/// Sorts ports from the order in which libibnetdisc found them to the order of its table: by bucket, and the last found first.
template <class T, class GuidOf>
void sort_as_table(std::vector<T>& ports, GuidOf guid_of) {
  std::array<std::size_t, netdisc_buckets + 1> firsts{};  // of each bucket
  for (const T& port : ports) ++firsts[netdisc_bucket(guid_of(port)) + 1];
  std::partial_sum(firsts.begin(), firsts.end(), firsts.begin());
  std::vector<T> sorted(ports.size());
  for (auto port = ports.rbegin(); port != ports.rend(); ++port) sorted[firsts[netdisc_bucket(guid_of(*port))]++] = *port;
  ports = std::move(sorted);
}

}  // namespace ib::formats
