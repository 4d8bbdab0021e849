// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "sa/stored_paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>

#include "iba-gen/sa.hpp"
#include "iba/text.hpp"
#include "iba/wire.hpp"
#include "sa/pattern.hpp"
#include "sa/table_match.hpp"

namespace ib::sa {
namespace {

// Component mask bits (IBA 15.2.5.16).
constexpr std::uint64_t service_id = mask_bit(0) | mask_bit(1), dgid = mask_bit(2), sgid = mask_bit(3), slid = mask_bit(5),
                        reversible = mask_bit(11), numb_path = mask_bit(12), p_key = mask_bit(13), qos_class = mask_bit(14),
                        sl = mask_bit(15);

PathRecord wanted_path(const mad::Request& request) { return wire::unpack_short<PathRecord>(request.payload); }

bool is_foreign(const Gid& gid, const sys::EndPort& end_port) {
  return gid.prefix() != link_local_prefix && gid.prefix() != end_port.default_gid().prefix();
}
bool is_multicast(const Gid& gid) { return gid.bytes[0] == 0xff; }

/// Whether the query is for paths from this end port, and from no other one.
bool starts_here(const PathRecord& wanted, std::uint64_t mask, const sys::EndPort& end_port) {
  const auto is_ours = [&](const Gid& own) { return own != Gid{} && own.guid() == wanted.sgid.guid(); };
  const bool by_gid = (mask & sgid) != 0, by_lid = (mask & slid) != 0;
  if (by_gid && (is_foreign(wanted.sgid, end_port) || std::ranges::none_of(end_port.gids, is_ours))) return false;
  if (by_lid && (wanted.slid < end_port.lid || wanted.slid.value >= end_port.lid.value + (1U << end_port.lmc))) return false;
  return by_gid || by_lid;
}

/// The rows that have the wanted values of all components that select paths, but for those in `but`.
std::vector<Bytes> selected(const mad::Request& request, const RecordRows& rows, std::uint64_t but) {
  const PathRecord wanted = wanted_path(request);
  // That the paths begin here is known. A path that need not be reversible may be.
  std::uint64_t mask = request.component_mask & ~(sgid | service_id | qos_class | numb_path | but);
  if (wanted.reversible == 0) mask &= ~reversible;
  const TableMatch match(PathRecord::info(), request.payload, mask);
  std::vector<Bytes> found;
  std::ranges::copy_if(rows, std::back_inserter(found), match);
  return found;
}

}  // namespace

std::optional<std::string> not_in_paths(const mad::Request& request, const RecordRows& rows, const sys::EndPort& end_port,
                                        std::optional<bool> has_qos) {
  constexpr std::uint16_t partition_bits = 0x7fff;
  const PathRecord wanted = wanted_path(request);
  const std::uint64_t mask = request.component_mask;
  if ((mask & dgid) != 0 && is_multicast(wanted.dgid)) return "Paths to multicast groups were not read.";
  if ((mask & dgid) != 0 && is_foreign(wanted.dgid, end_port)) return "Paths to other subnets were not read.";
  if (!starts_here(wanted, mask, end_port)) return fmt::format("Only paths from {} were read.", to_text(end_port.default_gid()));
  if ((mask & (service_id | qos_class)) != 0 && has_qos.value_or(true))
    return "Paths were read without a service and without a QoS class, but this subnet's paths depend on them.";
  if ((mask & (p_key | sl)) == 0) return {};
  for (const Bytes row : selected(request, rows, p_key | sl)) {
    const auto path = wire::unpack_short<PathRecord>(row);
    if ((mask & p_key) != 0 && (path.p_key & partition_bits) != (wanted.p_key & partition_bits))
      return fmt::format("Paths were read without a P_Key: what they are with P_Key {:#06x} is not known.", wanted.p_key);
    if ((mask & sl) != 0 && path.sl != wanted.sl)
      return fmt::format("Paths were read without a service level: what they are on SL {} is not known.", wanted.sl);
  }
  return {};
}

std::vector<Bytes> matching_paths(const mad::Request& request, const RecordRows& rows) {
  std::vector<Bytes> paths = selected(request, rows, p_key | sl);
  if (request.method == mad::method::get) {
    paths.resize(std::min<std::size_t>(paths.size(), 1));
  } else if ((request.component_mask & numb_path) != 0) {
    const unsigned most = wanted_path(request).numb_path;
    std::map<Gid, unsigned> counts;
    std::erase_if(paths, [&](Bytes row) { return counts[wire::unpack_short<PathRecord>(row).dgid]++ >= most; });
  }
  return paths;
}

}  // namespace ib::sa
