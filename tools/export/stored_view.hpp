// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The content of a snapshot, as an exporter would have read it at the time of the snapshot.
#pragma once

#include <string>

#include "async/loop.hpp"
#include "async/task.hpp"
#include "metrics/families.hpp"
#include "subnet/model/names.hpp"

namespace ib::tools::history {

/// A snapshot that was read, and its name.
struct StoredView {
  std::string file;
  metrics::View view;  ///< its reading has the time at which the snapshot ended
};

/// Reads a snapshot. Throws UsageError for a file that is not a snapshot, or has no counters.
async::Task<StoredView> read_snapshot(async::Loop& loop, std::string file, const metrics::Exported& exported, subnet::NodeNameMap names);

}  // namespace ib::tools::history
