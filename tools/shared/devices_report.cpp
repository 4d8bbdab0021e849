// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The JSON form that ibstat, ibstatus and ibv_devices share.
#include <algorithm>

#include "base/escape.hpp"
#include "iba-gen/smp.hpp"
#include "iba/generic.hpp"
#include "report/member_names.hpp"
#include "report/sink.hpp"
#include "tools/shared/devices_report.hpp"

namespace ib::tools {
namespace {

/// A value without a number in sysfs is null.
template <class Code>
void visit_code(report::Sink& sink, std::string_view key, unsigned number) {
  number != 0 ? sink.symbol(key, number, smp::to_text(static_cast<Code>(number))) : sink.no_symbol(key);
}

void visit_port(report::Sink& sink, const sys::EndPort& port) {
  sink.value("port_num", port.number);
  sink.value("end_port", port.name());
  sink.text_or_null("link_layer", port.link_layer == sys::LinkLayer::infiniband ? "InfiniBand"
                                  : port.link_layer == sys::LinkLayer::ethernet ? "Ethernet"
                                                                                : "");
  visit_code<smp::PortState>(sink, "state", port.state);
  visit_code<smp::PortPhysicalState>(sink, "phys_state", port.phys_state);
  sink.text_or_null("sysfs_rate", port.rate_text);
  sink.lid_or_null("lid", port.lid);
  sink.value("lmc", port.lmc);
  sink.lid_or_null("sm_lid", port.sm_lid);
  sink.value("sm_sl", port.sm_sl);
  sink.symbol("capability_mask", port.capability_mask, symbol(smp::capability_mask::info(), port.capability_mask));
  sink.value("port_guid", port.port_guid());
  sink.value("gid", port.default_gid());
  sink.text_or_null("smi_umad", port.smi_umad);
  sink.text_or_null("gsi_umad", port.gsi_umad);
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

void DevicesReport::visit_device(report::Sink& sink, const ListedDevice& shown) {
  sink.begin_object();
  const auto& [device, ports] = shown;
  sink.value("device", device->name);
  sink.text_or_null("ca_type", device->ca_type);
  visit_code<smp::NodeType>(sink, "node_type", device->node_type);
  sink.text_or_null("firmware", device->firmware);
  sink.text_or_null("hardware", device->hardware);
  sink.text_or_null("board_id", device->board_id);
  sink.text_or_null("node_description", device->node_description);
  sink.value("node_guid", device->node_guid);
  sink.value("system_image_guid", device->system_image_guid);
  sink.objects("ports", ports, [&](const sys::EndPort* port) { visit_port(sink, *port); });
  sink.end_object();
}

}  // namespace ib::tools
