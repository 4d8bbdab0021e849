// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What can be set in a port's PortInfo, and what a port takes (IBA 14.2.5.6). A SubnSet writes the whole attribute, so
// what is not to change must say so: no_change() makes a PortInfo that was read fit to be sent back.
#pragma once

#include <cstdint>
#include <string_view>

#include "iba-gen/smp.hpp"

namespace ib::subnet {

/// A field of PortInfo that people set, by the name that ibportstate gives it.
struct PortSetting {
  std::string_view name;         ///< "speed"
  std::string_view field;        ///< of the descriptor: "link_speed_enabled"
  std::uint64_t low{}, high{};   ///< the values that the field can take
  std::uint64_t all{};           ///< the value that stands for all that the port supports; 0: there is none
  std::uint64_t off{};           ///< the value that turns the field's purpose off; 0: there is none
  std::string_view supported{};  ///< the field that holds the bits that may be set
  std::string_view limit{};      ///< the field that holds the highest value
  bool of_end_port{};            ///< an external port of a switch has no such thing
  bool unicast_lid{};

  bool is_ext_speed() const { return field == "link_speed_ext_enabled"; }
  const FieldInfo& descriptor() const;
  /// The setting's value in `info`. That of extended speeds has the bits of LinkSpeedExtEnabled2 (XDR) from bit 5 on.
  std::uint64_t get(const smp::PortInfo& info) const;
  void set(smp::PortInfo& info, std::uint64_t value) const;
  /// Throws UsageError where no port takes `value`.
  void check(std::uint64_t value) const;
  /// Throws UsageError where the port that said `info` does not take `value`.
  void check(std::uint64_t value, const smp::PortInfo& info) const;
};

/// The setting of that name, or null.
const PortSetting* find_port_setting(std::string_view name);

/// `read`, with the value for "no change" in each field whose mere repetition may act: states, link width and speeds.
smp::PortInfo no_change(smp::PortInfo read);

}  // namespace ib::subnet
