// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "sys/device_columns.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "iba-gen/smp.hpp"
#include "iba/generic.hpp"
#include "iba/text.hpp"

namespace ib::sys {
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

std::string_view link_layer_word(LinkLayer layer) {
  return layer == LinkLayer::infiniband ? "InfiniBand" : layer == LinkLayer::ethernet ? "Ethernet" : "";
}

}  // namespace

std::span<const Column<Device>> device_columns() {
  static const std::vector<Column<Device>> columns{
      {{.key = "device", .heading = "DEVICE", .usual = true}, [](const Device& device) { return device.name; }},
      {{.key = "ca_type", .heading = "CA TYPE"}, [](const Device& device) { return text_cell(device.ca_type); }},
      {{.key = "node_type", .heading = "TYPE", .coded = true},
       [](const Device& device) { return sysfs_code_cell<smp::NodeType>(device.node_type); }},
      {{.key = "firmware", .heading = "FIRMWARE", .usual = true}, [](const Device& device) { return text_cell(device.firmware); }},
      {{.key = "hardware", .heading = "HARDWARE"}, [](const Device& device) { return text_cell(device.hardware); }},
      {{.key = "board_id", .heading = "BOARD"}, [](const Device& device) { return text_cell(device.board_id); }},
      {{.key = "node_description", .heading = "NODE"}, [](const Device& device) { return text_cell(device.node_description); }},
      {{.key = "node_guid", .heading = "NODE GUID"}, [](const Device& device) { return device.node_guid; }},
      {{.key = "system_image_guid", .heading = "SYSTEM"}, [](const Device& device) { return device.system_image_guid; }},
  };
  return columns;
}

std::span<const Column<EndPort>> end_port_columns() {
  static const std::vector<Column<EndPort>> columns{
      {{.key = "port_num", .heading = "PORT", .usual = true}, [](const EndPort& port) { return port.number; }},
      {{.key = "end_port", .heading = "END PORT"}, [](const EndPort& port) { return port.name(); }},
      {{.key = "link_layer", .heading = "LINK LAYER", .usual = true},
       [](const EndPort& port) { return text_cell(std::string(link_layer_word(port.link_layer))); }},
      {{.key = "state", .heading = "STATE", .usual = true, .coded = true},
       [](const EndPort& port) { return sysfs_code_cell<smp::PortState>(port.state); }},
      {{.key = "phys_state", .heading = "PHYSICAL", .usual = true, .coded = true},
       [](const EndPort& port) { return sysfs_code_cell<smp::PortPhysicalState>(port.phys_state); }},
      {{.key = "sysfs_rate", .heading = "RATE", .usual = true}, [](const EndPort& port) { return text_cell(port.rate_text); }},
      {{.key = "lid", .heading = "LID", .usual = true}, [](const EndPort& port) { return report::lid_cell(port.lid); }},
      {{.key = "lmc", .heading = "LMC"}, [](const EndPort& port) { return port.lmc; }},
      {{.key = "sm_lid", .heading = "SM LID"}, [](const EndPort& port) { return report::lid_cell(port.sm_lid); }},
      {{.key = "sm_sl", .heading = "SM SL"}, [](const EndPort& port) { return port.sm_sl; }},
      {{.key = "capability_mask", .heading = "CAPABILITIES", .coded = true},
       [](const EndPort& port) {
         return report::Coded{port.capability_mask, symbol(smp::capability_mask::info(), port.capability_mask)};
       }},
      {{.key = "port_guid", .heading = "PORT GUID"}, [](const EndPort& port) { return port.port_guid(); }},
      {{.key = "gid", .heading = "GID"}, [](const EndPort& port) { return to_text(port.default_gid()); }},
      {{.key = "smi_umad", .heading = "SMI"}, [](const EndPort& port) { return text_cell(port.umad_of(true)); }},
      {{.key = "gsi_umad", .heading = "GSI"}, [](const EndPort& port) { return text_cell(port.umad_of(false)); }},
  };
  return columns;
}

std::span<const Column<const EndPort*>> listed_end_port_columns() {
  static const std::vector<Column<const EndPort*>> columns = [] {
    auto all =
        report::columns_of_part<const EndPort*>(device_columns(), [](const EndPort* port) -> const Device& { return *port->device; });
    std::ranges::move(
        report::columns_of_part<const EndPort*>(end_port_columns(), [](const EndPort* port) -> const EndPort& { return *port; }),
        std::back_inserter(all));
    return all;
  }();
  return columns;
}

}  // namespace ib::sys
