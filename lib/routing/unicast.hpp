// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The routes to one destination LID from all switches with senders. The next hops towards a LID make a graph in which each switch has one
// successor, so that one pass over the switches finds where the packets of all senders go: each switch is looked at once.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "routing/network.hpp"
#include "routing/tables.hpp"

namespace ib::routing {

enum class Fault : std::uint8_t {
  arrives,
  not_reached,  ///< multicast: a member does not get what others send
  no_entry,     ///< the switch has no entry, or its entry names a port that it does not have
  dead_port,    ///< the output port has no link, or its link is not Active
  loop,         ///< the packet comes to a switch for the second time; of multicast, the entries of a group form no tree
  wrong_node,   ///< it ends at a port that does not own the LID
  not_read,     ///< the entry of the switch was not read, or nothing answered behind the output port
};
std::string_view name(Fault fault);

struct Hop {
  std::uint32_t pass{};     ///< the pass that wrote this
  SwitchIndex next = none;  ///< the next switch
  PortId out = none;        ///< the port that sends; none if nothing is sent
  SwitchIndex last = none;  ///< where the route ends: the last switch, or the first one of the loop in RouteTree::cycle_of()
  std::uint32_t senders{};  ///< that are attached to this switch: hosts, and itself
  std::uint16_t links{};    ///< from here to the destination, if it arrives
  std::uint8_t in_port{};   ///< the port of `next` at which packets come in
  Fault fault{};            ///< of the route from here
  bool in_cycle{};
  bool open{};  ///< of a route that is being followed
};

class RouteTree {
 public:
  /// Both must outlive this. `with_switches`: the switches themselves send too.
  RouteTree(const Network& network, const LinearTables& tables, bool with_switches);

  /// Finds the routes to `to`. What was found before is lost. With `skip_aggregation`, Aggregation Nodes do not send.
  void find(const DestinationLid& to, bool skip_aggregation = false);

  const DestinationLid& to() const { return to_; }
  /// The switches that packets reach, each one behind its successor (but within loops).
  std::span<const SwitchIndex> reached() const { return reached_; }
  /// What switch `at`, one of reached(), does.
  const Hop& hop(SwitchIndex at) const { return hops_[at]; }
  bool is_reached(SwitchIndex at) const { return hops_[at].pass == pass_; }
  /// The fault of a host that is attached to no switch, and the port where it is.
  Fault stray_fault(HostIndex host) const;
  bool sends(HostIndex host) const { return host != to_.host && !(skip_aggregation_ && network_.hosts()[host].is_aggregation); }
  bool switch_sends(SwitchIndex at) const { return with_switches_ && to_.at != at && network_.lid_of(at).value != 0; }
  const Network& network() const { return network_; }

 private:
  std::uint32_t senders_at(SwitchIndex at) const;
  void follow(SwitchIndex at);
  void close(SwitchIndex met);

  const Network& network_;
  const LinearTables& tables_;
  bool with_switches_, skip_aggregation_{};
  std::uint32_t pass_{};
  DestinationLid to_;
  std::vector<Hop> hops_;                   // by switch
  std::vector<SwitchIndex> starts_;         // switches with senders
  std::vector<std::uint32_t> aggregation_;  // the number of Aggregation Nodes, by switch
  std::vector<SwitchIndex> reached_, open_;
};

// The route of packets from one port to one LID, switch by switch, for a few routes of a fabric whose tables are not read as a whole.
// RouteTree finds the routes of all senders.

struct Route {
  Fault fault{};          ///< not_read: the entry of switch `at` was not read, or with `out` nothing answered behind that port
  SwitchIndex at = none;  ///< the last switch, of a loop one of its switches; none: the packets pass no switch
  PortId out = none;      ///< the port by which it sends, or the port of the sender where `at` is none; none: nothing is sent
};

/// The output port of a LID in the table of a switch: subnet::no_out_port if the switch has no entry; nothing if the entry was not read.
using FindOutPort = std::function<std::optional<std::uint8_t>(SwitchIndex at, Lid lid)>;

/// Follows packets from the end port `from` to `to`. The fault is `not_read` where the network has no such end port.
Route follow(const Network& network, const FindOutPort& out_port, subnet::PortIndex from, Lid to);

// Counts the pairs of a sender and a destination LID that arrive, by the number of links, and finds the causes why others do not. A
// cause is one wrong entry, one dead port, one loop, …: thousands of pairs may have the same cause.

struct Pair {
  Lid slid, dlid;
  bool operator==(const Pair&) const = default;
};

/// A reason why pairs are lost, or why it is not known whether they arrive (Fault::not_read).
struct Cause {
  Fault fault{};
  /// The output port; port 0 of the switch for no_entry, and for not_read where that is the entry; none for a loop. Of multicast: for
  /// not_reached and not_read also the first member that is not reached or may not be.
  PortId port_id = none;
  std::vector<SwitchIndex> cycle;   ///< the switches of a loop in the order of packets, the one with the lowest index first
  std::vector<std::uint16_t> lids;  ///< destinations, ascending
  std::uint64_t pairs{};            ///< of multicast of members, where the fault is not_reached or not_read
  Pair example;                     ///< of these, if there are any
  /// Of multicast, no_entry: the port that the entry names, and the switch does not have.
  std::optional<std::uint8_t> missing_port{};
};

class Unicast {
 public:
  /// All must outlive this.
  Unicast(const Network& network, std::span<const DestinationLid> destinations) : network_(network), distances_(network, destinations) {}

