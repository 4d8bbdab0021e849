// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// GMPs over verbs, without umad: a UD queue pair of this process exchanges MADs with QP1 of other ports.
#pragma once

#include <memory>

#include "mad/channel/channel.hpp"

namespace ib::mad {

/// Opens the verbs device of `end_port`, which must outlive the channel. Its queue pair is not QP1. A request reaches it only
/// by the queue pair number that a MAD sent from it shows; all such requests are delivered, with or without serve(). To serve a
/// class, use open_channel(). Transaction IDs return complete. The user of the channel does RMPP. The channel carries no SMPs:
/// send() throws Error for them. Throws Error if there are no verbs, if they may not be used, or if the kernel does not grant
/// QP1's Q_Key, which needs CAP_NET_RAW.
std::unique_ptr<Channel> open_verbs(const sys::EndPort& end_port);

}  // namespace ib::mad
