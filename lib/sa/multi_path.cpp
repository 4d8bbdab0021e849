// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "sa/multi_path.hpp"

#include <algorithm>
#include <tuple>

#include "base/error.hpp"
#include "iba-gen/sa.hpp"

namespace ib::sa {

namespace {

constexpr std::size_t gid_size = 16;
constexpr std::size_t sources_at = 15, destinations_at = 16;  // offsets of the counts
constexpr std::size_t gids_at = MultiPathRecord::wire_size - gid_size * std::tuple_size_v<decltype(MultiPathRecord::sd_gid)>;
constexpr unsigned most_gids = 255;

std::size_t end_of_gids(Bytes record) { return gids_at + gid_size * (std::size_t{record[sources_at]} + record[destinations_at]); }

}  // namespace

void add_gid(std::vector<std::uint8_t>& record, PathEnd end, const Gid& gid) {
  const std::size_t count = end == PathEnd::source ? sources_at : destinations_at;
  if (record[count] == most_gids) throw Error("A MultiPathRecord holds no more than 255 GIDs of either end");
  const std::size_t used = end_of_gids(record) + gid_size;
  const std::size_t at = end == PathEnd::source ? gids_at + gid_size * record[sources_at] : used - gid_size;
  record.resize(std::max(record.size(), used - gid_size));
  record.insert(record.begin() + static_cast<std::ptrdiff_t>(at), gid.bytes.begin(), gid.bytes.end());
  record.resize(std::max(used, MultiPathRecord::wire_size));
  ++record[count];
}

Bytes used_part(Bytes record) {
  const std::size_t end = end_of_gids(record);
  return end == gids_at ? record : record.first(std::min(end, record.size()));
}

}  // namespace ib::sa
