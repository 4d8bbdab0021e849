// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The members and the SLs of multicast groups, as the MCMemberRecords of the SA (IBA 15.2.5.17) name them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "iba-gen/sa.hpp"
#include "routing/multicast.hpp"
#include "routing/service_levels.hpp"

namespace ib::routing {

/// Groups that share an MLID are one.
struct GroupMembers {
  std::map<std::uint16_t, std::vector<Member>> members;  ///< by MLID
  std::map<std::uint16_t, SlSet> sls;                    ///< by MLID
  /// GUIDs of members that no port of the fabric has: virtual ports, or ports that are gone.
  std::set<Guid> strange;

  void add(const Network& network, const sa::MCMemberRecord& record);
  /// The members of a group; nothing if none is known. As FindMembers.
  std::optional<std::vector<Member>> find(Lid mlid) const;
  /// The SLs of a group; 0 if they are not known.
  SlSet sls_of(Lid mlid) const;
};

/// The MLIDs with an entry or with members, in ascending order.
std::vector<Lid> groups_in_use(const MulticastTables& tables, const GroupMembers& known);

}  // namespace ib::routing
