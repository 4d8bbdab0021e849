// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Clears counters (IBA 16.1.3.5): a Set of an attribute of counters with a reset mask that selects the counters. Bits 0…15 of a
// reset mask are the bits of CounterSelect; the bits from 16 on are those of CounterSelect2.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "counters/readings.hpp"

namespace ib::counters {

/// Clears the counters in `mask` of port `number` (or all_ports) in one attribute of performance management. Bits that the
/// attribute has no room for are ignored. PortExtendedSpeedsCounters has 64 bits in CounterSelect.
async::Task<mad::Result<std::vector<std::uint8_t>>> reset_counters(mad::Transactor& transactor, path::Path pma, const StructInfo& attribute,
                                                                   std::uint8_t number, std::uint64_t mask);

/// The reset masks of the selected counters that a PMA supports. 0: no such counters. A counter that the PMA has in both attributes is in
/// both.
struct CounterClear {
  std::uint64_t port_counters{}, port_counters_extended{};
};
CounterClear clear_of(const PmaSupport& support, const CounterChoice& choice);

/// Clears what `plan`, which clears, says of one PortSelect: a port, or all ports. `read` are the readings of these ports. An attribute
/// that was not read is read first, and is not cleared if that fails; unless the plan reads nothing. Returns the failed requests.
async::Task<std::vector<PmaProblem>> clear_counters(subnet::SurveyPort port, std::uint8_t select, PmaSupport support,
                                                    const ReadingPlan& plan, std::span<const PmaReading> read);

}  // namespace ib::counters
