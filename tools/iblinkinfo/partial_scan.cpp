// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Imitates a bounded sweep of libibnetdisc. Our sweep goes a little farther. Afterwards, everything that libibnetdisc would not find is
// removed. If only one node is printed, only its neighbours are read.
#include "tools/iblinkinfo/partial_scan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "mad/transactor.hpp"
#include "subnet/voltaire.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/shared/link_back.hpp"
#include "tools/shared/stored_fabric.hpp"
#include "tools/shared/sweep_trace.hpp"

namespace ib::tools {
namespace {

/// The number of links that libibnetdisc can go beyond its limit, also from an end node.
constexpr unsigned hops_beyond_bound = 2;
unsigned farther(unsigned hops) { return std::max(hops, hops + hops_beyond_bound); }

/// Opens the end port, or ends as infiniband-diags does.
void open(Session& session) {
  try {
    std::ignore = session.lowest_transactor();
  } catch (const DiagsFailure&) {
    throw DiagsExit(1, fmt::format("Failed to open {} port {}\n", diags_device(session.options()), diags_port_number(session.options())));
  }
}

subnet::NodeKind kind_of(const smp::NodeInfo& info) {
  subnet::Node node;
  node.info = info;
  return node.kind();
}

bool has_line_board(const subnet::Subnet& subnet) {
  return std::ranges::any_of(subnet.nodes(), [](const subnet::Node& node) {
    return node.info.vendor_id == subnet::voltaire::vendor_id &&
           subnet::voltaire::line_board(node.info.device_id) != subnet::voltaire::Line::none;
  });
}

}  // namespace

async::Task<std::optional<path::Path>> PartialScan::resolve(Session& session) const {
  if (!route && !guid) co_return std::nullopt;
  Target target;
  target.word = route ? *route : *guid;
  std::optional<path::Path> path;
  try {
    const Destination node = co_await session.smp_node(target);
    path = node.path;
  } catch (const DiagsFailure&) {
    // The failure is printed below.
  }
  if (!path) session.diags_warning("main", fmt::format("Failed to resolve {}; attempting full scan{}", *target.word, route ? "" : "\n"));
  co_return path;
}

async::Task<std::optional<Guid>> PartialScan::read(Session& session, const DiscoveryOptions& discovery, Fabric& fabric) {
  if (discovery.load_cache) {
    co_await read_stored(session, discovery, fabric);
    co_return guid && !all ? std::optional(Guid{c_number(*guid)}) : std::nullopt;
  }
  open(session);
  std::ignore = session.node_name_map();
  std::optional<path::Path> start = co_await resolve(session);
  std::optional<Guid> wanted;
  if (guid && !all) wanted = Guid{c_number(*guid)};
  std::optional<smp::NodeInfo> known;
  if (route && start) {
    const mad::Result<smp::NodeInfo> info = co_await session.transactor().try_subn_get<smp::NodeInfo>(*start);
    if (!info && !all) session.tell_failure(info.error());
    if (info) known = *info;
    if (info && !all && !wanted) wanted = info->port_guid;
  }
  if (route && !all && !wanted) throw DiagsExit(1, "Failed to get local Node Info\n");
  if (start) {
    co_await read_around(session, discovery, *start, known, fabric);
  } else {
    co_await read_here(session, discovery, fabric);
  }
  if (known && fabric.subnet.start != subnet::none) libibnetdisc_found_again(session, *known, start->directed()->hops);
  libibnetdisc_failures(session, fabric, !start);
  co_return wanted;
}

/// A file is always read as a whole. No port of this host is needed for it.
async::Task<> PartialScan::read_stored(Session& session, const DiscoveryOptions& discovery, Fabric& fabric) const {
  if (route) throw DiagsExit(1, "Cannot specify cache and direct route path\n");
  try {
    co_await discover(session, discovery, fabric);
  } catch (const CannotLoad&) {
    throw DiagsExit(1, "loading cached fabric failed\n");
  }
}

async::Task<> PartialScan::read_around(Session& session, const DiscoveryOptions& discovery, path::Path start,
                                       std::optional<smp::NodeInfo> known, Fabric& fabric) {
  const unsigned bound = std::max(hops, 1U);
  const path::IbDrPath* directed = start.directed();
  const std::uint8_t length = directed != nullptr ? directed->hops : std::uint8_t{0};
  subnet::LegacyScan bounds;
  bounds.max_hops = bound;
  bounds.start_hops = length;
  bounds.by_lid = directed == nullptr;
  bounds.mlnx = session.options().mlnx_extended_port_info;
  // An end node does not forward directed routes. The sweep begins at the switch before it.
  const bool from_end_node = known && kind_of(*known) != subnet::NodeKind::sw && length > 1;
  std::uint8_t last_port = 0;
  if (from_end_node) {
    path::IbDrPath before = *directed;
    last_port = before.route[before.hops];
    before.route[before.hops--] = 0;
    start = before;
  }
  bool cuts = all;
  std::optional<subnet::KnownNode> first;
  if (known) first = subnet::KnownNode{*known, last_port};
  co_await discover_from(session, discovery, start, all ? farther(bound) : bound, fabric, first);
  if (!all && has_line_board(fabric.subnet)) {
    // The panel number of a line board's port depends on the spine board to which it is wired. This spine may be one link too far.
    fabric = Fabric();
    cuts = true;
    co_await discover_from(session, discovery, start, farther(bound), fabric, first);
  }
  if (!cuts && known && directed != nullptr && length == 0) co_await read_link_back(session, fabric, start, bound);
  if (bounds.by_lid && is_cut_off(fabric)) bounds.start = co_await read_all_for(session, discovery, fabric);
  if (!cuts || fabric.subnet.start == subnet::none) co_return;
  if (from_end_node) {
    const subnet::PortIndex port = fabric.subnet.port_of(fabric.subnet.port(fabric.subnet.start).node, last_port);
    if (port == subnet::none || fabric.subnet.port(port).peer == subnet::none) co_return;
    bounds.start = fabric.subnet.port(port).peer;
  }
  cut_off(fabric, bounds);
}

/// If a switch does not answer directed routes that begin at its LID, sweeps the whole subnet for it. Returns the port 0 of the switch.
async::Task<subnet::PortIndex> PartialScan::read_all_for(Session& session, DiscoveryOptions discovery, Fabric& fabric) const {
  const Guid wanted = fabric.subnet.node(fabric.subnet.port(fabric.subnet.start).node).guid();
  fabric = Fabric();
  discovery.quiet = true;
  co_await discover(session, discovery, fabric);
  const subnet::NodeIndex node = fabric.subnet.find_node(wanted);
  if (node == subnet::none) co_return subnet::none;
  if (!all) std::erase_if(fabric.failures, [node](const subnet::Failure& failure) { return failure.node != node; });
  co_return fabric.subnet.node(node).first_port;
}

async::Task<> PartialScan::read_here(Session& session, DiscoveryOptions discovery, Fabric& fabric) {
  discovery.quiet = true;
  if (hops != 0) discovery.radius = farther(hops);
  co_await discover(session, discovery, fabric);
  if (hops == 0) co_return;
  subnet::LegacyScan bounds;
  bounds.max_hops = hops;
  bounds.mlnx = session.options().mlnx_extended_port_info;
  cut_off(fabric, bounds);
}

void PartialScan::cut_off(Fabric& fabric, subnet::LegacyScan bounds) {
  static_cast<subnet::SweptSubnet&>(fabric) = subnet::learnt_part(fabric, subnet::legacy_sweep(fabric.subnet, bounds));
  part_alone_ = true;
}

std::vector<subnet::NodeIndex> PartialScan::order(const Fabric& fabric, bool asks_fdr10) const {
  if (!part_alone_) return diags_order(fabric, asks_fdr10);
  std::vector<subnet::NodeIndex> nodes(fabric.subnet.nodes().size());
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i] = static_cast<subnet::NodeIndex>(nodes.size() - 1 - i);
  return nodes;
}

}  // namespace ib::tools
