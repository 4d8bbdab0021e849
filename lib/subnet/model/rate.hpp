// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The actual and the possible rate of a link. PortInfo holds a rate as a width, three generations of speed fields, and capability bits that
// say which of these fields are valid (IBA 14.2.5.6; XDR fields as in rdma-core).
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "subnet/model/model.hpp"

namespace ib::subnet {

enum class Speed : std::uint8_t { unknown, sdr, ddr, qdr, fdr10, fdr, edr, hdr, ndr, xdr };

/// The name of a speed, "SDR" … "XDR"; empty if unknown.
std::string_view name(Speed speed);
/// The signalling rate of one lane in Mb/s, exact: 25781.25 for EDR; 0 if unknown.
double lane_mbps(Speed speed);
/// The rate of the data of one lane in Mb/s (IBA 5.6: 8b/10b up to QDR, 64b/66b from FDR10 on, and FEC from HDR on); 0 if unknown.
double lane_data_mbps(Speed speed);
/// The number of lanes of a LinkWidth code with one bit set; 0 for any other code.
unsigned lanes(unsigned width_code);

struct LinkRate {
  unsigned lanes{};  ///< 0: unknown
  Speed speed{};

  bool known() const { return lanes != 0 && speed != Speed::unknown; }
  /// The signalling rate in Mb/s, exact: 103125 for 4x EDR; 0 if unknown.
  double mbps() const { return lanes * lane_mbps(speed); }
  /// The rate of the data in Mb/s, without what coding and error correction take: 100000 for 4x EDR; 0 if unknown.
  double data_mbps() const { return lanes * lane_data_mbps(speed); }
  auto operator<=>(const LinkRate&) const = default;  // for maps
};

LinkRate active_rate(const Subnet& subnet, PortIndex port);
/// The width and speed that `now` holds, a PortInfo of the port that was read later than the sweep. FDR10 counts as long as LinkSpeedActive
/// is as in the sweep.
LinkRate active_rate(const Subnet& subnet, PortIndex port, const smp::PortInfo& now);

/// The widest width and the highest speed that both ends of a link support. Unknown if one PortInfo is missing. FDR10 counts where
/// MlnxExtPortInfo was read at both ends.
LinkRate best_rate(const Subnet& subnet, PortIndex port);

/// The widest width and the highest speed that both ends of a link have enabled. Unknown if one PortInfo is missing. FDR10 counts as in
/// best_rate(): whether it is enabled is not read.
LinkRate enabled_rate(const Subnet& subnet, PortIndex port);

/// The widest width and the highest speed that a port supports, and has enabled, whatever its other end can do. Unknown if its PortInfo is
/// missing.
LinkRate supported_by_port(const Subnet& subnet, PortIndex port);
LinkRate enabled_at_port(const Subnet& subnet, PortIndex port);

/// Whether a port at QDR may run at FDR10: MlnxExtPortInfo, which distinguishes the two, was not read.
bool may_run_at_fdr10(const Subnet& subnet, PortIndex port);

/// The text of a link in listings of infiniband-diags: "( 4X          10.0 Gbps Active/  LinkUp)"; no width and speed of a port that is
/// down. Without `known` their codes are 0.
std::string diags_link_text(const Subnet& subnet, PortIndex port, bool known = true);
/// "Could be 12X " if both ends of the link support more than the link uses, otherwise " ". The port must have a peer.
std::string diags_could_be(const Subnet& subnet, PortIndex port);

}  // namespace ib::subnet
