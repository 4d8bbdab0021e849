// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Two channels of one end port as one: GMPs by verbs, and what needs QP0 or QP1 itself by umad.
#pragma once

#include <functional>
#include <memory>

#include "mad/channel.hpp"

namespace ib::mad {

using OpenChannel = std::function<std::unique_ptr<Channel>(const sys::EndPort&)>;

/// Sends GMPs by `gmps`, and by umad SMPs and the classes that are served: requests come to QP1, which umad alone reaches, and
/// answers leave from there. Requests of such a class leave by umad too: segments and ACKs do not tell which side began. So serve() is
/// to come before the first of them. umad is opened, by `open_umad`, when it is needed; send() throws as that does, serve() Error.
std::unique_ptr<Channel> make_split_channel(std::unique_ptr<Channel> gmps, OpenChannel open_umad);

}  // namespace ib::mad
