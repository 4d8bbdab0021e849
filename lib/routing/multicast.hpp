// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Checks of multicast groups: whether the entries of a group form a tree, and whether each member is reached from each other one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "routing/multicast_tables.hpp"
#include "routing/unicast.hpp"

namespace ib::routing {

enum class GroupFault : std::uint8_t {
  loop,         ///< the entries form no tree: packets circulate, or reach a switch by two paths, whether its own table is known or not
  dead_port,    ///< an entry names a port without a link, or with one that is not Active
  no_entry,     ///< packets come to a switch that has no entry for the group, or an entry names a port that its switch does not have
  not_reached,  ///< a member does not get what others send
  not_read,     ///< whether members get it is not known: a table was not read
};
std::string_view name(GroupFault fault);

/// A port that is a member of a group.
struct Member {
  HostIndex host = none;
  SwitchIndex at = none;  ///< for port 0 of a switch
  bool sends = true, receives = true;
};

/// A fault, and the groups that have it.
struct GroupCause {
  GroupFault fault{};
  /// dead_port: the port; no_entry: port 0 of the switch; not_reached: the first member that is not reached; not_read: port 0 of the
  /// switch, the port beyond which nothing answered, or the first member that may not be reached.
  PlaceIndex place = none;
  std::optional<std::uint8_t> missing_port;  ///< no_entry: the port that the entry names, and the switch does not have
  std::vector<SwitchIndex> cycle;            ///< of a loop
  std::vector<std::uint16_t> mlids;
  std::uint64_t pairs{};        ///< of members, where the fault is not_reached or not_read
  std::optional<Pair> example;  ///< of these, with the MLID as DLID
};

/// Returns the members of a group if they are known. Otherwise the hosts to which the entries lead count as members.
using FindMembers = std::function<std::optional<std::vector<Member>>(Lid mlid)>;

class Multicast {
 public:
  Multicast(const Network& network, const MulticastTables& tables, FindMembers members)
      : network_(network), tables_(tables), members_of_(std::move(members)), entry_of_(network.switches().size(), none) {}

  /// Checks a group. Groups come in ascending order.
  void add(Lid mlid);

  std::size_t groups() const { return groups_; }
  std::uint64_t members() const { return members_; }
  /// The causes without not_read; those with the most groups first.
  std::vector<const GroupCause*> findings() const { return sorted(false); }
  std::vector<const GroupCause*> not_read() const { return sorted(true); }
  /// Whether the entries of the group make a tree.
  bool is_tree(Lid mlid) const { return !loops_.contains(mlid.value); }
  /// The members of a group, as add() takes them.
  std::vector<Member> members_of(Lid mlid) const;

 private:
  struct Link {
    std::uint32_t a, b;  ///< nodes of the tree
  };
  struct Flood;

  void check_entries(Lid mlid);
  void check_tree(Lid mlid);
  std::uint32_t tree_node(SwitchIndex at);
  std::vector<SwitchIndex> cycle_through(Link last) const;
  void check_members(Lid mlid);
  void count_lost(Lid mlid, const Flood& flood, const std::vector<Member>& members, const Member& sender);
  Flood flood_from(SwitchIndex first, const std::vector<Member>& members);
  void spread(Flood& flood, const MulticastEntry& from, std::vector<std::uint32_t>& queue) const;
  bool gets(const Flood& flood, const Member& member) const;
  /// The cause with this fault and place. `which` distinguishes further: the cycle of a loop, the group that does not reach a member, the
  /// missing port.
  GroupCause& cause(Lid mlid, GroupFault fault, PlaceIndex place, std::vector<std::uint32_t> which = {});
  PlaceIndex place_of(const Member& member) const;
  Lid lid_of(const Member& member) const;
  SwitchIndex switch_of(const Member& member) const { return member.host == none ? member.at : network_.hosts()[member.host].leaf; }
  std::vector<const GroupCause*> sorted(bool not_read) const;

  const Network& network_;
  const MulticastTables& tables_;
  FindMembers members_of_;
  std::span<const MulticastEntry> entries_;  // of the group that is being checked
  std::vector<std::uint32_t> entry_of_;      // by switch: index in entries_, or none
  std::vector<SwitchIndex> tree_;            // the nodes of the tree: the switches of the entries, then those that were not read
  std::vector<Link> links_;                  // that were joined so far
  bool is_one_way_{};                        // a link is named by one of its two switches only
  std::size_t groups_{};
  std::uint64_t members_{};
  std::map<std::tuple<GroupFault, PlaceIndex, std::vector<std::uint32_t>>, GroupCause> causes_;
  std::set<std::uint16_t> loops_;
};

}  // namespace ib::routing
