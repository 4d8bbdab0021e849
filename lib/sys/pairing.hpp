// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Decides which device carries SMPs and which carries GMPs. A planarized HCA (ConnectX-8 and later, several planes behind one
// port) appears as two devices: one reaches QP0 of the port, the other reaches everything else. sysfs does not link the two
// devices. They have the same port GUID, and the capability mask of one half says that it has no usable QP0.
#pragma once

#include <memory>
#include <vector>

#include "sys/device.hpp"

namespace ib::sys {

/// Fills smi_umad, gsi_umad, smi_port and gsi_port of every port. A RoCE port has no SMI. `umad` must be set before.
void pair_halves(const std::vector<std::unique_ptr<Device>>& devices);

}  // namespace ib::sys
