// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Converts the words of the command line into the attributes that ibccconfig sets.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "iba/struct_info.hpp"

namespace ib::tools::congestion {

/// The words are not a valid setting. The message is that of infiniband-diags.
class BadSetting : public UsageError {
 public:
  using UsageError::UsageError;
};

/// An attribute to set. For a switch port, it is one element of a block.
struct AgentSetting {
  const StructInfo* info{};
  std::uint32_t modifier{};
  std::vector<std::uint8_t> bytes;
  unsigned port{};  ///< the switch port
};

using SettingWords = std::span<const std::string>;

// Each of these functions throws BadSetting. With `exact`, this includes numbers that are too great for their fields. Without `exact`,
// the upper bits of such a number are lost, as in infiniband-diags.
AgentSetting key_info(SettingWords words, bool exact);
AgentSetting switch_setting(SettingWords words, bool exact);
AgentSetting port_setting(SettingWords words, bool exact);
AgentSetting ca_setting(SettingWords words, bool exact);
AgentSetting control_table(SettingWords words, bool exact);

}  // namespace ib::tools::congestion
