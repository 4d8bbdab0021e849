// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/ibportstate/changes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/escape.hpp"
#include "iba/registry.hpp"
#include "tools/frame/common_options.hpp"

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
    {"enable", PortState::no_change, PortPhysicalState::polling}, {"on", PortState::no_change, PortPhysicalState::polling},
    {"reset", PortState::no_change, PortPhysicalState::polling},  {"disable", PortState::no_change, PortPhysicalState::disabled},
    {"off", PortState::no_change, PortPhysicalState::disabled},   {"down", PortState::down, PortPhysicalState::no_change},
    {"arm", PortState::armed, PortPhysicalState::no_change},      {"armed", PortState::armed, PortPhysicalState::no_change},
    {"active", PortState::active, PortPhysicalState::no_change},
};

std::uint64_t setting_value(const CommonOptions& common, const subnet::PortSetting& setting, const std::string& text) {
  if (setting.descriptor().secret) return parse_m_key(common, text, "New M_Key");
  const std::uint64_t value = parse_unsigned(text, setting.name);
  setting.check(value);
  return value;
}

Change change_of(const subnet::PortSetting& setting, std::uint64_t from, std::uint64_t to) {
  return {"PortInfo", &setting.descriptor(), from, to};
}

Change state_change(std::string_view field, std::uint64_t from, std::uint64_t to) {
  return {"PortInfo", find_field(smp::PortInfo::info(), field), from, to};
}

}  // namespace

bool Changes::read_state(std::string_view word) {
  const auto* found =
      std::find_if(std::begin(state_operations), std::end(state_operations), [&](const auto& op) { return op.name == word; });
  query_ = query_ || word == "query";
  if (word != "query" && found == std::end(state_operations)) return false;
  if (!state_word_.empty()) throw UsageError(fmt::format("The operations '{}' and '{}' exclude each other", state_word_, word));
  state_word_ = word;
  if (query_) return true;
  if (found->state != PortState::no_change) state_ = found->state;
  if (found->physical_state != PortPhysicalState::no_change) physical_state_ = found->physical_state;
  only_if_disabled_ = word == "on";
  return true;
}

Changes::Changes(const CommonOptions& common, std::span<const std::string> words) {
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (read_state(word)) continue;
    const subnet::PortSetting* setting = subnet::find_port_setting(word);
    if (setting == nullptr && word != "fdr10") throw UsageError(fmt::format("Operation {} is not known", quoted(word)));
    if (++at == words.size()) throw UsageError(fmt::format("Operation '{}' needs a value", word));
    if (setting == nullptr) {
      fdr10_ = static_cast<std::uint8_t>(parse_unsigned(words[at], "fdr10", 0, 1));
    } else {
      settings_.emplace_back(setting, setting_value(common, *setting, words[at]));
    }
  }
  if (query_ && (fdr10_ || !settings_.empty())) throw UsageError("The operation 'query' goes with no other");
}

bool Changes::sets_ext_speed() const {
  return std::any_of(settings_.begin(), settings_.end(), [](const auto& s) { return s.first->is_ext_speed(); });
}

const subnet::PortSetting* Changes::of_end_port() const {
  for (const auto& [setting, value] : settings_) {
    if (setting->of_end_port) return setting;
  }
  return nullptr;
}

smp::PortInfo Changes::applied(const smp::PortInfo& read) const {
  smp::PortInfo info = subnet::no_change(read);
  if (state_) info.port_state = *state_;
  if (physical_state_) info.port_physical_state = *physical_state_;
  for (const auto& [setting, value] : settings_) {
    setting->check(value, read);
    setting->set(info, value);
  }
  const unsigned lids = 1U << info.lmc;
  if ((info.lid != read.lid || info.lmc != read.lmc) && info.lid.value % lids != 0)
    throw UsageError(fmt::format("With LMC {} the LID must be a multiple of {}: {} is none", info.lmc, lids, info.lid.value));
  return info;
}

std::vector<Change> Changes::list(const smp::PortInfo& read) const {
  std::vector<Change> changes;
  if (state_) changes.push_back(state_change("port_state", static_cast<unsigned>(read.port_state), static_cast<unsigned>(*state_)));
  if (physical_state_)
    changes.push_back(
        state_change("port_physical_state", static_cast<unsigned>(read.port_physical_state), static_cast<unsigned>(*physical_state_)));
  for (const auto& [setting, value] : settings_) changes.push_back(change_of(*setting, setting->get(read), value));
  return changes;
}

std::vector<Change> Changes::ignored(const smp::PortInfo& answer) const {
  std::vector<Change> changes;
  for (const auto& [setting, value] : settings_) {
    const std::uint64_t now = setting->get(answer);
    const bool as_asked = now == value || (setting->all != 0 && value == setting->all) || setting->name == "mkey";
    if (!as_asked) changes.push_back(change_of(*setting, now, value));
  }
  return changes;
}

}  // namespace ib::tools::ibportstate
