// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Values as people read them, in ibtool's words. The words of infiniband-diags are in iba/libibmad_text.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "iba-gen/sa.hpp"
#include "iba-gen/smp.hpp"

namespace ib {

/// `Switch`; `?? 9` for a number that means nothing.
std::string describe(smp::NodeType value);
/// `Active`, `Init`, …
std::string describe(smp::PortState value);
/// `Link UP`, `Polling`, …
std::string describe(smp::PortPhysicalState value);
/// `2048`
std::string describe(smp::Mtu value);

/// `SDR,DDR,QDR` for a LinkSpeed* field; empty for 0.
std::string link_speed_text(std::uint8_t speed);
/// `FDR,EDR` for a LinkSpeedExt* field; empty for 0.
std::string link_speed_ext_text(std::uint8_t speed);
/// Lanes of a LinkWidthActive value: 1, 2, 4, 8 or 12; 0 where it is not a single width.
unsigned link_width_lanes(std::uint8_t width);

/// The name of the speed a port runs at: `SDR`…`XDR`, `FDR10` if `fdr10` says so; empty if it has none.
std::string_view active_speed_name(const smp::PortInfo& port, bool fdr10 = false);
/// Raw speed of one lane in kb/s (SDR: 2500000); 0 if there is none.
std::uint64_t lane_kbps(const smp::PortInfo& port, bool fdr10 = false);

/// Mb/s of a PathRecord rate (IBA 15.2.5.16); 0 for a number that means nothing.
std::uint32_t rate_mbps(sa::Rate rate);
/// Bytes of an MTU code; 0 for a number that means nothing.
std::uint32_t mtu_bytes(smp::Mtu mtu);
/// Nanoseconds of the IBA's 4.096 µs × 2^code timeouts.
std::uint64_t timeout_ns(unsigned code);

/// MAD status (IBA 13.4.7) without the class-specific byte: `Ok`, `BUSY Unsupported method`, `??`.
std::string mad_status_text(std::uint16_t status);
/// The class-specific byte of an SA status (IBA 15.2.4): `No records`; empty for 0, `??` if unknown.
std::string_view sa_status_text(std::uint16_t status);

/// `MAD_METHOD_GET(1)`; `MAD_METHOD_??(99)`.
std::string method_text(std::uint8_t method);

/// `MAD_METHOD_GET(1) SMPFormatDirected(129.1) SMPNodeInfo(17)` of a MAD; `??` stands for what is unknown.
/// Takes any number of bytes; missing ones count as zero.
std::string mad_description(Bytes mad);

/// The names alone: method, class format, attribute.
std::string mad_description(std::uint8_t method, std::uint8_t mgmt_class, std::uint8_t class_version, std::uint16_t attribute_id,
                            std::uint32_t oui = 0);

/// The OUI of a MAD of a vendor class of range 2 (IBA 16.5.1), 0 for the others.
std::uint32_t mad_oui(Bytes mad);

}  // namespace ib
