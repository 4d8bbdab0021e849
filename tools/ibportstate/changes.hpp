// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The operations of ibportstate on the command line.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "subnet/set/port_setting.hpp"
#include "tools/frame/common_options.hpp"

namespace ib::tools::ibportstate {

/// The names of all operations in ibtool's dialect.
std::vector<std::string_view> operation_names();
/// The names of the values of operations: "HDR", "4x".
std::vector<std::string_view> value_names();

/// One field that changes.
struct Change {
  const StructInfo* attribute{};  ///< PortInfo, MlnxExtPortInfo
  const FieldInfo* field{};
  std::uint64_t from{}, to{};
};

/// The operations of one command line.
class PortOperations {
 public:
  PortOperations() = default;
  /// Reads OP [OP_ARG] …. A value is a number or, where the field has them, names: `width 4x`, `speed HDR,NDR`. Throws UsageError for a
  /// word that is not an operation, and for a value that no port supports.
  static PortOperations read(const CommonOptions& common, std::span<const std::string> words);
  /// Reads OP [OP_ARG] … as infiniband-diags does: a value that is not a number is 0. Throws DiagsFailure.
  static PortOperations read_as_diags(const CommonOptions& common, std::span<const std::string> words);

  /// The port is only to be shown.
  bool is_query() const { return !has_state() && !fdr10_ && settings_.empty(); }
  /// The operation is for disabled ports alone, and a port with PortInfo `now` is not disabled.
  bool is_needless(const smp::PortInfo& now) const {
    return only_if_disabled_ && now.port_physical_state != smp::PortPhysicalState::disabled;
  }
  bool disables() const { return physical_state_ == smp::PortPhysicalState::disabled; }
  /// Acts on the link of the port.
  bool has_state() const { return state_ || physical_state_; }
  bool sets_port_info() const { return has_state() || !settings_.empty(); }
  /// Sets what a link takes over when it trains the next time, and does not make it train.
  bool waits_for_reset() const;
  /// Makes the link train again after its settings. Throws UsageError beside another operation on the state, or without settings.
  void add_reset();
  /// Leaves out what only a port with extended speeds needs, if the port with PortInfo `info` has none.
  void fit(const smp::PortInfo& info);
  std::optional<std::uint8_t> fdr10() const { return fdr10_; }
  bool sets_ext_speed() const;
  bool sets_m_key() const;
  /// The first of the settings that only an end port has, or null.
  const subnet::PortSetting* of_end_port() const;

  /// The PortInfo to set at a port whose PortInfo was `read`. Throws UsageError for a value that the port does not support.
  smp::PortInfo applied(const smp::PortInfo& read) const;
  /// The PortInfo that infiniband-diags sets at a port whose PortInfo was `read`. No value is checked. Where LID or MasterSMLID is 0 or
  /// permissive, it is 0x1234: some nodes refuse a PortInfo without LIDs.
  smp::PortInfo applied_as_diags(const smp::PortInfo& read) const;
  /// The fields of `read` that change, in the order of the operations.
  std::vector<Change> list(const smp::PortInfo& read) const;
  /// The changes that the port ignored: its answer `answer` to the Set does not have them.
  std::vector<Change> ignored(const smp::PortInfo& answer) const;

 private:
  smp::PortInfo with_settings(const smp::PortInfo& read) const;
  /// Takes an operation on the state. False if `word` is not such an operation.
  bool take_state(std::string_view word);
  /// Takes the names of speeds, which stand in three fields of PortInfo. False if `text` is a number.
  bool take_speeds(const std::string& text);

  bool only_if_disabled_{};
  bool only_base_speeds_{};  ///< named speeds are up to QDR: extended speeds are turned off where the port has them
  std::string state_word_;   ///< query, or the one operation on the state
  std::optional<smp::PortState> state_;
  std::optional<smp::PortPhysicalState> physical_state_;
  std::optional<std::uint8_t> fdr10_;
  std::vector<std::pair<const subnet::PortSetting*, std::uint64_t>> settings_;
};

}  // namespace ib::tools::ibportstate
