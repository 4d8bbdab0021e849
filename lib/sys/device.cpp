// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Finds a device or an end port by the name that a user gives.
#include "sys/device.hpp"

#include <fmt/format.h>

#include <tuple>

#include "base/error.hpp"
#include "base/parse.hpp"
#include "iba/text.hpp"
#include "sys/port_state.hpp"

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

[[noreturn]] void refuse_port(const DeviceList& list, std::string_view device, std::uint64_t number) {
  refuse(list, fmt::format("RDMA device '{}' port {} not found", device, number));
}

[[noreturn]] void refuse_spec(const DeviceList& list, std::string_view spec) {
  refuse(list, fmt::format("Invalid end port specification '{}'", spec));
}

}  // namespace

std::string EndPort::name() const { return fmt::format("{}/{}", device->name, number); }

Guid EndPort::port_guid() const { return default_gid().guid(); }

const Gid& EndPort::default_gid() const { return gids.first(); }

const EndPort& EndPort::carrier(bool smp) const {
  const EndPort* half = smp ? smi_port : gsi_port;
  return half != nullptr ? *half : *this;
}

const EndPort* Device::port(unsigned number) const {
  for (const auto& p : ports) {
    if (p->number == number) return p.get();
  }
  return nullptr;
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
  const auto* owner = best([&](const EndPort& port) {
    for (const auto& own : port.gids) {
      if (own == gid && own.guid() != Guid{}) return true;
    }
    return false;
  });
  // The link-local prefix is always valid, even if the GID table does not list it (IBA 4.1.1).
  if (owner == nullptr && gid.prefix() == link_local_prefix) return find_port_guid(gid.guid());
  return owner;
}

const EndPort* DeviceList::find_prefix(GidPrefix prefix, const Device* within) const {
  return best([&](const EndPort& port) {
    if (within != nullptr && port.device != within) return false;
    for (const auto& own : port.gids) {
      if (own.prefix() == prefix && own.guid() != Guid{}) return true;
    }
    return false;
  });
}

const Device& DeviceList::find_device(std::string_view spec) const {
  if (devices_.empty()) throw_no_devices();
  for (const auto& device : devices_) {
    if (device->name == spec) return *device;
  }
  const auto guid = parse_guid(spec);
  if (!guid) refuse(*this, fmt::format("RDMA device '{}' not found", spec));
  for (const auto& device : devices_) {
    if (device->node_guid == *guid && *guid != Guid{}) return *device;
  }
  refuse(*this, fmt::format("RDMA device GUID('{}') not found", to_text(*guid)));
}

const EndPort& DeviceList::find_name(std::string_view spec) const {
  const auto slash = spec.find('/');
  const auto name = spec.substr(0, slash);
  const Device* device = nullptr;
  for (const auto& candidate : devices_) {
    if (candidate->name == name) device = candidate.get();
  }
  if (device == nullptr) refuse(*this, fmt::format("RDMA device '{}' not found", spec));
  if (slash == std::string_view::npos) return default_end_port(device);
  const auto number = parse_digits(spec.substr(slash + 1), 10);
  if (!number) refuse_spec(*this, spec);
  const auto* port = *number <= UINT32_MAX ? device->port(static_cast<unsigned>(*number)) : nullptr;
  if (port == nullptr) refuse_port(*this, name, *number);
  return *port;
}

const EndPort& DeviceList::find_end_port(std::string_view spec, const Device* within) const {
  if (devices_.empty()) throw_no_devices();
  const EndPort* found = nullptr;
  if (const auto number = within != nullptr ? parse_digits(spec, 10) : std::nullopt) {
    found = *number <= UINT32_MAX ? within->port(static_cast<unsigned>(*number)) : nullptr;
    if (found == nullptr) refuse_port(*this, within->name, *number);
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
  for (const auto& candidate : devices_) {
    if (candidate->name == *port) return default_end_port(candidate.get());
  }
  const Device& usual = *default_end_port().device;
  const auto number = parse_digits(*port, 10);
  if (!number) refuse_spec(*this, fmt::format("{}/{}", usual.name, *port));
  const auto* found = best([&](const EndPort& candidate) { return candidate.number == *number; });
  if (found == nullptr) refuse_port(*this, usual.name, *number);
  return *found;
}

}  // namespace ib::sys
