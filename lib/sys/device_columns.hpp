// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The columns of the devices of this host and of their end ports.
#pragma once

#include <span>

#include "report/columns.hpp"
#include "sys/device.hpp"

namespace ib::sys {

std::span<const report::Column<Device>> device_columns();
std::span<const report::Column<EndPort>> end_port_columns();
/// Of a table of end ports: the columns of the device, then of the port.
std::span<const report::Column<const EndPort*>> listed_end_port_columns();

}  // namespace ib::sys
