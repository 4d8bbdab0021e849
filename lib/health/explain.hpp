// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One fault becomes one finding: the symptoms at other places of a cable that carries nothing become a part of the cable's finding.
#pragma once

#include "health/finding.hpp"
#include "health/input.hpp"

namespace ib::health {

/// Moves symptoms into the findings that explain them (Finding::symptom, Finding::lost): links that siblings have and a node has not, into
/// the finding that these links are gone; the silence at both ports of a cable that is up and passes nothing, into one finding of that
/// cable; requests that were lost on such a cable, or on one whose ports are not Active; counters of a cable that are full or were cleared.
/// `findings` are those of merge(), and stay in their order.
Findings explain(Findings findings, const Input& input);

}  // namespace ib::health
