// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "routing/multicast.hpp"

#include <algorithm>
#include <numeric>

namespace ib::routing {

std::string_view name(GroupFault fault) {
  switch (fault) {
    case GroupFault::loop:
      return "loop";
    case GroupFault::dead_port:
      return "dead_port";
    case GroupFault::no_entry:
      return "no_entry";
    case GroupFault::not_reached:
      return "not_reached";
    case GroupFault::not_read:
      return "not_read";
  }
  return "";
}

/// The switches reached by packets that enter the network at one switch.
struct Multicast::Flood {
  std::vector<bool> reached;      // by entry
  std::vector<std::size_t> lost;  // members that get nothing
  bool meets_unread{};
};

void Multicast::add(Lid mlid) {
  ++groups_;
  entries_ = tables_.entries(mlid);
  for (std::uint32_t i = 0; i < entries_.size(); ++i) entry_of_[entries_[i].at] = i;
  check_entries(mlid);
  check_tree(mlid);
  check_members(mlid);
  for (const MulticastEntry& entry : entries_) entry_of_[entry.at] = none;
}

void Multicast::check_entries(Lid mlid) {
  for (const MulticastEntry& entry : entries_) {
    const Switch& at = network_.switches()[entry.at];
    entry.ports.each([&](unsigned port) {
      if (port == 0) return;
      if (port >= at.slots) {
        cause(mlid, GroupFault::no_entry, at.first_place, {port}).missing_port = static_cast<std::uint8_t>(port);
        return;
      }
      const Wire& wire = network_.wire(at.first_place + port);
      if (!wire.carries()) {
        cause(mlid, wire.to == Wire::To::silent ? GroupFault::not_read : GroupFault::dead_port, at.first_place + port);
      }
      if (wire.to != Wire::To::switch_port || entry_of_[wire.index] != none) return;
      const GroupFault fault = tables_.is_known(wire.index) ? GroupFault::no_entry : GroupFault::not_read;
      cause(mlid, fault, network_.place(wire.index, 0));
    });
  }
}

/// The node of a switch in the tree: its entry, or one of its own if its table was not read; none if it is known to have no entry.
std::uint32_t Multicast::tree_node(SwitchIndex at) {
  if (entry_of_[at] != none) return entry_of_[at];
  if (tables_.is_known(at)) return none;
  const auto unread = tree_.begin() + static_cast<std::ptrdiff_t>(entries_.size());
  const auto known = std::find(unread, tree_.end(), at);
  if (known == tree_.end()) {
    tree_.push_back(at);
    return static_cast<std::uint32_t>(tree_.size() - 1);
  }
  return static_cast<std::uint32_t>(known - tree_.begin());
}

/// Joins the switches of the group link by link. A link between two switches that are joined already closes a loop. A switch whose table
/// was not read is reached by the entries of its neighbours: two such entries are two paths to it.
void Multicast::check_tree(Lid mlid) {
  std::vector<std::uint32_t> root(entries_.size());
  std::iota(root.begin(), root.end(), 0U);
  const auto find = [&root](std::uint32_t at) {
    while (root[at] != at) at = root[at] = root[root[at]];
    return at;
  };
  tree_.clear();
  for (const MulticastEntry& entry : entries_) tree_.push_back(entry.at);
  links_.clear();
  is_one_way_ = false;
  for (std::uint32_t i = 0; i < entries_.size(); ++i) {
    const Switch& at = network_.switches()[entries_[i].at];
    entries_[i].ports.each([&](unsigned port) {
      if (port == 0 || port >= at.slots) return;
      const Wire& wire = network_.wire(at.first_place + port);
      if (wire.to != Wire::To::switch_port) return;
      const std::uint32_t peer = tree_node(wire.index);
      if (peer == none) return;
      if (peer >= root.size()) root.push_back(peer);
      // A link that both switches name counts once: for the lower one, or, for a cable from a switch to itself, the lower port.
      const bool is_read = peer < entries_.size();
      const bool is_mutual = is_read && entries_[peer].ports.has(wire.in_port);
      is_one_way_ = is_one_way_ || (is_read && !is_mutual);
      if (is_mutual && (peer < i || (peer == i && wire.in_port < port))) return;
      if (find(i) != find(peer)) {
        root[find(i)] = find(peer);
        links_.push_back({i, peer});
      } else if (loops_.insert(mlid.value).second) {
        cause(mlid, GroupFault::loop, none, cycle_through({i, peer}));
      }
    });
  }
}

/// The switches on the way between the two ends of `last`, which are joined already.
std::vector<SwitchIndex> Multicast::cycle_through(Link last) const {
  std::vector<std::vector<std::uint32_t>> next(tree_.size());
  for (const Link& link : links_) {
    next[link.a].push_back(link.b);
    next[link.b].push_back(link.a);
  }
  std::vector<std::uint32_t> before(tree_.size(), none), queue{last.a};
  before[last.a] = last.a;
  for (std::size_t head = 0; head < queue.size() && before[last.b] == none; ++head) {
    for (const std::uint32_t peer : next[queue[head]]) {
      if (before[peer] != none) continue;
      before[peer] = queue[head];
      queue.push_back(peer);
    }
  }
  std::vector<SwitchIndex> cycle;
  for (std::uint32_t at = last.b; at != last.a; at = before[at]) cycle.push_back(tree_[at]);
  cycle.push_back(tree_[last.a]);
  std::ranges::rotate(cycle, std::ranges::min_element(cycle));
  return cycle;
}

std::vector<Member> Multicast::members_of(Lid mlid) const {
  if (members_of_) {
    auto known = members_of_(mlid);
    if (known) return std::move(*known);
  }
  std::vector<Member> found;
  for (const MulticastEntry& entry : tables_.entries(mlid)) {
    const Switch& at = network_.switches()[entry.at];
    entry.ports.each([&](unsigned port) {
      if (port >= at.slots) return;
      const Wire& wire = network_.wire(at.first_place + port);
      if (port == 0) {
        found.push_back({none, entry.at});
      } else if (wire.to == Wire::To::host) {
        found.push_back({wire.index, none});
      }
    });
  }
  return found;
}

void Multicast::check_members(Lid mlid) {
  const std::vector<Member> members = members_of(mlid);
  members_ += members.size();
  std::map<SwitchIndex, std::size_t> flood_of;
  std::vector<Flood> floods;
  for (const Member& sender : members) {
    const SwitchIndex first = switch_of(sender);
    if (!sender.sends || first == none) continue;
    const auto [known, is_new] = flood_of.try_emplace(first, floods.size());
    if (is_new) {
      // Where all links lead both ways, packets come to the same switches wherever among these they begin.
      const std::uint32_t entry = entry_of_[first];
      const auto same =
          is_one_way_ || entry == none ? floods.end() : std::ranges::find_if(floods, [&](const Flood& f) { return f.reached[entry]; });
      if (same == floods.end()) {
        floods.push_back(flood_from(first, members));
      } else {
        known->second = static_cast<std::size_t>(same - floods.begin());
      }
    }
    count_lost(mlid, floods[known->second], members, sender);
  }
}

Multicast::Flood Multicast::flood_from(SwitchIndex first, const std::vector<Member>& members) {
  Flood flood{std::vector<bool>(entries_.size()), {}, false};
  std::vector<std::uint32_t> queue;
  if (entry_of_[first] == none) {
    flood.meets_unread = !tables_.is_known(first);
  } else {
    queue.push_back(entry_of_[first]);
    flood.reached[queue[0]] = true;
  }
  for (std::size_t head = 0; head < queue.size(); ++head) spread(flood, entries_[queue[head]], queue);
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i].receives && !gets(flood, members[i])) flood.lost.push_back(i);
  }
  return flood;
}

