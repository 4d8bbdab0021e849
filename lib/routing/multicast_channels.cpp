// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "routing/multicast_channels.hpp"

#include <algorithm>
#include <bit>

namespace ib::routing {

MulticastChannels::MulticastChannels(const Network& network, const MulticastTables& tables, const Multicast& multicast)
    : network_(network),
      tables_(tables),
      multicast_(multicast),
      groups_(tables.groups()),
      entry_of_(network.switches().size(), none),
      seen_(network.place_count()) {
  std::erase_if(groups_, [&](Lid mlid) { return !multicast.is_tree(mlid); });
  for (const Lid mlid : groups_) {
    const std::vector<Member> members = multicast.members_of(mlid);
    switches_send_ =
        switches_send_ || std::ranges::any_of(members, [](const Member& member) { return member.host == none && member.sends; });
  }
}

bool MulticastChannels::knows_all_sls() const {
  return std::ranges::all_of(groups_, [&](Lid mlid) { return sls_of && sls_of(mlid) != 0; });
}

void MulticastChannels::walk(Lid mlid, std::span<const Member> members, const FindLane& lane, const UseEdge& use) {
  entries_ = tables_.entries(mlid);
  for (std::uint32_t i = 0; i < entries_.size(); ++i) entry_of_[entries_[i].at] = i;
  queue_.clear();
  for (const Member& member : members) {
    if (!member.sends) continue;
    if (member.host == none) {
      forward(nullptr, member.at, 0, lane, use);
    } else if (const Host& host = network_.hosts()[member.host]; host.leaf != none) {
      const Held held{network_.place_of_host(member.host), no_vl};
      forward(&held, host.leaf, host.leaf_port, lane, use);
    }
  }
  for (std::size_t head = 0; head < queue_.size(); ++head) {
    const Held held = queue_[head];
    const Wire& wire = network_.wire(held.place);
    if (wire.to == Wire::To::switch_port) forward(&held, wire.index, wire.in_port, lane, use);
  }
  for (const Held& held : queue_) seen_[held.place] = 0;
  for (const MulticastEntry& entry : entries_) entry_of_[entry.at] = none;
}

void MulticastChannels::forward(const Held* held, SwitchIndex at, unsigned in, const FindLane& lane, const UseEdge& use) {
  if (entry_of_[at] == none) return;
  const Switch& from = network_.switches()[at];
  entries_[entry_of_[at]].ports.each([&](unsigned port) {
    if (port == 0 || port == in || port >= from.slots || !network_.wire(from.first_place + port).carries()) return;
    const PlaceIndex out = from.first_place + port;
    const std::optional<unsigned> vl = lane(out, in);
    if (!vl) return;
    if (held != nullptr) use(*held, {out, *vl});
    if ((seen_[out] >> *vl & 1) != 0) return;
    seen_[out] |= 1U << *vl;
    queue_.push_back({out, *vl});
  });
}

void MulticastChannels::add_to(Channels& channels, Lid mlid) {
  const FindLane any = [](PlaceIndex /*out*/, unsigned /*in*/) { return no_vl; };
  const UseEdge use = [&channels](Held held, Held wanted) { channels.add_edge(held.place, wanted.place); };
  walk(mlid, multicast_.members_of(mlid), any, use);
}

bool MulticastChannels::add_to(LaneGraph& lanes, Lid mlid) {
  const UseEdge use = [&lanes](Held held, Held wanted) {
    const bool are_in = !lanes.network().is_host_place(held.place) && lanes.is_in(held.place) && lanes.is_in(wanted.place);
    if (are_in) lanes.add_edge(held.place, held.vl, wanted.place, wanted.vl);
  };
  return walk_lanes(mlid, multicast_.members_of(mlid), lanes, use);
}

bool MulticastChannels::walk_lanes(Lid mlid, std::span<const Member> members, const LaneGraph& lanes, const UseEdge& use) {
  bool complete = true;
  SlSet sls = sls_of ? sls_of(mlid) : 0;
  if (sls == 0) sls = ServiceLevels().of_rest(lanes.rest());
  for (; sls != 0; sls &= sls - 1) {
    const auto sl = static_cast<unsigned>(std::countr_zero(sls));
    const FindLane lane = [&](PlaceIndex out, unsigned in) -> std::optional<unsigned> {
      if (!lanes.is_in(out)) return no_vl;
      const LaneRow* const row = lanes.tables().find(network_.switch_at(out), in, network_.port_at(out));
      if (row == nullptr) complete = false;
      if (row == nullptr || (*row)[sl] >= dropped_vl) return std::nullopt;
      return (*row)[sl];
    };
    walk(mlid, members, lane, use);
  }
  return complete;
}

std::optional<Lid> MulticastChannels::sender(Lid mlid, const LoopChannel& held, const LoopChannel& wanted, const LaneGraph* lanes) {
  const FindLane any = [](PlaceIndex /*out*/, unsigned /*in*/) { return no_vl; };
  for (const Member& member : multicast_.members_of(mlid)) {
    bool found = false;
    const UseEdge use = [&](Held from, Held to) {
      const bool are_ports = from.place == held.place && to.place == wanted.place;
      found = found || (are_ports && (lanes == nullptr || (from.vl == held.vl && to.vl == wanted.vl)));
    };
    if (lanes == nullptr) {
      walk(mlid, {&member, 1}, any, use);
    } else {
      walk_lanes(mlid, {&member, 1}, *lanes, use);
    }
    if (found) return member.host == none ? network_.lid_of(member.at) : network_.hosts()[member.host].base;
  }
  return std::nullopt;
}

}  // namespace ib::routing
