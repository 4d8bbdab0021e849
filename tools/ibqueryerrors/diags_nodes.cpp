// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Which nodes infiniband-diags' ibqueryerrors checks, and what it prints meanwhile.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <tuple>

#include "subnet/order.hpp"
#include "tools/frame/options.hpp"
#include "tools/ibqueryerrors/checked_nodes.hpp"
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
void report_query(const Session& session, const path::Path& path) {
  session.diags_debug("smp_query_status_via",
                      fmt::format("attr 0x{:x} mod 0x0 route {}", smp::NodeInfo::attribute_id, session.diags_route(path)));
}

}  // namespace

void DiagsNodes::prepare(Session& session) {
  if (route && discovery.load_cache) throw DiagsExit(diags_failed, "Cannot specify cache and direct route path\n");
  target_.word = route ? route : guid;
  open(session);
}

async::Task<std::vector<NodeIndex>> DiagsNodes::find(Session& session, LibibnetdiscFabric& fabric, TextOut& told) {
  std::vector<NodeIndex> nodes;
  NodeIndex node = subnet::none;
  bool found = false;
  if (target_.given() && !discovery.load_cache) {
    try {
      node = co_await discover_target(session, fabric, told);
      found = true;
    } catch (const DiagsFailure&) {
      session.diags_warning("main", fmt::format("Failed to resolve {}; attempting full scan", target_.text()));
    } catch (const mad::MadError& error) {
      report_silence(session, error);
      found = true;
    }
  }
  if (!found) {
    discovery.trace = &told;
    co_await discover_all(session, fabric);
  }
  if (route && node == subnet::none) throw DiagsExit(0, "Failed to query local Node Info\n");
  if (target_.given()) {
    named_ = named_node(session, fabric, node);
    if (named_ != subnet::none) nodes.push_back(named_);
  } else {
    nodes = fabric.order;
  }
  std::erase_if(nodes, [&](NodeIndex at) { return !wanted.is_wanted(fabric.subnet.node(at).kind()); });
  co_return nodes;
}

/// The node of -G or -D does not answer: what libibnetdisc says, and for a route libibmad, which asks it once more.
void DiagsNodes::report_silence(const Session& session, const mad::MadError& error) const {
  const mad::HeaderView request(error.request());
  print_on_stderr(session.world(),
                  fmt::format("./libibnetdisc/query_smp.c:186; umad ({} Attr 0x{:x}:{}) bad status {}; {}\n", diags_name(error.path()),
                              request.attribute_id(), request.attribute_modifier(), ETIMEDOUT, std::strerror(ETIMEDOUT)));
  if (!route) return;
  report_query(session, error.path());
  session.report_failure(error);
}

/// The node of -G or -D, with its neighbours. Returns the node.
async::Task<NodeIndex> DiagsNodes::discover_target(Session& session, LibibnetdiscFabric& fabric, TextOut& told) const {
  if (route) {
    const NodeIndex at_route = co_await discover_at_route(session, fabric, told);
    co_return at_route;
  }
  const DiscoveryOptions options = libibnetdisc_discovery(session);
  const NodeIndex found = co_await discover_around(session, options, target_, fabric);
  libibnetdisc_failures(session, fabric, false);
  report_self(session);
  co_return found;
}

/// The node of -D, with those ports of it that libibnetdisc finds. A directed route to a host ends there: for the other end of its link,
/// and for its other ports, the discovery begins at the node before it.
async::Task<NodeIndex> DiagsNodes::discover_at_route(Session& session, LibibnetdiscFabric& fabric, TextOut& told) const {
  const Destination destination = co_await session.smp_node(target_);
  report_self(session);
  // One request for two: libibnetdisc's first one, of which -d prints nothing on stderr, and libibmad's behind the sweep (report_query()).
  const mad::Result<smp::NodeInfo> info = co_await session.lowest_transactor().try_subn_get<smp::NodeInfo>(destination.path);
  const path::IbDrPath end = *destination.path.directed();
  const bool traces = session.options().debug > 0;
  if (!info && traces) trace_silence(told, end);
  if (!info) info.error().raise();
  NodeIndex node = subnet::none;
  if (traces) node = co_await discover_traced(session, fabric, told, end, *info);
  bool goes_back = !traces || node != subnet::none;  // the node before a host at the end answers
  if (node == subnet::none) {
    fabric = LibibnetdiscFabric();
    path::IbDrPath start = end;
    subnet::KnownNode known{*info};
    if (begins_before(session, *info, start.hops)) known.beyond = start.retreat();
    co_await discover_part_as_libibnetdisc(session, start, 1, fabric, known);
    node = fabric.subnet.find_node(info->node_guid);
    if (node == subnet::none && known.beyond != 0) {
      goes_back = false;
      fabric = LibibnetdiscFabric();
      co_await discover_part_as_libibnetdisc(session, destination.path, 1, fabric, subnet::KnownNode{*info});
      node = fabric.subnet.find_node(info->node_guid);
    }
    if (start.hops == 0 && known.beyond == 0) co_await read_link_back(session, fabric, start, 1);
  }
  if (goes_back) libibnetdisc_found_again(session, *info, end.hops);
  libibnetdisc_failures(session, fabric, false);
  report_query(session, destination.path);
  co_return node;
}

