// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The host that took a snapshot: the RDMA device by which it asked, as text in the file. With it, commands run elsewhere choose
// and name an end port as they did there.
#pragma once

#include <string>
#include <string_view>

#include "sys/device.hpp"

namespace ib::snapshot {

/// The device of `port` as a JSON text.
std::string origin_text(const sys::EndPort& port);

/// The list of the one device in `text`. Throws UsageError with a sentence if `text` is none.
sys::DeviceList origin_devices(std::string_view text);

}  // namespace ib::snapshot
