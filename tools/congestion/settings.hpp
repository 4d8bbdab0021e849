// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What ibccconfig sets, out of the words of the command line.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "iba/struct_info.hpp"

namespace ib::tools::congestion {

/// Words that are no setting; the message is that of infiniband-diags.
class BadSetting : public UsageError {
 public:
  using UsageError::UsageError;
};

/// An attribute to set, or of a switch port one element of a block.
struct Setting {
  const StructInfo* info{};
  std::uint32_t modifier{};
  std::vector<std::uint8_t> bytes;
  unsigned port{};  ///< of a switch port
};

using Words = std::span<const std::string>;

// Each throws BadSetting. Where `exact`, a number that its field has no room for is one too; else its upper bits are lost, as with
// infiniband-diags.
Setting key_info(Words words, bool exact);
Setting switch_setting(Words words, bool exact);
Setting port_setting(Words words, bool exact);
Setting ca_setting(Words words, bool exact);
Setting control_table(Words words, bool exact);

}  // namespace ib::tools::congestion
