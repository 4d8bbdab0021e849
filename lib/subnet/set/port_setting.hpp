// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The fields of a port's PortInfo that can be set, and the values that a port accepts (IBA 14.2.5.6). A SubnSet writes the
// whole attribute, so fields that must not change need the value for "no change": no_change() prepares a PortInfo that was
// read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "iba-gen/smp.hpp"

namespace ib::subnet {

struct PortSetting {
  std::string_view name;         ///< "speed"
  std::string_view field;        ///< name in the descriptor: "link_speed_enabled"
  std::uint64_t low{}, high{};   ///< the range of the field's values
  std::uint64_t all{};           ///< the value for everything that the port supports; 0: there is none
  std::uint64_t off{};           ///< the value that turns the function off; 0: there is none
  std::string_view supported{};  ///< the field with the bits that may be set
  std::string_view limit{};      ///< the field with the greatest value
  bool of_end_port{};            ///< external ports of a switch do not have the field
  bool unicast_lid{};

  bool is_ext_speed() const { return field == "link_speed_ext_enabled"; }
  const FieldInfo& descriptor() const;
  /// The setting's value in `info`. For extended speeds, bit 5 and above are the bits of LinkSpeedExtEnabled2 (XDR).
  std::uint64_t get(const smp::PortInfo& info) const;
  void set(smp::PortInfo& info, std::uint64_t value) const;
  /// Throws UsageError if no port accepts `value`.
  void check(std::uint64_t value) const;
  /// Throws UsageError if a port with the PortInfo `info` does not accept `value`.
  void check(std::uint64_t value, const smp::PortInfo& info) const;
  /// A value in words, for messages: "HDR (4)".
  std::string words_of(std::uint64_t value) const;
};

/// The setting with the name `name`, or null.
const PortSetting* find_port_setting(std::string_view name);

/// Why a PortInfo that a sweep has read is read once more (mad::Reason).
inline constexpr std::string_view read_before_set = "values read again before a Set";

/// `read` with the value for "no change" in each field for which writing the old value may have an effect: states, link width
/// and speeds.
smp::PortInfo no_change(smp::PortInfo read);

}  // namespace ib::subnet
