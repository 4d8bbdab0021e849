// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The checks of the commands of this room. Each command combines some of these checks.
#pragma once

#include <memory>

#include "subnet/model/port_checks.hpp"
#include "tools/frame/command.hpp"

namespace ib::tools::checks {

/// The checks of a command.
struct Looks {
  bool node{};    ///< end ports against their records in the SA
  bool state{};   ///< PortPhysicalState and PortState
  bool width{};   ///< LinkWidthActive
  bool speed{};   ///< the active speed, and the LIDs of end ports
  bool errors{};  ///< counters against their thresholds

  bool ports() const { return state || width || speed; }
};

/// The problems of a port of a model. The PortInfo of the port must be known. If the link is not up, this is the only problem.
subnet::Findings check_port(const subnet::Subnet& subnet, subnet::PortIndex port, const Looks& looks);

/// Makes a command that checks one port or one node.
std::unique_ptr<Command> make_single(Looks looks);
/// Makes a command that checks the whole fabric.
std::unique_ptr<Command> make_fabric(Looks looks);

}  // namespace ib::tools::checks
