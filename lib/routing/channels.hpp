// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The dependencies between ports over all virtual lanes together: which port a packet may wait for while it holds another one. A channel is
// a port that sends, identified by its PortId. If this graph has no cycle, no credit loop is possible with any SL (W. Dally, C. Seitz:
// Deadlock-free message routing, 1987).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "routing/tables.hpp"
#include "routing/unicast.hpp"

namespace ib::routing {

// Cycles in a directed graph. Nothing here recurses: graphs have as many nodes as a fabric has channels.

/// The edges from node n lead to to[first[n]] … to[first[n + 1] − 1].
struct Digraph {
  std::vector<std::uint32_t> first{0};
  std::vector<std::uint32_t> to;
  std::uint32_t size() const { return static_cast<std::uint32_t>(first.size() - 1); }
  std::span<const std::uint32_t> next(std::uint32_t node) const {
    return std::span(to).subspan(first[node], first[node + 1] - first[node]);
  }
};

/// The strongly connected components with a cycle (more than one node, or an edge from a node to itself), the largest first, each with its
/// nodes in ascending order.
std::vector<std::vector<std::uint32_t>> cyclic_components(const Digraph& graph);

/// A shortest cycle within `component`, one of cyclic_components(), from the lowest of its nodes on. If the search needs more than `budget`
/// visits of edges, the result is the shortest cycle found so far.
std::vector<std::uint32_t> shortest_cycle(const Digraph& graph, std::span<const std::uint32_t> component,
                                          std::uint64_t budget = 200'000'000);

class Channels {
 public:
  explicit Channels(const Network& network);

  /// Adds the dependencies of the packets to one destination. Packets that do not arrive count as far as they get. A routing loop adds
  /// nothing of its own: it is a finding by itself.
  void add(const RouteTree& tree);
  /// Adds an edge from `held` to `wanted`, a port of the switch that `held` leads to. `held` is a port of a switch or of a host.
  void add_edge(PortId held, PortId wanted);
  void use(PortId port_id) { used_[port_id] = true; }

  /// Whether a packet that holds `held` may want port `out` of the next switch. Not for hosts.
  bool has_edge(PortId held, unsigned out) const { return (bits_[first_word_[held] + out / 64] >> out % 64 & 1) != 0; }
  /// Whether a packet of the host may want `wanted`, a port of its switch, as the first one.
  bool host_wants(HostIndex host, PortId wanted) const {
    return (first_hop_[wanted] != none && first_hop_[wanted] != host) ||
           (!more_first_hops_.empty() && more_first_hops_.contains({host, wanted}));
  }

  std::uint64_t channel_count() const;
  std::uint64_t edge_count() const;
  /// The edges between ports of switches. Hosts' channels are in no cycle.
  Digraph graph() const;
  const Network& network() const { return network_; }

 private:
  void set_edge(PortId held, PortId wanted, SwitchIndex of_wanted);

  const Network& network_;
  std::vector<std::uint32_t> first_word_;  // by PortId of switches: where its bits begin, one for each port of the next switch
  std::vector<std::uint64_t> bits_;
  std::vector<bool> used_;  // by PortId
  /// By port of switches: which hosts of the switch send through it: no host (none), all hosts (everybody), or all but this one, which
  /// owns the destination LIDs.
  std::vector<HostIndex> first_hop_;
  std::set<std::pair<HostIndex, PortId>> more_first_hops_;
};

// The dependencies between pairs of port and VL: which one a packet may wait for while it holds another one. A cycle of these is also one
// of ports, so only ports in cycles of the graph over ports only (Channels) are looked at. The VL on an output port depends on the
// input port, the output port and the SL; the SL stays the same on the whole route.

/// SLtoVL mapping tables that a verdict needs: of one output port, for some input ports.
struct WantedLanes {
  SwitchIndex at{};
  std::uint8_t out{};
  std::vector<std::uint8_t> in;
};
/// The tables that LaneGraph looks at. `ports`: ports in cycles of channels.graph().
std::vector<WantedLanes> wanted_lanes(const Channels& channels, std::span<const PortId> port_ids, bool with_switches);

/// Reads the SLtoVL mapping tables of `ports` into `lanes`. Returns what failed. `options.way` is smp. `network` and `lanes` must outlive
/// the task.
async::Task<subnet::Failures> read_lanes(mad::Transactor& transactor, const Network& network, std::vector<WantedLanes> ports,
                                         SlToVlTables& lanes, subnet::SurveyOptions options);

struct LoopChannel {
  PortId port_id{};
  std::optional<std::uint8_t> vl;  ///< nothing where lanes were not looked at
};

class LaneGraph {
 public:
  static constexpr unsigned lanes = 16;

  /// All must outlive this. `ports`: ports in cycles of channels.graph().
  LaneGraph(const Channels& channels, std::span<const PortId> port_ids, const SlToVlTables& tables, const ServiceLevels& levels,
            UnknownSl rest);

  /// Adds the dependencies of the packets to the destination with that number.
  void add(const RouteTree& tree, std::size_t destination);
  void add_edge(PortId held, unsigned held_vl, PortId wanted, unsigned wanted_vl) {
    pairs_[edge(held, wanted) * vl_count_ + held_vl] |= static_cast<std::uint16_t>(1U << wanted_vl);
  }

  /// The VLs on `out` of packets that came in by `in`; null, and lacks_tables() from then on, if this table was not read.
  const LaneRow* row(PortId out, unsigned in);
  bool lacks_tables() const { return lacks_tables_; }
  bool is_in(PortId port_id) const { return local_[port_id] != none; }
  const Network& network() const { return network_; }
  UnknownSl rest() const { return rest_; }
  LoopChannel channel(std::uint32_t node) const { return {port_ids_[node / lanes], static_cast<std::uint8_t>(node % lanes)}; }
  std::size_t edge_count() const;
  Digraph graph() const;

 private:
  using Masks = std::array<std::uint16_t, sl_count + 1>;  // a set of VLs by SL

  struct Passing {
    SlSet sls{};  // of packets that leave the switch
    Masks vls{};  // on the output port
  };

  enum class HostRows : std::uint8_t { unknown, one, several };

  bool has_one_row(PortId out, std::span<const HostIndex> hosts);
  void send_hosts(const RouteTree& tree, SwitchIndex at, std::size_t destination);
  void send(SwitchIndex at, PortId out, unsigned in, SlSet sls);
  void send_on(const RouteTree& tree, SwitchIndex at);
  std::size_t edge(PortId held, PortId wanted) const {
    const auto begin = wanted_.begin() + first_[local_[held]], end = wanted_.begin() + first_[local_[held] + 1];
    return static_cast<std::size_t>(std::lower_bound(begin, end, local_[wanted]) - wanted_.begin());
  }

  const Network& network_;
  const SlToVlTables& tables_;
  const ServiceLevels& levels_;
  UnknownSl rest_;
  bool lacks_tables_{};
  std::vector<PortId> port_ids_;
  std::vector<std::uint32_t> local_;   // by PortId: its index in port_ids_, or none
  std::vector<std::uint32_t> first_;   // by index in port_ids_: its edges in wanted_ and pairs_
  std::vector<std::uint32_t> wanted_;  // indexes in port_ids_, ascending for each
  unsigned vl_count_;                  // of held VLs
  std::vector<std::uint16_t> pairs_;   // the wanted VLs by edge and held VL
  std::vector<Passing> passing_;       // by switch, for one destination
  std::vector<HostRows> host_rows_;    // by index in port_ids_: the SLtoVL mapping tables that hosts of the switch meet
};

}  // namespace ib::routing
