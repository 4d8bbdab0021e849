// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What ibportstate found at a port, and what it changed there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "iba-gen/mlx.hpp"
#include "iba-gen/smp.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/session.hpp"
#include "tools/ibportstate/changes.hpp"

namespace ib::tools::ibportstate {

/// A port with what its node says of it. What was not read is empty.
struct Side {
  Side(Destination at, unsigned number) : node(std::move(at)), port(number) {}

  Destination node;
  unsigned port;
  std::optional<smp::NodeInfo> node_info;
  std::string description;                      ///< of the node, where it was read and not empty
  std::vector<std::uint8_t> bytes, mlnx_bytes;  ///< PortInfo, MlnxExtPortInfo
  bool extended_speeds{};                       ///< the node has them

  bool is_switch() const { return node_info && node_info->node_type == smp::NodeType::switch_; }
  smp::PortInfo info() const { return smp::PortInfo::unpack(bytes); }
  /// All zeros where it was not read.
  smp::MlnxExtPortInfo mlnx() const { return mlnx_bytes.empty() ? smp::MlnxExtPortInfo{} : smp::MlnxExtPortInfo::unpack(mlnx_bytes); }
};

/// What the two reports share: the port, and how each dialect shows one.
struct PortReport : Report {
  PortReport(const Session& session, const Side& of) : options(session.options()), port(of) {}

  /// The two of infiniband-diags.
  void show_port(TextOut& out, const Side& side) const;
  static void show_mlnx(TextOut& out, const Side& side);

  const CommonOptions& options;
  const Side& port;
};

/// A port, and the one at the other end of its link.
struct QueryReport final : PortReport {
  using PortReport::PortReport;
  std::optional<Side> peer;
  bool lacks_peer{};        ///< there is one, but it did not answer
  std::string why_no_peer;  ///< the error

  void visit(report::Sink& sink) const override;
  void text(TextOut& out) const override;
  void diags_text(TextOut& out) const override;
  Exit status() const override { return lacks_peer ? Exit::incomplete : Exit::ok; }
};

/// What was set, or would be.
struct SetReport final : PortReport {
  using PortReport::PortReport;
  bool dry_run{}, needless{}, disables{};
  std::vector<Change> changes;
  std::optional<Side> after, mlnx_after;  ///< the port's answers

  /// "\"leaf1\" 0005:… port 7".
  std::string place() const;
  /// "\"leaf1\" 0005:… port 7: PortPhysicalState 5 -> 3".
  std::string what_changed() const;
  void visit(report::Sink& sink) const override;
  void text(TextOut& out) const override;
  void diags_text(TextOut& out) const override;
};

/// What keeps a link from running as wide and as fast as both of its ports could, as infiniband-diags warns of it.
void warn_of_slow_link(const Session& session, const Side& port, const Side& peer);

}  // namespace ib::tools::ibportstate
