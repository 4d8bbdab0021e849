// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/model/port_paths.hpp"

#include "base/error.hpp"
#include "iba-gen/sa.hpp"
#include "iba/text.hpp"
#include "iba/wire.hpp"
#include "sa/records.hpp"
#include "subnet/model/order.hpp"

namespace ib::subnet {

path::IbDrPath route_from(const path::Path& path) {
  if (const path::IbDrPath* directed = path.directed()) return *directed;
  path::IbDrPath route;
  static_cast<path::IbPath&>(route) = path.ib();
  route.dr_slid = route.slid;
  return route;
}

path::Path smp_path(const Subnet& subnet, NodeIndex node, const path::Path& start) {
  const Guid meant = subnet.node(node).guid();
  if (subnet.start != none && node == subnet.port(subnet.start).node) {
    path::Path first = start;
    first.ib().expected_node_guid = meant;
    return first;
  }
  std::array<std::uint8_t, 64> route{};
  const unsigned hops = route_to(subnet, node, route);
  path::IbDrPath path = route_from(start);
  path.expected_node_guid = meant;
  for (unsigned hop = 1; hop <= hops && path.hops < path::max_hops; ++hop) path.route[++path.hops] = route[hop];
  return path;
}

path::Path sma_path(const Subnet& subnet, PortIndex port, const path::Path& start) {
  const Port& at = subnet.port(port);
  const Node& node = subnet.node(at.node);
  path::Path path = smp_path(subnet, at.node, start);
  const bool is_reached = node.kind() == NodeKind::sw || node.via == at.peer || port == subnet.start;
  if (is_reached || at.peer == none) return path;
  const Port& before = subnet.port(at.peer);
  std::optional<path::IbDrPath> route = route_from(smp_path(subnet, before.node, start)).advance(before.number);
  if (!route) return path;
  route->expected_node_guid = node.guid();
  return *route;
}

namespace {

/// What a path to the LID of `port` is meant for. The ports of a node that is not a switch have a LID each, and may exchange them.
Guid guid_at(const Subnet& subnet, PortIndex port) {
  const Node& node = subnet.node_of(port);
  const Guid port_guid = subnet.end_port_guid(port);
  return node.kind() == NodeKind::sw || port_guid == Guid{} ? node.guid() : port_guid;
}

/// A path to the node of `port` by `lid`, the LID that the port owns or claims.
path::Path path_to(const Subnet& subnet, PortIndex port, Lid lid, const path::Path& start, Qpn qp) {
  path::IbPath path;
  path.expected_node_guid = guid_at(subnet, port);
  path.end_port = start.ib().end_port;
  path.slid = path.end_port->lid;
  path.dlid = lid;
  path.dqpn = path.sqpn = qp;
  path.qkey = qp == Qpn{0} ? 0 : path::qp1_qkey;
  path.m_key = start.ib().m_key;
  path.retries = start.ib().retries;
  path.timeout = start.ib().timeout;
  return path;
}

}  // namespace

std::optional<path::Path> lid_path(const Subnet& subnet, PortIndex port, const path::Path& start, Qpn qp) {
  const Lid lid = subnet.lid(port);
  if (!lid.is_unicast() || subnet.find_lid(lid) != subnet.end_port_of(port)) return std::nullopt;
  return path_to(subnet, port, lid, start, qp);
}

std::optional<path::Path> PortPaths::to_base_lid(PortIndex port) const {
  const Lid lid = subnet_.lid(port);
  if (!lid.is_unicast()) return std::nullopt;
  path::Path path = path_to(subnet_, port, lid, start_, Qpn{1});
  const auto route = routes_.find(subnet_.find_lid(lid));
  if (route != routes_.end()) path.ib().sl = route->second.sl;
  return path;
}

std::optional<path::Path> PortPaths::gmp(PortIndex port) const {
  if (base_lids_) return to_base_lid(port);
  std::optional<path::Path> path = gmp_path(subnet_, port, start_);
  if (!path || routes_.empty()) return path;
  const auto route = routes_.find(subnet_.end_port_of(port));
  if (route == routes_.end()) {
    const bool is_own = path->ib().dlid == path->ib().slid;  // some SAs have no path to the requesting port itself
    return is_own || !why_sl_0_.empty() ? path : std::nullopt;
  }
  path::IbPath& ib = path->ib();
  ib.dlid = route->second.dlid;
  ib.slid = route->second.slid;
  ib.pkey = route->second.pkey;
  ib.sl = route->second.sl;
  ib.packet_life_time = route->second.packet_life_time;
  return path;
}

async::Task<> PortPaths::read_service_levels(mad::Transactor& transactor) {
  routes_.clear();
  why_sl_0_.clear();
  is_sa_silent_ = false;
  if (!transactor.knows_sa()) {
    why_sl_0_ = mad::no_sa_is_known;
    co_return;
  }
  sa::Pattern pattern(sa::PathRecord::info());
  pattern.match("SGID", to_text(start_.ib().end_port->default_gid()));
  pattern.match("reversible", 1);
  pattern.match("numbPath", 1);
  async::Task<mad::Result<sa::Records>> query = sa::try_records(transactor, transactor.sa_path(), pattern);
  sa::Records paths;
  const std::shared_ptr<const Error> error = co_await sa::store_answer(std::move(query), paths);
  if (!error) co_return take_paths(paths);
  why_sl_0_ = error->message();
  is_sa_silent_ = kind_of(*error) == Failure::Kind::no_answer;
}

void PortPaths::take_paths(const sa::Records& records) {
  for (const Bytes row : records.bytes) {
    const auto record = wire::unpack_short<sa::PathRecord>(row);
    const PortIndex port = subnet_.find_lid(record.dlid);
    if (port == none || !record.dlid.is_unicast() || !record.slid.is_unicast()) continue;
    routes_.try_emplace(port, Route{record.dlid, record.slid, Pkey{record.p_key}, record.sl, record.packet_life_time});
  }
  if (records.torn) why_sl_0_ = "the subnet administrator's table of paths did not arrive whole";
  if (routes_.empty() && why_sl_0_.empty()) why_sl_0_ = "the subnet administrator knows no paths from here";
}

RoutesAround::RoutesAround(const Subnet& subnet, const std::unordered_set<PortIndex>& avoided)
    : subnet_(subnet), via_(subnet.ports().size(), none) {
  for (const PortIndex out : first_links(subnet, avoided)) via_[subnet.end_port_of(subnet.port(out).peer)] = out;
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
