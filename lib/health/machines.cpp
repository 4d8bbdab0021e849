// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/machines.hpp"

#include <map>
#include <set>
#include <utility>

#include "subnet/model/names.hpp"

namespace ib::health {
namespace {

using subnet::NodeIndex;

Guid system_of(const subnet::Node& node) { return node.info.system_image_guid != Guid{} ? node.info.system_image_guid : node.guid(); }

}  // namespace

Machines::Machines(const subnet::Subnet& subnet, const HostNames& names) : machines_(subnet.nodes().size()) {
  std::map<std::pair<std::string, std::string_view>, Guid> systems;  // of the first adapter with a host name and a description
  std::set<std::string> shared;                                      // names of several machines
  for (NodeIndex at = 0; at < machines_.size(); ++at) {
    const subnet::Node& node = subnet.node(at);
    std::string name = names.host_of(node);
    if (name.empty()) continue;
    const auto [first, is_new] = systems.try_emplace({name, node.description()}, system_of(node));
    if (!is_new && first->second != system_of(node)) shared.insert(name);
    machines_[at].name = std::move(name);
  }
  for (NodeIndex at = 0; at < machines_.size(); ++at) {
    if (machines_[at].name.empty() || shared.contains(machines_[at].name)) machines_[at].system = system_of(subnet.node(at));
  }
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

}  // namespace ib::health
