// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reads what the wanted checks need beside the model.
#pragma once

#include "async/task.hpp"
#include "health/input.hpp"
#include "health/scope.hpp"
#include "tools/health/counter_readings.hpp"
#include "tools/health/wanted.hpp"

namespace ib::tools::health {

/// Fills the sources of `input` that the wanted checks need, and says of the others why they are not there. Counters are those of `scope`.
/// With `ongoing` they are read once, and compared with its last reading. What fails is added to the failures of `fabric`.
async::Task<> read_sources(Session& session, Fabric& fabric, const Wanted& wanted, const ib::health::Scope& scope, ib::health::Input& input,
                           CounterReadings* ongoing = nullptr);

}  // namespace ib::tools::health
