// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What a MadError means for the model: the kind of failure, and the port that the request was about.
#pragma once

#include "mad/error.hpp"
#include "subnet/model.hpp"

namespace ib::subnet {

/// The kind of failure of a request that brought `error`: no_answer, not_read, refused, or false_answer where another node answered
/// (WrongNode).
Failure::Kind kind_of(const mad::MadError& error);

/// The number of the port that the request of `error` was about, for Failure::port. The request was for the agents of `port`. −1 for an
/// attribute of the whole node (IBA 14.2.5: NodeInfo, SwitchInfo, forwarding tables), for what the one agent of a switch says of itself
/// (ClassPortInfo), and for PortSelect 255 (IBA 16.1.3.1).
int port_in_request(const Subnet& subnet, PortIndex port, const mad::MadError& error);

}  // namespace ib::subnet
