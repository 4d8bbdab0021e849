// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Counters that show nothing any more: those at their greatest value, and those that somebody cleared. One finding of each kind for the
// whole fabric.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "health/checks/check_functions.hpp"
#include "health/checks/evidence.hpp"

namespace ib::health {
namespace {

/// One finding with an end for each port that has changes that `is_meant` accepts.
void find_grouped(const Input& input, Findings& findings, const std::function<bool(const CounterChange&)>& is_meant) {
  std::vector<const PortChanges*> rows;
  for (const PortChanges& counts : input.counts.all()) {
    if (std::ranges::any_of(counts.changes, is_meant)) rows.push_back(&counts);
  }
  if (rows.empty()) return;
  std::ranges::sort(rows, {}, [&input](const PortChanges* counts) {
    const subnet::Port& port = input.subnet.port(counts->port);
    return std::tuple(input.subnet.node(port.node).guid(), port.number, counts->port);
  });
  Finding finding;
  finding.subject = Finding::Subject::group;
  for (const PortChanges* counts : rows) {
    for (const CounterChange& change : counts->changes) {
      if (is_meant(change)) finding.evidence.push_back(evidence_of(input, *counts, change, finding.ends.size()));
    }
    finding.ends.push_back(place_of(input.subnet, counts->port));
  }
  findings.push_back(std::move(finding));
}

}  // namespace

void find_stuck_counters(const Input& input, Findings& findings) {
  find_grouped(input, findings, [](const CounterChange& change) { return change.is_full; });
}

void find_cleared_counters(const Input& input, Findings& findings) {
  find_grouped(input, findings, [](const CounterChange& change) { return change.kind == CounterChange::Kind::reset; });
}

}  // namespace ib::health
