// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The JSON form that ibstat, ibstatus and ibv_devices share.
#include <fmt/format.h>

#include <algorithm>

#include "base/escape.hpp"
#include "out/sink.hpp"
#include "tools/shared/devices_report.hpp"

namespace ib::tools {
namespace {

void visit_port(out::Sink& sink, const sys::EndPort& port) {
  sink.begin_object();
  sink.value("number", port.number);
  sink.value("name", port.name());
  sink.value("link_layer", port.link_layer == sys::LinkLayer::infiniband ? "InfiniBand"
                           : port.link_layer == sys::LinkLayer::ethernet ? "Ethernet"
                                                                         : "unknown");
  sink.value("state", port.state);
  sink.value("phys_state", port.phys_state);
  sink.value("state_text", port.state_text);
  sink.value("phys_state_text", port.phys_state_text);
  sink.value("rate_text", port.rate_text);
  sink.value("lid", port.lid);
  sink.value("lmc", port.lmc);
  sink.value("sm_lid", port.sm_lid);
  sink.value("sm_sl", port.sm_sl);
  sink.value("capability_mask", port.capability_mask);
  sink.value("port_guid", port.port_guid());
  sink.value("default_gid", port.default_gid());
  sink.value("smi_umad", port.smi_umad);
  sink.value("gsi_umad", port.gsi_umad);
  sink.end_object();
}

}  // namespace

std::string link_state_text(unsigned state) {
  switch (state) {
    case 1:
      return "Down";
    case 2:
      return "Init";
    case 3:
      return "Armed";
    case 4:
      return "Active";
    default:
      return fmt::format("?? {}", state);
  }
}

std::string phys_link_state_text(unsigned state) {
  switch (state) {
    case 1:
      return "Sleep";
    case 2:
      return "Polling";
    case 3:
      return "Disabled";
    case 4:
      return "Config.Train";
    case 5:
      return "Link UP";
    case 6:
      return "Error Recovery";
    case 7:
      return "PHY Test";
    default:
      return fmt::format("?? {}", state);
  }
}

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

void DevicesReport::visit(out::Sink& sink) const {
  sink.begin_array("devices");
  for (const auto& [device, ports] : devices) {
    sink.begin_object();
    sink.value("name", device->name);
    sink.value("ca_type", device->ca_type);
    sink.value("node_type", device->node_type);
    sink.value("firmware", device->firmware);
    sink.value("hardware", device->hardware);
    sink.value("board_id", device->board_id);
    sink.value("node_description", device->node_description);
    sink.value("node_guid", device->node_guid);
    sink.value("system_image_guid", device->system_image_guid);
    sink.begin_array("ports");
    for (const sys::EndPort* port : ports) visit_port(sink, *port);
    sink.end_array();
    sink.end_object();
  }
  sink.end_array();
}

}  // namespace ib::tools
