// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Combines two channels of one end port: verbs for GMPs, and umad for MADs that need QP0 or QP1 itself.
#pragma once

#include <functional>
#include <memory>

#include "mad/channel/channel.hpp"

namespace ib::mad {

using OpenChannel = std::function<std::unique_ptr<Channel>(const sys::EndPort&)>;

/// Makes a channel that sends GMPs through `gmps`, and SMPs and the served classes through umad. Requests arrive at QP1, which
/// only umad reaches, and their answers leave from QP1. Our own requests of a served class also go through umad, because a
/// segment or ACK does not show which side began. serve() must therefore be called before the first request of its class.
/// `open_umad` is called when umad is needed; its exceptions leave send(). serve() throws Error.
std::unique_ptr<Channel> make_split_channel(std::unique_ptr<Channel> gmps, OpenChannel open_umad);

}  // namespace ib::mad
