// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The routes to one destination LID from all switches with senders. The next hops towards a LID make a graph in which each switch has one
// successor, so that one pass over the switches finds where the packets of all senders go: each switch is looked at once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "routing/network.hpp"
#include "routing/tables.hpp"

namespace ib::routing {

/// Why packets do not arrive.
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
  bool with_switches() const { return with_switches_; }
  bool skips_aggregation() const { return skip_aggregation_; }
  const Network& network() const { return network_; }

 private:
  std::uint32_t senders_at(SwitchIndex at) const;
  void follow(SwitchIndex at);
  void look_up(SwitchIndex at, Hop& hop) const;
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
// routes.hpp finds the routes of all senders.

struct Route {
  Fault fault{};          ///< not_read: the entry of switch `at` was not read, or with `out` nothing answered behind that port
  SwitchIndex at = none;  ///< the last switch, of a loop one of its switches; none: the packets pass no switch
  PortId out = none;      ///< the port by which it sends, or the port of the sender where `at` is none; none: nothing is sent
};

/// The output port of a LID in the table of a switch: subnet::no_out_port if the switch has no entry; nothing if the entry was not read.
using FindOutPort = std::function<std::optional<std::uint8_t>(SwitchIndex at, Lid lid)>;

/// Follows packets from the end port `from` to `to`. The fault is `not_read` where the network has no such end port.
Route follow(const Network& network, const FindOutPort& out_port, subnet::PortIndex from, Lid to);

}  // namespace ib::routing
