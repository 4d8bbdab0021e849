// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// GUIDs and descriptions, which distinguish nodes from each other.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <vector>

#include "base/escape.hpp"
#include "health/checks/topics.hpp"
#include "health/hosts.hpp"
#include "iba/text.hpp"
#include "subnet/diff/counterparts.hpp"
#include "subnet/model/names.hpp"

namespace ib::health {
namespace {

using subnet::NodeIndex;
using subnet::NodeKind;
using subnet::PortIndex;

constexpr std::size_t most_examples = 3;  // of descriptions in a detail

Finding group_of(std::vector<NodeIndex> nodes, const subnet::Subnet& subnet) {
  std::ranges::sort(nodes, {}, [&subnet](NodeIndex at) { return subnet.node(at).guid(); });
  return on_nodes(nodes, Finding::Subject::group);
}

/// End ports of different nodes that claim one port GUID, where their nodes do not claim one node GUID.
void find_duplicate_port_guids(const subnet::Subnet& subnet, Findings& findings) {
  std::map<Guid, PortIndex> owners;
  for (PortIndex at = 0; at < subnet.ports().size(); ++at) {
    const subnet::Port& port = subnet.port(at);
    if (port.guid == Guid{} || subnet.node(port.node).kind() == NodeKind::sw) continue;
    const auto [owner, is_new] = owners.try_emplace(port.guid, at);
    if (is_new || subnet.node(subnet.port(owner->second).node).guid() == subnet.node(port.node).guid()) continue;
    Finding& finding = findings.emplace_back(on_ports(subnet, std::array{owner->second, at}));
    finding.detail = fmt::format("Both ports have the GUID {}.", to_text(port.guid));
  }
}

/// Says which of the nodes had another GUID in the baseline: theirs is the one to change.
void add_former_guids(const Input& input, Finding& finding) {
  if (input.baseline == nullptr) return;
  for (const Place& end : finding.ends) {
    const auto& replaced = input.baseline->changes.replaced;
    const auto changed = std::ranges::find(replaced, end.node, &subnet::IndexPair::current);
    if (changed == replaced.end()) continue;
    finding.add_sentence(fmt::format("In the baseline {} is {}.", in_quotes(input.subnet.node(end.node).description()),
                                     to_text(input.baseline->subnet.node(changed->reference).guid())));
    finding.remedy = "Reprogram the GUID of the one that had another GUID in the baseline.";
  }
}

void find_duplicate_guids(const Input& input, Findings& findings) {
  const subnet::Subnet& subnet = input.subnet;
  for (NodeIndex at = 0; at < subnet.nodes().size(); ++at) {
    if (subnet.node(at).is_twin || subnet::has_own_guid(subnet, at)) continue;
    Finding& finding = findings.emplace_back(on_node(at));
    for (NodeIndex twin = subnet.node(at).twin; twin != subnet::none; twin = subnet.node(twin).twin)
      finding.ends.push_back({twin, subnet::none});
    finding.detail = fmt::format("{} nodes have this GUID.", finding.ends.size());
    add_former_guids(input, finding);
  }
  find_duplicate_port_guids(subnet, findings);
}

void find_default_descriptions(const Input& input, Findings& findings) {
  std::vector<NodeIndex> nodes;
  for (NodeIndex at = 0; at < input.subnet.nodes().size(); ++at) {
    const subnet::Node& node = input.subnet.node(at);
    if (has_default_description(node) && !subnet::is_aggregation_node(node)) nodes.push_back(at);
  }
  if (!nodes.empty()) findings.push_back(group_of(std::move(nodes), input.subnet));
}

void find_duplicate_descriptions(const Input& input, Findings& findings) {
  std::map<std::string_view, std::vector<NodeIndex>> by_text;
  for (NodeIndex at = 0; at < input.subnet.nodes().size(); ++at) {
    const subnet::Node& node = input.subnet.node(at);
    const bool is_named = node.has_description && !has_default_description(node) && !subnet::is_aggregation_node(node);
    if (is_named && !node.is_twin) by_text[node.description()].push_back(at);
  }
  std::erase_if(by_text, [](const auto& of) { return of.second.size() < 2; });
  if (by_text.empty()) return;
  std::vector<NodeIndex> nodes;
  std::string examples;
  std::size_t shown = 0;
  for (const auto& [text, of] : by_text) {
    nodes.insert(nodes.end(), of.begin(), of.end());
    if (shown++ < most_examples) examples += fmt::format("{}{} of {} nodes", shown == 1 ? "" : ", ", in_quotes(text), of.size());
  }
  findings.emplace_back(group_of(std::move(nodes), input.subnet)).detail =
      fmt::format("{}{}.", examples, by_text.size() > most_examples ? ", …" : "");
}

}  // namespace

std::span<const Check> identity_checks() {
  using enum Level;
  static constexpr Check checks[] = {
      {"duplicate-guid",
       error,
       {},
       "Two nodes or ports have the same GUID: the subnet manager takes them for one, and packets for one reach the other.",
       "Reprogram the GUID of one of them, the one whose firmware was copied.",
       find_duplicate_guids},
      {"description-default",
       info,
       {},
       "These nodes have a vendor-default or empty NodeDescription.",
       "Nothing on unmanaged switches (a --node-name-map names them); on hosts run rdma-ndd.",
       find_default_descriptions},
      {"description-duplicate",
       info,
       {},
       "Several nodes have the same NodeDescription.",
       "Give each host a name of its own; name switches in a --node-name-map.",
       find_duplicate_descriptions},
  };
  return checks;
}

}  // namespace ib::health
