// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The share of time in which a port waited, from PortXmitWait. The counter counts ticks (IBA 16.1.3.5), and each PMA says in
// PortSamplesControl.Tick how long its ticks are (IBA 16.1.3.2). Without the tick, ports can be ranked, but have no share.
#pragma once

#include <cstdint>
#include <optional>

#include "subnet/model/rate.hpp"

namespace ib::counters {

/// The share of `seconds`, 0 to 1, in which a port had data to send and sent none: PortXmitWait grew by `waited` ticks, and its PMA reports
/// `tick` in PortSamplesControl. Absent if the rate of the link is not known, or no time has passed.
///
/// A tick of n is n + 1 symbol times: as many octets of one lane. NVIDIA's switches from Quantum on have a tick of 7 and count octets of
/// the whole port; a tick of 7 is read so.
std::optional<double> waiting_share(std::uint64_t waited, std::uint8_t tick, double seconds, const subnet::LinkRate& rate);

}  // namespace ib::counters
