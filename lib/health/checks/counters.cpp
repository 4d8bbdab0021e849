// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Counters that show nothing any more: those at their greatest value, and those that were cleared. One finding of each kind for the
// whole fabric. And counters that move in a good fabric, too.
#include <algorithm>
#include <functional>

#include "health/checks/evidence.hpp"
#include "health/checks/topics.hpp"

namespace ib::health {
namespace {

/// One finding with an end for each port that has changes that `is_meant` accepts.
void find_grouped(const Input& input, Findings& findings, const std::function<bool(const CounterChange&)>& is_meant) {
  std::vector<const PortChanges*> rows;
  for (const PortChanges& counts : input.counts.all()) {
    if (std::ranges::any_of(counts.changes, is_meant)) rows.push_back(&counts);
  }
  if (rows.empty()) return;
  std::ranges::sort(rows, {}, [&input](const PortChanges* counts) { return place_order(input.subnet, counts->port); });
  Finding& finding = findings.emplace_back(on_nodes({}, Finding::Subject::group));
  for (const PortChanges* counts : rows) {
    for (const CounterChange& change : counts->changes) {
      if (is_meant(change)) finding.evidence.push_back(evidence_of(input, *counts, change, finding.ends.size()));
    }
    finding.ends.push_back(place_of(input.subnet, counts->port));
  }
}

}  // namespace

std::span<const Check> counter_checks() {
  using enum Level;
  using enum Source;
  static constexpr Check checks[] = {
      {"counter-stuck", info, needs(counters), "These counters are saturated; further events are not counted.",
       "Clear them: ibtool ibclearerrors.",
       [](const Input& input, Findings& findings) {
         find_grouped(input, findings, [](const CounterChange& change) { return change.is_full; });
       }},
      {"counter-cleared", info, needs(window), "These counters are lower than before: they were cleared, or the nodes restarted.",
       "Nothing; the events in between are not known.",
       [](const Input& input, Findings& findings) {
         find_grouped(input, findings, [](const CounterChange& change) { return change.kind == CounterChange::Kind::reset; });
       }},
      {"vl15-dropped", info, needs(window), "Management packets came faster than this node handles them; a sweep can cause this too.",
       "Nothing.", [](const Input& input, Findings& findings) { find_events(input, findings, "vl15_dropped"); }},
      {"relay-errors", info, needs(window), "The switch could not forward some packets; multicast packets that came back count too.",
       "Nothing.", [](const Input& input, Findings& findings) { find_events(input, findings, "port_rcv_switch_relay_errors"); }},
  };
  return checks;
}

}  // namespace ib::health
