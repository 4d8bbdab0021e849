// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The dependencies between ports over all virtual lanes together: which port a packet may wait for while it holds another one. A channel is
// a port that sends, identified by its place. If this graph has no cycle, no credit loop is possible with any SL (W. Dally, C. Seitz:
// Deadlock-free message routing, 1987).
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "routing/digraph.hpp"
#include "routing/ways.hpp"

namespace ib::routing {

class Channels {
 public:
  explicit Channels(const Network& network);

  /// Adds the dependencies of the packets to one destination. Packets that do not arrive count as far as they get. A routing loop adds
  /// nothing of its own: it is a finding by itself.
  void add(const Ways& ways);
  /// Adds an edge from `held` to `wanted`, a port of the switch that `held` leads to. `held` is a port of a switch or of a host.
  void add_edge(PlaceIndex held, PlaceIndex wanted);
  /// Marks a channel as used.
  void use(PlaceIndex place) { used_[place] = true; }

  /// Whether a packet that holds `held` may want port `out` of the next switch. Not for hosts.
  bool has_edge(PlaceIndex held, unsigned out) const { return (bits_[first_word_[held] + out / 64] >> out % 64 & 1) != 0; }
  /// Whether a packet of the host may want `wanted`, a port of its switch, as the first one.
  bool host_wants(HostIndex host, PlaceIndex wanted) const {
    return (first_hop_[wanted] != none && first_hop_[wanted] != host) ||
           (!more_first_hops_.empty() && more_first_hops_.contains({host, wanted}));
  }

  std::uint64_t channel_count() const;
  std::uint64_t edge_count() const;
  /// The edges between ports of switches. Hosts' channels are in no cycle.
  Digraph graph() const;
  const Network& network() const { return network_; }

 private:
  void add_first_hop(const Ways& ways, SwitchIndex at);

  const Network& network_;
  std::vector<std::uint32_t> first_word_;  // by place of switches: where its bits begin, one for each port of the next switch
  std::vector<std::uint64_t> bits_;
  std::vector<bool> used_;  // by place
  /// By place of switches: which hosts of the switch send through it: no host (none), all hosts (everybody), or all but this one, which
  /// owns the destination LIDs.
  std::vector<HostIndex> first_hop_;
  std::set<std::pair<HostIndex, PlaceIndex>> more_first_hops_;
};

}  // namespace ib::routing