  /// Counts the pairs of one destination. Destinations come in ascending order.
  void add(const RouteTree& tree);

  std::uint64_t pairs() const { return pairs_; }
  std::uint64_t arrived() const { return arrived_; }
  /// Pairs that meet a table that was not read, so that it is not known whether they arrive.
  std::uint64_t unknown() const;
  /// Pairs that arrive by their number of links from port to port.
  std::span<const std::uint64_t> hops() const { return hops_; }
  /// Pairs that arrive over more links than the shortest route has.
  std::uint64_t longer() const { return longer_; }
  /// The causes without Fault::not_read; those with the most pairs first.
  std::vector<const Cause*> findings() const { return sorted(false); }
  std::vector<const Cause*> not_read() const { return sorted(true); }

 private:
  /// Loops beyond this number are counted as one cause for each switch where they are entered first: false tables must not fill the memory.
  static constexpr std::size_t most_loops = 4096;

  void count_hops(std::size_t hops, std::uint16_t shortest, std::uint64_t pairs);
  void lose(Cause& cause, const RouteTree& tree, Lid sender, std::uint64_t pairs);
  Lid first_sender(const RouteTree& tree, SwitchIndex at) const;
  Cause& cause_of(const RouteTree& tree, const Hop& hop);
  Cause& cause_at(Fault fault, PortId port_id);
  Cause& loop_of(const RouteTree& tree, SwitchIndex met);
  std::vector<const Cause*> sorted(bool not_read) const;

  const Network& network_;
  Distances distances_;
  std::uint64_t pairs_{}, arrived_{}, longer_{};
  std::vector<std::uint64_t> hops_;
  std::vector<Cause> causes_;
  std::array<std::vector<std::uint32_t>, 7> cause_at_;  // by fault, then by PortId; filled when the fault is first met
  std::map<std::vector<SwitchIndex>, std::uint32_t, SequenceLess> loops_;
  std::vector<SwitchIndex> cycle_;
};

// The number of routes (pairs that arrive) and of destination LIDs that each link carries in each direction.

struct LoadSummary {
  std::size_t directions{};  ///< links, each counted in its two directions
  std::size_t unused{};      ///< directions without routes
  std::uint64_t least{}, greatest{}, sum{};
  PortId greatest_at = none;  ///< the first port with the greatest load
  double mean() const { return directions == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(directions); }
  void add(PortId port_id, std::uint64_t routes);
};

class Load {
 public:
  explicit Load(const Network& network)
      : network_(network),
        routes_(network.port_id_count()),
        lids_(network.port_id_count()),
        arriving_lids_(network.switches().size()),
        own_lids_(network.hosts().size()),
        weights_(network.switches().size()) {}
  void add(const RouteTree& tree);
  /// To be called after the last destination.
  void finish();

  std::uint64_t routes(PortId port_id) const { return routes_[port_id]; }
  std::uint32_t lids(PortId port_id) const { return lids_[port_id]; }

  LoadSummary host_links() const;
  LoadSummary switch_links() const;
  /// The links between switches by tier: [2n] from tier n upwards, [2n + 1] down to it. Empty if the fabric has no tiers.
  std::vector<LoadSummary> tiers() const;

 private:
  const Network& network_;
  std::vector<std::uint64_t> routes_;
  std::vector<std::uint32_t> lids_;
  std::vector<std::uint32_t> arriving_lids_;  // by switch: LIDs to which it delivers what its hosts send
  std::vector<std::uint32_t> own_lids_;       // by host: of these, its own, to which it does not send
  std::vector<std::uint64_t> weights_;        // by switch, for one destination
};

/// The tier of each switch: its distance in links from the nearest leaf. Leaves are the switches with more than half as many hosts as the
/// switch with most hosts, and switches with fewer hosts that are not linked to such a leaf: a host on a spine does not make the spine a
/// leaf. Aggregation Nodes, which are inside of switches, do not count as hosts. Nothing if there are no tiers: a link joins two switches
/// of one tier, or a switch has no path to a leaf.
std::optional<std::vector<std::uint32_t>> tiers_of(const Network& network);

// Whether the ports of a switch that lead to other switches carry the same load: the number of LIDs of end ports that leave by each.

struct PortUse {
  unsigned port{};
  unsigned lids{};
};

struct SwitchUse {
  std::vector<PortUse> ports;  ///< the ports that lead to other switches
  unsigned in_use{};           ///< the number of ports that have a link or carry LIDs, including ports to end ports
};

/// Nothing if the table of the switch was not read as a whole.
std::optional<SwitchUse> switch_use(const Network& network, const LinearTables& tables, SwitchIndex at);

/// Whether a port carries at least two LIDs more than another. With `deeper`, a switch with more than 12 used ports is also balanced in
/// two cases: about half of the ports carry less than the others, and the same load each; or all ports that carry less carry nothing.
bool is_unbalanced(const SwitchUse& of, bool deeper);

}  // namespace ib::routing
