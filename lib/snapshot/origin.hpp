// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The host that took a snapshot: the RDMA device through which it read the fabric, as facts in the file. With them, a command on another
// host selects and names the end port as it would on that host.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "sys/device.hpp"

namespace ib::snapshot {

/// Stores a fact.
using PutFact = std::function<void(std::string_view name, std::string_view value)>;
/// The value of a fact. Empty if there is none.
using FindFact = std::function<std::string(std::string_view name)>;

/// Stores the device of `port` and its ports: "device node_guid", "device port 1 lid", ….
void put_origin_facts(const sys::EndPort& port, const PutFact& put);

/// The list of the one device that the facts describe. Throws UsageError with a sentence if they describe none.
sys::DeviceList origin_devices(const FindFact& find);

}  // namespace ib::snapshot
