// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The JSON form that ibstat, ibstatus and ibv_devices share.
#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/escape.hpp"
#include "iba-gen/smp.hpp"
#include "iba/generic.hpp"
#include "iba/text.hpp"
#include "report/sink.hpp"
#include "tools/shared/devices_report.hpp"

namespace ib::tools {
namespace {

using report::Cell;
using report::Column;
using report::text_cell;

/// A value without a number in sysfs is not known.
template <class Code>
report::Coded sysfs_code_cell(unsigned number) {
  if (number == 0) return {};
  return {number, std::string(smp::to_text(static_cast<Code>(number)))};
}

std::string_view link_layer_word(sys::LinkLayer layer) {
  return layer == sys::LinkLayer::infiniband ? "InfiniBand" : layer == sys::LinkLayer::ethernet ? "Ethernet" : "";
}

std::span<const Column<sys::Device>> host_device_columns() {
  static const std::vector<Column<sys::Device>> columns{
      {{.key = "device", .heading = "DEVICE", .usual = true}, [](const sys::Device& device) { return device.name; }},
      {{.key = "ca_type", .heading = "CA TYPE"}, [](const sys::Device& device) { return text_cell(device.ca_type); }},
      {{.key = "node_type", .heading = "TYPE", .coded = true},
       [](const sys::Device& device) { return sysfs_code_cell<smp::NodeType>(device.node_type); }},
      {{.key = "firmware", .heading = "FIRMWARE", .usual = true}, [](const sys::Device& device) { return text_cell(device.firmware); }},
      {{.key = "hardware", .heading = "HARDWARE"}, [](const sys::Device& device) { return text_cell(device.hardware); }},
      {{.key = "board_id", .heading = "BOARD"}, [](const sys::Device& device) { return text_cell(device.board_id); }},
      {{.key = "node_description", .heading = "NODE"}, [](const sys::Device& device) { return text_cell(device.node_description); }},
      {{.key = "node_guid", .heading = "NODE GUID"}, [](const sys::Device& device) { return device.node_guid; }},
      {{.key = "system_image_guid", .heading = "SYSTEM"}, [](const sys::Device& device) { return device.system_image_guid; }},
  };
  return columns;
}

std::span<const Column<sys::EndPort>> host_port_columns() {
  static const std::vector<Column<sys::EndPort>> columns{
      {{.key = "port_num", .heading = "PORT", .usual = true}, [](const sys::EndPort& port) { return port.number; }},
      {{.key = "end_port", .heading = "END PORT"}, [](const sys::EndPort& port) { return port.name(); }},
      {{.key = "link_layer", .heading = "LINK LAYER", .usual = true},
       [](const sys::EndPort& port) { return text_cell(std::string(link_layer_word(port.link_layer))); }},
      {{.key = "state", .heading = "STATE", .usual = true, .coded = true},
       [](const sys::EndPort& port) { return sysfs_code_cell<smp::PortState>(port.state); }},
      {{.key = "phys_state", .heading = "PHYSICAL", .usual = true, .coded = true},
       [](const sys::EndPort& port) { return sysfs_code_cell<smp::PortPhysicalState>(port.phys_state); }},
      {{.key = "sysfs_rate", .heading = "RATE", .usual = true}, [](const sys::EndPort& port) { return text_cell(port.rate_text); }},
      {{.key = "lid", .heading = "LID", .usual = true}, [](const sys::EndPort& port) { return report::lid_cell(port.lid); }},
      {{.key = "lmc", .heading = "LMC"}, [](const sys::EndPort& port) { return port.lmc; }},
      {{.key = "sm_lid", .heading = "SM LID"}, [](const sys::EndPort& port) { return report::lid_cell(port.sm_lid); }},
      {{.key = "sm_sl", .heading = "SM SL"}, [](const sys::EndPort& port) { return port.sm_sl; }},
      {{.key = "capability_mask", .heading = "CAPABILITIES", .coded = true},
       [](const sys::EndPort& port) {
         return report::Coded{port.capability_mask, symbol(smp::capability_mask::info(), port.capability_mask)};
       }},
      {{.key = "port_guid", .heading = "PORT GUID"}, [](const sys::EndPort& port) { return port.port_guid(); }},
      {{.key = "gid", .heading = "GID"}, [](const sys::EndPort& port) { return to_text(port.default_gid()); }},
      {{.key = "smi_umad", .heading = "SMI"}, [](const sys::EndPort& port) { return text_cell(port.umad_of(true)); }},
      {{.key = "gsi_umad", .heading = "GSI"}, [](const sys::EndPort& port) { return text_cell(port.umad_of(false)); }},
  };
  return columns;
}

std::vector<Column<EndPortRow>> list_host_columns() {
  auto columns = report::columns_of_part<EndPortRow>(host_device_columns(),
                                                     [](const EndPortRow& port) -> const sys::Device& { return *port->device; });
  std::ranges::move(
      report::columns_of_part<EndPortRow>(host_port_columns(), [](const EndPortRow& port) -> const sys::EndPort& { return *port; }),
      std::back_inserter(columns));
  return columns;
}

void visit_device(report::Sink& sink, const DevicesReport::ListedDevice& shown) {
  sink.begin_object();
  report::write_members<sys::Device>(sink, host_device_columns(), *shown.device);
  sink.objects("ports", shown.ports,
               [&](const sys::EndPort* port) { report::write_members<sys::EndPort>(sink, host_port_columns(), *port); });
  sink.end_object();
}

}  // namespace

std::span<const Column<EndPortRow>> listed_host_port_columns() {
  static const std::vector<Column<EndPortRow>> columns = list_host_columns();
  return columns;
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

void DevicesReport::visit(report::Sink& sink) const {
  sink.begin_array("devices");
  sys::Device any;
  sys::EndPort any_port;
  any_port.device = &any;
  report::announce(sink, [&](report::Sink& to) { visit_device(to, {&any, {&any_port}}); });
  for (const ListedDevice& shown : devices) visit_device(sink, shown);
  sink.end_array();
}

void DevicesReport::emit(Emit& emit, const TableOptions& options, std::FILE* file) const {
  const auto ports = [this] {
    std::vector<EndPortRow> all;
    for (const ListedDevice& shown : devices) all.insert(all.end(), shown.ports.begin(), shown.ports.end());
    return all;
  };
  emit_either(emit, options, *this, "ports", listed_host_port_columns(), ports, file);
}

}  // namespace ib::tools