/// The node of -D, at `end`, with all that libibnetdisc finds, and the lines that it prints of that. It goes on beyond the neighbours until
/// it notices its bound. Ours goes farther, and what libibnetdisc does not find is removed afterwards. none where that can not be done.
async::Task<NodeIndex> DiagsNodes::discover_traced(Session& session, LibibnetdiscFabric& fabric, TextOut& told, path::IbDrPath end,
                                                   smp::NodeInfo info) const {
  constexpr unsigned bound = 1;
  path::IbDrPath start = end;
  subnet::KnownNode known{info};
  if (info.node_type != smp::NodeType::switch_ && end.hops > 1) known.beyond = start.retreat();  // it does not forward directed routes
  co_await discover_part_as_libibnetdisc(session, start, radius_for_libibnetdisc(bound), fabric, known);
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
  fabric.keep(trace_sweep(fabric, told, end, scan));
  co_return fabric.subnet.find_node(info.node_guid);
}

/// Whether the discovery begins at the node before the one with that NodeInfo, which a route of that length leads to.
bool DiagsNodes::begins_before(Session& session, const smp::NodeInfo& info, unsigned hops) const {
  if (info.node_type == smp::NodeType::switch_ || hops == 0) return false;
  if (wanted.report_port) return true;
  if (info.num_ports < 2 || hops < 2) return false;
  // From another port of this host libibnetdisc does not find the port that the route leaves by.
  return hops > 2 || info.node_guid != session.end_port().device->node_guid || info.local_port_num == session.end_port().number;
}

async::Task<> DiagsNodes::discover_all(Session& session, LibibnetdiscFabric& fabric) const {
  try {
    co_await discover_as_libibnetdisc(session, discovery, fabric);
  } catch (const CannotLoad& error) {
    session.diags_debug("ibnd_load_fabric", error.message());
    throw DiagsExit(diags_failed, "loading cached fabric failed\n");
  } catch (const mad::MadError&) {
    throw DiagsExit(diags_failed, "discover failed\n");
  }
}

/// The node of -G or -D: one that a GUID names is looked for in what was discovered.
NodeIndex DiagsNodes::named_node(const Session& session, const Fabric& fabric, NodeIndex at_route) const {
  NodeIndex node = at_route;
  if (!route) {
    const subnet::PortIndex port = fabric.subnet.find_port(Guid{c_number(*guid)});
    node = port == subnet::none ? port : fabric.subnet.port(port).node;
  }
  if (node == subnet::none) print_on_stderr(session.world(), fmt::format("Failed to find node: {}\n", target_.text()));
  return node;
}

async::Task<bool> DiagsNodes::find_paths(Session& session, subnet::PortPaths& paths, const Fabric& fabric,
                                         const std::vector<NodeIndex>& nodes) const {
  if (session.options().skip_sl) co_return true;
  if (!target_.given()) {
    co_await session.read_service_levels(paths);
  } else if (const NodeIndex node = route ? named_ : nodes.empty() ? subnet::none : nodes.front(); node != subnet::none) {
    PathQuery query;
    query.of_this_port = query.until_failure = route.has_value();
    query.plain_if_none = true;  // it asks by a table, which may be empty
    if (guid) {
      const GidPrefix prefix = session.end_port().default_gid().prefix();
      query.known = Gid::from(prefix.value != 0 ? prefix : link_local_prefix, Guid{c_number(*guid)});
    }
    co_await session.prepare_sa();
    co_await find_paths_to(session, paths, fabric, node, query);
  }
  if (paths.why_sl_0().empty() || paths.has_service_levels() || guid || (route && named_ == subnet::none)) co_return true;
  if (session.transactor().sa_path().ib().dlid == Lid{}) {
    session.diags_warning("sa_get_handle", fmt::format("No SM/SA found on port {}", session.diags_port()));
  } else {
    print_on_stderr(session.world(), fmt::format("Query SA failed: {}; sa call path_query failed\n", paths.why_sl_0()));
  }
  co_return false;
}

}  // namespace ib::tools::ibqueryerrors
