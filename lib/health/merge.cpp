// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/merge.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "health/checks.hpp"

namespace ib::health {
namespace {

/// What a cable is known by, whichever end a finding names first: the ports that it names, each with the one that it is linked to. A cable
/// that is gone has two that are not linked.
using CableKey = std::pair<bool, subnet::PortIndex>;
std::vector<CableKey> keys_of(const Finding& finding, const Input& input) {
  std::vector<CableKey> keys;
  for (const Place& end : finding.ends) {
    if (end.port == subnet::none) continue;
    const subnet::PortIndex peer = input.subnet_of(end).port(end.port).peer;
    keys.emplace_back(end.is_before, peer == subnet::none ? end.port : std::min(end.port, peer));
  }
  return keys;
}

/// Whether many other findings can come of what this check finds: without a subnet manager no port leaves Initialize, and of two nodes with
/// one GUID one is lost.
bool is_cause(const Check& check) { return check.id.starts_with("sm-") || check.id == "duplicate-guid"; }

/// The worst first, and of these causes. Not by indexes of the model, which depend on the order of replies.
auto rank(const Finding& finding, const Input& input) {
  const Place first = finding.ends.empty() ? Place{} : finding.ends.front();
  const subnet::Subnet& subnet = input.subnet_of(first);
  const Guid guid = first.node == subnet::none ? Guid{} : subnet.node(first.node).guid();
  const unsigned number = first.port == subnet::none ? 0 : subnet.port(first.port).number;
  return std::tuple(-static_cast<int>(*finding.level), !is_cause(*finding.check), -static_cast<int>(finding.confidence),
                    finding.check - all_checks().data(), guid, number);
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

Findings merge(Findings findings, const Input& input) {
  std::ranges::stable_sort(findings, {}, [&input](const Finding& finding) { return rank(finding, input); });
  Findings merged;
  std::map<CableKey, std::size_t> cables;
  for (Finding& finding : findings) {
    if (finding.subject == Finding::Subject::cable) {
      const std::vector<CableKey> keys = keys_of(finding, input);
      const auto known = std::ranges::find_if(keys, [&cables](const CableKey& key) { return cables.contains(key); });
      if (known != keys.end()) {
        add(merged[cables.at(*known)], std::move(finding));
        continue;
      }
      for (const CableKey& key : keys) cables.emplace(key, merged.size());
    }
    merged.push_back(std::move(finding));
  }
  return merged;
}

}  // namespace ib::health
