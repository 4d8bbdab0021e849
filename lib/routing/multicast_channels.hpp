// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The dependencies between channels that multicast packets add: a multicast tree can close a loop that unicast routes leave open.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "routing/lanes.hpp"
#include "routing/multicast.hpp"

namespace ib::routing {

class MulticastChannels {
 public:
  /// All must outlive this. Groups whose entries are not trees are left out: their loops are findings by themselves.
  MulticastChannels(const Network& network, const MulticastTables& tables, const Multicast& multicast);

  /// Returns the SLs of a group; 0 if they are not known. If this function is empty, the SLs of no group are known.
  std::function<SlSet(Lid mlid)> sls_of;

  std::span<const Lid> groups() const { return groups_; }
  /// Whether port 0 of a switch is a member that sends.
  bool switches_send() const { return switches_send_; }
  /// Whether the SLs of all groups are known.
  bool knows_all_sls() const;
  /// Adds the dependencies of the packets of a group between ports.
  void add_to(Channels& channels, Lid mlid);
  /// Adds the dependencies of the packets of a group between pairs of port and VL. Returns false if a table was needed that was not read.
  bool add_to(LaneGraph& lanes, Lid mlid);
  /// The LID of a member whose packets hold `held` and want `wanted`; nothing if there is none. If `lanes` is null, VLs are not looked at.
  std::optional<Lid> sender(Lid mlid, const LoopChannel& held, const LoopChannel& wanted, const LaneGraph* lanes);

 private:
  static constexpr unsigned no_vl = LaneGraph::lanes;
  struct Held {
    PlaceIndex place;
    unsigned vl;
  };
  /// Returns the VL of a packet that a switch sends through `out`; nothing if the packet is not sent.
  using FindLane = std::function<std::optional<unsigned>(PlaceIndex out, unsigned in)>;
  using UseEdge = std::function<void(Held held, Held wanted)>;

  void walk(Lid mlid, std::span<const Member> members, const FindLane& lane, const UseEdge& use);
  /// Walks once with each SL that the group may use. Returns false if a table was needed that was not read.
  bool walk_lanes(Lid mlid, std::span<const Member> members, const LaneGraph& lanes, const UseEdge& use);
  void forward(const Held* held, SwitchIndex at, unsigned in, const FindLane& lane, const UseEdge& use);

  const Network& network_;
  const MulticastTables& tables_;
  const Multicast& multicast_;
  std::vector<Lid> groups_;
  bool switches_send_{};
  std::vector<std::uint32_t> entry_of_;  // by switch, for one group
  std::span<const MulticastEntry> entries_;
  std::vector<std::uint32_t> seen_;  // by place: the VLs with which it was seen
  std::vector<Held> queue_;
};

}  // namespace ib::routing
