// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Clears counters (IBA 16.1.3.5): a Set of an attribute of counters with a reset mask that selects the counters. Bits 0…15 of a
// reset mask are the bits of CounterSelect; the bits from 16 on are those of CounterSelect2.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "counters/counters.hpp"
#include "subnet/survey.hpp"

namespace ib::counters {

/// The reset masks of all counters of PortXmitDiscardDetails and PortRcvErrorDetails (IBA 16.1.4.2, 16.1.4.1).
inline constexpr std::uint64_t all_discard_details = 0xf, all_error_details = 0x3f;

/// Clears the counters in `mask` of port `number` (or all_ports) in one attribute of performance management. Bits that the
/// attribute has no room for are ignored. PortExtendedSpeedsCounters has 64 bits in CounterSelect.
async::Task<mad::Result<std::vector<std::uint8_t>>> reset_counters(mad::Transactor& transactor, path::Path pma, const StructInfo& attribute,
                                                                   std::uint8_t number, std::uint64_t mask);

/// Selects the counters to clear.
using CounterChoice = std::function<bool(const CounterInfo&)>;

/// The reset masks of the selected counters that a PMA supports, for PortCounters and for PortCountersExtended. 0: no such
/// counters.
struct CounterClear {
  std::uint64_t port_counters{}, port_counters_extended{};
  bool by_all_ports{};  ///< one Set cleared all ports of the node
  bool operator==(const CounterClear&) const = default;
};
CounterClear clear_of(const PmaSupport& support, const CounterChoice& choice);

/// Clears the selected counters of port `number` (or all_ports) by one or two Sets. A counter that the PMA has in both
/// attributes is cleared in both. Returns the masks that were cleared.
async::Task<mad::Result<CounterClear>> clear_counters(mad::Transactor& transactor, path::Path pma, std::uint8_t number, PmaSupport support,
                                                      CounterChoice choice);

/// Clears the selected counters of many ports. The ClassPortInfo of each PMA is requested once. If `ports` has all external ports of a
/// switch and its PMA has AllPortSelect, one Set clears all of them. If the PMA refuses that, they are cleared one by one. `options.way`
/// must be gmp.
async::Task<subnet::Surveyed<CounterClear>> survey_clears(mad::Transactor& transactor, const subnet::Subnet& subnet,
                                                          std::vector<subnet::PortIndex> ports, CounterChoice choice,
                                                          subnet::SurveyOptions options);

}  // namespace ib::counters
