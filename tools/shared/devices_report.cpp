// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The JSON form that ibstat, ibstatus and ibv_devices share.
#include <algorithm>
#include <array>
#include <utility>

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
using enum report::JsonType;

/// A value without a number in sysfs is not known.
template <class Code>
Cell sysfs_code_cell(unsigned number) {
  return number != 0 ? report::Coded{number, std::string(smp::to_text(static_cast<Code>(number)))} : report::Coded{};
}
Cell sysfs_lid_cell(Lid lid) { return lid == Lid{} ? Cell() : Cell(std::uint64_t{lid.value}); }

std::string_view link_layer_word(sys::LinkLayer layer) {
  return layer == sys::LinkLayer::infiniband ? "InfiniBand" : layer == sys::LinkLayer::ethernet ? "Ethernet" : "";
}

// Keys without a meaning have it with the nodes and ports of a fabric.
constexpr std::array<Column<sys::Device>, 9> all_host_device_columns{{
    {{.key = "device", .heading = "DEVICE", .usual = true, .meaning = "RDMA device of this host: mlx5_0.", .type = text},
     [](const sys::Device& device) { return Cell(std::string_view(device.name)); }},
    {{.key = "ca_type", .heading = "CA TYPE", .meaning = "Type of a device of this host.", .type = text},
     [](const sys::Device& device) { return text_cell(device.ca_type); }},
    {{.key = "node_type", .heading = "TYPE", .coded = true},
     [](const sys::Device& device) { return sysfs_code_cell<smp::NodeType>(device.node_type); }},
    {{.key = "firmware", .heading = "FIRMWARE", .usual = true, .meaning = "Firmware version of a device.", .type = text},
     [](const sys::Device& device) { return text_cell(device.firmware); }},
    {{.key = "hardware", .heading = "HARDWARE", .meaning = "Hardware version of a device of this host.", .type = text},
     [](const sys::Device& device) { return text_cell(device.hardware); }},
    {{.key = "board_id", .heading = "BOARD", .meaning = "Board of a device of this host.", .type = text},
     [](const sys::Device& device) { return text_cell(device.board_id); }},
    {{.key = "node_description", .heading = "NODE"}, [](const sys::Device& device) { return text_cell(device.node_description); }},
    {{.key = "node_guid", .heading = "NODE GUID"}, [](const sys::Device& device) { return Cell(device.node_guid); }},
    {{.key = "system_image_guid", .heading = "SYSTEM"}, [](const sys::Device& device) { return Cell(device.system_image_guid); }},
}};

constexpr std::array<Column<sys::EndPort>, 15> all_host_port_columns{{
    {{.key = "port_num", .heading = "PORT", .usual = true}, [](const sys::EndPort& port) { return Cell(std::uint64_t{port.number}); }},
    {{.key = "end_port", .heading = "END PORT", .meaning = "End port of this host: mlx5_0/1.", .type = text},
     [](const sys::EndPort& port) { return Cell(port.name()); }},
    {{.key = "link_layer", .heading = "LINK LAYER", .usual = true, .meaning = "InfiniBand or Ethernet.", .type = text},
     [](const sys::EndPort& port) { return text_cell(std::string(link_layer_word(port.link_layer))); }},
    {{.key = "state", .heading = "STATE", .usual = true, .coded = true},
     [](const sys::EndPort& port) { return sysfs_code_cell<smp::PortState>(port.state); }},
    {{.key = "phys_state", .heading = "PHYSICAL", .usual = true, .coded = true},
     [](const sys::EndPort& port) { return sysfs_code_cell<smp::PortPhysicalState>(port.phys_state); }},
    {{.key = "sysfs_rate",
      .heading = "RATE",
      .usual = true,
      .meaning = "The kernel's words for the rate of a port: 40 Gb/sec (4X QDR).",
      .type = text},
     [](const sys::EndPort& port) { return text_cell(port.rate_text); }},
    {{.key = "lid", .heading = "LID", .usual = true}, [](const sys::EndPort& port) { return sysfs_lid_cell(port.lid); }},
    {{.key = "lmc", .heading = "LMC"}, [](const sys::EndPort& port) { return Cell(std::uint64_t{port.lmc}); }},
    {{.key = "sm_lid", .heading = "SM LID", .meaning = "LID of the port's subnet manager.", .type = integer},
     [](const sys::EndPort& port) { return sysfs_lid_cell(port.sm_lid); }},
    {{.key = "sm_sl", .heading = "SM SL", .meaning = "Service level to the port's subnet manager.", .type = integer},
     [](const sys::EndPort& port) { return Cell(std::uint64_t{port.sm_sl}); }},
    {{.key = "capability_mask", .heading = "CAPABILITIES", .coded = true, .meaning = "PortInfo.CapabilityMask.", .type = integer},
     [](const sys::EndPort& port) {
       return Cell(report::Coded{port.capability_mask, symbol(smp::capability_mask::info(), port.capability_mask)});
     }},
    {{.key = "port_guid", .heading = "PORT GUID"}, [](const sys::EndPort& port) { return Cell(port.port_guid()); }},
    {{.key = "gid", .heading = "GID", .meaning = "GID 0 of a port: its subnet prefix and its port GUID.", .type = gid},
     [](const sys::EndPort& port) { return Cell(to_text(port.default_gid())); }},
    {{.key = "smi_umad", .heading = "SMI", .meaning = "Device of this host for SMPs: umad0.", .type = text},
     [](const sys::EndPort& port) { return text_cell(port.smi_umad); }},
    {{.key = "gsi_umad", .heading = "GSI", .meaning = "Device of this host for GMPs: umad0.", .type = text},
     [](const sys::EndPort& port) { return text_cell(port.gsi_umad); }},
}};

template <std::size_t at>
Cell of_host_device(const EndPortRow& port) {
  return all_host_device_columns[at].get(*port->device);
}
template <std::size_t at>
Cell of_host_port(const EndPortRow& port) {
  return all_host_port_columns[at].get(*port);
}
template <std::size_t... device, std::size_t... port>
constexpr auto listed_host_columns(std::index_sequence<device...> /*of all_host_device_columns*/,
                                   std::index_sequence<port...> /*of all_host_port_columns*/) {
  return std::array{Column<EndPortRow>{all_host_device_columns[device], of_host_device<device>}...,
                    Column<EndPortRow>{all_host_port_columns[port], of_host_port<port>}...};
}
constexpr auto all_listed_host_columns = listed_host_columns(std::make_index_sequence<all_host_device_columns.size()>(),
                                                             std::make_index_sequence<all_host_port_columns.size()>());

void visit_device(report::Sink& sink, const DevicesReport::ListedDevice& shown) {
  sink.begin_object();
  report::write_members(sink, host_device_columns(), *shown.device);
  sink.objects("ports", shown.ports, [&](const sys::EndPort* port) { report::write_members(sink, host_port_columns(), *port); });
  sink.end_object();
}

}  // namespace

std::span<const Column<sys::Device>> host_device_columns() { return all_host_device_columns; }
std::span<const Column<sys::EndPort>> host_port_columns() { return all_host_port_columns; }
std::span<const Column<EndPortRow>> listed_host_port_columns() { return all_listed_host_columns; }

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
