// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "routing/balance.hpp"

#include <algorithm>
#include <iterator>

namespace ib::routing {
namespace {

/// Whether no port carries more than one LID more than another.
bool is_even(const std::vector<PortUse>& ports) {
  const auto [least, most] = std::ranges::minmax_element(ports, {}, &PortUse::lids);
  return ports.empty() || most->lids <= least->lids + 1;
}

/// The ports that carry at least two LIDs less than the port that carries the most. Without `unused`, only ports that carry LIDs.
std::vector<PortUse> lesser(const std::vector<PortUse>& ports, bool unused) {
  const unsigned most = std::ranges::max_element(ports, {}, &PortUse::lids)->lids;
  std::vector<PortUse> rest;
  std::ranges::copy_if(ports, std::back_inserter(rest), [&](const PortUse& of) { return of.lids + 1 < most && (unused || of.lids != 0); });
  return rest;
}

}  // namespace

std::optional<SwitchUse> switch_use(const Network& network, const LinearTables& tables, SwitchIndex at) {
  if (!tables.is_known(at)) return std::nullopt;
  const subnet::Subnet& subnet = network.subnet();
  const auto is_switch = [&subnet](subnet::PortIndex port) { return subnet.node_of(port).kind() == subnet::NodeKind::sw; };
  const subnet::Node& node = subnet.node(network.switches()[at].node);
  std::vector<unsigned> lids(node.slots);
  for (const ForwardingEntry& entry : entries_of(network, tables, at)) {
    if (!is_switch(entry.owner)) ++lids[entry.port];
  }
  SwitchUse found;
  for (unsigned number = 1; number < node.slots; ++number) {
    const subnet::PortIndex peer = subnet.port(node.first_port + number).peer;
    if (lids[number] == 0 && peer == subnet::none) continue;
    ++found.in_use;
    if (peer == subnet::none || is_switch(peer)) found.ports.push_back({number, lids[number]});
  }
  return found;
}

bool is_unbalanced(const SwitchUse& of, bool deeper) {
  constexpr unsigned few_ports = 12;
  if (is_even(of.ports)) return false;
  if (!deeper || of.in_use <= few_ports) return true;
  const std::vector<PortUse> used = lesser(of.ports, false), all = lesser(of.ports, true);
  const std::size_t half = of.in_use / 2;
  if (used.size() + 1 >= half && used.size() <= half + 1 && is_even(used)) return false;
  return !std::ranges::all_of(all, [](const PortUse& port) { return port.lids == 0; });
}

}  // namespace ib::routing
