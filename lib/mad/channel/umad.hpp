// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The usual channel of Linux: /dev/infiniband/umadN.
#pragma once

#include <memory>

#include "mad/channel/channel.hpp"

namespace ib::mad {

/// Opens the umad devices of `end_port`: its SMI device for SMPs and its GSI device for all other classes. On most hardware
/// they are the same device. Separate devices are each opened at their first MAD. `end_port` must outlive the channel. send()
/// throws SysError if the device is missing or cannot be opened.
std::unique_ptr<Channel> open_umad(const sys::EndPort& end_port);

}  // namespace ib::mad
