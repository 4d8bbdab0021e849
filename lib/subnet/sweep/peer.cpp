// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/sweep/peer.hpp"

#include <fmt/format.h>

#include <optional>

#include "sa/records.hpp"

namespace ib::subnet {
namespace {

using mad::Result;

/// The route to the node beyond `port`. Nothing if SMPs cannot be sent there.
std::optional<path::IbDrPath> route_beyond(const path::Path& path, const smp::NodeInfo& node, unsigned port) {
  const bool forwards = node.node_type == smp::NodeType::switch_;
  const path::IbDrPath* directed = path.directed();
  if (directed == nullptr) {  // a directed route that starts at the LID (IBA 14.2.2)
    if (!forwards) return std::nullopt;
    path::IbDrPath route;
    static_cast<path::IbPath&>(route) = path.ib();
    route.dr_slid = route.slid;
    make_trial(route);
    return route.advance(static_cast<std::uint8_t>(port));
  }
  if (forwards || directed->hops == 0) return directed->advance(static_cast<std::uint8_t>(port));
  if (port != node.local_port_num) return std::nullopt;
  path::IbDrPath route = *directed;
  route.retreat();
  return route;
}

async::Task<Result<Peer>> from_route(mad::Transactor& transactor, path::Path path, path::Path route) {
  const path::IbDrPath* to_node = path.directed();
  unsigned port = 0;
  if (to_node != nullptr && route.directed()->hops < to_node->hops) {
    port = to_node->route[to_node->hops];
  } else {
    const Result<smp::NodeInfo> beyond = co_await transactor.try_subn_get<smp::NodeInfo>(route);
    if (!beyond) co_return beyond.shared_error();
    port = beyond->local_port_num;  // the port that received the request
  }
  route.ib().retries = path.ib().retries;
  route.ib().timeout = path.ib().timeout;
  const Result<smp::PortInfo> info = co_await transactor.try_subn_get<smp::PortInfo>(route, port);
  if (!info) co_return info.shared_error();
  co_return Peer{route, port, *info};
}

async::Task<Result<Peer>> from_link_record(mad::Transactor& transactor, path::Path path, unsigned port, Lid from) {
  if (path.directed() != nullptr) {
    if (!from.is_unicast()) {
      const Result<smp::PortInfo> port0 = co_await transactor.try_subn_get<smp::PortInfo>(path);
      if (!port0) co_return port0.shared_error();
      from = port0->lid;
    }
    const path::IbPath by_lid = *path.directed();
    path = by_lid;
  } else {
    from = path.ib().dlid;
  }
  const Result<sa::LinkRecord> link = co_await sa::find_link(transactor, from, static_cast<std::uint8_t>(port));
  if (!link) co_return link.shared_error();
  if (!link->to_lid.is_unicast())
    throw Error(fmt::format("The SA's link record leads from port {} of LID {} to LID {}", port, from.value, link->to_lid.value));
  path.ib().dlid = link->to_lid;
  path.ib().slid = path.ib().end_port->lid;
  const Result<smp::PortInfo> info = co_await transactor.try_subn_get<smp::PortInfo>(path, link->to_port);
  if (!info) co_return info.shared_error();
  co_return Peer{path, link->to_port, *info};
}

}  // namespace

async::Task<Result<Peer>> find_peer(mad::Transactor& transactor, path::Path path, smp::NodeInfo node, unsigned port, smp::PortInfo info,
                                    bool from_sa) {
  if (!from_sa) {
    const std::optional<path::IbDrPath> route = route_beyond(path, node, port);
    if (route) {
      const Result<Peer> peer = co_await from_route(transactor, path, *route);
      if (peer || path.directed() != nullptr || !mad::is_timeout(peer.error())) co_return peer;
      const Result<Peer> linked = co_await from_link_record(transactor, path, port, info.lid);
      if (linked) co_return linked;
      path::Path again = *route;
      again.ib().timeout = path.ib().timeout;
      co_return co_await from_route(transactor, path, std::move(again));
    }
  }
  co_return co_await from_link_record(transactor, path, port, info.lid);
}

}  // namespace ib::subnet
