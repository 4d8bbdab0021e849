// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The number of routes (pairs that arrive) and of destination LIDs that each link carries in each direction.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "routing/ways.hpp"

namespace ib::routing {

/// What the links of one kind carry.
struct LoadSummary {
  std::size_t directions{};  ///< links, each counted in its two directions
  std::size_t unused{};      ///< directions without routes
  std::uint64_t least{}, greatest{}, sum{};
  PlaceIndex greatest_at = none;  ///< the first port with the greatest load
  double mean() const { return directions == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(directions); }
  void add(PlaceIndex place, std::uint64_t routes);
};

class Load {
 public:
  explicit Load(const Network& network);
  void add(const Ways& ways);
  /// To be called after the last destination.
  void finish();

  /// By place: what its port sends.
  std::uint64_t routes(PlaceIndex place) const { return routes_[place]; }
  std::uint32_t lids(PlaceIndex place) const { return lids_[place]; }

  /// The links between a host and a switch, and those between switches.
  LoadSummary host_links() const;
  LoadSummary switch_links() const;
  /// The links between switches by tier: [2n] from tier n upwards, [2n + 1] down to it. Empty if the fabric has no tiers.
  std::vector<LoadSummary> tiers() const;

 private:
  const Network& network_;
  std::vector<std::uint64_t> routes_;
  std::vector<std::uint32_t> lids_;
  std::vector<std::uint32_t> arriving_lids_;  // by switch: LIDs to which it delivers what its hosts send
  std::vector<std::uint32_t> own_lids_;       // by host: of these, its own, to which it does not send
  std::vector<std::uint64_t> weights_;        // by switch, for one destination
};

/// The tier of each switch: its distance in links from the nearest leaf. Leaves are the switches with more than half as many hosts as the
/// switch with most hosts, and switches with fewer hosts that are not linked to such a leaf: a host on a spine does not make the spine a
/// leaf. Aggregation Nodes, which are inside of switches, do not count as hosts. Nothing if there are no tiers: a link joins two switches
/// of one tier, or a switch has no path to a leaf.
std::optional<std::vector<std::uint32_t>> tiers_of(const Network& network);

}  // namespace ib::routing
