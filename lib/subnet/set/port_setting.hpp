// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The fields of a port's PortInfo that can be set, and the values that a port accepts (IBA 14.2.5.6). A SubnSet writes the
// whole attribute, so fields that must not change need the value for "no change": no_change() prepares a PortInfo that was
// read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/task.hpp"
#include "iba-gen/smp.hpp"
#include "mad/transactor.hpp"
#include "path/path.hpp"

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
  /// The value that `text` is: a number, or the name of one where the field has names: "4x". Throws UsageError for other words, and if no
  /// port accepts the value.
  std::uint64_t parse(const std::string& text) const;
  /// Throws UsageError if a port with the PortInfo `info` does not accept `value`.
  void check(std::uint64_t value, const smp::PortInfo& info) const;
  /// A value in words, for messages: "HDR (4)".
  std::string words_of(std::uint64_t value) const;
};

/// The setting with the name `name`, or null.
const PortSetting* find_port_setting(std::string_view name);
/// The names of speeds and widths: "HDR", "4x".
std::vector<std::string_view> port_setting_values();

/// Why a PortInfo that a sweep has read is read once more (mad::Reason).
inline constexpr std::string_view read_before_set = "values read again before a Set";

/// `read` with the value for "no change" in each field for which writing the old value may have an effect: states, link width
/// and speeds.
smp::PortInfo no_change(smp::PortInfo read);

/// A field of an attribute that changes from one value to another.
struct SettingChange {
  const StructInfo* attribute{};
  const FieldInfo* field{};
  std::uint64_t from{}, to{};
};

/// A change of the PortInfo of a port. A state that is no_change stays as it is.
struct PortChange {
  smp::PortState state = smp::PortState::no_change;
  smp::PortPhysicalState physical_state = smp::PortPhysicalState::no_change;
  std::vector<std::pair<const PortSetting*, std::uint64_t>> settings{};  ///< with their values
  bool only_base_speeds{};  ///< named speeds are up to QDR: extended speeds are turned off where the port has them

  /// Acts on the link of the port.
  bool has_state() const { return state != smp::PortState::no_change || physical_state != smp::PortPhysicalState::no_change; }
  bool none() const { return !has_state() && settings.empty(); }
  bool disables() const { return physical_state == smp::PortPhysicalState::disabled; }
  /// The first of the settings for which `is` holds, or null.
  template <class Is>
  const PortSetting* find(Is is) const {
    const auto found = std::ranges::find_if(settings, is, [](const auto& each) -> const PortSetting& { return *each.first; });
    return found != settings.end() ? found->first : nullptr;
  }
  bool sets_ext_speed() const { return find(&PortSetting::is_ext_speed) != nullptr; }

  /// Adds settings for speeds by their names, "HDR,NDR", which stand in three fields of PortInfo. False if `text` is a number. Throws
  /// UsageError for other words.
  bool add_speeds(const std::string& text);
  /// Leaves out what only a port with extended speeds needs, if the port with PortInfo `info` has none.
  void fit(const smp::PortInfo& info);
  /// The PortInfo to set at a port whose PortInfo was `read`.
  smp::PortInfo applied(const smp::PortInfo& read) const;
  /// The fields of `read` that change, states first.
  std::vector<SettingChange> list(const smp::PortInfo& read) const;
  /// The changes that the port ignored: its answer `answer` to the Set does not have them.
  std::vector<SettingChange> ignored(const smp::PortInfo& answer) const;
};

/// Throws UsageError if port `port` of the node at `path` does not take `change`: a value that it does not support, or a field that it does
/// not have. `node` and `info` are the NodeInfo and the PortInfo that were read by `path`. For extended speeds of a switch's port its port
/// 0 is read; throws the MadError of that.
async::Task<> check_port_change(mad::Transactor& transactor, path::Path path, smp::NodeInfo node, unsigned port, smp::PortInfo info,
                                PortChange change);

}  // namespace ib::subnet
