// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// FDR10 is a speed of Mellanox, which PortInfo shows as QDR. On devices that have MlnxExtPortInfo, that attribute distinguishes
// the two.
#pragma once

#include "iba-gen/smp.hpp"
#include "subnet/model.hpp"

namespace ib::subnet {

/// Whether the device is known to answer MlnxExtPortInfo.
bool has_mlnx_ext_port_info(const smp::NodeInfo& node);
/// Whether `port` may run at FDR10 and the device can tell.
bool may_be_fdr10(const smp::NodeInfo& node, const smp::PortInfo& port);
/// Keeps in the model what MlnxExtPortInfo tells of a port.
void store_fdr10(Port& port, const smp::MlnxExtPortInfo& info);

}  // namespace ib::subnet
