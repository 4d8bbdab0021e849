// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/set/port_setting.hpp"

#include <fmt/format.h>

#include <iterator>
#include <limits>
#include <optional>
#include <span>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/nearest.hpp"
#include "base/split.hpp"
#include "iba/dump.hpp"
#include "iba/generic.hpp"
#include "iba/registry.hpp"
#include "iba/text.hpp"
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

SettingChange change_of(std::string_view field, std::uint64_t from, std::uint64_t to) {
  return {&smp::PortInfo::info(), &field_of(field), from, to};
}

constexpr std::string_view named_fields[]{"link_speed_enabled", "link_speed_ext_enabled", "link_speed_ext_enabled2", "link_width_enabled"};
constexpr std::span<const std::string_view> speed_fields(named_fields, 3);

bool is_number(std::string_view text) {
  return text.starts_with("0x") || (!text.empty() && text.find_first_not_of("0123456789") == text.npos);
}

std::vector<std::string_view> names_of_values(std::span<const std::string_view> fields) {
  std::vector<std::string_view> names;
  for (const std::string_view field : fields) {
    for (const EnumValue& value : field_of(field).enumeration->values) names.push_back(value.text);
  }
  return names;
}

[[noreturn]] void unknown_value(std::string_view setting, std::string_view word, const std::vector<std::string_view>& known) {
  throw UsageError(
      fmt::format("'{}' takes a number or one of {}, not {}{}", setting, joined(known, ", "), in_quotes(word), did_you_mean(word, known)));
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

std::uint64_t PortSetting::parse(const std::string& text) const {
  const EnumInfo* const names = descriptor().enumeration;
  std::optional<std::uint64_t> named;
  if (names != nullptr) named = parse_symbol(*names, text);
  if (names != nullptr && !named && !is_number(text)) unknown_value(name, text, names_of_values({&field, 1}));
  const std::optional<std::uint64_t> number = named ? named : parse_number(text);
  if (!number) throw UsageError(fmt::format("{}: {} is not an unsigned integer of 64 bits", name, in_quotes(text)));
  const std::uint64_t value = *number;
  if (value >= low && value <= high) return value;
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

std::vector<std::string_view> port_setting_values() { return names_of_values(named_fields); }

smp::PortInfo no_change(smp::PortInfo read) {
  read.port_state = smp::PortState::no_change;
  read.port_physical_state = smp::PortPhysicalState::no_change;
  read.link_width_enabled = 0;
  read.link_speed_enabled = 0;
  read.link_speed_ext_enabled = 0;
  read.link_speed_ext_enabled2 = 0;
  return read;
}

bool PortChange::add_speeds(const std::string& text) {
  if (is_number(text)) return false;
  std::uint64_t base = 0, extended = 0;
  for (const std::string_view word : split(text)) {
    const auto bit = [word](std::string_view field) { return parse_symbol(*field_of(field).enumeration, word).value_or(0); };
    const std::uint64_t speeds = bit(speed_fields[0]), higher = bit(speed_fields[1]) | bit(speed_fields[2]) << upper_speeds;
    if (word.empty() || (speeds == 0 && higher == 0)) unknown_value("speed", word, names_of_values(speed_fields));
    base |= speeds;
    extended |= higher;
  }
  const PortSetting* const espeed = find_port_setting("espeed");
  if (base != 0) settings.emplace_back(find_port_setting("speed"), base);
  settings.emplace_back(espeed, extended == 0 ? espeed->off : extended);
  only_base_speeds = extended == 0;
  return true;
}

void PortChange::fit(const smp::PortInfo& info) {
  if (!only_base_speeds || info.link_speed_ext_supported != 0 || info.link_speed_ext_supported2 != 0) return;
  std::erase_if(settings, [](const auto& setting) { return setting.first->is_ext_speed(); });
}

smp::PortInfo PortChange::applied(const smp::PortInfo& read) const {
  smp::PortInfo info = no_change(read);
  info.port_state = state;
  info.port_physical_state = physical_state;
  for (const auto& [setting, value] : settings) setting->set(info, value);
  return info;
}

std::vector<SettingChange> PortChange::list(const smp::PortInfo& read) const {
  std::vector<SettingChange> changes;
  const auto add_state = [&](std::string_view field, auto from, auto to) {
    if (static_cast<unsigned>(to) != 0)
      changes.push_back(change_of(field, static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to)));
  };
  add_state("port_state", read.port_state, state);
  add_state("port_physical_state", read.port_physical_state, physical_state);
  for (const auto& [setting, value] : settings) changes.push_back(change_of(setting->field, setting->get(read), value));
  return changes;
}

std::vector<SettingChange> PortChange::ignored(const smp::PortInfo& answer) const {
  std::vector<SettingChange> changes;
  for (const auto& [setting, value] : settings) {
    const std::uint64_t now = setting->get(answer);
    const bool as_requested = now == value || (setting->all != 0 && value == setting->all) || setting->descriptor().secret;
    if (!as_requested) changes.push_back(change_of(setting->field, now, value));
  }
  return changes;
}

async::Task<> check_port_change(mad::Transactor& transactor, path::Path path, smp::NodeInfo node, unsigned port, smp::PortInfo info,
                                PortChange change) {
  for (const auto& [setting, value] : change.settings) setting->check(value, info);
  const smp::PortInfo wanted = change.applied(info);
  const unsigned lids = 1U << wanted.lmc;
  if ((wanted.lid != info.lid || wanted.lmc != info.lmc) && wanted.lid.value % lids != 0)
    throw UsageError(fmt::format("With LMC {} the LID must be a multiple of {}, and {} is not", wanted.lmc, lids, wanted.lid.value));
  const bool is_switch = node.node_type == smp::NodeType::switch_;
  if (is_switch && port == 0 && change.has_state()) throw UsageError("Port 0 of a switch has no link");
  const PortSetting* const of_end_port = change.find(&PortSetting::of_end_port);
  if (is_switch && port != 0 && of_end_port != nullptr)
    throw UsageError(fmt::format("Port {} of a switch has no {} of its own: port 0 has", port, of_end_port->name));
  if (!change.sets_ext_speed()) co_return;
  std::uint32_t capabilities = info.capability_mask;
  if (is_switch && port != 0) {
    const auto port0 = co_await transactor.subn_get<smp::PortInfo>(path);
    capabilities = port0.capability_mask;
  }
  if ((capabilities & smp::capability_mask::is_extended_speeds_supported) == 0)
    throw UsageError("The node does not support extended link speeds");
}

}  // namespace ib::subnet
