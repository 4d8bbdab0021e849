// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What health is to look at, and for how long.
#pragma once

#include <optional>
#include <string>

#include "health/checks.hpp"
#include "health/thresholds.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools::health {

struct Wanted {
  Target target;                     ///< one node and its links; not given: the whole fabric
  double interval = 10;              ///< seconds between two readings; 0: one reading
  std::optional<std::string> since;  ///< the snapshot that holds the first reading
  bool routes{};                     ///< the forwarding tables are read, and looked at as a whole
  ib::health::Selection selection;
  ib::health::Thresholds thresholds;
  ib::health::Level fail_on = ib::health::Level::warning;
  DiscoveryOptions discovery;
};

}  // namespace ib::tools::health
