// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Merges the findings of one cable: it is replaced once, whatever the checks found on it.
#pragma once

#include "health/finding.hpp"
#include "health/input.hpp"

namespace ib::health {

/// Puts a finding into another one, which keeps its check, level and confidence, and names the other check in `also`.
void fold(Finding& to, Finding from);

/// Puts the findings of each cable together: the worst of them with the evidence and the details of all. The result is sorted by level,
/// then by check and place, whatever order `findings` has.
Findings merge(Findings findings, const Input& input);

}  // namespace ib::health
