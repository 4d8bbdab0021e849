// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "routing/group_members.hpp"

#include <algorithm>

namespace ib::routing {
namespace {

constexpr unsigned full_member = 1, non_member = 2;  // JoinState (IBA 15.2.5.17)

/// The member with the GUID of a record; nothing if it is not in the fabric.
std::optional<Member> member_of(const Network& network, const sa::MCMemberRecord& record) {
  const subnet::PortIndex port = network.subnet().find_port(record.port_gid.guid());
  if (port == subnet::none) return std::nullopt;
  Member member;
  member.host = network.host_of(port);
  if (member.host == none) member.at = network.switch_of(network.subnet().port(port).node);
  if (member.host == none && member.at == none) return std::nullopt;
  member.receives = (record.join_state & (full_member | non_member)) != 0;
  return member;
}

/// Adds a member. A port that is in two groups of one MLID is one member of both.
void add_member(std::vector<Member>& members, const Member& member) {
  const auto known = std::ranges::find_if(members, [&](const Member& of) { return of.host == member.host && of.at == member.at; });
  if (known == members.end()) {
    members.push_back(member);
  } else {
    known->receives = known->receives || member.receives;
  }
}

}  // namespace

void GroupMembers::add(const Network& network, const sa::MCMemberRecord& record) {
  if (!record.mlid.is_multicast()) return;
  sls[record.mlid.value] |= SlSet{1} << record.sl;
  if (record.port_gid.guid() == Guid{}) return;  // a group whose members the SA does not name
  const auto member = member_of(network, record);
  member ? add_member(members[record.mlid.value], *member) : static_cast<void>(strange.insert(record.port_gid.guid()));
}

std::optional<std::vector<Member>> GroupMembers::find(Lid mlid) const {
  const auto known = members.find(mlid.value);
  return known == members.end() ? std::nullopt : std::optional(known->second);
}

SlSet GroupMembers::sls_of(Lid mlid) const {
  const auto known = sls.find(mlid.value);
  return known == sls.end() ? 0 : known->second;
}

std::vector<Lid> groups_in_use(const MulticastTables& tables, const GroupMembers& known) {
  std::set<Lid> all;
  for (const Lid mlid : tables.groups()) all.insert(mlid);
  for (const auto& [mlid, members] : known.members) all.insert(Lid{mlid});
  return {all.begin(), all.end()};
}

}  // namespace ib::routing
