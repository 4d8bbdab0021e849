// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The label on a box beside a port, for people who look for a cable.
#pragma once

#include <string>

#include "subnet/model/model.hpp"

namespace ib::subnet {

/// The label of a port of a switch: "22", of Quantum split ports "11/2", of Quantum-2 "1/11/2" (chip, cage, port) and split "1/11/2/1".
/// Empty where no rule is known: port 0, ports inside of a box, chips of directors, nodes that are not switches, other devices.
std::string port_label(const Subnet& subnet, PortIndex port);

}  // namespace ib::subnet
