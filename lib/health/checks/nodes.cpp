// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Nodes: the one that looks, silent ones, and what distinguishes them from each other.
#include <fmt/format.h>

#include <algorithm>

#include "base/escape.hpp"
#include "base/split.hpp"
#include "health/checks/common.hpp"
#include "health/routes.hpp"
#include "iba/text.hpp"
#include "subnet/diff/counterparts.hpp"
#include "subnet/sweep/discovery.hpp"

namespace ib::health {
namespace {

/// The end of the link that the baseline has at the own port; a place without a node if it has none, or several nodes of that GUID.
Place former_end(const Input& input) {
  if (input.baseline == nullptr) return {};
  const Subnet& was = input.baseline->subnet;
  const subnet::Port& own = input.subnet.port(input.subnet.start);
  const NodeIndex node = subnet::only_node(was, input.subnet.node(own.node).guid());
  const PortIndex port = node == subnet::none ? subnet::none : was.port_of(node, own.number);
  if (port == subnet::none || was.port(port).peer == subnet::none) return {};
  Place end = place_of(was, was.port(port).peer);
  end.is_before = true;
  return end;
}

/// While this port is Down, a fabric of one node says nothing of the others.
void find_own_port(const Input& input, Findings& findings) {
  if (!subnet::is_start_down(input.subnet)) return;
  Finding& finding = findings.emplace_back(on_cable(input.subnet, input.subnet.start));
  if (const Place end = former_end(input); end.node != subnet::none) finding.ends.push_back(end);
  const subnet::Port& port = input.subnet.port(input.subnet.start);
  const auto state = [&finding](std::string_view field, auto value) {
    if (!smp::to_text(value).empty()) finding.evidence.push_back(field_value(field, 0, code(value)));
  };
  state("portState", port.state());
  if (const smp::PortPhysicalState physical = port.physical_state(); physical != smp::PortPhysicalState::no_change) {
    state("portPhysicalState", physical);
    if (physical != smp::PortPhysicalState::disabled) finding.remedy = "Look at the cable at both ends, and at the switch port.";
  }
  if (!input.own_port.empty()) finding.detail = fmt::format("It is {} of this host.", input.own_port);
}

using FailureKind = subnet::Failure::Kind;

bool fell_silent(const subnet::Failure& failure) {
  return failure.kind == FailureKind::no_answer && !failure.beyond && failure.attribute == "NodeInfo";
}

/// Whether a node that is in the model did not answer a request that was sent.
bool is_partial_answer(const subnet::Failure& failure) {
  if (failure.attribute.empty()) return false;  // nothing was sent: no path is known
  if (is_query(failure)) return false;          // the SA did not answer, not the node
  const bool is_answer_missing =
      failure.kind == FailureKind::no_answer || failure.kind == FailureKind::refused || failure.kind == FailureKind::false_answer;
  return is_answer_missing && !failure.beyond && failure.node != subnet::none && !fell_silent(failure);
}

/// The port beyond which nothing answered; none if the failure is about something else.
PortIndex silent_beyond(const Subnet& subnet, const subnet::Failure& failure) {
  if (failure.kind != FailureKind::no_answer || !failure.beyond || failure.node == subnet::none || failure.port < 0) return subnet::none;
  return subnet.port_of(failure.node, static_cast<unsigned>(failure.port));
}

/// What the baseline has behind several silent ports is one node, or a part of the fabric, and one finding. Adds these to `reported`.
void find_silent_regions(const Input& input, std::set<PortIndex>& reported, Findings& findings) {
  if (input.baseline == nullptr) return;
  std::set<PortIndex> silent;
  for (const subnet::Failure& failure : input.failures) silent.insert(silent_beyond(input.subnet, failure));
  for (const Region& region : gone_regions(input)) {
    std::vector<FormerCable> cables = silent_cables(input, region);
    std::erase_if(cables, [&silent](const FormerCable& cable) { return !silent.contains(cable.near.port); });
    if (cables.size() < 2) continue;
    Finding& finding = findings.emplace_back(Finding{.subject = Finding::Subject::cables});
    for (const FormerCable& cable : cables) {
      finding.ends.insert(finding.ends.end(), {cable.near, cable.far});
      finding.lost.push_back(cable.near);
      reported.insert(cable.near.port);
    }
    finding.detail = fmt::format("All {} links are up, but their other ends do not answer. In the baseline this is {}.", cables.size(),
                                 contents_of(input.baseline->subnet, region));
  }
}

void find_silent_nodes(const Input& input, Findings& findings) {
  std::set<PortIndex> reported;
  find_silent_regions(input, reported, findings);
  for (const subnet::Failure& failure : input.failures) {
    if (reported.contains(silent_beyond(input.subnet, failure))) continue;
    if (failure.node != subnet::none && fell_silent(failure)) {
      findings.emplace_back(on_node(failure.node)).detail = "It answered when the sweep began, and then stopped answering.";
    } else if (const PortIndex port = silent_beyond(input.subnet, failure); port != subnet::none) {
      Finding& finding = findings.emplace_back(on_cable(input.subnet, port));
      if (finding.ends.size() == 1) finding.ends.emplace_back();
      finding.lost.push_back(finding.ends.front());
      finding.detail = "The link is up, but its other end does not answer.";
    }
  }
}

void find_partial_nodes(const Input& input, Findings& findings) {
  std::map<NodeIndex, std::map<std::string, std::set<int>>> missing;  // ports by attribute
  std::set<NodeIndex> at_fault;                                       // that were reached for certain
  for (const subnet::Failure& failure : input.failures) {
    const bool is_by_lid = is_silence_by_lid(failure);
    if (!is_partial_answer(failure) || (is_by_lid && is_cut_off(input, failure.node))) continue;
    missing[failure.node][failure.attribute].insert(failure.port);
    if (!is_by_lid) at_fault.insert(failure.node);
  }
  for (const auto& [node, attributes] : missing) {
    Finding& finding = findings.emplace_back(on_node(node));
    if (!at_fault.contains(node)) {
      finding.symptom = Finding::Symptom::no_gmps;
      if (input.nodes_not_traced.contains(node)) finding.confidence = Confidence::possible;
    }
    for (const auto& [attribute, ports] : attributes) {
      const std::string of = ports.contains(-1)  ? std::string()
                             : ports.size() == 1 ? fmt::format(" of port {}", *ports.begin())
                                                 : fmt::format(" of {} ports", ports.size());
      finding.detail += (finding.detail.empty() ? "Not read: " : ", ") + attribute + of;
    }
    finding.detail += ".";
  }
}

constexpr std::size_t most_examples = 3;  // of descriptions in a detail

Finding group_of(std::vector<NodeIndex> nodes, const Subnet& subnet) {
  std::ranges::sort(nodes, {}, [&subnet](NodeIndex at) { return subnet.node(at).guid(); });
  return on_nodes(nodes, Finding::Subject::group);
}

/// End ports of different nodes that claim one port GUID, where their nodes do not claim one node GUID.
void find_duplicate_port_guids(const Subnet& subnet, Findings& findings) {
  std::map<Guid, PortIndex> owners;
  for (PortIndex at = 0; at < subnet.ports().size(); ++at) {
    const subnet::Port& port = subnet.port(at);
    if (port.guid == Guid{} || subnet.node(port.node).kind() == NodeKind::sw) continue;
    const auto [owner, is_new] = owners.try_emplace(port.guid, at);
    if (is_new || subnet.node(subnet.port(owner->second).node).guid() == subnet.node(port.node).guid()) continue;
    findings.emplace_back(on_ports(subnet, std::array{owner->second, at})).detail =
        fmt::format("Both ports have the GUID {}.", to_text(port.guid));
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
  const Subnet& subnet = input.subnet;
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
    if (shown++ < most_examples) add_part(examples, fmt::format("{} of {} nodes", in_quotes(text), of.size()));
  }
  findings.emplace_back(group_of(std::move(nodes), input.subnet)).detail =
      fmt::format("{}{}.", examples, by_text.size() > most_examples ? ", …" : "");
}

}  // namespace

std::span<const Check> node_checks() {
  using enum Level;
  static constexpr Check checks[] = {
      {"own-port", error, needs(),
       "This host's own port is Down: nothing is known of the rest of the fabric, and nothing else was checked.",
       "Look at the cable at both ends, and at the switch port; if the port was disabled, enable it ({enable_own_port}).", find_own_port},
      {"node-silent", error, needs(),
       "A node that does not answer cannot be managed, and drops out of the fabric at the next sweep of the subnet manager.",
       "Look at the node: power, firmware, a driver that hangs. If it is fine, look at the cable.", find_silent_nodes, is_of_link},
      {"node-partial", warning, needs(), "A node that does not answer all requests is overloaded, or its firmware is at fault.",
       "Query this node only ({query_node}); if requests still fail, restart it or update its firmware.", find_partial_nodes},
      {"duplicate-guid", error, needs(),
       "Two nodes or ports have the same GUID: the subnet manager takes them for one, and packets for one reach the other.",
       "Reprogram the GUID of one of them, the one whose firmware was copied.", find_duplicate_guids},
      {"description-default", info, needs(), "These nodes have a vendor-default or empty NodeDescription.",
       "Nothing on unmanaged switches (a --node-name-map names them); on hosts run rdma-ndd.", find_default_descriptions},
      {"description-duplicate", info, needs(), "Several nodes have the same NodeDescription.",
       "Give each host a name of its own; name switches in a --node-name-map.", find_duplicate_descriptions},
  };
  return checks;
}

}  // namespace ib::health
