// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// How fast a link is and could be: PortInfo spreads that over a width, three generations of speed fields and capability
// bits that say which of them to believe (IBA 14.2.5.6; XDR fields as in rdma-core).
#pragma once

#include <cstdint>
#include <string_view>

#include "subnet/model.hpp"

namespace ib::subnet {

enum class Speed : std::uint8_t { unknown, sdr, ddr, qdr, fdr10, fdr, edr, hdr, ndr, xdr };

/// "SDR" … "XDR"; empty for unknown.
std::string_view name(Speed speed);
/// Signalling rate of one lane in Mb/s, exact: 25781.25 for EDR; 0 for unknown.
double lane_mbps(Speed speed);
/// Number of lanes of a LinkWidth code with one bit set; 0 for any other.
unsigned lanes(unsigned width_code);

struct LinkRate {
  unsigned lanes{};  ///< 0: unknown
  Speed speed{};

  bool known() const { return lanes != 0 && speed != Speed::unknown; }
  /// Signalling rate in Mb/s, exact: 103125 for 4x EDR; 0 where it is not known.
  double mbps() const;
};

/// The width and speed that a port runs at.
LinkRate active_rate(const Subnet& subnet, PortIndex port);

/// The widest width and highest speed that both ends of a link support. Unknown where one PortInfo is missing.
LinkRate best_rate(const Subnet& subnet, PortIndex port);

/// True if the extended speed fields of `port` mean something: its end port says so, or is not known.
bool has_extended_speeds(const Subnet& subnet, PortIndex port);

}  // namespace ib::subnet
