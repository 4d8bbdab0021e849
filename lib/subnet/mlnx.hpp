// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// FDR10 is a speed of Mellanox's that PortInfo shows as QDR; MlnxExtPortInfo tells them apart on devices that have it.
#pragma once

#include "iba-gen/smp.hpp"

namespace ib::subnet {

/// True if the device is known to answer MlnxExtPortInfo.
bool has_mlnx_ext_port_info(const smp::NodeInfo& node);
/// True if `port` runs at what may be FDR10 and the device can tell.
bool may_be_fdr10(const smp::NodeInfo& node, const smp::PortInfo& port);

}  // namespace ib::subnet
