// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/congestion/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>

#include "iba-gen/cc.hpp"
#include "iba/registry.hpp"
#include "iba/wire.hpp"

namespace ib::tools::congestion {
namespace {

std::uint64_t number(const std::string& word, int base = 0) {
  char* end = nullptr;
  errno = 0;
  const std::uint64_t value = std::strtoull(word.c_str(), &end, base);
  if (errno == ERANGE) throw BadSetting("value out of range");
  if (*end != '\0' || errno != 0) throw BadSetting("invalid integer input");
  return value;
}

/// A number that infiniband-diags reads into 32 bits.
std::uint32_t short_number(const std::string& word) { return static_cast<std::uint32_t>(number(word)); }

/// An attribute whose fields are set one by one.
class Filled {
 public:
  Filled(const StructInfo& info, bool exact) : info_(info), bytes_(info.bytes), exact_(exact) {}

  void put(std::string_view name, std::uint64_t value) { put(info_, 0, name, value); }
  /// Sets a field of element `index` of an array of structures `of`. The array begins at byte `first`.
  void put_element(const StructInfo& of, std::size_t first, std::size_t index, std::string_view name, std::uint64_t value) {
    put(of, static_cast<std::uint32_t>(8 * (first + index * of.bytes)), name, value);
  }
  void put_bytes(std::string_view name, Bytes value) {
    std::ranges::copy(value, bytes_.begin() + static_cast<std::ptrdiff_t>(find_field(info_, name)->bit_offset / 8));
  }
  AgentSetting take(std::uint32_t modifier = 0) { return {&info_, modifier, std::move(bytes_)}; }

 private:
  void put(const StructInfo& of, std::uint32_t base, std::string_view name, std::uint64_t value) {
    const FieldInfo* field = find_field(of, name);
    if (exact_ && field->bits < 64 && (value >> field->bits) != 0)
      throw BadSetting(fmt::format("{} has {} bits, and {} does not fit", field->iba_name, static_cast<unsigned>(field->bits), value));
    const std::uint64_t mask = field->bits < 64 ? (std::uint64_t{1} << field->bits) - 1 : ~std::uint64_t{0};
    wire::set_bits(bytes_, base + field->bit_offset, field->bits, value & mask);
  }

