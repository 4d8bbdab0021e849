// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// --interval: which ports counted errors since the reading before.
#pragma once

#include <optional>

#include "counters/history.hpp"
#include "tools/ibqueryerrors/wanted.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/growth.hpp"

namespace ib::tools::ibqueryerrors {

/// One of several readings. In JSON an element of the list that is open.
class GrowthReport final : public FabricReport {
 public:
  GrowthReport(const Fabric& of, const Wanted& what, const ErrorRules& applied) : FabricReport(of), wanted_(what), rules_(applied) {}

  /// Adds the ports of `node` that have counted something since the readings in `history`, which gets these. In text they are printed to
  /// `out`, if that is given, and not kept.
  void take(const counters::PmaNode& node, counters::CounterHistory& history, TextOut* out);

  void visit(report::Sink& sink) const override;
  void text(TextOut& out) const override;
  Exit status() const override { return bad_ports_ != 0 ? Exit::findings : FabricReport::status(); }

  Round round;

 private:
  /// The counters that have counted more errors than their thresholds, or were reset; then data and packets, if they are wanted.
  counters::PortChanges changes_of(const counters::RowDifference& difference) const;
  void port_text(TextOut& out, const counters::PortChanges& port) const;
  void visit(report::Sink& sink, const std::vector<counters::PortChanges>& ports) const;

  const Wanted& wanted_;
  const ErrorRules& rules_;
  std::vector<counters::PortChanges> grown_ports_;  ///< by node; empty in text
  std::size_t nodes_{}, bad_nodes_{}, ports_{}, bad_ports_{};
};

}  // namespace ib::tools::ibqueryerrors
