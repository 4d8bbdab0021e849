// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A way as text and JSON.
#pragma once

#include <functional>
#include <string_view>

#include "report/sink.hpp"
#include "subnet/node_name_map.hpp"
#include "tools/frame/emit.hpp"
#include "tools/ibtracert/tracer.hpp"

namespace ib::tools::tracert {

/// Prints ways as text and JSON.
struct TraceText {
  const subnet::NodeNameMap& names;
  bool simple = false;  ///< -n: GUIDs and ports alone
  int verbosity = 0;    ///< of infiniband-diags: how often -v was given
  /// Prints a line of -d of infiniband-diags.
  std::function<void(TextOut&, std::string_view function, std::string_view text)> debug{};

  /// Prints the way to `dlid` in the dialect of ibtool.
  void text(TextOut& out, const Trace& trace, Lid dlid) const;
  void visit(report::Sink& sink, const Trace& trace, Lid dlid, std::optional<std::uint32_t> mlid) const;

  void diags_unicast(TextOut& out, const Trace& trace) const;
  /// The way to the start of a trace: with `hops` only its hops, in full, else only the lines of -d.
  void diags_way_to_source(TextOut& out, const Trace& trace, bool hops) const;
  void diags_multicast(TextOut& out, const Trace& trace) const;

 private:
  std::string name_of(const Place& at) const;
  std::string diags_name(const Place& at) const;
  void end_text(TextOut& out, std::string_view word, const Place& at, Lid lid) const;
  void diags_end(TextOut& out, std::string_view word, const Place& at, bool full) const;
  void diags_hop(TextOut& out, const Hop& hop, bool full) const;
  void diags_step(TextOut& out, const TracedStep& step) const;
  void diags_steps(TextOut& out, const Trace& trace, std::size_t lines) const;
  void visit_members(report::Sink& sink, const Place& at) const;
  void visit_place(report::Sink& sink, std::string_view key, const std::optional<Place>& at) const;
};

}  // namespace ib::tools::tracert
