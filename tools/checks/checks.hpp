// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The checks of the commands of this room. Each command combines some of these checks, of the whole fabric or of what TARGET names.
#pragma once

#include <memory>

#include "tools/frame/command.hpp"

namespace ib::tools::checks {

/// The checks of a command.
struct Looks {
  bool one{};     ///< one node or port, not the whole fabric
  bool node{};    ///< end ports against their records in the SA
  bool state{};   ///< PortPhysicalState and PortState
  bool width{};   ///< LinkWidthActive
  bool speed{};   ///< the active speed, and the LIDs of end ports
  bool errors{};  ///< counters against their thresholds

  bool ports() const { return state || width || speed; }
};

std::unique_ptr<Command> make_check(Looks looks);

}  // namespace ib::tools::checks
