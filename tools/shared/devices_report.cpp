// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The JSON form that ibstat, ibstatus and ibv_devices share.
#include <algorithm>
#include <vector>

#include "base/escape.hpp"
#include "report/sink.hpp"
#include "tools/shared/devices_report.hpp"

namespace ib::tools {
namespace {

void visit_device(report::Sink& sink, const DevicesReport::ListedDevice& shown) {
  sink.begin_object();
  report::write_members<sys::Device>(sink, sys::device_columns(), *shown.device);
  sink.objects("ports", shown.ports,
               [&](const sys::EndPort* port) { report::write_members<sys::EndPort>(sink, sys::end_port_columns(), *port); });
  sink.end_object();
}

}  // namespace

std::string link_layer_text(const sys::EndPort& port) {
  return port.link_layer_text.empty() ? "InfiniBand" : escaped(port.link_layer_text);
}

std::vector<const sys::Device*> by_name(const sys::DeviceList& list) {
  std::vector<const sys::Device*> devices;
  for (const auto& device : list.devices()) devices.push_back(device.get());
  std::ranges::sort(devices, {}, &sys::Device::name);
  return devices;
}

void DevicesReport::add_all(const sys::DeviceList& list) {
  for (const auto& device : list.devices()) add(*device);
}

void DevicesReport::add(const sys::Device& device) {
  devices.push_back({&device, {}});
  for (const auto& port : device.ports) devices.back().ports.push_back(port.get());
}

void DevicesReport::add(const sys::EndPort& port) { devices.push_back({port.device, {&port}}); }

void DevicesReport::visit(report::Sink& sink) const {
  sink.begin_array("devices");
  sys::Device any;
  sys::EndPort any_port;
  any_port.device = &any;
  report::announce(sink, [&](report::Sink& to) { visit_device(to, {&any, {&any_port}}); });
  for (const ListedDevice& shown : devices) visit_device(sink, shown);
  sink.end_array();
}

void DevicesReport::emit(Emit& emit, const TableOptions& options) const {
  const auto ports = [this] {
    std::vector<const sys::EndPort*> all;
    for (const ListedDevice& shown : devices) all.insert(all.end(), shown.ports.begin(), shown.ports.end());
    return all;
  };
  emit_either(emit, options, *this, "ports", sys::listed_end_port_columns(), ports);
}

}  // namespace ib::tools
