// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// PortXmitDiscards by its reasons (PortXmitDiscardDetails, IBA 16.1.4.2), as far as the PMA reports them.
//
// Trees of congestion. A port that waits (PortXmitWait) while no port of the next node waits is the head of a tree: the node or link that
// it sends to is slow. The ports that wait for the head's node are its victims, and so are the ports that wait for these. Victims are not
// reported one by one.
//
// Counters that show nothing any more: those at their greatest value, and those that were cleared. One finding of each kind for the whole
// fabric.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "health/checks/common.hpp"

namespace ib::health {
namespace {

constexpr std::array<std::string_view, 4> reasons{"port_inactive_discards", "port_neighbor_mtu_discards", "port_sw_lifetime_limit_discards",
                                                  "port_sw_hoq_limit_discards"};

/// What the reasons say of the discards that they do not explain.
std::pair<std::string_view, Confidence> unexplained(const PortChanges& counts, bool is_inactive) {
  if (is_inactive) return {"Their reasons are not reported, but the port has no link.", Confidence::likely};
  if (!counts.has_discard_details) return {"The reasons of discards are not reported.", Confidence::possible};
  if (counts.lacks_discard_details)
    return {"A counter of PortXmitDiscardDetails is full, or was not read before: it may explain the others.", Confidence::possible};
  return {"PortXmitDiscardDetails does not explain all discards.", Confidence::likely};
}

/// Adds a finding for each port with discards that no reason explains: of those that have no link and no details, or of the others.
void find_unexplained(const Input& input, Findings& findings, bool are_inactive) {
  for (const PortChanges& counts : input.counts.all()) {
    const CounterChange* all = counts.find("port_xmit_discards");
    const std::uint64_t counted = all == nullptr ? 0 : counted_of(input, counts, *all);
    std::uint64_t explained = 0;
    for (const std::string_view reason : reasons) explained += counts.delta(reason);
    const std::uint64_t left = counted - std::min(counted, explained);
    // A port without a link discards packets for this reason, whatever other reasons there were before.
    const bool is_inactive = !counts.has_discard_details && !input.subnet.port(counts.port).is_link_up();
    if (left == 0 || static_cast<double>(left) < input.thresholds.events || is_inactive != are_inactive) continue;
    Finding& finding =
        findings.emplace_back(on_cable(input.subnet, counts.port, {evidence_of(input, counts, *all, 0, input.thresholds.events)}));
    std::tie(finding.detail, finding.confidence) = unexplained(counts, are_inactive);
    hedge(finding, *all);
  }
}

/// Ports that wait, and how much of a link each of them wastes, up to a common factor: the devices do not report here how long a tick is.
class Waiting {
 public:
  explicit Waiting(const Input& input) : subnet_(input.subnet) {
    for (const PortChanges& counts : input.counts.all()) {
      const double ticks = static_cast<double>(counts.delta("port_xmit_wait"));
      if (!counts.seconds || ticks / *counts.seconds < std::max(input.thresholds.wait_ticks, 1.0)) continue;
      const subnet::LinkRate rate = subnet::active_rate(subnet_, counts.port);
      shares_[counts.port] = rate.known() ? ticks / *counts.seconds / rate.data_mbps() : 0;  // not known: behind all others
      at_node_[subnet_.port(counts.port).node].push_back(counts.port);
    }
  }

  std::vector<PortIndex> heads() const {
    std::vector<PortIndex> heads;
    for (const auto& [port, share] : shares_) {
      if (is_head(port)) heads.push_back(port);
    }
    std::ranges::sort(heads, {}, [this](PortIndex at) { return std::pair(-shares_.at(at), place_order(subnet_, at)); });
    return heads;
  }

  /// How many ports wait for `head`, one behind the other.
  std::size_t victims(PortIndex head) const {
    std::vector<NodeIndex> nodes{subnet_.port(head).node};
    std::set<NodeIndex> seen{nodes.front()};
    std::size_t count = 0;
    while (!nodes.empty()) {
      const NodeIndex node = nodes.back();
      nodes.pop_back();
      for (const subnet::Port& port : subnet_.ports_of(subnet_.node(node))) {
        if (port.peer == subnet::none || !shares_.contains(port.peer)) continue;
        const NodeIndex before = subnet_.port(port.peer).node;
        if (port.peer == head || port.peer == subnet_.port(head).peer) continue;
        ++count;
        if (subnet_.node(before).kind() == NodeKind::sw && seen.insert(before).second) nodes.push_back(before);
      }
    }
    return count;
  }

 private:
  bool is_head(PortIndex port) const {
    const PortIndex peer = subnet_.port(port).peer;
    if (peer == subnet::none) return false;
    if (subnet_.node(subnet_.port(peer).node).kind() != NodeKind::sw) return true;  // an end node forwards nothing
    const auto next = at_node_.find(subnet_.port(peer).node);
    return next == at_node_.end() || std::ranges::all_of(next->second, [peer](PortIndex at) { return at == peer; });
  }

