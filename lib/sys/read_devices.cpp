// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Builds the device list from sysfs. Every attribute is optional, and its content is used only if it parses.
#include <algorithm>

#include "base/parse.hpp"
#include "iba/text.hpp"
#include "sys/device.hpp"
#include "sys/pairing.hpp"
#include "sys/sysfs.hpp"

namespace ib::sys {

namespace {

constexpr std::uint64_t max_port_number = 0xffff;  // IBA allows 254; the limit only rejects absurd directory names

/// A number followed by words, as sysfs writes enums: "4: ACTIVE".
struct NumberAndText {
  unsigned number{};
  std::string text;
};

NumberAndText read_enum(const std::string& path) {
  std::string text = attribute_or_empty(path);
  const auto colon = text.find(':');
  const auto number = parse_digits(std::string_view(text).substr(0, colon), 10);
  if (!number || *number > 255) return {0, std::move(text)};
  if (colon == std::string::npos) return {static_cast<unsigned>(*number), {}};
  return {static_cast<unsigned>(*number), std::string(trim(std::string_view(text).substr(colon + 1)))};
}

template <class T>
T read_number(const std::string& path, std::uint64_t limit) {
  const auto value = parse_number(attribute_or_empty(path)).value_or(0);
  return static_cast<T>(value <= limit ? value : 0);
}

Guid read_guid(const std::string& path) { return parse_guid(attribute_or_empty(path)).value_or(Guid{}); }

LinkLayer link_layer(const std::string& text, unsigned node_type) {
  if (text == "Ethernet") return LinkLayer::ethernet;
  if (text == "InfiniBand" || text == "IB") return LinkLayer::infiniband;
  // Kernels before 2.6.37 do not have the file. Their CAs, switches and routers are InfiniBand devices.
  return text.empty() && node_type >= 1 && node_type <= 3 ? LinkLayer::infiniband : LinkLayer::unknown;
}

std::unique_ptr<EndPort> read_port(const Device& device, const std::string& dir, unsigned number) {
  auto port = std::make_unique<EndPort>();
  port->device = &device;
  port->number = number;
  port->link_layer_text = attribute_or_empty(dir + "link_layer");
  port->link_layer = link_layer(port->link_layer_text, device.node_type);
  auto state = read_enum(dir + "state");
  port->state = state.number;
  port->state_text = std::move(state.text);
  auto phys_state = read_enum(dir + "phys_state");
  port->phys_state = phys_state.number;
  port->phys_state_text = std::move(phys_state.text);
  port->rate_text = attribute_or_empty(dir + "rate");
  port->lid.value = read_number<std::uint16_t>(dir + "lid", 0xffff);
  port->sm_lid.value = read_number<std::uint16_t>(dir + "sm_lid", 0xffff);
  port->lmc = read_number<unsigned>(dir + "lid_mask_count", 7);
  port->sm_sl = read_number<unsigned>(dir + "sm_sl", 15);
  port->capability_mask = read_number<std::uint32_t>(dir + "cap_mask", UINT32_MAX);
  port->gids = PortTable<Gid>::in_directory(dir + "gids/");
  port->pkeys = PortTable<Pkey>::in_directory(dir + "pkeys/");
  return port;
}

std::unique_ptr<Device> read_device(const std::string& class_dir, const std::string& name) {
  const std::string dir = class_dir + name + "/";
  auto device = std::make_unique<Device>();
  device->name = name;
  device->node_type = read_enum(dir + "node_type").number;
  device->ca_type = attribute_or_empty(dir + "hca_type");
  device->firmware = attribute_or_empty(dir + "fw_ver");
  device->hardware = attribute_or_empty(dir + "hw_rev");
  device->board_id = attribute_or_empty(dir + "board_id");
  device->node_description = attribute_or_empty(dir + "node_desc");
  device->node_guid = read_guid(dir + "node_guid");
  device->system_image_guid = read_guid(dir + "sys_image_guid");
  for (const auto& entry : list_directory(dir + "ports")) {
    const auto number = index_of(entry, max_port_number);
    if (!number) continue;
    device->ports.push_back(read_port(*device, dir + "ports/" + entry + "/", static_cast<unsigned>(*number)));
  }
  return device;
}

/// Sets the device and the port that a character device such as umad0 serves.
void assign_services(const std::string& root, const std::vector<std::unique_ptr<Device>>& devices) {
  const auto named = [&](const std::string& name) -> Device* {
    const auto it = std::find_if(devices.begin(), devices.end(), [&](const auto& d) { return d->name == name; });
    return it == devices.end() ? nullptr : it->get();
  };
  const std::string mad_dir = root + "/class/infiniband_mad/";
  for (const auto& entry : list_directory(mad_dir)) {
    const bool issm = entry.starts_with("issm");
    if (!issm && !entry.starts_with("umad")) continue;
    const Device* device = named(attribute_or_empty(mad_dir + entry + "/ibdev"));
    const auto number = parse_digits(attribute_or_empty(mad_dir + entry + "/port"), 10);
    if (device == nullptr || !number) continue;
    for (const auto& port : device->ports) {
      if (port->number == *number) (issm ? port->issm : port->umad) = entry;
    }
  }
  const std::string verbs_dir = root + "/class/infiniband_verbs/";
  for (const auto& entry : list_directory(verbs_dir)) {
    if (!entry.starts_with("uverbs")) continue;
    if (Device* device = named(attribute_or_empty(verbs_dir + entry + "/ibdev"))) device->uverbs = entry;
  }
}

/// Notes which umad devices have no file in the directory `files`, if any has: none has where a preload library simulates umad.
void find_files(const std::string& files, const std::vector<std::unique_ptr<Device>>& devices) {
  const std::vector<std::string> names = unsorted_directory(files);
  if (std::ranges::none_of(names, [](const std::string& name) { return name.starts_with("umad"); })) return;
  for (const auto& device : devices) {
    for (const auto& port : device->ports)
      port->lacks_umad_file = !port->umad.empty() && std::ranges::find(names, port->umad) == names.end();
  }
}

}  // namespace

DeviceList DeviceList::read() { return read_with("/dev/infiniband"); }

DeviceList DeviceList::read_with(const std::string& files) {
  DeviceList list;
  const std::string root = sysfs_root();
  const std::string class_dir = root + "/class/infiniband/";
  unsigned place = 0;
  for (const auto& name : unsorted_directory(root + "/class/infiniband")) {
    list.devices_.push_back(read_device(class_dir, name));
    list.devices_.back()->place = place++;
  }
  std::ranges::sort(list.devices_, natural_less, [](const auto& device) -> const std::string& { return device->name; });
  assign_services(root, list.devices_);
  find_files(files, list.devices_);
  pair_halves(list.devices_);
  return list;
}

}  // namespace ib::sys
