// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/ibqueryerrors/checked_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <tuple>

#include "base/log.hpp"
#include "counters/readings.hpp"
#include "sa/records.hpp"
#include "subnet/order.hpp"
#include "tools/frame/diags_options.hpp"
#include "tools/shared/diags_fabric.hpp"
#include "tools/shared/link_back.hpp"
#include "tools/shared/stored_fabric.hpp"
#include "tools/shared/sweep_trace.hpp"

namespace ib::tools::ibqueryerrors {

using subnet::NodeIndex;

namespace {

/// Opens the end port, or ends as infiniband-diags does.
void open(Session& session) {
  try {
    std::ignore = session.lowest_transactor();
  } catch (const DiagsFailure&) {
    throw DiagsFailure({"main", fmt::format("Failed to open port; {}\n", session.diags_port())});
  }
}

/// Prints what libibmad prints with -d when it requests the NodeInfo of the node of -D.
void tell_query(const Session& session, const path::Path& path) {
  session.diags_debug("smp_query_status_via",
                      fmt::format("attr 0x{:x} mod 0x0 route {}", smp::NodeInfo::attribute_id, session.diags_route(path)));
}

}  // namespace

void CheckedNodes::refuse_stored_fabric() {
  if (discovery.load_cache || discovery.cache)
    throw UsageError(fmt::format("{} excludes -k and -K: what is reset is looked for in the fabric itself",
                                 discovery.cache ? "--cache" : "--load-cache"));
  discovery.has_cache = false;
}

void CheckedNodes::prepare_as_diags(Session& session) {
  if (route && discovery.load_cache) throw DiagsExit(diags_failed, "Cannot specify cache and direct route path\n");
  target.word = route ? route : guid;
  open(session);
}

async::Task<std::vector<NodeIndex>> CheckedNodes::find(Session& session, Fabric& fabric, TextOut& told) {
  discovery.needs = needs();
  std::vector<NodeIndex> nodes;
  NodeIndex node = subnet::none;
  bool found = false;
  if (target.given() && !(as_diags() && discovery.load_cache)) {
    try {
      node = co_await discover_target(session, fabric, told);
      found = true;
    } catch (const DiagsFailure&) {
      session.diags_warning("main", fmt::format("Failed to resolve {}; attempting full scan", target.text()));
    } catch (const mad::MadError& error) {
      if (!as_diags()) throw;
      tell_silence(session, error);
      found = true;
    }
  }
  if (!found) co_await discover_all(session, fabric);
  if (!found && as_diags()) trace_sweep(session, fabric, told);
  if (route && node == subnet::none) throw DiagsExit(0, "Failed to query local Node Info\n");
  if (target.given()) {
    if (as_diags()) node = named_node(session, fabric, node);
    named_ = node;
    if (node != subnet::none) nodes.push_back(node);
  } else {
    nodes = as_diags() ? diags_order(fabric, session.options().mlnx_extended_port_info) : subnet::breadth_first(fabric.subnet);
  }
  std::erase_if(nodes, [&](NodeIndex at) { return !is_checked(fabric.subnet.node(at).kind()); });
  co_return nodes;
}

/// The node of -G or -D does not answer: what libibnetdisc says, and for a route libibmad, which asks it once more.
void CheckedNodes::tell_silence(const Session& session, const mad::MadError& error) const {
  const mad::HeaderView request(error.request());
  tell(session.world(),
       fmt::format("./libibnetdisc/query_smp.c:186; umad ({} Attr 0x{:x}:{}) bad status {}; {}\n", diags_name(error.path()),
                   request.attribute_id(), request.attribute_modifier(), ETIMEDOUT, std::strerror(ETIMEDOUT)));
  if (!route) return;
  tell_query(session, error.path());
  session.tell_failure(error);
}

/// The node of TARGET or -G or -D, with its neighbours where their links are told of. Returns the node.
async::Task<NodeIndex> CheckedNodes::discover_target(Session& session, Fabric& fabric, TextOut& told) {
  if (route) {
    const NodeIndex at_route = co_await discover_at_route(session, fabric, told);
    co_return at_route;
  }
  const NodeIndex found = co_await discover_around(session, discovery, target, fabric, shows_links);
  if (as_diags()) tell_self(session);
  if (wanted.clears() && !as_diags()) co_await check_meant_node(session, target, fabric.subnet, found);
  co_return found;
}

/// The node of -D, with those ports of it that libibnetdisc finds. A directed route to a host ends there: for the other end of its link,
/// and for its other ports, the discovery begins at the node before it.
async::Task<NodeIndex> CheckedNodes::discover_at_route(Session& session, Fabric& fabric, TextOut& told) {
  const Destination destination = co_await session.smp_node(target);
  tell_self(session);
  // One request for two: libibnetdisc's first one, of which -d prints nothing on stderr, and libibmad's behind the sweep (tell_query()).
  const mad::Result<smp::NodeInfo> info = co_await session.lowest_transactor().try_subn_get<smp::NodeInfo>(destination.path);
  const path::IbDrPath end = *destination.path.directed();
  const bool traces = session.options().debug > 0;
  if (!info && traces) trace_silence(told, end);
  if (!info) info.error().raise();
  NodeIndex node = subnet::none;
  if (traces) node = co_await discover_traced(session, fabric, told, end, *info);
  bool goes_back = !traces || node != subnet::none;  // the node before a host at the end answers
  if (node == subnet::none) {
    fabric = Fabric();
    path::IbDrPath start = end;
    subnet::KnownNode known{*info};
    if (begins_before(session, *info, start.hops)) {
      known.beyond = start.route[start.hops];
      start.route[start.hops--] = 0;
    }
    co_await discover_from(session, discovery, start, 1, fabric, known);
    node = fabric.subnet.find_node(info->node_guid);
    if (node == subnet::none && known.beyond != 0) {
      goes_back = false;
      fabric = Fabric();
      co_await discover_from(session, discovery, destination.path, 1, fabric, subnet::KnownNode{*info});
      node = fabric.subnet.find_node(info->node_guid);
    }
    if (start.hops == 0 && known.beyond == 0) co_await read_link_back(session, fabric, start, 1);
  }
  if (goes_back) libibnetdisc_found_again(session, *info, end.hops);
  libibnetdisc_failures(session, fabric, false);
  tell_query(session, destination.path);
  co_return node;
}

/// The node of -D, at `end`, with all that libibnetdisc finds, and the lines that it prints of that. It goes on beyond the neighbours until
/// it notices its bound. Ours goes farther, and what libibnetdisc does not find is removed afterwards. none where that can not be done.
async::Task<NodeIndex> CheckedNodes::discover_traced(Session& session, Fabric& fabric, TextOut& told, path::IbDrPath end,
                                                     smp::NodeInfo info) {
  constexpr unsigned bound = 1, beyond_bound = 2;
  path::IbDrPath start = end;
  subnet::KnownNode known{info};
  if (info.node_type != smp::NodeType::switch_ && end.hops > 1) {  // it does not forward directed routes
    known.beyond = start.route[start.hops];
    start.route[start.hops--] = 0;
  }
  co_await discover_from(session, discovery, start, bound + beyond_bound, fabric, known);
  subnet::LegacyScan scan;
  scan.max_hops = bound;
  scan.start_hops = end.hops;
  scan.mlnx = session.options().mlnx_extended_port_info;
  const subnet::Subnet& subnet = fabric.subnet;
  if (subnet.start != subnet::none && known.beyond != 0) {
    const subnet::PortIndex before = subnet.port_of(subnet.port(subnet.start).node, known.beyond);
    if (before != subnet::none) scan.start = subnet.port(before).peer;
  }
  if (subnet.start == subnet::none || (known.beyond != 0 && scan.start == subnet::none)) {
    trace_silence(told, end);
    co_return subnet::none;
  }
  const subnet::LegacySweep sweep = trace_sweep(fabric, told, end, scan);
  static_cast<subnet::SweptSubnet&>(fabric) = subnet::learnt_part(fabric, sweep);
  co_return fabric.subnet.find_node(info.node_guid);
}

/// Whether the discovery begins at the node before the one with that NodeInfo, which a route of that length leads to.
bool CheckedNodes::begins_before(Session& session, const smp::NodeInfo& info, unsigned hops) const {
  if (info.node_type == smp::NodeType::switch_ || hops == 0) return false;
  if (wanted.report_port) return true;
  if (info.num_ports < 2 || hops < 2) return false;
  // From another port of this host libibnetdisc does not find the port that the route leaves by.
  return hops > 2 || info.node_guid != session.end_port().device->node_guid || info.local_port_num == session.end_port().number;
}

async::Task<> CheckedNodes::discover_all(Session& session, Fabric& fabric) {
  const bool diags = as_diags();
  try {
    co_await discover(session, discovery, fabric);
  } catch (const CannotLoad& error) {
    session.diags_debug("ibnd_load_fabric", error.message());
    if (!diags) throw;
    throw DiagsExit(diags_failed, "loading cached fabric failed\n");
  } catch (const mad::MadError&) {
    if (!diags) throw;
    throw DiagsExit(diags_failed, "discover failed\n");
  }
}

bool CheckedNodes::is_checked(subnet::NodeKind kind) const { return kind != subnet::NodeKind::other && wanted.is_wanted(kind); }

/// The node of -G or -D: one that a GUID names is looked for in what was discovered.
NodeIndex CheckedNodes::named_node(const Session& session, const Fabric& fabric, NodeIndex at_route) const {
  NodeIndex node = at_route;
  if (!route) {
    const subnet::PortIndex port = fabric.subnet.find_port(Guid{c_number(*guid)});
    node = port == subnet::none ? port : fabric.subnet.port(port).node;
  }
  if (node == subnet::none) tell(session.world(), fmt::format("Failed to find node: {}\n", target.text()));
  return node;
}

/// What is used of the nodes, besides those that are checked: of the others what is told of links.
subnet::DiscoverNeeds CheckedNodes::needs() const {
  subnet::NodeKinds kinds;
  for (const subnet::NodeKind kind : {subnet::NodeKind::ca, subnet::NodeKind::sw, subnet::NodeKind::router}) {
    if (is_checked(kind)) kinds |= {kind};
  }
  subnet::DiscoverNeeds needs;
  needs.switch_infos = kinds.has(subnet::NodeKind::sw);
  if (!shows_links && !target.given()) needs.descriptions = needs.end_ports = kinds;
  return needs;
}

/// The paths to the PMAs of one node alone, end port by end port. infiniband-diags asks by a table, which may be empty: SL 0 is used
/// then.
async::Task<> CheckedNodes::find_paths_to(Session& session, subnet::PortPaths& paths, const Fabric& fabric, NodeIndex node) const {
  const path::IbPath& sa = session.transactor().sa_path().ib();
  if (sa.dlid == Lid{} && !sa.has_grh) co_return paths.do_without(std::string(subnet::no_sa_is_known));
  std::vector<subnet::PortIndex> ends;
  for (const subnet::PortIndex port : counters::countable_ports(fabric.subnet, node)) ends.push_back(fabric.subnet.end_port_of(port));
  ends.erase(std::ranges::unique(ends).begin(), ends.end());
  for (const subnet::PortIndex end : ends) {
    // Some SAs have no path to the requesting port itself. infiniband-diags asks for that of -D all the same.
    if (!route && fabric.subnet.lid(end) == session.end_port().lid) continue;
    const path::Path to = address_of(session, fabric.subnet, end);
    try {
      const path::Path path = co_await session.gmp_path(&to);
      paths.use(end, path);
    } catch (const SysError&) {
      throw;
    } catch (const Error& error) {
      const auto* answer = dynamic_cast<const mad::MadError*>(&error);
      const std::optional<path::Path> plain = subnet::gmp_path(fabric.subnet, end, session.here());
      if (as_diags() && plain && answer != nullptr && sa::is_no_records(*answer)) {
        paths.use(end, *plain);
        continue;
      }
      paths.do_without(error.message());
      if (route) break;  // it is told of once
    }
  }
}

/// How the SA is asked for the path to an end port: by its GUID where it was asked for that before, else by its LID.
path::Path CheckedNodes::address_of(Session& session, const subnet::Subnet& subnet, subnet::PortIndex end) const {
  path::IbPath to;
  to.end_port = &session.end_port();
  std::optional<Gid> known;
  if (target.path) known = target.path->ib().dgid;
  if (guid) {
    const GidPrefix prefix = session.end_port().default_gid().prefix();
    known = Gid::from(prefix.value != 0 ? prefix : link_local_prefix, Guid{c_number(*guid)});
  }
  if (known && known->guid() == subnet.port_guid(end)) {
    to.dgid = known;
  } else {
    to.dlid = subnet.lid(end);
  }
  return to;
}

async::Task<bool> CheckedNodes::find_paths(Session& session, subnet::PortPaths& paths, const Fabric& fabric,
                                           const std::vector<NodeIndex>& nodes) {
  if (session.options().skip_sl) co_return true;
  if (!target.given()) {
    co_await session.read_service_levels(paths);
  } else if (const NodeIndex node = route ? named_ : nodes.empty() ? subnet::none : nodes.front(); node != subnet::none) {
    co_await session.prepare_sa();
    co_await find_paths_to(session, paths, fabric, node);
    session.tell_sl_0(paths.why_sl_0());
  }
  if (!as_diags() || paths.why_sl_0().empty()) co_return true;
  if (paths.has_service_levels() || guid || (route && named_ == subnet::none)) co_return true;
  if (session.transactor().sa_path().ib().dlid == Lid{}) {
    session.diags_warning("sa_get_handle", fmt::format("No SM/SA found on port {}", session.diags_port()));
  } else {
    tell(session.world(), fmt::format("Query SA failed: {}; sa call path_query failed\n", paths.why_sl_0()));
  }
  co_return false;
}

}  // namespace ib::tools::ibqueryerrors
