// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One fault, one finding: what is seen at other places because of a cable that carries nothing is not told besides.
#pragma once

#include "health/finding.hpp"
#include "health/input.hpp"

namespace ib::health {

/// Puts symptoms into the findings that explain them (Finding::symptom, Finding::lost): links that siblings have more, into what says that
/// they are gone; the silence at both ports of a cable that is up and passes nothing, into one finding of that cable; requests that were
/// lost on such a cable, or on one whose ports are not Active; counters of a cable that are full or were cleared. `findings` are those of
/// merge(), and stay in their order.
Findings explain(Findings findings, const Input& input);

}  // namespace ib::health
