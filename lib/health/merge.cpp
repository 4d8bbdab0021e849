// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/merge.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <unordered_map>

#include "health/checks.hpp"

namespace ib::health {
namespace {

/// The port by which a cable is known, whichever end a finding names first.
subnet::PortIndex cable_key(const Finding& finding, const subnet::Subnet& subnet) {
  const subnet::PortIndex port = finding.ends.front().port;
  const subnet::PortIndex peer = subnet.port(port).peer;
  return peer == subnet::none ? port : std::min(port, peer);
}

/// The worst first. Not by indexes of the model, which depend on the order of replies.
auto rank(const Finding& finding, const subnet::Subnet& subnet) {
  const Place first = finding.ends.empty() ? Place{} : finding.ends.front();
  const Guid guid = first.node == subnet::none ? Guid{} : subnet.node(first.node).guid();
  const unsigned number = first.port == subnet::none ? 0 : subnet.port(first.port).number;
  return std::tuple(-static_cast<int>(*finding.level), -static_cast<int>(finding.confidence), finding.check - all_checks().data(), guid,
                    number);
}

/// The place of `place` among the ends of `finding`, which gets it where it is not there yet.
std::size_t end_of(Finding& finding, const Place& place) {
  const auto found = std::ranges::find(finding.ends, place);
  if (found != finding.ends.end()) return static_cast<std::size_t>(found - finding.ends.begin());
  finding.ends.push_back(place);
  return finding.ends.size() - 1;
}

void add(Finding& to, Finding from) {
  for (Evidence& evidence : from.evidence) {
    evidence.end = end_of(to, from.ends.at(evidence.end));
    to.evidence.push_back(evidence);
  }
  if (!from.detail.empty()) to.detail += (to.detail.empty() ? "" : " ") + from.detail;
}

}  // namespace

Findings merge(Findings findings, const subnet::Subnet& subnet) {
  std::ranges::stable_sort(findings, {}, [&subnet](const Finding& finding) { return rank(finding, subnet); });
  Findings merged;
  std::unordered_map<subnet::PortIndex, std::size_t> cables;
  for (Finding& finding : findings) {
    if (finding.subject == Finding::Subject::cable) {
      const auto [known, is_new] = cables.try_emplace(cable_key(finding, subnet), merged.size());
      if (!is_new) {
        add(merged[known->second], std::move(finding));
        continue;
      }
    }
    merged.push_back(std::move(finding));
  }
  return merged;
}

}  // namespace ib::health
