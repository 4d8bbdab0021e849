// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What a MAD is and how it was answered, in ibtool's words. The words of infiniband-diags are in iba/libibmad_text.hpp.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.hpp"

namespace ib {

/// MAD status (IBA 13.4.7) without the class-specific byte: `Ok`, `BUSY Unsupported method`, `??`.
std::string mad_status_text(std::uint16_t status);

/// `MAD_METHOD_GET(1) SMPFormatDirected(129.1) SMPNodeInfo(17)` of a MAD; `??` stands for what is unknown.
/// Takes any number of bytes; missing ones count as zero.
std::string mad_description(Bytes mad);

/// The OUI of a MAD of a vendor class of range 2 (IBA 16.5.1), 0 for the others.
std::uint32_t mad_oui(Bytes mad);

}  // namespace ib
