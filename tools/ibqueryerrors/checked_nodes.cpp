// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/ibqueryerrors/ibqueryerrors.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sa/records.hpp"
#include "subnet/model/order.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/session.hpp"
#include "tools/frame/stack.hpp"

namespace ib::tools::ibqueryerrors {

using subnet::NodeIndex;

void CheckedNodes::refuse_stored_fabric() {
  const std::string_view given = discovery.cache           ? "--cache"
                                 : discovery.load_cache    ? "--load-cache"
                                 : discovery.refresh_cache ? "--refresh-cache"
                                 : discovery.cache_age     ? "--cache-age"
                                                           : "";
  if (!given.empty()) throw UsageError(fmt::format("{} excludes -k and -K: what is reset is looked for in the fabric itself", given));
  discovery.has_cache = false;
}

async::Task<std::vector<NodeIndex>> CheckedNodes::find(Session& session, Fabric& fabric) {
  discovery.needs = needs();
  if (!target.given()) {
    co_await discover(session, discovery, fabric);
    co_return wanted.wanted_of(fabric, subnet::breadth_first(fabric.subnet));
  }
  const NodeIndex node = co_await discover_around(session, discovery, target, fabric, shows_links);
  if (wanted.clears()) co_await check_meant_node(session.stack(), target, fabric.subnet, node);
  co_return wanted.wanted_of(fabric, {node});
}

/// The attributes that are needed of nodes. Of nodes that are not checked, only those that are printed with links.
subnet::DiscoverNeeds CheckedNodes::needs() const {
  subnet::NodeKinds kinds;
  for (const subnet::NodeKind kind : {subnet::NodeKind::ca, subnet::NodeKind::sw, subnet::NodeKind::router}) {
    if (wanted.is_wanted(kind)) kinds |= {kind};
  }
  subnet::DiscoverNeeds needs;
  needs.switch_infos = kinds.has(subnet::NodeKind::sw);
  if (!shows_links && !target.given()) needs.descriptions = needs.end_ports = kinds;
  return needs;
}

async::Task<> CheckedNodes::find_paths(Stack& stack, subnet::PortPaths& paths, const Fabric& fabric, const std::vector<NodeIndex>& nodes) {
  if (stack.host().options().skip_sl) co_return;
  if (!target.given()) {
    co_await stack.read_service_levels(paths);
  } else if (!nodes.empty()) {
    PathQuery query;
    if (target.path) query.known = target.path->ib().dgid;
    co_await stack.prepare_sa();
    co_await find_paths_to(stack, paths, fabric, nodes.front(), query);
    stack.report_sl_0(paths.why_sl_0());
  }
}

async::Task<> find_paths_to(Stack& stack, subnet::PortPaths& paths, const Fabric& fabric, NodeIndex node, PathQuery query) {
  const path::IbPath& sa = stack.transactor().sa_path().ib();
  if (sa.dlid == Lid{} && !sa.has_grh) co_return paths.do_without(std::string(subnet::no_sa_is_known));
  std::vector<subnet::PortIndex> ends;
  for (const subnet::PortIndex port : counters::countable_ports(fabric.subnet, node)) ends.push_back(fabric.subnet.end_port_of(port));
  ends.erase(std::ranges::unique(ends).begin(), ends.end());
  for (const subnet::PortIndex end : ends) {
    if (!query.of_this_port && fabric.subnet.lid(end) == stack.host().end_port().lid) continue;
    path::IbPath to;  // by its GID where that is known, else by its LID
    to.end_port = &stack.host().end_port();
    const bool has_gid = query.known && query.known->guid() == fabric.subnet.port_guid(end);
    if (has_gid) to.dgid = query.known;
    if (!has_gid) to.dlid = fabric.subnet.lid(end);
    const path::Path by = to;
    try {
      const path::Path path = co_await stack.gmp_path(&by);
      paths.use(end, path);
    } catch (const SysError&) {
      throw;
    } catch (const Error& error) {
      const auto* answer = dynamic_cast<const mad::MadError*>(&error);
      const std::optional<path::Path> plain = subnet::gmp_path(fabric.subnet, end, stack.here());
      if (query.plain_if_none && plain && answer != nullptr && sa::is_no_records(*answer)) {
        paths.use(end, *plain);
        continue;
      }
      paths.do_without(error.message());
      if (query.until_failure) break;
    }
  }
}

}  // namespace ib::tools::ibqueryerrors
