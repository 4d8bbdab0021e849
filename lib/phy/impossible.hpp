// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Numbers in registers that cannot be. They are not known (phy/values.hpp); here is what the register has, for people who want to find out.
#pragma once

#include <string>
#include <vector>

#include "phy/port_row.hpp"
#include "phy/reading.hpp"

namespace ib::phy {

struct ImpossibleValue {
  std::string key;    ///< the value as JSON calls it: "module.rx_power_dbm[2]"
  std::string bytes;  ///< of the register: "0xfc19"
  std::string why;    ///< as a phrase: "not from -40 to 20 dBm (CMIS: …)"
};

/// Of what was read of a port. A value that the device does not measure is none of them.
std::vector<ImpossibleValue> impossible_values(const PortRow& row);
/// Of the sensors and fans of a device.
std::vector<ImpossibleValue> impossible_values(const EnvironmentRow& row);

}  // namespace ib::phy
