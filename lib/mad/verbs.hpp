// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// GMPs over verbs, without umad: a UD queue pair of this process talks to QP1 of other ports.
#pragma once

#include <memory>

#include "mad/channel.hpp"

namespace ib::mad {

/// Opens the verbs device of `end_port`, which must outlive the channel. Its queue pair is not QP1: requests reach it only by
/// the number that a MAD sent from it shows, and all of them are delivered, with serve() or without; open_channel() has what serves.
/// Transaction IDs come back whole, and RMPP is left to whoever uses the channel. It carries no SMPs: send() throws Error for these. Throws
/// Error where there are no verbs, they may not be used, or the kernel does not grant QP1's Q_Key, for which it wants CAP_NET_RAW.
std::unique_ptr<Channel> open_verbs(const sys::EndPort& end_port);

}  // namespace ib::mad
