// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Imitates a bounded sweep of libibnetdisc. Our sweep goes a little farther. Afterwards, everything that libibnetdisc would not find is
// removed. If only one node is printed, only its neighbours are read.
#include "tools/iblinkinfo/partial_scan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "mad/transactor.hpp"
#include "subnet/model/voltaire.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/shared/link_back.hpp"
#include "tools/shared/stored_fabric.hpp"

namespace ib::tools {
namespace {

/// Opens the end port, or ends as infiniband-diags does.
void open(Stack& stack) {
  try {
    std::ignore = stack.lowest_transactor();
  } catch (const DiagsFailure&) {
    throw DiagsExit(
        1, fmt::format("Failed to open {} port {}\n", diags_device(stack.host().options()), diags_port_number(stack.host().options())));
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

async::Task<std::optional<path::Path>> PartialScan::resolve(Stack& stack) const {
  if (!route && !guid) co_return std::nullopt;
  Target target;
  target.word = route ? *route : *guid;
  std::optional<path::Path> path;
  try {
    const Destination node = co_await stack.manners().smp_node(target);
    path = node.path;
  } catch (const DiagsFailure&) {
    // The failure is printed below.
  }
  if (!path)
    warn(stack.host().world(), "main", fmt::format("Failed to resolve {}; attempting full scan{}", *target.word, route ? "" : "\n"));
  co_return path;
}

async::Task<std::optional<Guid>> PartialScan::read(Session& session, LibibnetdiscFabric& fabric) const {
  if (file) {
    co_await read_stored(session, fabric);
    co_return guid && !all ? std::optional(Guid{c_number(*guid)}) : std::nullopt;
  }
  open(session.stack());
  std::ignore = session.manners().node_name_map();
  std::optional<path::Path> start = co_await resolve(session.stack());
  std::optional<Guid> wanted;
  if (guid && !all) wanted = Guid{c_number(*guid)};
  std::optional<smp::NodeInfo> known;
  if (route && start) {
    const mad::Result<smp::NodeInfo> info = co_await session.stack().transactor().try_subn_get<smp::NodeInfo>(*start);
    if (!info && !all) session.manners().report_failure(info.error());
    if (info) known = *info;
    if (info && !all && !wanted) wanted = info->port_guid;
  }
  if (route && !all && !wanted) throw DiagsExit(1, "Failed to get local Node Info\n");
  if (start) {
    co_await read_around(session, *start, known, fabric);
  } else {
    LibibnetdiscWanted bounded;
    bounded.max_hops = hops;
    bounded.silent = true;
    co_await discover_as_libibnetdisc(session, bounded, fabric);
  }
  libibnetdisc_failures(session.host(), fabric, !start);
  co_return wanted;
}

/// A file is always read as a whole. No port of this host is needed for it.
async::Task<> PartialScan::read_stored(Session& session, LibibnetdiscFabric& fabric) const {
  if (route) throw DiagsExit(1, "Cannot specify cache and direct route path\n");
  LibibnetdiscWanted stored;
  stored.load_cache = file;
  try {
    co_await discover_as_libibnetdisc(session, stored, fabric);
  } catch (const CannotLoad&) {
    throw DiagsExit(1, "loading cached fabric failed\n");
  }
}

async::Task<> PartialScan::read_around(Session& session, path::Path start, std::optional<smp::NodeInfo> known,
                                       LibibnetdiscFabric& fabric) const {
  const unsigned bound = std::max(hops, 1U);
  const path::IbDrPath* directed = start.directed();
  const std::uint8_t length = directed != nullptr ? directed->hops : std::uint8_t{0};
  subnet::LegacyScan bounds;
  bounds.max_hops = bound;
  bounds.start_hops = length;
  bounds.by_lid = directed == nullptr;
  bounds.mlnx = session.host().options().mlnx_extended_port_info;
  // An end node does not forward directed routes. The sweep begins at the switch before it.
  const bool from_end_node = known && kind_of(*known) != subnet::NodeKind::sw && length > 1;
  std::optional<subnet::KnownNode> first;
  if (known) first = subnet::KnownNode{*known};
  if (from_end_node) {
    path::IbDrPath before = *directed;
    first->beyond = before.retreat();
    start = before;
  }
  bool cuts = all;
  const unsigned radius = radius_for_libibnetdisc(bound);
  co_await discover_part_as_libibnetdisc(session, start, all ? radius : bound, fabric, first);
  if (!all && has_line_board(fabric.subnet)) {
    // The panel number of a line board's port depends on the spine board to which it is wired. This spine may be one link too far.
    fabric = LibibnetdiscFabric();
    cuts = true;
    co_await discover_part_as_libibnetdisc(session, start, radius, fabric, first);
  }
  if (!cuts && known && directed != nullptr && length == 0) co_await read_link_back(session.stack(), fabric, start, bound);
  if (bounds.by_lid && is_cut_off(fabric)) bounds.start = co_await read_all_for(session, fabric);
  fabric.compute_sweep(session.host());
  if (!cuts || fabric.subnet.start == subnet::none) co_return;
  if (from_end_node) {
    const subnet::PortIndex port = fabric.subnet.port_of(fabric.subnet.port(fabric.subnet.start).node, first->beyond);
    if (port == subnet::none || fabric.subnet.port(port).peer == subnet::none) co_return;
    bounds.start = fabric.subnet.port(port).peer;
  }
  fabric.keep(subnet::legacy_sweep(fabric.subnet, bounds));
}

/// If a switch does not answer directed routes that begin at its LID, sweeps the whole subnet for it. Returns the port 0 of the switch.
async::Task<subnet::PortIndex> PartialScan::read_all_for(Session& session, LibibnetdiscFabric& fabric) const {
  const Guid wanted = fabric.subnet.node(fabric.subnet.port(fabric.subnet.start).node).guid();
  fabric = LibibnetdiscFabric();
  LibibnetdiscWanted whole;
  whole.silent = true;
  co_await discover_as_libibnetdisc(session, whole, fabric);
  const subnet::NodeIndex node = fabric.subnet.find_node(wanted);
  if (node == subnet::none) co_return subnet::none;
  if (!all) std::erase_if(fabric.failures, [node](const subnet::Failure& failure) { return failure.node != node; });
  co_return fabric.subnet.node(node).first_port;
}

}  // namespace ib::tools
