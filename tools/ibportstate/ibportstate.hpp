// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The reports of ibportstate: the state of a port, and the changes that were made.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "iba-gen/smp.hpp"
#include "subnet/set/port_setting.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/report.hpp"

namespace ib::tools::ibportstate {

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
  std::vector<subnet::SettingChange> changes;
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
