// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// PortXmitDiscards by its reasons (PortXmitDiscardDetails, IBA 16.1.4.2), as far as the PMA reports them.
#include <algorithm>
#include <array>
#include <utility>

#include "health/checks/evidence.hpp"
#include "health/checks/topics.hpp"

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
Unexplained unexplained(const PortChanges& counts, bool is_inactive) {
  if (is_inactive) return {"Their reasons are not reported, but the port has no link.", Confidence::likely};
  if (!counts.has_discard_details) return {"The reasons of discards are not reported.", Confidence::possible};
  if (counts.lacks_discard_details)
    return {"A counter of PortXmitDiscardDetails is full, or was not read before: it may explain the others.", Confidence::possible};
  return {"PortXmitDiscardDetails does not explain all discards.", Confidence::likely};
}

/// Adds a finding for each port with discards that no reason explains: of those that are plainly inactive, or of the others.
void find_unexplained(const Input& input, Findings& findings, bool are_inactive) {
  for (const PortChanges& counts : input.counts.all()) {
    const CounterChange* all = counts.find("port_xmit_discards");
    const std::uint64_t counted = all == nullptr ? 0 : counted_of(input, counts, *all);
    std::uint64_t explained = 0;
    for (const std::string_view reason : reasons) explained += counts.delta(reason);
    const std::uint64_t left = counted - std::min(counted, explained);
    if (left == 0 || static_cast<double>(left) < input.thresholds.events || is_plainly_inactive(input, counts) != are_inactive) continue;
    Finding& finding = findings.emplace_back(on_cable(input.subnet, counts.port));
    finding.evidence.push_back(evidence_of(input, counts, *all, 0, input.thresholds.events));
    const Unexplained why = unexplained(counts, are_inactive);
    finding.confidence = why.confidence;
    finding.detail = why.text;
    hedge(finding, *all);
  }
}

}  // namespace

std::span<const Check> discard_checks() {
  using enum Level;
  using enum Source;
  static constexpr Check checks[] = {
      {"discards-congestion", warning, needs(window), "Packets waited too long and were discarded.",
       "Look for the slow receiver behind this port (check congestion), and for credit loops (ibtool check_routes).",
       [](const Input& input, Findings& findings) {
         find_events(input, findings, "port_sw_lifetime_limit_discards");
         find_events(input, findings, "port_sw_hoq_limit_discards");
       }},
      {"discards-mtu", error, needs(window), "Packets were longer than the MTU of the next port, and were discarded.",
       "Compare the MTUs of both ends and of the path (ibtool smpquery PI, ibtool saquery PR).",
       [](const Input& input, Findings& findings) { find_events(input, findings, "port_neighbor_mtu_discards"); }},
      {"discards-inactive", info, needs(window), "Packets were discarded because the output port was not active.",
       "Nothing if a node was restarted; else have the subnet manager sweep again.",
       [](const Input& input, Findings& findings) {
         find_events(input, findings, "port_inactive_discards");
         find_unexplained(input, findings, true);
       }},
      {"discards", warning, needs(window), "Packets were discarded before they were sent.",
       "Look at other findings about this link, and behind it.",
       [](const Input& input, Findings& findings) { find_unexplained(input, findings, false); }},
  };
  return checks;
}

}  // namespace ib::health
