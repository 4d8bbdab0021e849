// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reads what the wanted checks need beside the model.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "async/task.hpp"
#include "health/input.hpp"
#include "health/scope.hpp"
#include "subnet/model/port_paths.hpp"
#include "tools/health/counter_readings.hpp"
#include "tools/health/sources.hpp"
#include "tools/health/wanted.hpp"

namespace ib::tools::health {

/// Data that is kept from one round to the next.
struct Ongoing {
  CounterReadings* counters{};                             ///< null: there is one round, which reads them as often as is wanted
  ManagerHistory* managers{};                              ///< null: what they had done before is read again
  std::optional<std::map<Guid, std::string>>* firmware{};  ///< of the first round, as in Input::firmware; null: there is one round
  /// The registers of the round before; null: there is one round, which reads them as often as is wanted.
  struct Registers {
    LastPhy last;                ///< null: there is none
    const subnet::Subnet* of{};  ///< its model
    LastPhy now;                 ///< of this round
  };
  Registers* registers{};
};

/// Fills the sources of `input` that the wanted checks need, sets the reason of the others, and runs the checks. Counters are those of
/// `scope`. With Ongoing::counters they are read once, and compared with its last reading. What fails is added to the failures of `fabric`.
/// Of the first round, the registers of ports with findings are read too, unless Wanted says otherwise.
async::Task<Diagnosis> diagnose(Stack& stack, Fabric& fabric, const Wanted& wanted, const Scope& scope, Input& input, Ongoing ongoing = {});

}  // namespace ib::tools::health
