// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Builds the device list and the tables of ports from sysfs. Every attribute is optional, and its content is used only if it parses.
#include <algorithm>
#include <unordered_map>

#include "base/parse.hpp"
#include "iba/text.hpp"
#include "sys/device.hpp"
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
    const auto it = std::ranges::find(devices, name, [](const auto& device) { return device->name; });
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

constexpr std::uint64_t max_index = 0xffff;  // GID and P_Key indexes have 16 bits at most

void parse(const std::string& text, Gid& gid) { gid = parse_gid(text).value_or(Gid{}); }

void parse(const std::string& text, Pkey& pkey) {
  const auto value = parse_number(text).value_or(0);
  pkey = Pkey{static_cast<std::uint16_t>(value <= 0xffff ? value : 0)};
}

template <class T>
T read_entry(const std::string& path) {
  T entry{};
  parse(attribute_or_empty(path), entry);
  return entry;
}

// A planarized HCA (ConnectX-8 and later, several planes behind one port) appears as two devices: one reaches QP0 of the port, the other
// reaches everything else. sysfs does not link the two devices. They have the same port GUID, and the capability mask of one half says that
// it has no usable QP0.

bool has_smi(const EndPort& port) { return (port.capability_mask & cap_is_sm_disabled) == 0; }

/// The SMI port and the GSI port with one port GUID: the first ones through which most passes, because a plane may be down.
struct Halves {
  EndPort* smi{};
  EndPort* gsi{};
};

/// Fills smi_port and gsi_port of every port with a umad device. A RoCE port has no SMI. `umad` must be set before.
void pair_halves(const std::vector<std::unique_ptr<Device>>& devices) {
  std::unordered_map<Guid, Halves> by_guid;
  const auto for_each_port = [&](auto visit) {
    for (const auto& device : devices) {
      for (const auto& port : device->ports) {
        if (!port->umad.empty()) visit(*port);
      }
    }
  };
  for_each_port([&](EndPort& port) {
    if (port.link_layer != LinkLayer::infiniband || port.port_guid() == Guid{}) return;
    auto& halves = by_guid[port.port_guid()];
    auto& slot = has_smi(port) ? halves.smi : halves.gsi;
    if (slot == nullptr || passage_of(port) > passage_of(*slot)) slot = &port;
  });
  for_each_port([&](EndPort& port) {
    if (port.link_layer != LinkLayer::infiniband) {  // RoCE has a QP1 but no SMPs
      port.gsi_port = &port;
      return;
    }
    const auto it = by_guid.find(port.port_guid());
    const Halves halves = it == by_guid.end() ? Halves{} : it->second;
    port.smi_port = has_smi(port) ? &port : halves.smi;
    port.gsi_port = has_smi(port) && halves.gsi != nullptr ? halves.gsi : &port;
  });
}

}  // namespace

DeviceList DeviceList::read(const std::string& files) {
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

template <class T>
PortTable<T> PortTable<T>::in_directory(std::string path) {
  PortTable table;
  table.directory_ = std::move(path);
  return table;
}

template <class T>
const std::vector<T>& PortTable<T>::entries() const {
  if (directory_.empty()) return entries_;
  for (const std::string& name : unsorted_directory(directory_)) {
    const auto number = index_of(name, max_index);
    if (!number) continue;
    const auto index = static_cast<std::size_t>(*number);
    if (entries_.size() <= index) entries_.resize(index + 1);
    entries_[index] = index == 0 ? first() : read_entry<T>(directory_ + name);
  }
  directory_.clear();
  return entries_;
}

template <class T>
const T& PortTable<T>::first() const {
  if (!first_) first_ = !directory_.empty() ? read_entry<T>(directory_ + "0") : entries_.empty() ? T{} : entries_.front();
  return *first_;
}

template <class T>
bool PortTable<T>::empty() const {
  if (directory_.empty()) return entries_.empty();
  const auto is_entry = [](const std::string& name) { return index_of(name, max_index).has_value(); };
  const bool has_none = std::ranges::none_of(unsorted_directory(directory_), is_entry);
  if (has_none) directory_.clear();  // the table is complete: it is not read again
  return has_none;
}

template class PortTable<Gid>;
template class PortTable<Pkey>;

}  // namespace ib::sys
