// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Which device takes SMPs and which takes GMPs. A planarized HCA (ConnectX-8 and later, several planes behind one
// port) appears as two devices: one reaches QP0 of the port, the other everything else. sysfs has no link between
// them; what they share is the port GUID, and the half without a usable QP0 says so in its capability mask.
#pragma once

#include <memory>
#include <vector>

#include "sys/device.hpp"

namespace ib::sys {

/// Fills smi_umad, gsi_umad, smi_port and gsi_port of every port; on RoCE there is no SMI. `umad` must be known.
void pair_halves(const std::vector<std::unique_ptr<Device>>& devices);

}  // namespace ib::sys
