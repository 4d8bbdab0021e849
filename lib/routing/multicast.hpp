// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Checks of multicast groups: whether the entries of a group form a tree, and whether each member is reached from each other one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "iba-gen/sa.hpp"
#include "routing/tables.hpp"
#include "routing/unicast.hpp"

namespace ib::routing {

struct Member {
  HostIndex host = none;
  SwitchIndex at = none;  ///< for port 0 of a switch
  bool sends = true, receives = true;
};

// The members and the SLs of multicast groups, as the MCMemberRecords of the SA (IBA 15.2.5.17) name them.

/// Groups that share an MLID are one.
struct GroupMembers {
  std::map<std::uint16_t, std::vector<Member>> members;  ///< by MLID
  std::map<std::uint16_t, SlSet> sls;                    ///< by MLID
  /// GUIDs of members that no port of the fabric has: virtual ports, or ports that are gone.
  std::set<Guid> strange;

  void add(const Network& network, const sa::MCMemberRecord& record);
};

class Multicast {
 public:
  /// Of groups that `known` does not have (it may be null), the hosts to which the entries lead count as members. All must outlive this.
  Multicast(const Network& network, const MulticastTables& tables, const GroupMembers* known)
      : network_(network), tables_(tables), known_(known), entry_of_(network.switches().size(), none) {}

  /// Checks a group. Groups come in ascending order.
  void add(Lid mlid);

  std::size_t groups() const { return groups_; }
  std::uint64_t members() const { return members_; }
  /// The causes without not_read; those with the most groups first. The LIDs of a cause are the MLIDs of the groups that have it.
  std::vector<const Cause*> findings() const { return sorted(false); }
  std::vector<const Cause*> not_read() const { return sorted(true); }
  bool is_tree(Lid mlid) const { return !loops_.contains(mlid.value); }
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
  /// The cause with this fault and port. `which` distinguishes further: the cycle of a loop, the group that does not reach a member, the
  /// missing port.
  Cause& cause(Lid mlid, Fault fault, PortId port_id, std::vector<std::uint32_t> which = {});
  Lid lid_of(const Member& member) const { return member.host == none ? network_.lid_of(member.at) : network_.hosts()[member.host].base; }
  SwitchIndex switch_of(const Member& member) const { return member.host == none ? member.at : network_.hosts()[member.host].leaf; }
  std::vector<const Cause*> sorted(bool not_read) const;

  const Network& network_;
  const MulticastTables& tables_;
  const GroupMembers* known_;
  std::span<const MulticastEntry> entries_;  // of the group that is being checked
  std::vector<std::uint32_t> entry_of_;      // by switch: index in entries_, or none
  std::vector<SwitchIndex> tree_;            // the nodes of the tree: the switches of the entries, then the unread ones
  std::vector<Link> links_;                  // that were joined so far
  bool is_one_way_{};                        // a link is named by one of its two switches only
  std::size_t groups_{};
  std::uint64_t members_{};
  using CausesAtPort = std::map<std::vector<std::uint32_t>, Cause, SequenceLess>;  // by what else distinguishes them, see cause()
  std::map<std::pair<int, PortId>, CausesAtPort> causes_;                          // by fault (loops first) and port
  std::set<std::uint16_t> loops_;
};

/// The MLIDs with an entry or with members, in ascending order.
std::vector<Lid> groups_in_use(const MulticastTables& tables, const GroupMembers& known);

/// All MCMemberRecords of the SA. Empty without an SA or a whole table, for the reason `why`. Throws SysError.
async::Task<std::vector<sa::MCMemberRecord>> read_group_records(mad::Transactor& transactor, std::string& why);

}  // namespace ib::routing
