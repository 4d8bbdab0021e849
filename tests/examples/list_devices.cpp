// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The RDMA devices of this host and the addresses of their end ports. Nothing is sent.
#include <fmt/core.h>

#include "iba/text.hpp"
#include "sys/device.hpp"

using namespace ib;

int main() {
  const sys::DeviceList list = sys::DeviceList::read();
  for (const auto& device : list.devices()) {
    fmt::print("{} node GUID {}\n", device->name, to_text(device->node_guid));
    for (const auto& port : device->ports) {
      fmt::print("  {} {}, LID {}, GID {}\n", port->name(), port->state_text, to_text(port->lid), to_text(port->default_gid()));
    }
  }
}
