// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The host that took a snapshot: the RDMA device through which it read the fabric, as text in the file. With it, a command on another host
// selects and names the end port as it would on that host.
#pragma once

#include <string>
#include <string_view>

#include "sys/device.hpp"

namespace ib::snapshot {

/// The device of `port` as a JSON text.
std::string origin_text(const sys::EndPort& port);

/// The list of the one device in `text`. Throws UsageError with a sentence if `text` is not such a text.
sys::DeviceList origin_devices(std::string_view text);

}  // namespace ib::snapshot
