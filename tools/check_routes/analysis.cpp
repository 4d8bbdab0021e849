// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/check_routes/analysis.hpp"

#include <functional>
#include <vector>

namespace ib::tools::routes {
namespace {

using routing::CreditLoops;

/// The verdict on what `channels` has.
async::Task<CreditLoops> judge(const Wanted& wanted, Tables& tables, const routing::Channels& channels, routing::MulticastChannels* groups,
                               bool unread, const routing::ReadLanes& read_lanes, const routing::Pause& pause) {
  routing::LoopSearch search(tables.linear, tables.destinations, wanted.switches, channels, groups);
  co_return co_await search.judge(unread, read_lanes, tables.lanes, tables.levels, pause);
}

async::Task<> check_groups(Tables& tables, RouteFindings& found, const routing::Pause& pause) {
  const routing::FindMembers members = [&tables](Lid mlid) { return tables.groups.find(mlid); };
  found.multicast.emplace(tables.network, tables.multicast, members);
  const std::vector<Lid> groups = groups_in_use(tables.multicast, tables.groups);
  const std::function<void(Lid)> add = [&found](Lid mlid) { found.multicast->add(mlid); };
  co_await routing::each_group(groups, add, pause);
}

}  // namespace

async::Task<> analyse(const Wanted& wanted, Tables& tables, const routing::ReadLanes& read_lanes, const routing::Pause& pause,
                      RouteFindings& found) {
  routing::Ways ways(tables.network, tables.linear, wanted.switches);
  const routing::UseWays use = [&found](const routing::Ways& to, std::size_t) {
    found.unicast.add(to);
    found.load.add(to);
    found.channels.add(to);
  };
  co_await routing::each_destination(ways, tables.destinations, false, use, pause);
  found.load.finish();
  const bool unread = !found.unicast.not_read().empty();
  if (wanted.wants_unicast()) {
    found.loops = co_await judge(wanted, tables, found.channels, nullptr, unread, read_lanes, pause);
  }
  if (!wanted.wants_multicast() || tables.skips_multicast) co_return;
  co_await check_groups(tables, found, pause);
  routing::MulticastChannels groups(tables.network, tables.multicast, *found.multicast);
  groups.sls_of = [&tables, &wanted](Lid mlid) {
    const routing::SlSet known = tables.groups.sls_of(mlid);
    return known == 0 ? wanted.sls.value_or(0) : known;
  };
  routing::Channels both = found.channels;
  const std::function<void(Lid)> add = [&groups, &both](Lid mlid) { groups.add_to(both, mlid); };
  co_await routing::each_group(groups.groups(), add, pause);
  const bool unread_group = tables.multicast.unread_count() > 0 || !found.multicast->not_read().empty();
  found.multicast_loops = co_await judge(wanted, tables, both, &groups, unread || unread_group, read_lanes, pause);
}

}  // namespace ib::tools::routes
