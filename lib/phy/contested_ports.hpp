// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// End ports whose LID another port in use claims too. It is not known which of these answers at the LID, so that no GMP of them is read.
#pragma once

#include <map>
#include <optional>

#include "subnet/model/model.hpp"

namespace ib::phy {

/// The end ports, and a LID that another one claims too.
using ContestedPorts = std::map<subnet::PortIndex, Lid>;
/// A port to which no packets can be sent contests no LID (subnet::contested_lids()).
ContestedPorts contested_ports(const subnet::Subnet& subnet);
/// Such a LID of an end port of `node`.
std::optional<Lid> contested_lid(const ContestedPorts& ports, const subnet::Node& node);

/// How many ports claim a contested LID.
std::size_t claimants(const subnet::Subnet& subnet, Lid lid);

}  // namespace ib::phy
