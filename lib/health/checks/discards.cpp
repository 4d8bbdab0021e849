// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// PortXmitDiscards by its reasons (PortXmitDiscardDetails, IBA 16.1.4.2), as far as the PMA reports them.
#include <algorithm>
#include <array>
#include <utility>

#include "health/checks/check_functions.hpp"
#include "health/checks/evidence.hpp"

namespace ib::health {
namespace {

constexpr std::array<std::string_view, 4> reasons{"port_inactive_discards", "port_neighbor_mtu_discards", "port_sw_lifetime_limit_discards",
                                                  "port_sw_hoq_limit_discards"};

/// Whether the port has no link. It then discards packets for this reason, whatever other reasons there were before.
bool is_plainly_inactive(const Input& input, const PortChanges& counts) {
  return !counts.has_discard_details && !input.subnet.port(counts.port).is_link_up();
}

/// What the reasons say of the discards that they do not explain.
struct Unexplained {
  std::string_view text;
  Confidence confidence;
};
Unexplained unexplained(const PortChanges& counts) {
  if (!counts.has_discard_details) return {"The reasons of discards are not reported.", Confidence::possible};
  if (counts.lacks_discard_details)
    return {"A counter of PortXmitDiscardDetails is full, or was not read before: it may explain the others.", Confidence::possible};
  return {"PortXmitDiscardDetails does not explain all discards.", Confidence::likely};
}

/// Adds a finding for each port with discards that no reason explains. `take` completes a finding, or returns false to drop it.
template <class Take>
void find_unexplained(const Input& input, Findings& findings, Take take) {
  for (const PortChanges& counts : input.counts.all()) {
    const CounterChange* all = counts.find("port_xmit_discards");
    const std::uint64_t counted = all == nullptr ? 0 : counted_of(input, counts, *all);
    std::uint64_t explained = 0;
    for (const std::string_view reason : reasons) explained += counts.delta(reason);
    const std::uint64_t left = counted - std::min(counted, explained);
    if (left == 0 || static_cast<double>(left) < input.thresholds.events) continue;
    Finding finding = on_cable(input.subnet, counts.port);
    finding.evidence.push_back(evidence_of(input, counts, *all, 0, input.thresholds.events));
    if (!take(counts, finding)) continue;
    hedge(finding, *all);
    findings.push_back(std::move(finding));
  }
}

}  // namespace

void find_congestion_discards(const Input& input, Findings& findings) {
  find_counted(input, findings, "port_sw_lifetime_limit_discards", input.thresholds.events);
  find_counted(input, findings, "port_sw_hoq_limit_discards", input.thresholds.events);
}

void find_mtu_discards(const Input& input, Findings& findings) {
  find_counted(input, findings, "port_neighbor_mtu_discards", input.thresholds.events);
}

void find_inactive_discards(const Input& input, Findings& findings) {
  find_counted(input, findings, "port_inactive_discards", input.thresholds.events);
  find_unexplained(input, findings, [&](const PortChanges& counts, Finding& finding) {
    if (!is_plainly_inactive(input, counts)) return false;
    finding.confidence = Confidence::likely;
    finding.detail = "Their reasons are not reported, but the port has no link.";
    return true;
  });
}

void find_other_discards(const Input& input, Findings& findings) {
  find_unexplained(input, findings, [&](const PortChanges& counts, Finding& finding) {
    if (is_plainly_inactive(input, counts)) return false;
    const Unexplained why = unexplained(counts);
    finding.confidence = why.confidence;
    finding.detail = why.text;
    return true;
  });
}

}  // namespace ib::health
