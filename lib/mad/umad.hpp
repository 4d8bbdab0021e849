// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The channel that Linux offers to everybody: /dev/infiniband/umadN.
#pragma once

#include <memory>

#include "mad/channel.hpp"

namespace ib::mad {

/// Opens the umad devices of `end_port`: its SMI device for SMPs and its GSI device for all other classes, which on
/// most hardware is one. Each is opened at its first MAD. `end_port` must outlive the channel. send() throws SysError
/// where the device is missing or may not be opened.
std::unique_ptr<Channel> open_umad(const sys::EndPort& end_port);

}  // namespace ib::mad
