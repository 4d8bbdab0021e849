// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/ibportstate/ibportstate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/escape.hpp"
#include "base/nearest.hpp"
#include "base/split.hpp"
#include "iba/generic.hpp"
#include "iba/registry.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/options.hpp"

namespace ib::tools::ibportstate {
namespace {

using smp::PortPhysicalState;
using smp::PortState;

struct StateOperation {
  std::string_view name;
  PortState state;
  PortPhysicalState physical_state;
};

constexpr StateOperation state_operations[]{
    {"query", PortState::no_change, PortPhysicalState::no_change},  {"enable", PortState::no_change, PortPhysicalState::polling},
    {"on", PortState::no_change, PortPhysicalState::polling},       {"reset", PortState::no_change, PortPhysicalState::polling},
    {"disable", PortState::no_change, PortPhysicalState::disabled}, {"off", PortState::no_change, PortPhysicalState::disabled},
    {"down", PortState::down, PortPhysicalState::no_change},        {"arm", PortState::armed, PortPhysicalState::no_change},
    {"armed", PortState::armed, PortPhysicalState::no_change},      {"active", PortState::active, PortPhysicalState::no_change},
};
constexpr std::string_view not_of_diags = "armed", fdr10_word = "fdr10";

/// A value as infiniband-diags takes it.
struct DiagsValueRange {
  std::string_view name;
  std::uint64_t low, high;
  std::string_view complaint;  ///< before the value
  bool hex = false;
  std::uint64_t also = 0;  ///< a value beyond `high`
};
constexpr DiagsValueRange diags_ranges[]{
    {"speed", 0, 15, "invalid speed value"},
    {"espeed", 0, 31, "invalid extended speed value"},
    {"fdr10", 0, 1, "invalid fdr10 speed value"},
    {"width", 0, 31, "invalid width value", false, 255},
    {"vls", 1, 5, "invalid vls value"},
    {"mtu", 1, 5, "invalid mtu value"},
    {"lid", 1, last_unicast_lid, "invalid lid value", true},
    {"smlid", 1, last_unicast_lid, "invalid smlid value", true},
    {"lmc", 0, 7, "invalid lmc value"},
    {"mkeylease", 0, 0xffff, "invalid mkey lease time"},
    {"mkeyprot", 0, 3, "invalid mkey protection bit setting"},
};

/// The value of an operation that infiniband-diags knows.
std::uint64_t diags_value(const CommonOptions& common, const std::string& word, const std::string* text) {
  const auto range = std::ranges::find(diags_ranges, std::string_view(word), &DiagsValueRange::name);
  if (range == std::end(diags_ranges) && word != "mkey") throw DiagsFailure(fmt::format("invalid operation: {}", word));
  if (text == nullptr) throw DiagsFailure(fmt::format("{} requires an additional parameter", word));
  if (word == "mkey") return parse_key(common, *text, "New M_Key", "Bad new M_Key\n", true);
  const std::uint64_t value = c_number(*text);
  if ((value >= range->low && value <= range->high) || (range->also != 0 && value == range->also)) return value;
  throw DiagsFailure(fmt::format("{} {}", range->complaint, range->hex ? fmt::format("0x{:x}", value) : std::to_string(value)));
}

constexpr std::string_view speed_fields[]{"link_speed_enabled", "link_speed_ext_enabled", "link_speed_ext_enabled2"};
constexpr unsigned bits_before_xdr = 5;  // LinkSpeedExtEnabled2 follows on LinkSpeedExtEnabled in the value of `espeed`

const EnumInfo& names_of(std::string_view field) { return *find_field(smp::PortInfo::info(), field)->enumeration; }

bool is_number(std::string_view text) { return !text.empty() && text.find_first_not_of("0123456789") == text.npos; }

std::vector<std::string_view> names_of_values(std::span<const std::string_view> fields) {
  std::vector<std::string_view> names;
  for (const std::string_view field : fields) {
    for (const EnumValue& value : names_of(field).values) names.push_back(value.text);
  }
  return names;
}

[[noreturn]] void unknown_value(std::string_view operation, std::string_view word, const std::vector<std::string_view>& known) {
  throw UsageError(fmt::format("'{}' takes a number or one of {}, not {}{}", operation, fmt::join(known, ", "), in_quotes(word),
                               did_you_mean(word, known)));
}

std::uint64_t setting_value(const CommonOptions& common, const subnet::PortSetting& setting, const std::string& text) {
  if (setting.descriptor().secret) return parse_key(common, text, "New M_Key", "Bad New M_Key");
  const EnumInfo* const names = setting.descriptor().enumeration;
  std::optional<std::uint64_t> value;
  if (names != nullptr) value = parse_symbol(*names, text);
  if (names != nullptr && !value && !is_number(text) && !text.starts_with("0x"))
    unknown_value(setting.name, text, names_of_values({&setting.field, 1}));
  if (!value) value = parse_unsigned(text, setting.name);
  setting.check(*value);
  return *value;
}

Change change_of(std::string_view name, std::uint64_t from, std::uint64_t to) {
  return {&smp::PortInfo::info(), find_field(smp::PortInfo::info(), name), from, to};
}

[[noreturn]] void unknown_operation(const std::string& word) {
  const std::vector<std::string_view> known = operation_names();
  throw UsageError(fmt::format("Operation {} is not known{}", in_quotes(word), did_you_mean(word, known)));
}

}  // namespace

std::vector<std::string_view> operation_names() {
  std::vector<std::string_view> names{fdr10_word, "mkey"};
  for (const StateOperation& op : state_operations) names.push_back(op.name);
  for (const DiagsValueRange& range : diags_ranges) {
    if (range.name != fdr10_word) names.push_back(range.name);
  }
  return names;
}

std::vector<std::string_view> value_names() {
  std::vector<std::string_view> names = names_of_values(speed_fields);
  for (const EnumValue& width : names_of("link_width_enabled").values) names.push_back(width.text);
  return names;
}

bool PortOperations::take_speeds(const std::string& text) {
  if (is_number(text) || text.starts_with("0x")) return false;
  std::uint64_t base = 0, extended = 0;
  for (const std::string_view word : split(text, ",")) {
    const auto bit = [word](std::string_view field) { return parse_symbol(names_of(field), word).value_or(0); };
    const std::uint64_t speeds = bit(speed_fields[0]), higher = bit(speed_fields[1]) | bit(speed_fields[2]) << bits_before_xdr;
    if (word.empty() || (speeds == 0 && higher == 0)) unknown_value("speed", word, names_of_values(speed_fields));
    base |= speeds;
    extended |= higher;
  }
  const subnet::PortSetting* const espeed = subnet::find_port_setting("espeed");
  if (base != 0) settings_.emplace_back(subnet::find_port_setting("speed"), base);
  settings_.emplace_back(espeed, extended == 0 ? espeed->off : extended);
  only_base_speeds_ = extended == 0;
  return true;
}

void PortOperations::fit(const smp::PortInfo& info) {
  if (!only_base_speeds_ || info.link_speed_ext_supported != 0 || info.link_speed_ext_supported2 != 0) return;
  std::erase_if(settings_, [](const auto& setting) { return setting.first->is_ext_speed(); });
}

bool PortOperations::waits_for_reset() const {
  const auto is_of_link = [](const subnet::PortSetting& setting) { return !setting.supported.empty(); };
  return !physical_state_ && state_ != PortState::down && (fdr10_ || find(is_of_link) != nullptr);
}

void PortOperations::add_reset() {
  if (!state_word_.empty() && state_word_ != "reset")
    throw UsageError(fmt::format("--and-reset and the operation '{}' exclude each other", state_word_));
  if (settings_.empty() && !fdr10_) throw UsageError("--and-reset goes with a setting: the operation 'reset' is enough");
  take_state("reset");
}

bool PortOperations::take_state(std::string_view word) {
  const auto found = std::ranges::find(state_operations, word, &StateOperation::name);
  if (found == std::end(state_operations)) return false;
  state_word_ = word;
  if (found->state != PortState::no_change) state_ = found->state;
  if (found->physical_state != PortPhysicalState::no_change) physical_state_ = found->physical_state;
  only_if_disabled_ = word == "on";
  return true;
}

void PortOperations::take_setting(const CommonOptions& common, const std::string& word, const std::string* text, bool as_diags) {
  const subnet::PortSetting* setting = subnet::find_port_setting(word);
  std::uint64_t value = 0;
  if (as_diags) {
    value = diags_value(common, word, text);
  } else {
    if (setting == nullptr && word != fdr10_word) unknown_operation(word);
    if (text == nullptr) throw UsageError(fmt::format("Operation '{}' needs a value", word));
    if (word == "speed" && take_speeds(*text)) return;
    value = setting == nullptr ? parse_unsigned(*text, fdr10_word, 0, 1) : setting_value(common, *setting, *text);
  }
  if (setting == nullptr) {
    fdr10_ = static_cast<std::uint8_t>(value);
  } else {
    settings_.emplace_back(setting, value);
  }
}

PortOperations PortOperations::read(const CommonOptions& common, std::span<const std::string> words, bool as_diags) {
  PortOperations changes;
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string &word = words[at], before = changes.state_word_;
    const bool is_state = (!as_diags || word != not_of_diags) && changes.take_state(word);
    if (is_state && !before.empty() && as_diags)
      throw DiagsFailure(fmt::format("{} only one of: query, enable, disable, reset, down, arm, active, can be specified", word));
    if (is_state && !before.empty()) throw UsageError(fmt::format("The operations '{}' and '{}' exclude each other", before, word));
    if (is_state) continue;
    const std::string* const text = ++at < words.size() ? &words[at] : nullptr;
    changes.take_setting(common, word, text, as_diags);
  }
  if (!as_diags && changes.state_word_ == "query" && !changes.is_query()) throw UsageError("The operation 'query' goes with no other");
  return changes;
}

