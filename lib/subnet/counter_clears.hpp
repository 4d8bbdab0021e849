// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Counters back to zero (IBA 16.1.3.5): a Set of an attribute of counters, with a reset mask that says which. A reset mask has the bits of
// CounterSelect in its bits 0…15, those of CounterSelect2 from bit 16 on.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "subnet/counters.hpp"

namespace ib::subnet {

inline constexpr std::uint8_t all_ports = 255;  ///< PortSelect of all ports of a PMA that has AllPortSelect (IBA 16.1.3.1)

/// Sets the counters of one attribute of performance management, those in `mask`, of port `number` (or all_ports) to zero. Bits that
/// the attribute has no room for are left out; PortExtendedSpeedsCounters has room for 64 in CounterSelect.
async::Task<mad::Result<std::vector<std::uint8_t>>> reset_counters(mad::Transactor& transactor, path::Path pma, const StructInfo& attribute,
                                                                   std::uint8_t number, std::uint64_t mask);

/// Which counters are to be cleared.
using CounterChoice = std::function<bool(const CounterInfo&)>;

/// The reset masks that clear what was chosen of what a PMA supports, in PortCounters and in PortCountersExtended; 0: nothing there.
struct CounterClear {
  std::uint64_t port_counters{}, port_counters_extended{};
  bool by_all_ports{};  ///< one Set cleared all ports of the node
  bool operator==(const CounterClear&) const = default;
};
CounterClear clear_of(const PmaSupport& support, const CounterChoice& choice);

/// Clears what was chosen of port `number` (or all_ports), by one or two Sets. A counter that the PMA keeps in both attributes is cleared
/// in both. Returns what was cleared.
async::Task<mad::Result<CounterClear>> clear_counters(mad::Transactor& transactor, path::Path pma, std::uint8_t number, PmaSupport support,
                                                      CounterChoice choice);

/// Clears what was chosen of many ports. Each PMA is asked for its ClassPortInfo once. Where `ports` has all external ports of a switch and
/// its PMA says that it has AllPortSelect, all are cleared at once; should it refuse that, one by one. `options.way` is gmp.
async::Task<Surveyed<CounterClear>> survey_clears(mad::Transactor& transactor, const Subnet& subnet, std::vector<PortIndex> ports,
                                                  CounterChoice choice, SurveyOptions options);

}  // namespace ib::subnet
