// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Trees of congestion. A port that waits (PortXmitWait) while no port of the next node waits is the head of a tree: the node or link that
// it sends to is slow. The ports that wait for the head's node are its victims, and so are the ports that wait for these. Victims are not
// reported one by one. And packets that a port refuses.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "health/checks/evidence.hpp"
#include "health/checks/topics.hpp"
#include "subnet/model/rate.hpp"

namespace ib::health {
namespace {

using subnet::NodeIndex;
using subnet::PortIndex;

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

  /// The heads of trees, the greatest first.
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
        if (subnet_.node(before).kind() == subnet::NodeKind::sw && seen.insert(before).second) nodes.push_back(before);
      }
    }
    return count;
  }

 private:
  bool is_head(PortIndex port) const {
    const PortIndex peer = subnet_.port(port).peer;
    if (peer == subnet::none) return false;
    if (subnet_.node(subnet_.port(peer).node).kind() != subnet::NodeKind::sw) return true;  // an end node forwards nothing
    const auto next = at_node_.find(subnet_.port(peer).node);
    return next == at_node_.end() || std::ranges::all_of(next->second, [peer](PortIndex at) { return at == peer; });
  }

  const subnet::Subnet& subnet_;
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
    Finding& finding = findings.emplace_back(on_cable(input.subnet, heads[at]));
    finding.confidence = Confidence::likely;
    finding.evidence.push_back(evidence_of(input, counts, *counts.find("port_xmit_wait"), 0, input.thresholds.wait_ticks));
    const std::size_t victims = waiting.victims(heads[at]);
    finding.detail =
        fmt::format("No port behind it waits: its receiver is slow. {} {} for it.", victims, victims == 1 ? "port waits" : "ports wait");
    if (at + 1 == heads.size() && left_out > 0)
      finding.add_sentence(fmt::format("{} ports with fewer waiting ones are left out.", left_out));
  }
}

}  // namespace

std::span<const Check> congestion_checks() {
  using enum Level;
  using enum Source;
  static constexpr Check checks[] = {
      {"congestion", info, needs(window), "Packets wait here for credits, and others behind them.",
       "Look at the node at the other end: its memory, its PCI link, or more traffic than it can receive.", find_congestion},
      {"constraint-errors", warning, needs(window), "Packets were refused by the P_Key or the raw filter of this port.",
       "Compare the P_Keys of both ends (ibtool smpquery PKeys): a partition, not the cable.",
       [](const Input& input, Findings& findings) {
         find_events(input, findings, "port_xmit_constraint_errors");
         find_events(input, findings, "port_rcv_constraint_errors");
       }},
  };
  return checks;
}

}  // namespace ib::health
