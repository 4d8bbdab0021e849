// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/set/cut_off.hpp"

#include <fmt/format.h>

#include <deque>

#include "mad/error.hpp"
#include "subnet/sweep/peer.hpp"

namespace ib::subnet {

namespace {

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

/// The words for the node of `peer`: its LID, or the route to it if it has no LID. The LID is preferred, because the route may
/// lead over the link in question.
async::Task<std::string> name_of(mad::Transactor& transactor, Peer peer) {
  if (peer.info.lid.is_unicast()) co_return fmt::format("LID {}", peer.info.lid.value);
  const mad::Result<smp::PortInfo> port0 = co_await transactor.try_subn_get<smp::PortInfo>(peer.path);
  if (port0 && port0->lid.is_unicast()) co_return fmt::format("LID {}", port0->lid.value);
  co_return mad::target_text(peer.path);
}

/// The words of the message for the other end of the link.
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
  const std::string name = co_await name_of(transactor, *peer);
  co_return fmt::format("use the other end of the link, port {} of {}", peer->port, name);
}

}  // namespace

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

RoutesAround::RoutesAround(const Subnet& subnet, const std::unordered_set<PortIndex>& avoided)
    : subnet_(subnet), via_(subnet.ports().size(), none) {
  if (subnet.start == none) return;
  std::deque<PortIndex> queue{subnet.start};
  while (!queue.empty()) {
    const PortIndex at = queue.front();
    queue.pop_front();
    const Node& node = subnet.node(subnet.port(at).node);
    const bool forwards = node.kind() == NodeKind::sw;
    for (unsigned number = 1; number < node.slots; ++number) {
      const PortIndex out = node.first_port + number;
      const PortIndex in = subnet.port(out).peer;
      if (in == none || avoided.contains(out) || avoided.contains(in)) continue;
      if (!forwards && out != subnet.start) continue;  // packets leave this host only through its own port
      const PortIndex next = subnet.end_port_of(in);
      if (next == subnet.start || via_[next] != none) continue;
      via_[next] = out;
      queue.push_back(next);
    }
  }
}

std::optional<path::IbDrPath> RoutesAround::to(PortIndex end_port) const {
  if (subnet_.start == none) return std::nullopt;
  std::vector<std::uint8_t> ports;
  while (end_port != subnet_.start) {
    const PortIndex via = via_[end_port];
    if (via == none) return std::nullopt;
    ports.push_back(subnet_.port(via).number);
    end_port = subnet_.end_port_of(via);
  }
  std::optional<path::IbDrPath> route{path::IbDrPath()};
  for (auto port = ports.rbegin(); route && port != ports.rend(); ++port) route = route->advance(*port);
  return route;
}

}  // namespace ib::subnet
