// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The operations of ibportstate on the command line (changes.cpp), and its reports: the state of a port, and the changes that were made
// (report.cpp).
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "iba-gen/smp.hpp"
#include "subnet/set/port_setting.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/manners.hpp"

namespace ib::tools::ibportstate {

std::vector<std::string_view> operation_names();
/// The names of the values of operations: "HDR", "4x".
std::vector<std::string_view> value_names();

struct Change {
  const StructInfo* attribute{};  ///< PortInfo, MlnxExtPortInfo
  const FieldInfo* field{};
  std::uint64_t from{}, to{};
};

class PortOperations {
 public:
  PortOperations() = default;
  /// Reads OP [OP_ARG] …. A value is a number or, where the field has them, names: `width 4x`, `speed HDR,NDR`. Throws UsageError for a
  /// word that is not an operation, and for a value that no port supports. `as_diags`: a value that is not a number is 0, and DiagsFailure
  /// is thrown.
  static PortOperations read(const CommonOptions& common, std::span<const std::string> words, bool as_diags);

  bool is_query() const { return !has_state() && !fdr10_ && settings_.empty(); }
  /// The operation is only for disabled ports, and a port with PortInfo `now` is not disabled.
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
  /// The first of the settings for which `is` holds, or null.
  template <class Is>
  const subnet::PortSetting* find(Is is) const {
    const auto found = std::ranges::find_if(settings_, is, [](const auto& each) -> const subnet::PortSetting& { return *each.first; });
    return found != settings_.end() ? found->first : nullptr;
  }
  bool sets_ext_speed() const { return find(&subnet::PortSetting::is_ext_speed) != nullptr; }

  /// The PortInfo to set at a port whose PortInfo was `read`. Throws UsageError for a value that the port does not support.
  smp::PortInfo applied(const smp::PortInfo& read) const;
  /// The PortInfo that infiniband-diags sets at a port whose PortInfo was `read`. No value is checked. Where LID or MasterSMLID is 0 or
  /// permissive, it is 0x1234: some nodes refuse a PortInfo without LIDs.
  smp::PortInfo applied_as_diags(smp::PortInfo read) const;
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
  /// Takes the setting `word` with its value `text`, which is null where it lacks.
  void take_setting(const CommonOptions& common, const std::string& word, const std::string* text, bool as_diags);

  bool only_if_disabled_{};
  bool only_base_speeds_{};  ///< named speeds are up to QDR: extended speeds are turned off where the port has them
  std::string state_word_;   ///< query, or the one operation on the state
  std::optional<smp::PortState> state_;
  std::optional<smp::PortPhysicalState> physical_state_;
  std::optional<std::uint8_t> fdr10_;
  std::vector<std::pair<const subnet::PortSetting*, std::uint64_t>> settings_;
};

/// A port with the attributes that its node answered. An attribute that was not read is empty.
struct ObservedPort {
  ObservedPort(Destination at, unsigned port_number) : node(std::move(at)), number(port_number) {}

  Destination node;
  unsigned number;
  std::optional<smp::NodeInfo> node_info;
  std::string description;                      ///< of the node; empty if it was not read
  std::vector<std::uint8_t> bytes, mlnx_bytes;  ///< PortInfo, MlnxExtPortInfo
  bool extended_speeds{};                       ///< the node has the extended speed fields

  bool is_switch() const { return node_info && node_info->node_type == smp::NodeType::switch_; }
  smp::PortInfo info() const { return smp::PortInfo::unpack(bytes); }
  /// The LID of the port, or of port 0 of its switch; 0 if it is not known.
  Lid lid() const;
  /// "'leaf02' (LID 2) port 20".
  std::string name() const;
  /// MlnxExtPortInfo; all zeros if it was not read.
  smp::MlnxExtPortInfo mlnx() const { return mlnx_bytes.empty() ? smp::MlnxExtPortInfo{} : smp::MlnxExtPortInfo::unpack(mlnx_bytes); }
};

/// The base of the two reports.
struct PortReport : Report {
  PortReport(const Host& host, const ObservedPort& of) : options(host.options()), port(of) {}

  const CommonOptions& options;
  const ObservedPort& port;
};

struct PortStateReport final : PortReport {
  using PortReport::PortReport;
  std::optional<ObservedPort> peer;
  bool lacks_peer{};        ///< the link has a peer, but the peer did not answer
  std::string why_no_peer;  ///< the error

  void visit(report::Sink& sink) const override;
  void text(TextOut& out) const override;
  void diags_text(TextOut& out) const override;
  Exit status() const override { return lacks_peer ? Exit::incomplete : Exit::ok; }
};

/// The changes that a Set made, or would make with --dry-run.
struct PortSetReport final : PortReport {
  using PortReport::PortReport;
  bool dry_run{}, needless{}, disables{};
  std::vector<Change> changes;
  std::optional<ObservedPort> after, mlnx_after;  ///< the port's answers

  /// "\"leaf1\" 0005:… port 7: PortPhysicalState 5 -> 3".
  std::string what_changed() const;
  void visit(report::Sink& sink) const override;
  void text(TextOut& out) const override;
  void diags_text(TextOut& out) const override;
};

/// Prints the warnings of infiniband-diags about a link that is narrower or slower than both of its ports support.
void warn_of_slow_link(const Host& host, const ObservedPort& port, const ObservedPort& peer);

}  // namespace ib::tools::ibportstate
