// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What check_routes prints.
#pragma once

#include <span>
#include <string>

#include "tools/check_routes/found.hpp"
#include "tools/check_routes/wanted.hpp"

namespace ib::tools::routes {

struct RoutesReport final : FabricReport {
  RoutesReport(const Fabric& of, const Wanted& asked, const Tables& read, const Found& was_found)
      : FabricReport(of), wanted(asked), tables(read), found(was_found) {}

  void visit(out::Sink& sink) const override;
  void text(TextOut& out) const override;
  Exit status() const override;

  const Wanted& wanted;
  const Tables& tables;
  const Found& found;

 private:
  // report.cpp: JSON
  void visit_unicast(out::Sink& sink) const;
  void visit_cause(out::Sink& sink, const routing::Cause& cause) const;
  void visit_group_cause(out::Sink& sink, const routing::GroupCause& cause) const;
  void visit_multicast(out::Sink& sink) const;
  void visit_load(out::Sink& sink) const;
  void visit_links(out::Sink& sink) const;
  void visit_place(out::Sink& sink, routing::PlaceIndex place) const;
  void visit_cycle(out::Sink& sink, const std::vector<routing::SwitchIndex>& cycle) const;
  void visit_loops(out::Sink& sink, const routing::CreditLoops& loops) const;

  // report_text.cpp
  void text_unicast(TextOut& out) const;
  void text_cause(TextOut& out, const routing::Cause& cause) const;
  void text_load(TextOut& out) const;
  void text_multicast(TextOut& out) const;
  void text_group_cause(TextOut& out, const routing::GroupCause& cause) const;
  void text_loops(TextOut& out, const routing::CreditLoops& loops, std::string_view what) const;
  void text_loop(TextOut& out, const routing::CreditLoop& loop) const;
  std::string place_text(routing::PlaceIndex place) const;
  std::string node_text(subnet::NodeIndex node) const;
  std::string lid_text(Lid lid) const;
  std::string lids_text(std::span<const std::uint16_t> lids) const;
  std::string cycle_text(const std::vector<routing::SwitchIndex>& cycle) const;
  std::string pair_text(const routing::Pair& pair) const;
  subnet::NodeIndex node_at(routing::PlaceIndex place) const;
};

/// "1-4, 7, 9": numbers in ascending order as ranges, in hexadecimal for MLIDs.
std::string fold(std::span<const std::uint16_t> numbers, bool hex = false);

}  // namespace ib::tools::routes
