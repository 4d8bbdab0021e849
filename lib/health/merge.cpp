// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/merge.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "health/checks.hpp"

namespace ib::health {
namespace {

/// Identifies a cable, whichever end a finding names first: the ports that it names, each with its peer. A cable that is gone has two ports
/// without a peer.
using CableKey = std::pair<bool, subnet::PortIndex>;
std::vector<CableKey> keys_of(const Finding& finding, const Input& input) {
  std::vector<CableKey> keys;
  for (const Place& end : finding.ends) {
    if (end.port == subnet::none) continue;
    subnet::PortIndex peer = input.subnet_of(end).port(end.port).peer;
    if (peer == subnet::none && !end.is_before) peer = former_peer(input, end.port);
    keys.emplace_back(end.is_before, peer == subnet::none ? end.port : std::min(end.port, peer));
  }
  return keys;
}

/// Whether the fault that is found can cause many other findings: without a subnet manager no port leaves Initialize, and of two
/// nodes with one GUID one is lost. A finding of several cables comes before those of each of them, which become part of it.
bool is_cause(const Finding& finding) {
  const std::string_view id = finding.check->id;
  return id.starts_with("sm-") || id.starts_with("sa-") || id == "duplicate-guid" || finding.subject == Finding::Subject::cables;
}

/// The order of findings: the worst level first, and causes first within it. It does not use indexes of the model, which depend on the
/// order of replies.
auto rank(const Finding& finding, const Input& input) {
  const Place first = finding.ends.empty() ? Place{} : finding.ends.front();
  const subnet::Subnet& subnet = input.subnet_of(first);
  const Guid guid = first.node == subnet::none ? Guid{} : subnet.node(first.node).guid();
  const unsigned number = first.port == subnet::none ? 0 : subnet.port(first.port).number;
  return std::tuple(-static_cast<int>(*finding.level), !is_cause(finding), -static_cast<int>(finding.confidence),
                    finding.check - all_checks().data(), guid, number);
}

}  // namespace

void fold(Finding& to, Finding from) {
  const auto is_known = [&to](const Evidence& of) {
    return std::ranges::any_of(
        to.evidence, [&of](const Evidence& known) { return of.counter != nullptr && of.counter == known.counter && of.end == known.end; });
  };
  const bool is_other_end = to.subject == Finding::Subject::cable && from.subject == Finding::Subject::cable && to.ends.size() == 2 &&
                            to.ends[1] == Place{} && from.ends[0] != to.ends[0];
  if (is_other_end) {
    to.ends[1] = from.ends[0];
    if (to.detail == from.detail) to.detail = from.detail = "Both of its ports report the link as up, but nothing passes it.";
  }
  for (Evidence& evidence : from.evidence) {
    evidence.end = to.end_of(from.ends.at(evidence.end));
    if (!is_known(evidence)) to.evidence.push_back(evidence);
  }
  if (!from.detail.empty() && to.detail.find(from.detail) == std::string::npos) to.detail += (to.detail.empty() ? "" : " ") + from.detail;
  from.also.push_back(from.check);
  for (const Check* check : from.also) {
    if (check != to.check && std::ranges::find(to.also, check) == to.also.end()) to.also.push_back(check);
  }
  std::ranges::sort(to.also);  // in the order of the table
  for (const Place& place : from.lost) {
    if (std::ranges::find(to.lost, place) == to.lost.end()) to.lost.push_back(place);
  }
}

Findings merge(Findings findings, const Input& input) {
  std::ranges::stable_sort(findings, {}, [&input](const Finding& finding) { return rank(finding, input); });
  Findings merged;
  std::map<CableKey, std::size_t> cables;
  for (Finding& finding : findings) {
    if (finding.is_of_cables()) {
      const std::vector<CableKey> keys = keys_of(finding, input);
      const auto known = std::ranges::find_if(keys, [&cables](const CableKey& key) { return cables.contains(key); });
      if (known != keys.end()) {
        fold(merged[cables.at(*known)], std::move(finding));
        continue;
      }
      for (const CableKey& key : keys) cables.emplace(key, merged.size());
    }
    merged.push_back(std::move(finding));
  }
  return merged;
}

}  // namespace ib::health
