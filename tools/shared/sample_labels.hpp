// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#pragma once

#include "metrics/families.hpp"

namespace ib::tools {

class OptionSet;

/// Adds --label of commands that write samples for Prometheus. The last value of a label counts. A label of our samples is refused.
void add_labels(OptionSet& set, metrics::Labels& labels);

}  // namespace ib::tools
