// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The bit error ratios from which a link is bad. What is normal depends on the error correction and on the medium: a short link with
// low-latency FEC and retransmission may have more errors after FEC than a long one, since retransmission corrects them.
#pragma once

#include <optional>
#include <string_view>

#include "phy/port_row.hpp"

namespace ib::phy {

/// The ratios above which a link is to be looked at, and above which it is bad.
struct BerLimits {
  double warning{}, error{};
};

/// The limits of a port, for its ratio after FEC and for its ratio after retransmission too.
struct LinkLimits {
  BerLimits effective, symbol;
  std::string_view of;  ///< the kind of link that they are for: "low-latency FEC, up to 100 m"
};

/// The limits by the active FEC mode and the medium (values.cpp has how a length is encoded). Nothing if the FEC mode was not read, or is
/// unknown.
std::optional<LinkLimits> ber_limits(const PortRow& row);

/// The seconds in which a link at that ratio has three errors: a shorter time proves nothing of it (the rule of three).
double seconds_to_prove(double ratio, double bits_per_second);

/// What a module measures, beyond an alarm threshold of its own. A threshold of zero is not given.
struct Excess {
  double value{}, limit{};
  bool is_low{};  ///< the value is below the limit
};
/// The temperature of the module, if it is at its high alarm threshold or above.
std::optional<Excess> temperature_alarm(const PortRow& row);
/// The power of the lane that is farthest beyond an alarm threshold of the module: of what it receives, and of what it sends.
std::optional<Excess> rx_power_alarm(const PortRow& row);
std::optional<Excess> tx_power_alarm(const PortRow& row);

/// The greatest attenuation between two modules in dB: what the sender of `from` sends on average, less what the weakest lane of `to`
/// receives. Lanes may be crossed in the cable. Nothing if one of both is not measured.
std::optional<double> attenuation(const PortRow& from, const PortRow& to);

/// A lane whose raw bit error ratio stands out.
struct WeakLane {
  std::size_t lane{};
  double ber{}, others{};  ///< of the lane, and of the next worst one
};
/// The lane whose raw ratio is `times` that of each other lane or more, and `least` or more. Nothing if there is none, or if the ratio of a
/// lane in use is not known.
std::optional<WeakLane> weak_lane(const PortRow& row, double times, double least);

}  // namespace ib::phy
