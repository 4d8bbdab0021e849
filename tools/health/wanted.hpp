// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What health is to look at, and for how long.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "health/checks.hpp"
#include "health/hosts.hpp"
#include "health/thresholds.hpp"
#include "phy/vs_keys.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools::health {

using namespace ib::health;

inline constexpr double usual_interval = 10;  // seconds between two readings

struct Wanted {
  Target target;                        ///< one node and its links; not given: the whole fabric
  std::optional<double> interval;       ///< seconds between two readings, usually 10; 0: one reading
  std::optional<std::string> since;     ///< the snapshot that holds the first reading
  bool is_local{};                      ///< only the end port of this host, and its link
  std::optional<std::string> state;     ///< the file that keeps its last reading
  std::optional<std::string> baseline;  ///< the stored fabric to compare with
  std::set<std::string> hosts;          ///< only the links that packets between these use; empty: all
  HostNames host_names;
  bool phy{};            ///< the registers of the physical layer of all links are read, and judged
  bool explains = true;  ///< without them, those of ports with findings are read
  phy::VsKeys vs_keys;   ///< of the devices whose registers are read
  bool routes{};         ///< the forwarding tables are read, and looked at as a whole
  Selection selection;
  Thresholds thresholds;
  Level fail_on = Level::warning;
  DiscoveryOptions discovery;
};

}  // namespace ib::tools::health