  const StructInfo& info_;
  std::vector<std::uint8_t> bytes_;
  bool exact_;
};

void need(SettingWords words, std::size_t least, std::size_t most, std::string_view name) {
  if (words.size() < least || words.size() > most) throw BadSetting(fmt::format("invalid number of parameters for {}", name));
}

/// Reads a number of up to 256 bits. Every character must be a hexadecimal digit.
std::array<std::uint8_t, 32> mask(const std::string& word) {
  const std::string digits = word.starts_with("0x") || word.starts_with("0X") ? word.substr(2) : word;
  if (!std::ranges::all_of(digits, [](unsigned char c) { return std::isxdigit(c) != 0; })) throw BadSetting("invalid hex digit read");
  std::array<std::uint8_t, 32> bytes{};
  if (digits.size() > 2 * bytes.size()) throw BadSetting("hex code too long");
  std::size_t end = digits.size();
  for (std::size_t at = bytes.size(); end > 0; end -= std::min<std::size_t>(end, 2)) {
    const std::size_t begin = end - std::min<std::size_t>(end, 2);
    bytes.at(--at) = static_cast<std::uint8_t>(std::strtoul(digits.substr(begin, end - begin).c_str(), nullptr, 16));
  }
  return bytes;
}

/// Reads "shift:multiplier", an entry of a congestion control table.
struct Delay {
  std::uint32_t shift, multiplier;
};
Delay delay(const std::string& word) {
  const std::size_t colon = word.find(':');
  if (colon == std::string::npos) throw BadSetting("ccts are formatted shift:multiplier");
  const std::uint32_t shift = short_number(word.substr(0, colon));
  return {shift, short_number(word.substr(colon + 1))};
}

}  // namespace

AgentSetting key_info(SettingWords words, bool exact) {
  need(words, 4, 4, "CongestionKeyInfo");
  const std::uint64_t key = number(words[0]);
  const std::uint32_t protect = short_number(words[1]), lease = short_number(words[2]), violations = short_number(words[3]);
  constexpr std::uint32_t most = 0xffff;
  if (protect > 1) throw BadSetting("invalid cc_keyprotectbit value");
  if (lease > most) throw BadSetting("invalid cc_keyleaseperiod value");
  if (violations > most) throw BadSetting("invalid cc_keyviolations value");
  Filled info(cc::CongestionKeyInfo::info(), exact);
  info.put("cc_key", key);
  info.put("cc_key_protect_bit", protect);
  info.put("cc_key_lease_period", lease);
  info.put("cc_key_violations", violations);  // IBA A10.4.3.4: only zero has an effect
  return info.take();
}

AgentSetting switch_setting(SettingWords words, bool exact) {
  need(words, 8, 8, "SwitchCongestionSetting");
  Filled setting(cc::SwitchCongestionSetting::info(), exact);
  setting.put("control_map", short_number(words[0]));
  setting.put_bytes("victim_mask", mask(words[1]));
  setting.put_bytes("credit_mask", mask(words[2]));
  setting.put("threshold", short_number(words[3]));
  setting.put("packet_size", short_number(words[4]));
  setting.put("cs_threshold", short_number(words[5]));
  const Delay wait = delay(words[6]);
  constexpr unsigned multiplier_bits = 14;
  if (exact && (wait.shift > 3 || wait.multiplier >> multiplier_bits != 0)) throw BadSetting("a shift has 2 bits, a multiplier 14");
  setting.put("cs_return_delay", (wait.multiplier | wait.shift << multiplier_bits));
  setting.put("marking_rate", short_number(words[7]));
  return setting.take();
}

AgentSetting port_setting(SettingWords words, bool exact) {
  need(words, 6, 6, "SwitchPortCongestion");
  const std::uint32_t port = short_number(words[0]);
  Filled setting(cc::SwitchPortSetting::info(), exact);
  constexpr std::string_view fields[]{"valid", "control_type", "threshold", "packet_size", "cong_parm_marking_rate"};
  for (std::size_t i = 0; i < std::size(fields); ++i) setting.put(fields[i], short_number(words[i + 1]));
  AgentSetting taken = setting.take();
  taken.port = port;
  return taken;
}

AgentSetting ca_setting(SettingWords words, bool exact) {
  need(words, 6, 6, "CACongestionSetting");
  const std::uint32_t port_control = short_number(words[0]), control_map = short_number(words[1]);
  Filled setting(cc::CaCongestionSetting::info(), exact);
  setting.put("port_control", port_control);
  setting.put("control_map", control_map);
  constexpr std::string_view fields[]{"ccti_timer", "ccti_increase", "trigger_threshold", "ccti_min"};
  constexpr std::size_t service_levels = 16, entries = 4;
  for (std::size_t i = 0; i < std::size(fields); ++i) {
    const std::uint32_t value = short_number(words[i + 2]);
    for (std::size_t level = 0; level < service_levels; ++level) {
      if ((control_map >> level & 1U) != 0) setting.put_element(cc::CaCongestionEntry::info(), entries, level, fields[i], value);
    }
  }
  return setting.take();
}

AgentSetting control_table(SettingWords words, bool exact) {
  constexpr std::size_t in_block = 64, entries = 4;
  need(words, 2, 2 + in_block, "CongestionControlTable");
  const std::uint32_t limit = short_number(words[0]), block = short_number(words[1]);
  const SettingWords delays = words.subspan(2);
  if (limit != 0 && limit + 1 != block * in_block + delays.size())
    throw BadSetting("invalid number of cct entries input given ccti_limit and index");
  Filled table(cc::CongestionControlTable::info(), exact);
  table.put("ccti_limit", limit);
  for (std::size_t i = 0; i < delays.size(); ++i) {
    const Delay entry = delay(delays[i]);
    table.put_element(cc::TableEntry::info(), entries, i, "shift", entry.shift);
    table.put_element(cc::TableEntry::info(), entries, i, "multiplier", entry.multiplier);
  }
  return table.take(block);
}

}  // namespace ib::tools::congestion
