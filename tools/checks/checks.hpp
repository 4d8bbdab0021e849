// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The checks of this room: what is looked at, and how far.
#pragma once

#include <memory>

#include "subnet/port_checks.hpp"
#include "tools/frame/command.hpp"

namespace ib::tools::checks {

/// What is checked.
struct Looks {
  bool node{};    ///< what the SA says of end ports
  bool state{};   ///< PortPhysicalState and PortState
  bool width{};   ///< LinkWidthActive
  bool speed{};   ///< the speed, and the LIDs of end ports
  bool errors{};  ///< counters against their thresholds

  bool ports() const { return state || width || speed; }
};

/// What is wrong with a port of a model whose PortInfo is known. A link that is not up is told of alone.
subnet::Findings check_port(const subnet::Subnet& subnet, subnet::PortIndex port, const Looks& looks);

/// A command that looks at one port, or at one node.
std::unique_ptr<Command> make_single(Looks looks);
/// A command that looks at the whole fabric.
std::unique_ptr<Command> make_fabric(Looks looks);

}  // namespace ib::tools::checks
