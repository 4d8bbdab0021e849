// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One fault becomes one finding. The findings of one cable are merged: it is replaced once, whatever the checks found on it. The symptoms
// at other places of a cable that carries nothing become a part of its finding.
#pragma once

#include <string>
#include <vector>

#include "health/finding.hpp"
#include "health/input.hpp"
#include "phy/port_row.hpp"

namespace ib::health {

/// Puts a finding into another one, which keeps its check, level and confidence, and names the other check in `also`.
void fold(Finding& to, Finding from);

/// Puts the findings of each cable together: the worst of them with the evidence and the details of all. The result is sorted by level,
/// then by check and place, whatever order `findings` has.
Findings merge(Findings findings, const Input& input);

/// Moves symptoms into the findings that explain them (Finding::symptom, Finding::lost): links that siblings have and a node has not, into
/// the finding that these links are gone; the silence at both ports of a cable that is up and passes nothing, into one finding of that
/// cable; requests that were lost on such a cable, or on one whose ports are not Active; counters of a cable that are full or were cleared.
/// `findings` are those of merge(), and stay in their order.
Findings explain(Findings findings, const Input& input);

// What the physical layer says of the ports of a finding: why a port is down, its bit error ratios, its module.

/// What was read of a port, as a phrase: the trouble, the last reason why the link went down, ratios, the module. Text of the device is
/// escaped. Empty if nothing is worth a word.
std::string layer_text(const phy::PortRow& row, bool is_up);

/// Adds to each finding of a cable, or of ports, what Input::phy has of the first ports of it; the remedy for the trouble of a port that is
/// down takes the place of the check's.
void add_layer(Findings& findings, const Input& input);

/// The ports of findings to which add_layer() adds something, the worst first; each once.
std::vector<subnet::PortIndex> ports_of(const Findings& findings, const Input& input);

}  // namespace ib::health