void Multicast::spread(Flood& flood, const MulticastEntry& from, std::vector<std::uint32_t>& queue) const {
  flood.meets_unread = flood.meets_unread || !tables_.is_known(from.at);
  const Switch& at = network_.switches()[from.at];
  from.ports.each([&](unsigned port) {
    if (port == 0 || port >= at.slots) return;
    const Wire& wire = network_.wire(at.first_place + port);
    flood.meets_unread = flood.meets_unread || wire.to == Wire::To::silent;
    if (wire.to != Wire::To::switch_port) return;
    const std::uint32_t next = entry_of_[wire.index];
    if (next == none) {
      flood.meets_unread = flood.meets_unread || !tables_.is_known(wire.index);
    } else if (!flood.reached[next]) {
      flood.reached[next] = true;
      queue.push_back(next);
    }
  });
}

bool Multicast::gets(const Flood& flood, const Member& member) const {
  const SwitchIndex at = switch_of(member);
  if (at == none || entry_of_[at] == none || !flood.reached[entry_of_[at]]) return false;
  return entries_[entry_of_[at]].ports.has(member.host == none ? 0U : network_.hosts()[member.host].leaf_port);
}

void Multicast::count_lost(Lid mlid, const Flood& flood, const std::vector<Member>& members, const Member& sender) {
  const auto is_other = [&](std::size_t i) { return members[i].host != sender.host || members[i].at != sender.at; };
  const auto first = std::ranges::find_if(flood.lost, is_other);
  if (first == flood.lost.end()) return;
  const bool is_sender_lost = static_cast<std::size_t>(std::ranges::count_if(flood.lost, is_other)) != flood.lost.size();
  const GroupFault fault = flood.meets_unread ? GroupFault::not_read : GroupFault::not_reached;
  GroupCause& of = cause(mlid, fault, none, {mlid.value});  // one of each group, named by the first member
  if (of.place == none) of.place = place_of(members[*first]);
  of.pairs += flood.lost.size() - (is_sender_lost ? 1 : 0);
  if (!of.example) of.example = Pair{lid_of(sender), mlid};
}

PlaceIndex Multicast::place_of(const Member& member) const {
  return member.host == none ? network_.place(member.at, 0) : network_.place_of_host(member.host);
}

Lid Multicast::lid_of(const Member& member) const {
  return member.host == none ? network_.lid_of(member.at) : network_.hosts()[member.host].base;
}

GroupCause& Multicast::cause(Lid mlid, GroupFault fault, PlaceIndex place, std::vector<std::uint32_t> which) {
  const auto [known, is_new] = causes_.try_emplace({fault, place, which});
  GroupCause& of = known->second;
  if (is_new) {
    of.fault = fault;
    of.place = place;
    if (fault == GroupFault::loop) of.cycle = std::move(which);
  }
  if (of.mlids.empty() || of.mlids.back() != mlid.value) of.mlids.push_back(mlid.value);
  return of;
}

std::vector<const GroupCause*> Multicast::sorted(bool not_read) const {
  std::vector<const GroupCause*> found;
  for (const auto& [key, of] : causes_) {
    if ((of.fault == GroupFault::not_read) == not_read) found.push_back(&of);
  }
  std::ranges::stable_sort(found, [](const GroupCause* a, const GroupCause* b) { return a->mlids.size() > b->mlids.size(); });
  return found;
}

}  // namespace ib::routing
