// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Nodes that do not answer, or answer only some requests.
#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "health/checks/regions.hpp"
#include "health/checks/topics.hpp"
#include "health/ways.hpp"

namespace ib::health {
namespace {

using FailureKind = subnet::Failure::Kind;

/// A node that fell silent after the sweep had found it.
bool fell_silent(const subnet::Failure& failure) {
  return failure.kind == FailureKind::no_answer && !failure.beyond && failure.attribute == "NodeInfo";
}

/// A node that is in the model and did not give an answer to a request that was sent.
bool is_partial_answer(const subnet::Failure& failure) {
  if (failure.attribute.empty()) return false;  // nothing was sent: no path is known
  if (is_query(failure)) return false;          // the SA did not answer, not the node
  const bool is_answer_missing =
      failure.kind == FailureKind::no_answer || failure.kind == FailureKind::refused || failure.kind == FailureKind::false_answer;
  return is_answer_missing && !failure.beyond && failure.node != subnet::none && !fell_silent(failure);
}

/// The port beyond which nothing answered; none if the failure is about something else.
subnet::PortIndex silent_beyond(const subnet::Subnet& subnet, const subnet::Failure& failure) {
  if (failure.kind != FailureKind::no_answer || !failure.beyond || failure.node == subnet::none || failure.port < 0) return subnet::none;
  return subnet.port_of(failure.node, static_cast<unsigned>(failure.port));
}

/// What the baseline has behind several silent ports is one node, or a part of the fabric, and one finding. Adds these to `reported`.
void find_silent_regions(const Input& input, std::set<subnet::PortIndex>& reported, Findings& findings) {
  if (input.baseline == nullptr) return;
  std::set<subnet::PortIndex> silent;
  for (const subnet::Failure& failure : input.failures) silent.insert(silent_beyond(input.subnet, failure));
  for (const Region& region : gone_regions(input)) {
    std::vector<FormerCable> cables = silent_cables(input, region);
    std::erase_if(cables, [&silent](const FormerCable& cable) { return !silent.contains(cable.near.port); });
    if (cables.size() < 2) continue;
    Finding& finding = findings.emplace_back();
    finding.subject = Finding::Subject::cables;
    for (const FormerCable& cable : cables) {
      finding.ends.push_back(cable.near);
      finding.ends.push_back({input.baseline->subnet.port(cable.far).node, cable.far, true});
      finding.lost.push_back(cable.near);
      reported.insert(cable.near.port);
    }
    finding.detail = fmt::format("All {} links are up, but their other ends do not answer. In the baseline this is {}.", cables.size(),
                                 contents_of(input.baseline->subnet, region));
  }
}

void find_silent_nodes(const Input& input, Findings& findings) {
  std::set<subnet::PortIndex> reported;
  find_silent_regions(input, reported, findings);
  for (const subnet::Failure& failure : input.failures) {
    if (reported.contains(silent_beyond(input.subnet, failure))) continue;
    if (failure.node != subnet::none && fell_silent(failure)) {
      findings.emplace_back(on_node(failure.node)).detail = "It answered when the sweep began, and then stopped answering.";
    } else if (const subnet::PortIndex port = silent_beyond(input.subnet, failure); port != subnet::none) {
      Finding& finding = findings.emplace_back(on_cable(input.subnet, port));
      if (finding.ends.size() == 1) finding.ends.emplace_back();
      finding.lost.push_back(finding.ends.front());
      finding.detail = "The link is up, but its other end does not answer.";
    }
  }
}

void find_partial_nodes(const Input& input, Findings& findings) {
  std::map<subnet::NodeIndex, std::map<std::string, std::set<int>>> missing;  // ports by attribute
  std::set<subnet::NodeIndex> at_fault;                                       // that were reached for certain
  for (const subnet::Failure& failure : input.failures) {
    if (!is_partial_answer(failure) || is_lost_on_its_way(input, failure)) continue;
    missing[failure.node][failure.attribute].insert(failure.port);
    if (!is_silence_by_lid(failure)) at_fault.insert(failure.node);
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
      finding.detail += (finding.detail.empty() ? "Not answered: " : ", ") + attribute + of;
    }
    finding.detail += ".";
  }
}

}  // namespace

std::span<const Check> node_checks() {
  using enum Level;
  static constexpr Check checks[] = {
      {"node-silent",
       error,
       {},
       "A node that does not answer cannot be managed, and drops out of the fabric at the next sweep of the subnet manager.",
       "Look at the node: power, firmware, a driver that hangs. If it is fine, look at the cable.",
       find_silent_nodes},
      {"node-partial",
       warning,
       {},
       "A node that does not answer all requests is overloaded, or its firmware is at fault.",
       "Query this node only (ibtool smpquery, ibtool perfquery); if requests still fail, restart it or update its firmware.",
       find_partial_nodes},
  };
  return checks;
}

}  // namespace ib::health
