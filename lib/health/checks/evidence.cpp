// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/checks/evidence.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/escape.hpp"
#include "health/checks/window.hpp"
#include "health/coverage.hpp"
#include "iba/text.hpp"
#include "subnet/model/names.hpp"

namespace ib::health {

std::string port_text(const subnet::Subnet& subnet, subnet::PortIndex port) {
  const subnet::Node& node = subnet.node(subnet.port(port).node);
  return fmt::format("{} {}{} port {}", in_quotes(node.description()), to_text(node.guid()),
                     subnet::twin_mark(subnet, subnet.port(port).node), subnet.port(port).number);
}

std::string first_names(const subnet::Subnet& subnet, const std::vector<subnet::NodeIndex>& nodes) {
  constexpr std::size_t most = 4;
  std::string text;
  for (std::size_t at = 0; at < nodes.size() && at < most; ++at)
    text += (at == 0 ? "" : ", ") + in_quotes(subnet.node(nodes[at]).description());
  return nodes.size() > most ? text + ", …" : text;
}

Evidence evidence_of(const Input& input, const PortChanges& counts, const CounterChange& change, std::size_t end,
                     std::optional<double> limit) {
  Evidence evidence;
  evidence.counter = change.counter;
  evidence.end = end;
  if (change.before) evidence.before.number = *change.before;
  evidence.after.number = change.now;
  evidence.delta = change.delta;
  evidence.seconds = counts.seconds;
  evidence.limit = limit;
  const subnet::LinkRate rate = subnet::active_rate(input.subnet, counts.port);
  const std::optional<double> seconds = seconds_at_both_ends(input, counts.port);
  if (seconds && rate.known()) evidence.provable_ratio = provable_ratio(bits_in(rate, *seconds));
  return evidence;
}

Evidence beyond_limit(std::string_view field, double value, double limit) {
  Evidence evidence = field_value(field, 0, {value, {}}, limit);
  evidence.is_beyond_limit = true;
  return evidence;
}

Evidence field_value(std::string_view field, std::size_t end, Value value, std::optional<double> limit) {
  Evidence evidence;
  evidence.field = field;
  evidence.end = end;
  evidence.after = value;
  evidence.limit = limit;
  return evidence;
}

Value width_value(const subnet::LinkRate& rate) { return {std::uint64_t{rate.lanes}, {}}; }
Value speed_value(const subnet::LinkRate& rate) { return {subnet::lane_mbps(rate.speed), subnet::name(rate.speed)}; }

std::uint64_t counted_of(const Input& input, const PortChanges& counts, const CounterChange& change) {
  if (change.delta) return *change.delta;
  if (change.kind != CounterChange::Kind::reset) return 0;
  const subnet::PortIndex peer = input.subnet.port(counts.port).peer;
  const bool has_restarted = counts.began_anew && peer != subnet::none && input.counts.delta(peer, "link_downed_counter") != 0;
  return has_restarted ? 0 : change.now;
}

void hedge(Finding& finding, const CounterChange& change) {
  if (change.kind != CounterChange::Kind::reset) return;
  finding.confidence = std::min(finding.confidence, Confidence::likely);
  finding.add_sentence("The counter was cleared in between: it has counted this or more.");
}

void find_events(const Input& input, Findings& findings, std::string_view counter) {
  const double least = input.thresholds.events;
  for (const PortChanges& counts : input.counts.all()) {
    const CounterChange* change = counts.find(counter);
    if (change == nullptr) continue;
    const std::uint64_t counted = counted_of(input, counts, *change);
    if (counted == 0 || static_cast<double>(counted) < least) continue;
    Finding& finding = findings.emplace_back(on_cable(input.subnet, counts.port));
    finding.evidence.push_back(evidence_of(input, counts, *change, 0, least));
    hedge(finding, *change);
  }
}

OddVersions odd_versions(const PlacesByVersion& versions) {
  const auto count = [](const auto& version) { return version.second.size(); };
  const auto most = std::ranges::max_element(versions, {}, count);
  const bool has_most = std::ranges::count(versions, most->second.size(), count) == 1;
  OddVersions odd;
  std::string words;
  for (const auto& [version, places] : versions) {
    if (has_most && version == most->first) continue;
    odd.places.insert(odd.places.end(), places.begin(), places.end());
    words += (words.empty() ? "" : ", ") + version;
    if (!has_most) words += fmt::format(" in {}", places.size());
  }
  odd.text = has_most ? fmt::format("firmware {} here, {} in {} others", words, most->first, most->second.size())
                      : fmt::format("firmware {}: no version is the most common", words);
  return odd;
}

}  // namespace ib::health
