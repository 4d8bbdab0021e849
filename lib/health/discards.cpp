// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// PortXmitDiscards by its reasons (PortXmitDiscardDetails, IBA 16.1.4.2), as far as the PMA tells them.
#include <algorithm>
#include <array>
#include <utility>

#include "health/check_functions.hpp"
#include "health/evidence.hpp"

namespace ib::health {
namespace {

constexpr std::array<std::string_view, 4> reasons{"port_inactive_discards", "port_neighbor_mtu_discards", "port_sw_lifetime_limit_discards",
                                                  "port_sw_hoq_limit_discards"};

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
}

void find_other_discards(const Input& input, Findings& findings) {
  for (const PortCounts& counts : input.counts.all()) {
    const Movement* all = counts.find("port_xmit_discards");
    if (all == nullptr || all->change.delta.value_or(0) == 0) continue;
    std::uint64_t explained = 0;
    for (const std::string_view reason : reasons) explained += counts.delta(reason);
    const std::uint64_t left = *all->change.delta - std::min(*all->change.delta, explained);
    if (left == 0 || static_cast<double>(left) < input.thresholds.events) continue;
    Finding finding = on_cable(input.subnet, counts.port);
    finding.evidence.push_back(evidence_of(input, counts, *all, 0, input.thresholds.events));
    finding.confidence = counts.has_discard_details ? Confidence::likely : Confidence::possible;
    finding.detail = counts.has_discard_details ? "PortXmitDiscardDetails does not explain all of them." : "Their reasons are not told.";
    findings.push_back(std::move(finding));
  }
}

}  // namespace ib::health
