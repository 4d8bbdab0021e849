// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/model/find_port.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "iba-gen/smp.hpp"
#include "iba/text.hpp"
#include "subnet/model/order.hpp"

namespace ib::subnet {

namespace {

FoundPort not_found(const SweptSubnet& swept, std::string what) {
  if (!swept.failures.empty()) what += " The subnet is not completely known: parts of it did not answer.";
  return {none, std::move(what)};
}

/// The only end port of a node. `what` is the words for the node in messages.
FoundPort only_port(const SweptSubnet& swept, NodeIndex at, const std::string& what) {
  const Subnet& subnet = swept.subnet;
  const std::vector<PortIndex> ports = end_ports(subnet, at);
  if (ports.size() == 1) return {ports[0], {}};
  if (ports.empty()) return not_found(swept, fmt::format("{} is a node of which no port is known.", what));
  std::string choice;
  for (const PortIndex port : ports) {
    choice += fmt::format("{}{} (port {})", choice.empty() ? "" : ", ", to_text(subnet.port(port).guid), subnet.port(port).number);
  }
  return {none, fmt::format("{} is a node with {} ports: name one of them, {}.", what, ports.size(), choice)};
}

FoundPort by_lid(const SweptSubnet& swept, Lid lid) {
  const Subnet& subnet = swept.subnet;
  const PortIndex port = subnet.find_lid(lid);
  if (port != none) return {port, {}};
  if (!lid.is_unicast()) return {none, fmt::format("LID {} is not a unicast LID: no port has it.", lid.value)};
  return not_found(swept, fmt::format("No port has the LID {}.", lid.value));
}

/// The only end port of the only node with a SystemImageGUID.
FoundPort by_system(const SweptSubnet& swept, Guid guid) {
  const Subnet& subnet = swept.subnet;
  std::string names;
  NodeIndex found = none;
  unsigned count = 0;
  for (NodeIndex at = 0; at < subnet.nodes().size(); ++at) {
    const Node& node = subnet.node(at);
    if (node.info.system_image_guid != guid || guid == Guid{}) continue;
    names += fmt::format("{}{} {}", count++ == 0 ? "" : ", ", to_text(node.guid()), in_quotes(node.description()));
    found = at;
  }
  if (count == 0) return not_found(swept, fmt::format("No port, no node and no system has the GUID {}.", to_text(guid)));
  if (count == 1) return only_port(swept, found, "GUID " + to_text(guid));
  return {none, fmt::format("GUID {} is a system of {} nodes: name one of them, {}.", to_text(guid), count, names)};
}

FoundPort by_guid(const SweptSubnet& swept, Guid guid) {
  const Subnet& subnet = swept.subnet;
  const PortIndex port = subnet.find_port(guid);
  const NodeIndex node = port != none ? subnet.port(port).node : subnet.find_node(guid);
  if (node == none) return by_system(swept, guid);
  if (std::string several = several_text(subnet, guid); !several.empty()) return {none, std::move(several)};
  if (port != none) return {port, {}};
  return only_port(swept, node, "GUID " + to_text(guid));
}

FoundPort by_gid(const SweptSubnet& swept, const Gid& gid) {
  const Subnet& subnet = swept.subnet;
  FoundPort found = by_guid(swept, gid.guid());
  if (!found || gid.prefix() == link_local_prefix || !subnet.port(found.port).has_info) return found;
  const GidPrefix prefix{load_be<std::uint64_t>(subnet.port(found.port).info_bytes.data() + 8)};  // IBA 14.2.5.6: PortInfo.GIDPrefix
  if (prefix == gid.prefix()) return found;
  return {none, fmt::format("No port has the GID {}: the subnet of the port with this GUID is {}.", to_text(gid), to_text(prefix))};
}

struct RouteWalk {
  enum class End : std::uint8_t { arrived, no_switch, no_port, no_link };
  End end = End::arrived;
  PortIndex at = none;   ///< the port by which the route comes to the last node that it reaches
  unsigned hop = 0;      ///< the hop that is not possible
  PortIndex out = none;  ///< no_link: the port without a link
};
/// Walks `route`, without what follows it by LID, from the port `at`.
RouteWalk walk(const Subnet& subnet, const path::IbDrPath& route, PortIndex at) {
  using enum RouteWalk::End;
  for (unsigned hop = 1; hop <= route.hops && hop <= path::max_hops; ++hop) {
    const NodeIndex node = subnet.port(at).node;
    if (hop > 1 && subnet.node(node).kind() != NodeKind::sw) return {no_switch, at, hop, none};
    const PortIndex out = subnet.port_of(node, route.route[hop]);
    if (out == none) return {no_port, at, hop, none};
    if (subnet.port(out).peer == none) return {no_link, at, hop, out};
    at = subnet.port(out).peer;
  }
  return {arrived, at, 0, none};
}

FoundPort by_route(const SweptSubnet& swept, const path::IbDrPath& route) {
  const Subnet& subnet = swept.subnet;
  FoundPort begin{subnet.start, {}};
  if (!route.begins_here()) begin = by_lid(swept, route.dlid);
  if (!begin) return route.begins_here() ? FoundPort{none, "The subnet is empty."} : begin;
  const RouteWalk walked = walk(subnet, route, begin.port);
  if (walked.end != RouteWalk::End::arrived) {
    const unsigned number = route.route[walked.hop];
    const std::string where =
        fmt::format("The directed route ends before hop {}: {}", walked.hop, to_text(subnet.node_of(walked.at).guid()));
    if (walked.end == RouteWalk::End::no_switch) return {none, where + " is not a switch."};
    if (walked.end == RouteWalk::End::no_port || number == 0) return {none, fmt::format("{} has no port {}.", where, number)};
    return not_found(swept, fmt::format("{} has no link at port {}.", where, number));
  }
  if (route.dr_dlid != permissive_lid) return by_lid(swept, route.dr_dlid);
  return {subnet.end_port_of(walked.at), {}};
}

PathEnd at_port(const Subnet& subnet, PortIndex at) {
  if (at == none) return {};
  const Port& port = subnet.port(at);
  if (subnet.node(port.node).kind() == NodeKind::sw) return {.node = port.node};
  return {port.node, port.number, port.number};
}

PathEnd follow_route(const Subnet& subnet, const path::IbDrPath& route) {
  const PortIndex begin = route.begins_here() ? subnet.start : subnet.find_lid(route.dlid);
  if (begin == none) return {};
  const RouteWalk walked = walk(subnet, route, begin);
  if (walked.end != RouteWalk::End::arrived) return {.beyond = walked.hop == route.hops ? walked.out : none};
  if (route.dr_dlid != permissive_lid) return at_port(subnet, subnet.find_lid(route.dr_dlid));
  PathEnd end = at_port(subnet, walked.at);
  if (end.entry_port == 0) end.arrival = route.hops == 0 ? std::uint8_t{0} : subnet.port(walked.at).number;
  return end;
}

}  // namespace

std::string several_text(const Subnet& subnet, Guid guid) {
  std::vector<PortIndex> claims;
  // A node is meant by its own GUID, and by the GUIDs of its ports: all nodes with the GUID of a port's node may be meant.
  const PortIndex by_port = subnet.find_port(guid);
  NodeIndex node = by_port == none ? subnet.find_node(guid) : subnet.find_node(subnet.node_of(by_port).guid());
  for (; node != none; node = subnet.node(node).twin)
    claims.push_back(subnet.end_port_of(subnet.node(node).first_port + subnet.node(node).entry_port));
  for (PortIndex at = 0; by_port != none && at < subnet.ports().size(); ++at) {
    const auto is_of_node = [&](PortIndex claim) { return subnet.port(claim).node == subnet.port(at).node; };
    if (subnet.end_port_of(at) == at && subnet.end_port_guid(at) == guid && std::ranges::none_of(claims, is_of_node)) claims.push_back(at);
  }
  if (claims.size() < 2) return {};
  constexpr std::size_t most = 8;
  std::string names;
  for (const PortIndex claim : std::span(claims).first(std::min(claims.size(), most))) {
    const Node& of = subnet.node_of(claim);
    names += fmt::format("{}{} (LID {})", names.empty() ? "" : ", ", in_quotes(of.description()), subnet.lid(claim).value);
  }
  return fmt::format("Several nodes claim the GUID {}, {}{}: give a LID or a directed route instead.", to_text(guid), names,
                     claims.size() > most ? ", …" : "");
}

FoundPort find_port(const SweptSubnet& swept, const path::Path& target) {
  const Subnet& subnet = swept.subnet;
  if (const path::IbDrPath* route = target.directed()) return by_route(swept, *route);
  const path::IbPath& path = target.ib();
  if (path.dlid != Lid{} || !path.dgid) {
    FoundPort found = by_lid(swept, path.dlid);
    const auto is_meant = [&](const Port& port) {
      return port.guid == path.expected_node_guid || subnet.node(port.node).guid() == path.expected_node_guid;
    };
    return path.expected_node_guid == Guid{} || (found && is_meant(subnet.port(found.port))) ? found
                                                                                             : by_guid(swept, path.expected_node_guid);
  }
  return by_gid(swept, *path.dgid);
}

PortIndex get_port(const SweptSubnet& swept, const path::Path& target) {
  FoundPort found = find_port(swept, target);
  if (!found) throw Error(std::move(found.missing));
  return found.port;
}

NodeIndex same_start(const Subnet& whole, const Subnet& part) {
  const Guid guid = part.node_of(part.start).guid();
  const Lid lid = part.lid(part.start);
  const PortIndex at = lid.is_unicast() ? whole.find_lid(lid) : none;
  return at != none && whole.node_of(at).guid() == guid ? whole.port(at).node : whole.find_node(guid);
}

PathEnd end_of_path(const Subnet& subnet, const path::Path& path) {
  if (const path::IbDrPath* route = path.directed()) return follow_route(subnet, *route);
  return at_port(subnet, subnet.find_lid(path.ib().dlid));
}

void set_arrival(const Subnet& subnet, const PathEnd& end, std::uint8_t arrival, std::uint16_t attribute,
                 std::vector<std::uint8_t>& content) {
  if (attribute == smp::PortInfo::attribute_id) {
    content.resize(std::max(content.size(), local_port_num_offset + 1));
    content[local_port_num_offset] = arrival;
  } else if (attribute == smp::NodeInfo::attribute_id) {
    content.resize(smp::NodeInfo::wire_size);
    smp::NodeInfo info = smp::NodeInfo::unpack(content);
    info.local_port_num = arrival;
    const PortIndex port = subnet.port_of(end.node, end.entry_port);
    if (end.entry_port != 0 && port != none) info.port_guid = subnet.port_guid(port);
    info.pack(content);
  }
}

}  // namespace ib::subnet
