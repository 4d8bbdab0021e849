// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What check_routes prints.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "tools/check_routes/routes.hpp"
#include "tools/shared/fabric_report.hpp"

namespace ib::tools::routes {

struct RoutesReport final : FabricReport {
  RoutesReport(const Fabric& of, const Wanted& what, const Tables& read, const RouteFindings& was_found)
      : FabricReport(of), wanted(what), tables(read), found(was_found) {}

  void visit(report::Sink& sink) const override;
  void text(TextOut& out) const override;
  Exit status() const override;

  const Wanted& wanted;
  const Tables& tables;
  const RouteFindings& found;

 private:
  // report.cpp: JSON
  void visit_unicast(report::Sink& sink) const;
  void visit_cause(report::Sink& sink, const routing::Cause& cause, std::optional<std::uint8_t> missing_port = {}) const;
  void visit_multicast(report::Sink& sink) const;
  void visit_load(report::Sink& sink) const;
  void visit_links(report::Sink& sink) const;
  /// `missing_port`: the port that an entry names, if the switch at `port` does not have it.
  void visit_port_id(report::Sink& sink, routing::PortId port_id, std::optional<std::uint8_t> missing_port = {}) const;
  void visit_loops(report::Sink& sink, const routing::CreditLoops& loops) const;
  void visit_adaptive(report::Sink& sink) const;

  // report_text.cpp
  void text_unicast(TextOut& out) const;
  void text_cause(TextOut& out, const routing::Cause& cause) const;
  void text_load(TextOut& out) const;
  void text_multicast(TextOut& out) const;
  void text_group_cause(TextOut& out, const routing::GroupCause& cause) const;
  void text_loops(TextOut& out, const routing::CreditLoops& loops, std::string_view what) const;
  void text_loop(TextOut& out, const routing::CreditLoop& loop) const;
  void text_adaptive(TextOut& out) const;
  std::string port_text(routing::PortId port_id) const;
  std::string node_text(subnet::NodeIndex node) const;
  std::string lid_text(Lid lid) const;
  std::string lids_text(std::span<const std::uint16_t> lids) const;
  static std::string mlids_text(std::span<const std::uint16_t> mlids);
  std::string unread_text(routing::PortId port_id) const;
  bool is_claimed_behind(routing::PortId port_id, std::span<const std::uint16_t> lids) const;
  std::string cycle_text(const std::vector<routing::SwitchIndex>& cycle) const;
  std::string pair_text(const routing::Pair& pair) const;
  subnet::NodeIndex node_at(routing::PortId port_id) const;
};

/// "1-4, 7, 9": numbers in ascending order as ranges, in hexadecimal for MLIDs. At most ten ranges, then how many numbers more there are.
std::string fold(std::span<const std::uint16_t> numbers, bool hex = false);

}  // namespace ib::tools::routes
