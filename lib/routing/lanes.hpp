// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The dependencies between pairs of port and VL: which one a packet may wait for while it holds another one. A cycle of these is also one
// of ports, so only ports in cycles of the graph over ports alone (channels.hpp) are looked at. The VL on an output port depends on the
// input port, the output port and the SL; the SL stays the same on the whole way.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "routing/channels.hpp"
#include "routing/service_levels.hpp"
#include "routing/sl_to_vl.hpp"

namespace ib::routing {

/// SLtoVL mapping tables that a verdict needs: of one output port, for some input ports.
struct WantedLanes {
  SwitchIndex at{};
  std::uint8_t out{};
  std::vector<std::uint8_t> in;
};
/// The tables that LaneGraph looks at. `places`: ports in cycles of channels.graph().
std::vector<WantedLanes> wanted_lanes(const Channels& channels, std::span<const PlaceIndex> places, bool with_switches);

/// A port that sends, and a VL on it.
struct LoopChannel {
  PlaceIndex place{};
  std::optional<std::uint8_t> vl;  ///< nothing where lanes were not looked at
};

class LaneGraph {
 public:
  static constexpr unsigned lanes = 16;

  /// All must outlive this. `places`: ports in cycles of channels.graph().
  LaneGraph(const Channels& channels, std::span<const PlaceIndex> places, const SlToVlTables& tables, const ServiceLevels& levels,
            UnknownSl rest);

  /// Adds the dependencies of the packets to the destination with that number.
  void add(const Ways& ways, std::size_t destination);
  /// Adds an edge.
  void add_edge(PlaceIndex held, unsigned held_vl, PlaceIndex wanted, unsigned wanted_vl);

  /// Whether a table was needed that was not read.
  bool lacks_tables() const { return lacks_tables_; }
  bool is_in(PlaceIndex place) const { return local_[place] != none; }
  const Network& network() const { return network_; }
  const SlToVlTables& tables() const { return tables_; }
  UnknownSl rest() const { return rest_; }
  PlaceIndex place(std::uint32_t node) const { return places_[node / lanes]; }
  static unsigned vl(std::uint32_t node) { return node % lanes; }
  std::uint64_t edge_count() const;
  Digraph graph() const;

 private:
  using Masks = std::array<std::uint16_t, sl_count + 1>;  // a set of VLs by SL

  struct Passing {
    SlSet sls{};  // of packets that leave the switch
    Masks vls{};  // on the output port
  };

  enum class HostRows : std::uint8_t { unknown, one, several };

  bool has_one_row(PlaceIndex out, std::span<const HostIndex> hosts);
  void send_hosts(const Ways& ways, SwitchIndex at, std::size_t destination);
  void send_all_hosts(SwitchIndex at, PlaceIndex out);
  void send(SwitchIndex at, PlaceIndex out, unsigned in, SlSet sls);
  void send_on(const Ways& ways, SwitchIndex at);
  const LaneRow* row(PlaceIndex out, unsigned in);
  std::size_t edge(PlaceIndex held, PlaceIndex wanted) const;

  const Network& network_;
  const SlToVlTables& tables_;
  const ServiceLevels& levels_;
  UnknownSl rest_;
  bool lacks_tables_{};
  std::vector<PlaceIndex> places_;
  std::vector<std::uint32_t> local_;   // by place: its index in places_, or none
  std::vector<std::uint32_t> first_;   // by index in places_: its edges in wanted_ and pairs_
  std::vector<std::uint32_t> wanted_;  // indexes in places_, ascending for each
  unsigned vl_count_;                  // of held VLs
  std::vector<std::uint16_t> pairs_;   // the wanted VLs by edge and held VL
  std::vector<Passing> passing_;       // by switch, for one destination
  std::vector<Passing> from_hosts_;    // by index in places_: what all hosts of the switch send; none of it: not known yet
  std::vector<HostRows> host_rows_;    // by index in places_: the SLtoVL mapping tables that hosts of the switch meet
};

}  // namespace ib::routing
