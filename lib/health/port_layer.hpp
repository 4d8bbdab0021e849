// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What the physical layer says of the ports of a finding: why a port is down, its bit error ratios, its module.
#pragma once

#include <string>
#include <vector>

#include "health/finding.hpp"
#include "health/input.hpp"
#include "phy/port_row.hpp"

namespace ib::health {

/// What was read of a port, as a phrase: the trouble, the last reason why the link went down, ratios, the module. Text of the device is
/// escaped. Empty if nothing is worth a word.
std::string layer_text(const phy::PortRow& row, bool is_up);

/// Adds to each finding of a cable, or of ports, what Input::phy has of the first ports of it; the remedy for the trouble of a port that is
/// down takes the place of the check's.
void add_layer(Findings& findings, const Input& input);

/// The ports of findings to which add_layer() adds something, the worst first; each once.
std::vector<subnet::PortIndex> ports_of(const Findings& findings, const Input& input);

}  // namespace ib::health
