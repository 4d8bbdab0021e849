// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/frame/offered_words.hpp"

#include <set>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "snapshot/stored_fabric.hpp"

namespace ib::tools {
namespace {

sys::DeviceList devices_of(const World& world) {
  try {
    return world.devices();
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

std::vector<std::string> device_names(const World& world) {
  const sys::DeviceList list = devices_of(world);
  std::vector<std::string> names;
  for (const auto& device : list.devices()) names.push_back(device->name);
  return names;
}

std::vector<std::string> end_port_names(const World& world) {
  const sys::DeviceList list = devices_of(world);
  std::vector<std::string> names;
  for (const auto& device : list.devices()) {
    for (const auto& port : device->ports) names.push_back(port->name());
  }
  return names;
}

std::vector<std::string> stored_node_names(const std::string& file) {
  subnet::SweptSubnet fabric;
  try {
    fabric = snapshot::open_fabric(file)->read_fabric(nullptr);
  } catch (const Error&) {
    return {};
  }
  std::set<std::string> names;
  for (const subnet::Node& node : fabric.subnet.nodes()) {
    std::string name(node.description());
    if (!name.empty() && printable(name) == name) names.insert(std::move(name));
  }
  return {names.begin(), names.end()};
}

}  // namespace ib::tools
