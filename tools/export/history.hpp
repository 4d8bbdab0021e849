// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Readings of several times as one text in OpenMetrics. The samples of a series are together, in the order of their times, as the format
// requires.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/families.hpp"

namespace ib::tools::history {

/// The families about a fabric. The families about an exporter and its requests are left out: a snapshot does not have their data.
std::vector<metrics::Family> fabric_families(const metrics::Exported& exported);

/// Writes the history of `views`, which have readings and are sorted by their times, one family after another. With `timestamps` each
/// sample has the time of its reading. `labels` are constant_labels().
void write_history(const std::vector<metrics::View>& views, const metrics::Exported& exported, const std::string& labels, bool timestamps,
                   const std::function<void(std::string_view text)>& write);

}  // namespace ib::tools::history
