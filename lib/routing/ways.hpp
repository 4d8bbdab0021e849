// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The ways to one destination LID from all switches with senders. The next hops towards a LID make a graph in which each switch has one
// successor, so that one pass over the switches finds where the packets of all senders go: each switch is looked at once.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "routing/linear_tables.hpp"
#include "routing/network.hpp"

namespace ib::routing {

/// Why packets do not arrive.
enum class Fault : std::uint8_t {
  arrives,
  no_entry,    ///< the switch has no entry, or its entry names a port that it does not have
  dead_port,   ///< the output port has no link, or its link is not Active
  loop,        ///< the packet comes to a switch for the second time
  wrong_node,  ///< it ends at a port that does not own the LID
  not_read,    ///< the entry of the switch was not read, or nothing answered behind the output port
};
std::string_view name(Fault fault);

/// What a switch does with packets to the destination.
struct Step {
  std::uint32_t pass{};     ///< the pass that wrote this
  SwitchIndex next = none;  ///< the next switch
  PlaceIndex out = none;    ///< the port that sends; none if nothing is sent
  SwitchIndex last = none;  ///< where the way ends: the last switch, or the first one of the loop in Ways::cycle_of()
  std::uint32_t senders{};  ///< that are attached to this switch: hosts, and itself
  std::uint16_t links{};    ///< from here to the destination, if it arrives
  std::uint8_t in_port{};   ///< the port of `next` at which packets come in
  Fault fault{};            ///< of the way from here
  bool in_cycle{};
  bool open{};  ///< of a way that is being followed
};

class Ways {
 public:
  /// Both must outlive this. `with_switches`: the switches themselves send too.
  Ways(const Network& network, const LinearTables& tables, bool with_switches);

  /// Finds the ways to `to`. What was found before is lost. With `skip_aggregation`, Aggregation Nodes do not send.
  void find(const DestinationLid& to, bool skip_aggregation = false);

  const DestinationLid& to() const { return to_; }
  /// The switches that packets reach, each one behind its successor (but within loops).
  std::span<const SwitchIndex> reached() const { return reached_; }
  /// What switch `at`, one of reached(), does.
  const Step& step(SwitchIndex at) const { return steps_[at]; }
  bool is_reached(SwitchIndex at) const { return steps_[at].pass == pass_; }
  /// The fault of a host that is attached to no switch, and the port where it is.
  Fault stray_fault(HostIndex host) const;
  /// Whether a host sends packets to the destination.
  bool sends(HostIndex host) const { return host != to_.host && !(skip_aggregation_ && network_.hosts()[host].is_aggregation); }
  bool with_switches() const { return with_switches_; }
  bool skips_aggregation() const { return skip_aggregation_; }
  const Network& network() const { return network_; }

 private:
  std::uint32_t senders_at(SwitchIndex at) const;
  void follow(SwitchIndex at);
  void look_up(SwitchIndex at, Step& step) const;
  void close(SwitchIndex met);

  const Network& network_;
  const LinearTables& tables_;
  bool with_switches_, skip_aggregation_{};
  std::uint32_t pass_{};
  DestinationLid to_;
  std::vector<Step> steps_;                 // by switch
  std::vector<SwitchIndex> starts_;         // switches with senders
  std::vector<std::uint32_t> aggregation_;  // the number of Aggregation Nodes, by switch
  std::vector<SwitchIndex> reached_, open_;
};

}  // namespace ib::routing
