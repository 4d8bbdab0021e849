// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// In this file, "as opensm" means osm_sa_path_record.c of opensm 3.3.
#include "sa/stored_paths.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "iba/text.hpp"
#include "iba/wire.hpp"
#include "sa/pattern.hpp"
#include "sa/rates.hpp"

namespace ib::sa {
namespace {

// Component mask bits (IBA 15.2.5.16).
constexpr std::uint64_t service_id = mask_bit(0) | mask_bit(1), dgid = mask_bit(2), sgid = mask_bit(3), dlid = mask_bit(4),
                        slid = mask_bit(5), raw_traffic = mask_bit(6), reversible = mask_bit(11), numb_path = mask_bit(12),
                        p_key = mask_bit(13), qos_class = mask_bit(14), sl = mask_bit(15), mtu = mask_bit(16) | mask_bit(17),
                        rate = mask_bit(18) | mask_bit(19), life_time = mask_bit(20) | mask_bit(21);

constexpr std::uint16_t request_invalid = 0x0200, insufficient_components = 0x0600;  // IBA 15.2.4
constexpr std::uint16_t partition_bits = 0x7fff;

bool has(const PathQuery& query, std::uint64_t bits) { return (query.component_mask & bits) == bits; }

bool is_valid(Rate value) { return order_of(value) != 0; }
bool is_valid(smp::Mtu value) { return value >= smp::Mtu::mtu_256 && value <= smp::Mtu::mtu_4096; }

bool is_foreign(const Gid& gid, const sys::EndPort& end_port) {
  const GidPrefix prefix = gid.prefix();
  return prefix != link_local_prefix && prefix != end_port.default_gid().prefix();
}
bool is_multicast(const Gid& gid) { return gid.bytes[0] == 0xff; }

/// Limits an MTU or a packet life time, whose value rises with its code. Returns false if the path does not qualify. As opensm, a path with
/// more than the limit is offered with the limit.
bool limit(std::uint8_t& value, Selector selector, std::uint8_t wanted) {
  switch (selector) {
    case Selector::greater_than:
      return value > wanted;
    case Selector::less_than:
      if (value < wanted) return true;
      if (wanted <= 1) return false;
      value = static_cast<std::uint8_t>(wanted - 1);
      return true;
    case Selector::exactly:
      if (value < wanted) return false;
      value = wanted;
      return true;
    case Selector::largest:
      return true;
  }
  return true;
}

/// Limits a rate, whose value does not rise with its code. Returns false if the path does not qualify. As opensm, a faster path is not
/// offered where exactly a lower rate is wanted.
bool limit_rate(Rate& value, Selector selector, Rate wanted) {
  switch (selector) {
    case Selector::greater_than:
      return order_of(value) > order_of(wanted);
    case Selector::less_than:
      if (order_of(value) >= order_of(wanted)) value = next_lower(wanted);
      return order_of(value) != 0;
    case Selector::exactly:
      return order_of(value) == order_of(wanted);
    case Selector::largest:
      return true;
  }
  return true;
}

std::uint32_t by_lids(Lid from, Lid to) { return std::uint32_t{from.value} << 16 | to.value; }
std::uint32_t lids_of(Bytes row) {
  const auto path = wire::unpack_short<PathRecord>(row);
  return by_lids(path.slid, path.dlid);
}

/// Throws Error if no port can have all these LIDs.
void check_lids(Lid first, Lid last) {
  constexpr unsigned most_lids = 128;  // IBA 14.2.5.6: LMC has 3 bits
  if (last.value - first.value >= static_cast<int>(most_lids))
    throw Error(fmt::format("The stored PathRecords give one port the LIDs {} to {}", first.value, last.value));
}

/// Makes a stored path the path that the SA offers for `query`. Returns false if it offers none. The path back is not considered.
bool fit(PathRecord& path, const PathQuery& query) {
  const PathRecord& wanted = query.wanted;
  if (has(query, mtu)) {
    auto value = static_cast<std::uint8_t>(path.mtu);
    if (!limit(value, wanted.mtu_selector, static_cast<std::uint8_t>(wanted.mtu))) return false;
    path.mtu = static_cast<smp::Mtu>(value);
  }
  if (has(query, rate) && !limit_rate(path.rate, wanted.rate_selector, wanted.rate)) return false;
  if (has(query, life_time)) {
    const bool to_itself = path.packet_life_time == 0;  // IBA 15.2.5.16: always 0
    std::uint8_t value = path.packet_life_time;
    if (!limit(value, wanted.packet_life_time_selector, wanted.packet_life_time)) return false;
    if (!to_itself) path.packet_life_time = value;
  }
  if (has(query, p_key)) path.p_key = wanted.p_key;
  if (has(query, raw_traffic) && wanted.raw_traffic != 0) path.p_key = 0;
  if (has(query, sgid)) path.sgid = wanted.sgid;
  return true;
}

}  // namespace

StoredPaths::StoredPaths(const RecordRows& rows, const RecordRows& back, const sys::EndPort& end_port)
    : rows_(rows),
      back_(back),
      end_port_(end_port),
      by_lid_(std::size_t{UINT16_MAX} + 1),
      first_source_(end_port.lid),
      last_source_(end_port.lid) {
  for (std::size_t at = 0; at < rows_.size(); ++at) {
    const auto path = wire::unpack_short<PathRecord>(rows_[at]);
    first_source_ = std::min(first_source_, path.slid);
    last_source_ = std::max(last_source_, path.slid);
    const auto [known, is_new] = by_guid_.try_emplace(path.dgid.guid().value, destinations_.size());
    if (is_new) destinations_.push_back({path.dgid, path.dlid, path.dlid, {}});
    PathsToGid& to = destinations_[known->second];
    to.first = std::min(to.first, path.dlid);
    to.last = std::max(to.last, path.dlid);
    to.rows.push_back(at);
    std::vector<std::size_t>& there = by_lid_[path.dlid.value];
    if (there.empty() || there.back() != known->second) there.push_back(known->second);
  }
  check_lids(first_source_, last_source_);
  for (PathsToGid& to : destinations_) {
    check_lids(to.first, to.last);
    std::ranges::sort(to.rows, {}, [this](std::size_t at) { return lids_of(rows_[at]); });
  }
  for (std::size_t at = 0; at < back_.size(); ++at) {
    back_by_lids_.emplace(lids_of(back_[at]), at);
  }
}

/// Whether the path back qualifies for the query too. As opensm: this makes a path reversible.
bool StoredPaths::is_reversible(const PathRecord& path, const PathQuery& query) const {
  if (back_.empty()) return path.reversible != 0;
  const auto found = back_by_lids_.find(by_lids(path.dlid, path.slid));
  if (found == back_by_lids_.end()) return false;
  auto back = wire::unpack_short<PathRecord>(back_[found->second]);
  return fit(back, query);
}

StoredPaths::Known StoredPaths::source_by_gid(const PathQuery& query) const {
  if (!has(query, sgid)) return Known::absent;
  const Gid& gid = query.wanted.sgid;
  if (is_foreign(gid, end_port_)) return Known::unknown;
  const bool ours = std::ranges::any_of(end_port_.gids, [&](const Gid& own) { return own != Gid{} && own.guid() == gid.guid(); });
  if (ours) return Known::ours;
  return by_guid_.contains(gid.guid().value) ? Known::other : Known::unknown;
}

StoredPaths::Known StoredPaths::source_by_lid(const PathQuery& query) const {
  if (!has(query, slid)) return Known::absent;
  const Lid lid = query.wanted.slid;
  if (lid >= first_source_ && lid <= last_source_) return Known::ours;
  return by_lid_[lid.value].empty() ? Known::unknown : Known::other;
}

/// Whether the SA knows the destination, if the query has one.
bool StoredPaths::has_destination(const PathQuery& query) const {
  if (has(query, dgid) && !by_guid_.contains(query.wanted.dgid.guid().value)) return false;
  return !has(query, dlid) || !by_lid_[query.wanted.dlid.value].empty();
}

std::optional<std::string> StoredPaths::not_stored(const PathQuery& query, std::optional<bool> has_qos) const {
  const PathRecord& wanted = query.wanted;
  if (has(query, dgid) && is_multicast(wanted.dgid)) return "Paths to multicast groups were not read.";
  if (has(query, dgid) && is_foreign(wanted.dgid, end_port_)) return "Paths to other subnets were not read.";
  const Known by_gid = source_by_gid(query), by_lid = source_by_lid(query);
  if (by_gid == Known::unknown || by_lid == Known::unknown || !has_destination(query)) return {};  // no paths at all
  if ((by_gid == Known::ours && by_lid == Known::other) || (by_gid == Known::other && by_lid == Known::ours)) return {};
  if (by_gid != Known::ours && by_lid != Known::ours) return fmt::format("Only paths from {} were read.", to_text(end_port_.default_gid()));
  if ((query.component_mask & (service_id | qos_class)) != 0 && has_qos.value_or(true))
    return "Paths were read without a service and without a QoS class, but this subnet's paths depend on them.";
  if (!has(query, p_key) && !has(query, sl)) return {};
  for (const PathsToGid* to : destinations(query)) {
    for (const std::size_t at : to->rows) {
      const auto path = wire::unpack_short<PathRecord>(rows_[at]);
      if (has(query, p_key) && (path.p_key & partition_bits) != (wanted.p_key & partition_bits))
        return fmt::format("Paths were read without a P_Key: what they are with P_Key {:#06x} is not known.", wanted.p_key);
      if (has(query, sl) && path.sl != wanted.sl)
        return fmt::format("Paths were read without a service level: what they are on SL {} is not known.", wanted.sl);
    }
  }
  return {};
}

std::vector<const StoredPaths::PathsToGid*> StoredPaths::destinations(const PathQuery& query) const {
  std::vector<const PathsToGid*> result;
  if (has(query, dgid)) {
    const auto found = by_guid_.find(query.wanted.dgid.guid().value);
    if (found != by_guid_.end()) result.push_back(&destinations_[found->second]);
  } else if (has(query, dlid)) {
    for (const std::size_t at : by_lid_[query.wanted.dlid.value]) result.push_back(&destinations_[at]);
    std::ranges::sort(result);  // they are in one array, so this is the order of the table
    result.erase(std::ranges::unique(result).begin(), result.end());
  } else {
    for (const PathsToGid& to : destinations_) result.push_back(&to);
  }
  return result;
}

/// Adds the paths between the LIDs of both ports as opensm: first those that share neither LID with an earlier one (preference 0),
/// then the others (preference 2).
void StoredPaths::add_paths(const PathQuery& query, const PathsToGid& to, std::vector<PathRecord>& paths) const {
  const unsigned most = query.single ? 1U : has(query, numb_path) ? query.wanted.numb_path : UINT32_MAX;
  const Lid from_first = has(query, slid) ? query.wanted.slid : first_source_, from_last = has(query, slid) ? from_first : last_source_;
  const Lid to_first = has(query, dlid) ? query.wanted.dlid : to.first, to_last = has(query, dlid) ? to_first : to.last;
  unsigned found = 0;
  const auto add = [&](unsigned from_lid, unsigned to_lid, std::uint8_t preference) {
    const auto row = std::ranges::lower_bound(to.rows, from_lid << 16 | to_lid, {}, [this](std::size_t at) { return lids_of(rows_[at]); });
    if (row == to.rows.end() || lids_of(rows_[*row]) != (from_lid << 16 | to_lid)) return;
    auto path = wire::unpack_short<PathRecord>(rows_[*row]);
    const bool both_ways = is_reversible(path, query);
    if (!fit(path, query) || (has(query, reversible) && query.wanted.reversible != 0 && !both_ways)) return;
    path.reversible = both_ways ? 1 : 0;
    path.preference = preference;
    paths.push_back(path);
    ++found;
  };
  const unsigned sources = from_last.value - from_first.value + 1U, targets = to_last.value - to_first.value + 1U;
  for (unsigned i = 0; i < std::min(sources, targets) && found < most; ++i) add(from_first.value + i, to_first.value + i, 0);
  for (unsigned i = 0; i < sources; ++i) {
    for (unsigned k = 0; k < targets && found < most; ++k) {
      if (i != k) add(from_first.value + i, to_first.value + k, 2);
    }
  }
}

StoredPaths::Answer StoredPaths::answer(const PathQuery& query) const {
  Answer answer;
  const PathRecord& wanted = query.wanted;
  if ((has(query, rate) && !is_valid(wanted.rate)) || (has(query, mtu) && !is_valid(wanted.mtu))) return {request_invalid, {}};
  if ((query.component_mask & service_id) != 0 && !has(query, service_id)) return {insufficient_components, {}};
  const Known by_gid = source_by_gid(query), by_lid = source_by_lid(query);
  // As opensm: an unknown end is not an error, but a GID and a LID of different ports for one end are.
  if (by_gid == Known::unknown || by_lid == Known::unknown || !has_destination(query)) return answer;
  const bool two_sources = by_gid != Known::absent && by_lid != Known::absent && by_gid != by_lid;
  const std::vector<const PathsToGid*> ends = destinations(query);
  const auto has_wanted_lid = [&](const PathsToGid* to) { return wanted.dlid >= to->first && wanted.dlid <= to->last; };
  if (two_sources || (has(query, dgid) && has(query, dlid) && std::ranges::none_of(ends, has_wanted_lid))) return {request_invalid, {}};
  for (const PathsToGid* to : ends) {
    add_paths(query, *to, answer.paths);
    if (query.single && !answer.paths.empty()) break;
  }
  return answer;
}

}  // namespace ib::sa
