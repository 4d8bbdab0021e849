// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/scope.hpp"

#include <algorithm>
#include <utility>

#include "routing/unicast.hpp"
#include "subnet/model/names.hpp"

namespace ib::health {
namespace {

using routing::HostIndex;
using routing::SwitchIndex;
using subnet::NodeIndex;
using subnet::PortIndex;
using subnet::Subnet;

Scope nothing_of(const Subnet& subnet) {
  return {false, std::vector<bool>(subnet.ports().size()), std::vector<bool>(subnet.nodes().size())};
}

void add_link(Scope& scope, const Subnet& subnet, PortIndex port) {
  for (const PortIndex end : {port, subnet.port(port).peer}) {
    if (end == subnet::none) continue;
    scope.ports[end] = true;
    scope.nodes[subnet.port(end).node] = true;
  }
}

}  // namespace

bool Scope::has(const Place& place) const {
  if (is_all) return true;
  if (place.is_before || place.node == subnet::none) return false;
  return place.port == subnet::none ? nodes[place.node] : ports[place.port];
}

bool Scope::has(const Finding& finding) const {
  return is_all || std::ranges::any_of(finding.ends, [this](const Place& end) { return has(end); });
}

void Scope::narrow(Finding& finding) const {
  if (is_all || finding.subject != Finding::Subject::group) return;
  std::vector<std::size_t> places(finding.ends.size(), finding.ends.size());  // of each end among those that stay
  std::vector<Place> ends;
  for (std::size_t at = 0; at < finding.ends.size(); ++at) {
    if (!has(finding.ends[at])) continue;
    places[at] = ends.size();
    ends.push_back(finding.ends[at]);
  }
  std::erase_if(finding.evidence, [&](const Evidence& evidence) { return places.at(evidence.end) == finding.ends.size(); });
  for (Evidence& evidence : finding.evidence) evidence.end = places.at(evidence.end);
  finding.ends = std::move(ends);
}

std::size_t host_count(const subnet::Subnet& subnet, const HostNames& names, const Scope& scope) {
  const Machines machines(subnet, names);
  std::set<Machine> all;
  for (NodeIndex at = 0; at < subnet.nodes().size(); ++at) {
    const subnet::Node& node = subnet.node(at);
    if (node.kind() != subnet::NodeKind::ca || subnet::is_aggregation_node(node) || !scope.has(Place{at, subnet::none})) continue;
    all.insert(machines.of(at));
  }
  return all.size();
}

std::size_t switch_count(const Subnet& subnet, const Scope& scope) {
  std::size_t count = 0;
  for (NodeIndex at = 0; at < subnet.nodes().size(); ++at)
    count += subnet.node(at).kind() == subnet::NodeKind::sw && scope.has(Place{at, subnet::none}) ? 1 : 0;
  return count;
}

std::size_t link_count(const Subnet& subnet, const Scope& scope) {
  std::size_t ends = 0;
  for (PortIndex at = 0; at < subnet.ports().size(); ++at) ends += subnet.port(at).peer != subnet::none && scope.has_port(at) ? 1 : 0;
  return (ends + 1) / 2;  // a looped cable has one linked port
}

Scope scope_around(const Subnet& subnet, NodeIndex centre) {
  Scope scope = nothing_of(subnet);
  const subnet::Node& node = subnet.node(centre);
  for (PortIndex port = node.first_port; port < node.first_port + node.slots; ++port) add_link(scope, subnet, port);
  scope.nodes.assign(scope.nodes.size(), false);
  scope.nodes[centre] = true;
  return scope;
}

Scope scope_between(const routing::Network& network, const routing::LinearTables& tables, const std::set<NodeIndex>& hosts) {
  const Subnet& subnet = network.subnet();
  Scope scope = nothing_of(subnet);
  std::vector<HostIndex> senders;
  for (HostIndex host = 0; host < network.hosts().size(); ++host) {
    const PortIndex port = network.hosts()[host].port;
    if (!hosts.contains(subnet.port(port).node)) continue;
    senders.push_back(host);
    add_link(scope, subnet, port);
  }
  for (const NodeIndex host : hosts) scope.nodes[host] = true;
  routing::RouteTree ways(network, tables, false);
  std::vector<std::size_t> passes(network.switches().size());  // by switch: the pass that was here last
  std::size_t pass = 0;
  for (const routing::DestinationLid& to : network.destinations(false)) {
    if (!std::ranges::binary_search(senders, to.host)) continue;
    ways.find(to);
    ++pass;
    for (const HostIndex sender : senders) {
      if (!ways.sends(sender)) continue;
      // Each switch once: all packets to the destination take the same way from it on.
      for (SwitchIndex at = network.hosts()[sender].leaf; at != routing::none && ways.is_reached(at) && passes[at] != pass;
           at = ways.hop(at).next) {
        passes[at] = pass;
        if (const auto out = ways.hop(at).out; out != routing::none) add_link(scope, subnet, network.port_of(out));
      }
    }
  }
  return scope;
}

}  // namespace ib::health
