// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A way as text of both dialects and JSON.
#pragma once

#include <string_view>

#include "report/sink.hpp"
#include "subnet/model/node_name_map.hpp"
#include "tools/frame/emit.hpp"
#include "tools/ibtracert/tracer.hpp"

namespace ib::tools::tracert {

/// Prints ways in the words of ibtool and as JSON.
struct TraceText {
  const subnet::NodeNameMap& names;
  bool simple = false;  ///< -n: GUIDs and ports alone

  /// Prints the way to `dlid`.
  void text(TextOut& out, const TracedWay& trace, Lid dlid) const;
  void visit(report::Sink& sink, const TracedWay& trace, Lid dlid, std::optional<std::uint32_t> mlid) const;

 private:
  std::string name_of(const PacketPlace& at) const;
  void end_text(TextOut& out, std::string_view word, const PacketPlace& at, Lid lid) const;
  void visit(report::Sink& sink, const TracedWay& trace, const std::vector<Hop>& hops, Lid dlid, std::optional<std::uint32_t> mlid) const;
  void visit_members(report::Sink& sink, const PacketPlace& at) const;
  void visit_place(report::Sink& sink, std::string_view key, const std::optional<PacketPlace>& at) const;
};

/// Prints ways as infiniband-diags does, with the lines of its search.
struct DiagsTraceText {
  const subnet::NodeNameMap& names;
  bool simple = false;  ///< -n: GUIDs and ports alone
  int verbosity = 0;    ///< how often -v was given

  void unicast(TextOut& out, const TracedWay& trace) const;
  void multicast(TextOut& out, const TracedWay& trace) const;
  /// With -v the hops to the start of a trace, in full.
  void way_to_source(TextOut& out, const TracedWay& trace) const;

 private:
  std::string name(const PacketPlace& at) const;
  void end(TextOut& out, std::string_view word, const PacketPlace& at, bool full) const;
  void hop(TextOut& out, const Hop& of, bool full) const;
  void step(TextOut& out, const TracedStep& of) const;
};

}  // namespace ib::tools::tracert
