// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The part `phy` of a snapshot: what phy, modules, environment and firmware request.
#pragma once

#include "async/task.hpp"
#include "phy/vs_keys.hpp"
#include "snapshot/fabric_survey.hpp"

namespace ib::tools {

class Stack;

/// Reads the registers of all ports and devices through `transactor`, which records the answers. `paths` are those of GMPs.
async::Task<snapshot::SurveyedPart> read_phy_part(Stack& stack, mad::Transactor& transactor, const subnet::Subnet& subnet,
                                                  const subnet::PortPaths& paths, const phy::VsKeys& vs_keys);

}  // namespace ib::tools
