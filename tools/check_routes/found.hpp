// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What check_routes reads, and what it finds in it.
#pragma once

#include <optional>
#include <vector>

#include "routing/adaptive_routing.hpp"
#include "routing/credit_loops.hpp"
#include "routing/group_members.hpp"
#include "routing/load.hpp"
#include "routing/multicast.hpp"
#include "routing/multicast_channels.hpp"
#include "routing/unicast.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools::routes {

/// The tables of the switches, and what else decides where packets go.
struct Tables {
  explicit Tables(const subnet::Subnet& subnet, bool with_switches);

  routing::Network network;
  std::vector<routing::DestinationLid> destinations;
  routing::LinearTables linear;
  routing::AdaptiveRouting adaptive;
  routing::MulticastTables multicast;
  routing::SlToVlTables lanes;
  routing::ServiceLevels levels;
  routing::GroupMembers groups;  ///< from the SA
  /// Whether the SA has not named the groups.
  bool lacks_groups = true;
  bool has_multicast_file{};  ///< a file of --lfts has multicast tables, whole or not
  bool skips_multicast{};     ///< nothing that was given has multicast tables, and none were wanted

  /// Whether any table of a switch was wholly read.
  bool has_any() const;
};

/// The results. Members point into each other: an object stays where it is made.
struct RouteFindings {
  explicit RouteFindings(const Tables& tables)
      : unicast(tables.network, tables.destinations), load(tables.network), channels(tables.network) {}
  RouteFindings(const RouteFindings&) = delete;
  RouteFindings& operator=(const RouteFindings&) = delete;

  routing::Unicast unicast;
  routing::Load load;
  routing::Channels channels;
  std::optional<routing::CreditLoops> loops;            ///< with unicast
  std::optional<routing::Multicast> multicast;          ///< with multicast
  std::optional<routing::CreditLoops> multicast_loops;  ///< with multicast
};

}  // namespace ib::tools::routes
