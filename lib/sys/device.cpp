// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Finds a device or an end port by the name that a user gives, and says what an end port can do.
#include "sys/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/parse.hpp"
#include "iba-gen/smp.hpp"
#include "iba/text.hpp"

namespace ib::sys {

namespace {

/// Whether the port can send by umad what it sends through `half`.
bool can_open(const EndPort* half) { return half != nullptr && !half->umad.empty() && !half->lacks_umad_file; }

/// The preference of a port; see default_end_port(). Higher is better. A port that can send nothing but GMPs comes before one that can send
/// nothing at all.
std::tuple<bool, int, int, bool> rank(const EndPort& port) {
  const bool is_infiniband = port.link_layer == LinkLayer::infiniband;
  const int ways = (can_open(port.smi_port) ? 1 : 0) + (can_open(port.gsi_port) ? 1 : 0);
  if (!is_infiniband) return {false, ways, 0, false};
  const bool is_down = passage_of(port) == Passage::nothing;
  return {true, ways, port.is_active() && !is_down ? 2 : is_down ? 0 : 1, port.gsi_port == &port || port.gsi_port == nullptr};
}

[[noreturn]] void throw_no_devices() { throw Error("No InfiniBand device here (ibtool --from FILE works without)"); }

/// Throws UsageError with the end ports of this host: "… (here: mlx5_0/1, mlx5_0/2)".
[[noreturn]] void refuse(const DeviceList& list, std::string_view why) {
  constexpr std::size_t most = 16;
  std::string here;
  std::size_t count = 0;
  for (const auto& device : list.devices()) {
    for (const auto& port : device->ports) {
      if (count++ < most) here += (here.empty() ? "" : ", ") + port->name();
    }
  }
  if (count > most) here += fmt::format(" and {} more", count - most);
  throw UsageError(here.empty() ? std::string(why) : fmt::format("{} (here: {})", why, here));
}

[[noreturn]] void refuse_spec(const DeviceList& list, std::string_view spec) {
  refuse(list, fmt::format("Invalid end port specification '{}'", spec));
}

/// `port`, the one of `device` with that number. Throws UsageError if it is null.
const EndPort& known_port(const DeviceList& list, const EndPort* port, const Device& device, std::uint64_t number) {
  if (port == nullptr) refuse(list, fmt::format("RDMA device '{}' port {} not found", device.name, number));
  return *port;
}

using smp::PortPhysicalState;
using smp::PortState;

constexpr unsigned rnic = 4, usnic = 5, usnic_udp = 6;  // RDMA_NODE_… of the kernel

// libibumad_port() selects a port as libibumad's resolve_ca_name() does. Scripts without -C rely on it: on a host with several fabrics,
// another port may lead to another fabric.

constexpr unsigned disabled = 3, link_up = 5;  // IBA 14.2.5.6 PortPhysicalState

struct PortChoice {
  const EndPort* port{};
  bool is_active{};
};

/// Whether libibumad skips the device because of its type or its ports.
bool is_unreadable(const Device& device) {
  constexpr unsigned last_port = 9;
  return device.node_type < 1 || device.node_type > 3 ||
         std::ranges::any_of(device.ports, [](const auto& port) { return port->number > last_port || port->pkeys.empty(); });
}

template <class Accept>
const EndPort* first_port(const Device& device, Accept accept) {
  const auto found = std::ranges::find_if(device.ports, [&](const auto& port) { return accept(*port); });
  return found == device.ports.end() ? nullptr : found->get();
}

PortChoice choose(const Device& device, unsigned number) {
  const auto is_infiniband = [](const EndPort& port) { return port.link_layer == LinkLayer::infiniband; };
  const auto is_tried = [](const EndPort& port) { return port.phys_state != disabled; };
  if (is_unreadable(device)) return {};
  if (device.is_switch()) return {device.port(0), true};
  if (number != 0) {
    const EndPort* port = device.port(number);
    if (port == nullptr || !is_infiniband(*port) || (!port->is_active() && !is_tried(*port))) return {};
    return {port, port->is_active()};
  }
  if (const EndPort* port = first_port(device, [&](const EndPort& at) { return is_infiniband(at) && at.is_active(); })) return {port, true};
  if (const EndPort* port = first_port(device, [&](const EndPort& at) { return is_infiniband(at) && at.phys_state == link_up; }))
    return {port};
  return {first_port(device, is_tried)};  // of any link layer
}

}  // namespace

std::string EndPort::name() const { return fmt::format("{}/{}", device->name, number); }

const EndPort* Device::port(std::uint64_t number) const {
  const auto found = std::ranges::find(ports, number, [](const auto& port) { return port->number; });
  return found == ports.end() ? nullptr : found->get();
}

template <class Accept>
const EndPort* DeviceList::best(Accept accept) const {
  const EndPort* found = nullptr;
  for (const auto& device : devices_) {
    for (const auto& port : device->ports) {
      if (accept(*port) && (found == nullptr || rank(*port) > rank(*found))) found = port.get();
    }
  }
  return found;
}

const EndPort& DeviceList::default_end_port(const Device* within) const {
  const auto* found = best([&](const EndPort& port) { return within == nullptr || port.device == within; });
  if (found != nullptr) return *found;
  if (within == nullptr) throw_no_devices();
  refuse(*this, fmt::format("RDMA device '{}' has no ports", within->name));
}

const EndPort* DeviceList::find_port_guid(Guid guid) const {
  if (guid == Guid{}) return nullptr;
  return best([&](const EndPort& port) { return port.port_guid() == guid; });
}

const EndPort* DeviceList::find_gid(const Gid& gid) const {
  const auto is_it = [&](const Gid& own) { return own == gid && own.guid() != Guid{}; };
  const auto* owner = best([&](const EndPort& port) { return std::ranges::any_of(port.gids, is_it); });
  // The link-local prefix is always valid, even if the GID table does not list it (IBA 4.1.1).
  if (owner == nullptr && gid.prefix() == link_local_prefix) return find_port_guid(gid.guid());
  return owner;
}

const EndPort* DeviceList::find_prefix(GidPrefix prefix, const Device* within) const {
  const auto is_in = [&](const Gid& own) { return own.prefix() == prefix && own.guid() != Guid{}; };
  return best([&](const EndPort& port) { return (within == nullptr || port.device == within) && std::ranges::any_of(port.gids, is_in); });
}

const Device* DeviceList::named(std::string_view name) const {
  const auto found = std::ranges::find(devices_, name, [](const auto& device) { return device->name; });
  return found == devices_.end() ? nullptr : found->get();
}

const Device& DeviceList::find_device(std::string_view spec) const {
  if (devices_.empty()) throw_no_devices();
  if (const Device* device = named(spec)) return *device;
  const auto guid = parse_guid(spec);
  if (!guid) refuse(*this, fmt::format("RDMA device '{}' not found", spec));
  for (const auto& device : devices_) {
    if (device->node_guid == *guid && *guid != Guid{}) return *device;
  }
  refuse(*this, fmt::format("RDMA device GUID('{}') not found", to_text(*guid)));
}

const EndPort& DeviceList::find_name(std::string_view spec) const {
  const auto slash = spec.find('/');
  const Device* device = named(spec.substr(0, slash));
  if (device == nullptr) refuse(*this, fmt::format("RDMA device '{}' not found", spec));
  if (slash == std::string_view::npos) return default_end_port(device);
  const auto number = parse_digits(spec.substr(slash + 1), 10);
  if (!number) refuse_spec(*this, spec);
  return known_port(*this, device->port(*number), *device, *number);
}

const EndPort& DeviceList::find_end_port(std::string_view spec, const Device* within) const {
  if (devices_.empty()) throw_no_devices();
  const EndPort* found = nullptr;
  if (const auto number = within != nullptr ? parse_digits(spec, 10) : std::nullopt) {
    found = &known_port(*this, within->port(*number), *within, *number);
  } else if (const auto gid = parse_gid(spec)) {
    found = find_gid(*gid);
    const bool by_guid = gid->prefix() == link_local_prefix;
    if (found == nullptr) {
      refuse(*this, by_guid ? fmt::format("RDMA end port GUID('{}') not found", to_text(gid->guid()))
                            : fmt::format("RDMA end port GID('{}') not found", to_text(*gid)));
    }
  } else if (const auto guid = parse_guid(spec)) {
    found = find_port_guid(*guid);
    if (found == nullptr) refuse(*this, fmt::format("RDMA end port GUID('{}') not found", to_text(*guid)));
  } else if (within != nullptr && spec.find('/') == std::string_view::npos && spec != within->name) {
    refuse_spec(*this, fmt::format("{}/{}", within->name, spec));
  } else {
    found = &find_name(spec);
  }
  if (within != nullptr && found->device != within) {
    refuse(*this, fmt::format("End port {} is not a port of RDMA device '{}'", found->name(), within->name));
  }
  return *found;
}

const EndPort& DeviceList::select(std::optional<std::string_view> device, std::optional<std::string_view> port) const {
  if (device) {
    const Device& chosen = find_device(*device);
    return port ? find_end_port(*port, &chosen) : default_end_port(&chosen);
  }
  if (!port) return default_end_port();
  const bool number_or_word = port->find_first_of(":/.") == std::string_view::npos && !parse_guid(*port);
  if (!number_or_word) return find_end_port(*port);
  if (const Device* candidate = named(*port)) return default_end_port(candidate);
  const Device& usual = *default_end_port().device;
  const auto number = parse_digits(*port, 10);
  if (!number) refuse_spec(*this, fmt::format("{}/{}", usual.name, *port));
  return known_port(*this, best([&](const EndPort& candidate) { return candidate.number == *number; }), usual, *number);
}

const EndPort& DeviceList::libibumad_port(const Device* device, unsigned number) const {
  std::vector<const Device*> tried;
  for (const auto& at : devices_) {
    if (device == nullptr || at.get() == device) tried.push_back(at.get());
  }
  std::ranges::stable_sort(tried, {}, &Device::place);
  const EndPort* second_best = nullptr;
  for (const Device* at : tried) {
    const PortChoice choice = choose(*at, number);
    if (choice.port != nullptr && choice.is_active) return *choice.port;
    if (second_best == nullptr) second_best = choice.port;
  }
  if (second_best == nullptr) throw UsageError("No RDMA device has a port that can be used.");
  return *second_best;
}

Passage passage_of(const EndPort& port) {
  const bool is_switch = port.device != nullptr && port.device->is_switch();
  const bool is_known = port.state != 0 && port.state <= static_cast<unsigned>(PortState::active_defer);
  if (port.link_layer != LinkLayer::infiniband || is_switch || !is_known) return Passage::everything;
  const auto state = static_cast<PortState>(port.state);
  const auto link = static_cast<PortPhysicalState>(port.phys_state);
  const bool has_no_link = link == PortPhysicalState::sleep || link == PortPhysicalState::polling || link == PortPhysicalState::disabled;
  if (state == PortState::down || has_no_link) return Passage::nothing;
  return state == PortState::init || state == PortState::armed ? Passage::smps : Passage::everything;
}

std::string state_clause(const EndPort& port) {
  const auto of = static_cast<PortState>(port.state);
  const std::string_view state = of == PortState::init ? "Initialize" : smp::to_text(of);
  const std::string_view physical = smp::to_text(static_cast<PortPhysicalState>(port.phys_state));
  std::string text = port.name() + " is ";
  text += state.empty() ? fmt::format("in state {}", port.state) : std::string(state);
  if (port.phys_state != 0 && !physical.empty()) text += fmt::format(" (physical state {})", physical);
  return text;
}

std::string other_kind(const EndPort& port) {
  if (port.link_layer == LinkLayer::infiniband) return {};
  const unsigned type = port.device->node_type;
  if (type == rnic) return "an iWARP port";
  if (port.link_layer == LinkLayer::ethernet) return "a RoCE port (Ethernet)";
  if (type == usnic || type == usnic_udp) return "a usNIC port";
  return fmt::format("not an InfiniBand port (its link layer is {}, as with EFA)", in_quotes(port.link_layer_text));
}

}  // namespace ib::sys
