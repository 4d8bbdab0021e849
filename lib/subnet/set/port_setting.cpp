// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/set/port_setting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "base/error.hpp"
#include "iba/dump.hpp"
#include "iba/registry.hpp"
#include "iba/wire.hpp"

namespace ib::subnet {
namespace {

constexpr std::uint64_t any64 = std::numeric_limits<std::uint64_t>::max();
constexpr unsigned upper_speeds = 5;  // bits of LinkSpeedExtEnabled; higher speeds are in LinkSpeedExtEnabled2

constexpr PortSetting settings[]{
    {.name = "speed", .field = "link_speed_enabled", .low = 1, .high = 15, .all = 15, .supported = "link_speed_supported"},
    {.name = "espeed",
     .field = "link_speed_ext_enabled",
     .low = 1,
     .high = 0xff,
     .all = 31,
     .off = 30,
     .supported = "link_speed_ext_supported"},
    {.name = "width", .field = "link_width_enabled", .low = 1, .high = 255, .all = 255, .supported = "link_width_supported"},
    {.name = "vls", .field = "operational_vls", .low = 1, .high = 5, .limit = "vl_cap"},
    {.name = "mtu", .field = "neighbor_mtu", .low = 1, .high = 5, .limit = "mtu_cap"},
    {.name = "lid", .field = "lid", .low = 1, .high = last_unicast_lid, .of_end_port = true, .unicast_lid = true},
    {.name = "smlid", .field = "master_sm_lid", .low = 1, .high = last_unicast_lid, .of_end_port = true, .unicast_lid = true},
    {.name = "lmc", .field = "lmc", .low = 0, .high = 7, .of_end_port = true},
    {.name = "mkey", .field = "m_key", .low = 0, .high = any64, .of_end_port = true},
    {.name = "mkeylease", .field = "m_key_lease_period", .low = 0, .high = 0xffff, .of_end_port = true},
    {.name = "mkeyprot", .field = "m_key_protect_bits", .low = 0, .high = 3, .of_end_port = true},
};

const FieldInfo& field_of(std::string_view name) { return *find_field(smp::PortInfo::info(), name); }

std::uint64_t value_of(const smp::PortInfo& info, std::string_view name) {
  const FieldInfo& field = field_of(name);
  return wire::get_bits(wire::packed(info), field.bit_offset, field.bits);
}

}  // namespace

const FieldInfo& PortSetting::descriptor() const { return field_of(field); }

std::uint64_t PortSetting::get(const smp::PortInfo& info) const {
  const std::uint64_t upper = is_ext_speed() ? info.link_speed_ext_enabled2 : 0U;
  return value_of(info, field) | upper << upper_speeds;
}

void PortSetting::set(smp::PortInfo& info, std::uint64_t value) const {
  if (is_ext_speed()) {
    info.link_speed_ext_enabled2 = static_cast<std::uint8_t>(value >> upper_speeds);
    value &= (1U << upper_speeds) - 1;
  }
  auto bytes = wire::packed(info);
  wire::set_bits(bytes, descriptor().bit_offset, descriptor().bits, value);
  info = smp::PortInfo::unpack(bytes);
}

void PortSetting::check(std::uint64_t value) const {
  if (value >= low && value <= high) return;
  if (value == 0 && low == 1 && !unicast_lid) throw UsageError(fmt::format("The value 0 of {} would change nothing", name));
  throw UsageError(fmt::format("The value {} of {} is not one of {} to {}", value, name, low, high));
}

void PortSetting::check(std::uint64_t value, const smp::PortInfo& info) const {
  const auto refuse = [&](std::string_view by) {
    throw UsageError(fmt::format("The port does not take {} {}: its {} is {}", name, words_of(value), field_of(by).iba_name,
                                 worded(field_of(by), value_of(info, by))));
  };
  if (!limit.empty() && value > value_of(info, limit)) refuse(limit);
  if (supported.empty() || (value != 0 && (value == all || value == off))) return;
  std::uint64_t bits = value_of(info, supported);
  if (is_ext_speed()) bits |= std::uint64_t{info.link_speed_ext_supported2} << upper_speeds;
  if ((value & ~bits) != 0) refuse(supported);
}

std::string PortSetting::words_of(std::uint64_t value) const {
  return is_ext_speed() && value >> upper_speeds != 0 ? std::to_string(value) : worded(descriptor(), value);
}

const PortSetting* find_port_setting(std::string_view name) {
  const auto found = std::ranges::find(settings, name, &PortSetting::name);
  return found == std::end(settings) ? nullptr : found;
}

smp::PortInfo no_change(smp::PortInfo read) {
  read.port_state = smp::PortState::no_change;
  read.port_physical_state = smp::PortPhysicalState::no_change;
  read.link_width_enabled = 0;
  read.link_speed_enabled = 0;
  read.link_speed_ext_enabled = 0;
  read.link_speed_ext_enabled2 = 0;
  return read;
}

}  // namespace ib::subnet
