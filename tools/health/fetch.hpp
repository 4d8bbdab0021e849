// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reads what the wanted checks need beside the model.
#pragma once

#include "async/task.hpp"
#include "health/input.hpp"
#include "tools/health/wanted.hpp"

namespace ib::tools::health {

/// Fills the sources of `input` that the wanted checks need, and says of the others why they are not there. `centre` is the node of a
/// TARGET, or none. What fails is added to the failures of `fabric`.
async::Task<> read_sources(Session& session, Fabric& fabric, const Wanted& wanted, subnet::NodeIndex centre, ib::health::Input& input);

}  // namespace ib::tools::health
