// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// FDR10 is a speed of Mellanox, which PortInfo shows as QDR. On devices that have MlnxExtPortInfo, that attribute distinguishes
// the two.
#pragma once

#include "iba-gen/smp.hpp"
#include "subnet/model/model.hpp"

namespace ib::subnet {

/// Whether the device is known to answer MlnxExtPortInfo.
bool has_mlnx_ext_port_info(const smp::NodeInfo& node);
/// Whether `port` may run at FDR10 and the device has MlnxExtPortInfo, which says so.
bool may_be_fdr10(const smp::NodeInfo& node, const smp::PortInfo& port);
/// Stores the FDR10 fields of MlnxExtPortInfo in a port of the model.
void store_fdr10(Port& port, const smp::MlnxExtPortInfo& info);

}  // namespace ib::subnet