  const Subnet& subnet_;
  std::map<PortIndex, double> shares_;
  std::map<NodeIndex, std::vector<PortIndex>> at_node_;
};

void find_congestion(const Input& input, Findings& findings) {
  const Waiting waiting(input);
  std::vector<PortIndex> heads = waiting.heads();
  const auto most = static_cast<std::size_t>(std::clamp(input.thresholds.congestion_heads, 0.0, 1e9));
  const std::size_t left_out = heads.size() - std::min(heads.size(), most);
  heads.resize(heads.size() - left_out);
  for (std::size_t at = 0; at < heads.size(); ++at) {
    const PortChanges& counts = *input.counts.find(heads[at]);
    Evidence waited = evidence_of(input, counts, *counts.find("port_xmit_wait"), 0, input.thresholds.wait_ticks);
    waited.is_rate_limit = true;
    Finding& finding = findings.emplace_back(on_cable(input.subnet, heads[at], {waited}));
    finding.confidence = Confidence::likely;
    const std::size_t victims = waiting.victims(heads[at]);
    finding.detail =
        fmt::format("No port behind it waits: its receiver is slow. {} {} for it.", victims, victims == 1 ? "port waits" : "ports wait");
    if (at + 1 == heads.size() && left_out > 0)
      finding.add_sentence(fmt::format("{} with fewer waiting ones {} left out.",
                                       left_out == 1 ? "1 port" : fmt::format("{} ports", left_out), left_out == 1 ? "is" : "are"));
  }
}

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

std::span<const Check> traffic_checks() {
  using enum Level;
  using enum Source;
  static constexpr Check checks[] = {
      {"discards-congestion", warning, needs(window), "Packets waited too long and were discarded.",
       "Look for the slow receiver behind this port (check congestion), and for credit loops ({check_routes}).",
       [](const Input& input, Findings& findings) {
         find_events(input, findings, {"port_sw_lifetime_limit_discards", "port_sw_hoq_limit_discards"});
       }},
      {"discards-mtu", error, needs(window), "Packets were longer than the MTU of the next port, and were discarded.",
       "Compare the MTUs of both ends and of the path ({query_mtus}).",
       [](const Input& input, Findings& findings) { find_events(input, findings, {"port_neighbor_mtu_discards"}); }},
      {"discards-inactive", info, needs(window), "Packets were discarded because the output port was not active.",
       "Nothing if a node was restarted; else have the subnet manager sweep again.",
       [](const Input& input, Findings& findings) {
         find_events(input, findings, {"port_inactive_discards"});
         find_unexplained(input, findings, true);
       }},
      {"discards", warning, needs(window), "Packets were discarded before they were sent.",
       "Look at other findings about this link, and behind it.",
       [](const Input& input, Findings& findings) { find_unexplained(input, findings, false); }},
      {"congestion", info, needs(window), "Packets wait here for credits, and others behind them.",
       "Look at the node at the other end: its memory, its PCI link, or more traffic than it can receive.", find_congestion},
      {"constraint-errors", warning, needs(window), "Packets were refused by the P_Key or the raw filter of this port.",
       "Compare the P_Keys of both ends ({query_pkeys}): a partition, not the cable.",
       [](const Input& input, Findings& findings) {
         find_events(input, findings, {"port_xmit_constraint_errors", "port_rcv_constraint_errors"});
       },
       is_of_link},
      {"counter-stuck", info, needs(counters), "These counters are saturated; further events are not counted.",
       "Clear them: {clear_counters}.",
       [](const Input& input, Findings& findings) {
         find_grouped(input, findings, [](const CounterChange& change) { return change.is_full; });
       },
       is_of_link},
      {"counter-cleared", info, needs(window), "These counters are lower than before: they were cleared, or the nodes restarted.",
       "Nothing; the events in between are not known.",
       [](const Input& input, Findings& findings) {
         find_grouped(input, findings, [](const CounterChange& change) { return change.kind == ChangeKind::reset; });
       },
       is_of_link},
      {"vl15-dropped", info, needs(window), "Management packets came faster than this node handles them; a sweep can cause this too.",
       "Nothing.", [](const Input& input, Findings& findings) { find_events(input, findings, {"vl15_dropped"}); }, is_of_link},
      {"relay-errors", info, needs(window), "The switch could not forward some packets; multicast packets that came back count too.",
       "Nothing.", [](const Input& input, Findings& findings) { find_events(input, findings, {"port_rcv_switch_relay_errors"}); }},
  };
  return checks;
}

}  // namespace ib::health