smp::PortInfo PortOperations::applied(const smp::PortInfo& read) const {
  for (const auto& [setting, value] : settings_) setting->check(value, read);
  const smp::PortInfo info = with_settings(read);
  const unsigned lids = 1U << info.lmc;
  if ((info.lid != read.lid || info.lmc != read.lmc) && info.lid.value % lids != 0)
    throw UsageError(fmt::format("With LMC {} the LID must be a multiple of {}, and {} is not", info.lmc, lids, info.lid.value));
  return info;
}

smp::PortInfo PortOperations::applied_as_diags(smp::PortInfo read) const {
  constexpr Lid unlikely_lid{0x1234};
  for (Lid* lid : {&read.lid, &read.master_sm_lid}) {
    if (*lid == Lid{} || *lid == permissive_lid) *lid = unlikely_lid;
  }
  return with_settings(read);
}

smp::PortInfo PortOperations::with_settings(const smp::PortInfo& read) const {
  smp::PortInfo info = subnet::no_change(read);
  if (state_) info.port_state = *state_;
  if (physical_state_) info.port_physical_state = *physical_state_;
  for (const auto& [setting, value] : settings_) setting->set(info, value);
  return info;
}

std::vector<Change> PortOperations::list(const smp::PortInfo& read) const {
  std::vector<Change> changes;
  const auto number = [](auto state) { return static_cast<std::uint64_t>(state); };
  if (state_) changes.push_back(change_of("port_state", number(read.port_state), number(*state_)));
  if (physical_state_) changes.push_back(change_of("port_physical_state", number(read.port_physical_state), number(*physical_state_)));
  for (const auto& [setting, value] : settings_) changes.push_back(change_of(setting->field, setting->get(read), value));
  return changes;
}

std::vector<Change> PortOperations::ignored(const smp::PortInfo& answer) const {
  std::vector<Change> changes;
  for (const auto& [setting, value] : settings_) {
    const std::uint64_t now = setting->get(answer);
    const bool as_requested = now == value || (setting->all != 0 && value == setting->all) || setting->name == "mkey";
    if (!as_requested) changes.push_back(change_of(setting->field, now, value));
  }
  return changes;
}

}  // namespace ib::tools::ibportstate
