// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Describes a MAD and its status in ibtool's words. The words of infiniband-diags are in iba/libibmad_text.hpp.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.hpp"

namespace ib {

/// The text of a MAD status (IBA 13.4.7) without its class-specific byte: `Ok`, `BUSY Unsupported method`, or `??` if unknown.
std::string mad_status_text(std::uint16_t status);

/// The name of a MAD's method: `GET_TABLE_RESP`, or `??` if unknown.
std::string mad_method_name(std::uint8_t number);

/// Names method, MAD format and attribute of a MAD: `MAD_METHOD_GET(1) SMPFormatDirected(129.1) SMPNodeInfo(17)`. An unknown
/// name is `??`. `mad` may have any length; missing bytes count as zero.
std::string mad_description(Bytes mad);

}  // namespace ib
