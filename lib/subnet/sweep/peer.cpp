// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/sweep/peer.hpp"

#include <fmt/format.h>

#include "mad/error.hpp"
#include "sa/records.hpp"
#include "subnet/model/port_paths.hpp"

namespace ib::subnet {
namespace {

/// The route to the node beyond `port`. Nothing if SMPs cannot be sent there.
std::optional<path::IbDrPath> route_beyond(const path::Path& path, const smp::NodeInfo& node, unsigned port) {
  const bool forwards = node.node_type == smp::NodeType::switch_;
  const path::IbDrPath* directed = path.directed();
  if (directed == nullptr) {  // a directed route that starts at the LID (IBA 14.2.2)
    if (!forwards) return std::nullopt;
    path::IbDrPath route = route_from(path);
    make_trial(route);
    return route.advance(static_cast<std::uint8_t>(port));
  }
  if (forwards || directed->hops == 0) return directed->advance(static_cast<std::uint8_t>(port));
  if (port != node.local_port_num) return std::nullopt;
  path::IbDrPath route = *directed;
  route.retreat();
  return route;
}

/// Whether no SA has answered, so that it is not known whether the route or the node beyond the link is silent.
bool is_silent_sa(const mad::MadError& error) {
  return mad::is_timeout(error) && mad::HeaderView(error.request()).mgmt_class() == mad::mgmt_class::sa;
}

async::Task<mad::Result<Peer>> from_route(mad::Transactor& transactor, path::Path path, path::Path route) {
  const path::IbDrPath* to_node = path.directed();
  unsigned port = 0;
  if (to_node != nullptr && route.directed()->hops < to_node->hops) {
    port = to_node->route[to_node->hops];
  } else {
    const mad::Result<smp::NodeInfo> beyond = co_await transactor.try_subn_get<smp::NodeInfo>(route);
    if (!beyond) co_return beyond.shared_error();
    port = beyond->local_port_num;  // the port that received the request
  }
  route.ib().retries = path.ib().retries;
  route.ib().timeout = path.ib().timeout;
  const mad::Result<smp::PortInfo> info = co_await transactor.try_subn_get<smp::PortInfo>(route, port);
  if (!info) co_return info.shared_error();
  co_return Peer{route, port, *info};
}

async::Task<mad::Result<Peer>> from_link_record(mad::Transactor& transactor, path::Path path, unsigned port, Lid from) {
  if (path.directed() != nullptr) {
    if (!from.is_unicast()) {
      const mad::Result<smp::PortInfo> port0 = co_await transactor.try_subn_get<smp::PortInfo>(path);
      if (!port0) co_return port0.shared_error();
      from = port0->lid;
    }
    const path::IbPath by_lid = *path.directed();
    path = by_lid;
  } else {
    from = path.ib().dlid;
  }
  const mad::Result<sa::LinkRecord> link = co_await sa::find_link(transactor, from, static_cast<std::uint8_t>(port));
  if (!link) co_return link.shared_error();
  path.ib().dlid = sa::end_of(*link);
  path.ib().slid = path.ib().end_port->lid;
  const mad::Result<smp::PortInfo> info = co_await transactor.try_subn_get<smp::PortInfo>(path, link->to_port);
  if (!info) co_return info.shared_error();
  co_return Peer{path, link->to_port, *info};
}

constexpr unsigned lids_per_block = 64;  // of a linear forwarding table (IBA 14.2.5.10)

/// The port through which the request came in, as the node says; 0 if the node does not say it.
unsigned local_port(const smp::NodeInfo& node, const smp::PortInfo& info) {
  return info.local_port_num != 0 ? info.local_port_num : node.local_port_num;
}

/// Whether the last switch before the node forwards by LID.
bool ends_by_lid(const path::Path& path) {
  const path::IbDrPath* directed = path.directed();
  return directed == nullptr || directed->dr_dlid != permissive_lid || (directed->hops == 0 && directed->dlid != permissive_lid);
}

bool is_this_host(const path::Path& path) {
  const path::IbPath& ib = path.ib();
  if (const path::IbDrPath* directed = path.directed(); directed != nullptr && ib.dlid == permissive_lid) return directed->hops == 0;
  return path.directed() == nullptr && ib.dlid == ib.end_port->lid;
}

/// The LID of a port, or of port 0 of its switch; 0 if it is not known.
async::Task<Lid> lid_of(mad::Transactor& transactor, Peer peer) {
  if (peer.info.lid.is_unicast()) co_return peer.info.lid;
  const mad::Result<smp::PortInfo> port0 = co_await transactor.try_subn_get<smp::PortInfo>(peer.path);
  co_return port0 && port0->lid.is_unicast() ? port0->lid : Lid{};
}

async::Task<std::string> other_end(mad::Transactor& transactor, path::Path path, smp::NodeInfo node, unsigned port, smp::PortInfo info,
                                   bool from_sa) {
  if (is_this_host(path)) co_return "it is the port of this host, which does not reach the fabric without it";
  const Lid here = path.ib().end_port->lid;
  const std::string linked_here = "it is linked to this host, which does not reach the fabric without it";
  if (const path::IbDrPath* directed = path.directed(); directed != nullptr && directed->hops > 0 && !ends_by_lid(path)) {
    path::IbDrPath before = *directed;  // the route itself names the link
    const unsigned out_port = before.retreat();
    if (is_this_host(before)) co_return linked_here;
    co_return fmt::format("use the other end of the link, port {} of {}", out_port, mad::target_text(before));
  }
  const mad::Result<Peer> peer = co_await find_peer(transactor, path, node, port, info, from_sa);
  if (!peer) co_return "use the other end of the link, which did not say what it is";
  if (is_this_host(peer->path) || (here.is_unicast() && peer->info.lid == here)) co_return linked_here;
  const Lid lid = co_await lid_of(transactor, *peer);  // rather than the route, which may lead over the link in question
  co_return fmt::format("use the other end of the link, port {} of {}", peer->port,
                        lid != Lid{} ? fmt::format("LID {}", lid.value) : mad::target_text(peer->path));
}

/// Whether SMPs to the node at `path` come in through its port `port`, or its answers leave through that port. Port 0 means the port
/// through which the SMP came in.
///
///  - For a directed route, LocalPortNum gives the port (IBA 14.2.5.6).
///  - For an end node, LocalPortNum also gives the port: an SMP comes in through the port that owns the LID.
///  - A switch that is addressed by LID may report 0 there. Its answers leave through the entry of this host's LID in its
///    linear forwarding table. That entry is read from the switch.
async::Task<mad::Result<bool>> carries_our_smps(mad::Transactor& transactor, path::Path path, smp::NodeInfo node, unsigned port,
                                                smp::PortInfo info) {
  const unsigned in_port = local_port(node, info);
  if (node.node_type != smp::NodeType::switch_) co_return port == 0 || in_port == 0 || port == in_port;
  if (port == 0) co_return false;  // port 0 has no link
  if (port == in_port) co_return true;
  const path::IbPath& ib = path.ib();
  const Lid here = ib.slid.is_unicast() ? ib.slid : ib.end_port->lid;
  if (!ends_by_lid(path) || !here.is_unicast()) co_return false;
  const mad::Result<smp::LinearForwardingTable> block =
      co_await transactor.try_subn_get<smp::LinearForwardingTable>(path, here.value / lids_per_block);
  if (!block) co_return block.shared_error();
  co_return block->port_block[here.value % lids_per_block] == port;
}

}  // namespace

async::Task<mad::Result<Peer>> find_peer(mad::Transactor& transactor, path::Path path, smp::NodeInfo node, unsigned port,
                                         smp::PortInfo info, bool from_sa) {
  if (!from_sa) {
    const std::optional<path::IbDrPath> route = route_beyond(path, node, port);
    if (route) {
      const mad::Result<Peer> peer = co_await from_route(transactor, path, *route);
      if (peer || path.directed() != nullptr || !mad::is_timeout(peer.error())) co_return peer;
      const mad::Result<Peer> linked = co_await from_link_record(transactor, path, port, info.lid);
      if (linked) co_return linked;
      path::Path again = *route;
      again.ib().timeout = path.ib().timeout;
      const mad::Result<Peer> last = co_await from_route(transactor, path, std::move(again));
      co_return !last && is_silent_sa(linked.error()) ? linked : last;
    }
  }
  co_return co_await from_link_record(transactor, path, port, info.lid);
}

async::Task<std::optional<Peer>> peer_by_lid(mad::Transactor& transactor, Peer peer, path::IbPath like) {
  like.dlid = co_await lid_of(transactor, peer);
  if (like.dlid == Lid{}) co_return std::nullopt;
  like.slid = like.end_port->lid;
  const path::Path path = like;
  const mad::Result<smp::PortInfo> info = co_await transactor.try_subn_get<smp::PortInfo>(path, peer.port);
  if (!info) co_return std::nullopt;
  co_return Peer{path, peer.port, *info};
}

async::Task<> check_carries_our_smps(mad::Transactor& transactor, path::Path path, smp::NodeInfo node, unsigned port, smp::PortInfo info,
                                     bool from_sa) {
  mad::Result<bool> way_in = co_await carries_our_smps(transactor, path, node, port, info);
  const bool cuts_off = std::move(way_in).take();
  if (!cuts_off) co_return;
  const unsigned number = port != 0 ? port : local_port(node, info);
  const std::string instead = co_await other_end(transactor, path, node, number, info, from_sa);
  throw UsageError(fmt::format("Port {} of {} is on the way to it: once it is disabled, nothing can enable it again; {}", number,
                               mad::target_text(path), instead));
}

}  // namespace ib::subnet
