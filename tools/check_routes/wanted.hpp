// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What check_routes is to look at, and where its tables come from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "routing/service_levels.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools::routes {

struct Wanted {
  bool switches{};   ///< switches send and receive too
  bool unicast{};    ///< unicast alone
  bool multicast{};  ///< multicast alone
  bool load{};
  std::optional<routing::SlSet> sls;    ///< each pair may use these
  std::optional<std::string> psl;       ///< the file with the SL of each pair
  bool from_sa{};                       ///< the SA says the SL of each pair
  std::vector<std::string> lfts;        ///< files with forwarding tables, in the place of those of the switches
  std::optional<std::string> topology;  ///< a listing of ibnetdiscover, in the place of the fabric
  DiscoveryOptions discovery;

  bool wants_unicast() const { return !multicast; }
  bool wants_multicast() const { return !unicast; }
  /// Whether data that the files do not have can be requested from the fabric or from a snapshot of it.
  bool can_request() const { return !topology && (lfts.empty() || !discovery.load_cache); }
};

}  // namespace ib::tools::routes
