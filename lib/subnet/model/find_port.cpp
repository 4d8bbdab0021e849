// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/model/find_port.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "iba/text.hpp"

namespace ib::subnet {
namespace {

FoundPort not_found(const SweptSubnet& swept, std::string what) {
  if (!swept.failures.empty()) what += " The subnet is not completely known: parts of it did not answer.";
  return {none, std::move(what)};
}

/// The end ports of a node about which something is known.
std::vector<PortIndex> known_end_ports(const Subnet& subnet, NodeIndex at) {
  const Node& node = subnet.node(at);
  if (node.kind() == NodeKind::sw) return {node.first_port};
  std::vector<PortIndex> ports;
  for (unsigned number = 1; number < node.slots; ++number) {
    const PortIndex port = subnet.port_of(at, number);
    if (subnet.port(port).has_info || subnet.port(port).peer != none || number == node.entry_port) ports.push_back(port);
  }
  return ports;
}

/// The only end port of a node. `what` is the words for the node in messages.
FoundPort only_port(const SweptSubnet& swept, NodeIndex at, const std::string& what) {
  const Subnet& subnet = swept.subnet;
  const std::vector<PortIndex> ports = known_end_ports(subnet, at);
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

FoundPort by_route(const SweptSubnet& swept, const path::IbDrPath& route) {
  const Subnet& subnet = swept.subnet;
  PortIndex at = subnet.start;
  if (route.dlid != permissive_lid && route.dlid != Lid{}) {
    const FoundPort begin = by_lid(swept, route.dlid);
    if (!begin) return begin;
    at = begin.port;
  }
  if (at == none) return {none, "The subnet is empty."};
  for (unsigned hop = 1; hop <= route.hops && hop <= path::max_hops; ++hop) {
    const NodeIndex node = subnet.port(at).node;
    const std::string where = fmt::format("The directed route ends before hop {}: {}", hop, to_text(subnet.node(node).guid()));
    if (hop > 1 && subnet.node(node).kind() != NodeKind::sw) return {none, where + " is no switch."};
    const unsigned number = route.route[hop];
    const PortIndex out = number == 0 ? none : subnet.port_of(node, number);
    if (out == none) return {none, fmt::format("{} has no port {}.", where, number)};
    if (subnet.port(out).peer == none) return not_found(swept, fmt::format("{} has no link at port {}.", where, number));
    at = subnet.port(out).peer;
  }
  if (route.dr_dlid != permissive_lid) return by_lid(swept, route.dr_dlid);
  return {subnet.end_port_of(at), {}};
}

/// The end port that was found first of a node.
PortIndex entry_of(const Subnet& subnet, NodeIndex node) {
  return subnet.end_port_of(subnet.node(node).first_port + subnet.node(node).entry_port);
}

}  // namespace

std::string several_text(const Subnet& subnet, Guid guid) {
  std::vector<PortIndex> claims;
  // A node is meant by its own GUID, and by those of its ports: all nodes with the GUID of a port's node may be meant.
  const PortIndex by_port = subnet.find_port(guid);
  NodeIndex node = by_port == none ? subnet.find_node(guid) : subnet.find_node(subnet.node(subnet.port(by_port).node).guid());
  for (; node != none; node = subnet.node(node).twin) claims.push_back(entry_of(subnet, node));
  for (PortIndex at = 0; by_port != none && at < subnet.ports().size(); ++at) {
    const auto is_of_node = [&](PortIndex claim) { return subnet.port(claim).node == subnet.port(at).node; };
    if (subnet.end_port_of(at) == at && subnet.end_port_guid(at) == guid && std::ranges::none_of(claims, is_of_node)) claims.push_back(at);
  }
  if (claims.size() < 2) return {};
  constexpr std::size_t most = 8;
  std::string names;
  for (const PortIndex claim : std::span(claims).first(std::min(claims.size(), most))) {
    const Node& of = subnet.node(subnet.port(claim).node);
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
    const auto is_meant = [&](const Port& port) { return port.guid == path.meant || subnet.node(port.node).guid() == path.meant; };
    return path.meant == Guid{} || (found && is_meant(subnet.port(found.port))) ? found : by_guid(swept, path.meant);
  }
  return by_gid(swept, *path.dgid);
}

PortIndex get_port(const SweptSubnet& swept, const path::Path& target) {
  FoundPort found = find_port(swept, target);
  if (!found) throw Error(std::move(found.missing));
  return found.port;
}

}  // namespace ib::subnet
