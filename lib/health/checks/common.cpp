// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/checks/common.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/escape.hpp"
#include "base/split.hpp"
#include "iba/text.hpp"

namespace ib::health {

std::span<const Check> all_checks() {
  constexpr std::array topics{node_checks,     sibling_checks, port_checks,  error_checks,   traffic_checks,
                              physical_checks, manager_checks, route_checks, baseline_checks};
  static const std::vector<Check> all = [&topics] {
    std::vector<Check> checks;
    for (const auto topic : topics) std::ranges::copy(topic(), std::back_inserter(checks));
    return checks;
  }();
  return all;
}

const Check* find_check(std::string_view id) {
  const auto all = all_checks();
  const auto found = std::ranges::find(all, id, &Check::id);
  return found == all.end() ? nullptr : &*found;
}

bool Selection::has(const Check& check) const {
  const bool is_named = only.empty() || std::ranges::find(only, &check) != only.end();
  return is_named && std::ranges::find(skip, &check) == skip.end();
}

Sources Selection::needs() const {
  Sources all;
  for (const Check& check : all_checks()) {
    if (has(check)) all |= check.needs;
  }
  return all;
}

std::string port_text(const Subnet& subnet, PortIndex port) {
  const subnet::Node& node = subnet.node(subnet.port(port).node);
  return fmt::format("{} {}{} port {}", in_quotes(node.description()), to_text(node.guid()),
                     subnet::twin_mark(subnet, subnet.port(port).node), subnet.port(port).number);
}

std::string first_names(const Subnet& subnet, const std::vector<NodeIndex>& nodes) {
  constexpr std::size_t most = 4;
  std::string text;
  for (std::size_t at = 0; at < nodes.size() && at < most; ++at) add_part(text, in_quotes(subnet.node(nodes[at]).description()));
  return nodes.size() > most ? text + ", …" : text;
}

std::string pkeys_text(const std::vector<std::uint16_t>& pkeys) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t at = 0; at < pkeys.size() && at < most; ++at) add_part(text, fmt::format("{:#06x}", pkeys[at]));
  return pkeys.size() > most ? text + ", …" : text;
}

std::string rate_text(const subnet::LinkRate& rate) { return fmt::format("{}x {}", rate.lanes, subnet::name(rate.speed)); }

Evidence evidence_of(const Input& input, const PortChanges& counts, const CounterChange& change, std::size_t end,
                     std::optional<double> limit) {
  Evidence evidence{
      .counter = change.counter, .end = end, .after = number(change.now), .delta = change.delta, .seconds = counts.seconds, .limit = limit};
  if (change.before) evidence.before = number(*change.before);
  const subnet::LinkRate rate = subnet::active_rate(input.subnet, counts.port);
  const std::optional<double> seconds = seconds_at_both_ends(input, counts.port);
  if (seconds && rate.known()) evidence.provable_ratio = provable_ratio(bits_in(rate, *seconds));
  return evidence;
}

std::uint64_t counted_of(const Input& input, const PortChanges& counts, const CounterChange& change) {
  if (change.delta) return *change.delta;
  if (change.kind != ChangeKind::reset) return 0;
  const PortIndex peer = input.subnet.port(counts.port).peer;
  const bool has_restarted = counts.began_anew && peer != subnet::none && input.counts.delta(peer, "link_downed_counter") != 0;
  return has_restarted ? 0 : change.now;
}

void hedge(Finding& finding, const CounterChange& change) {
  if (change.kind != ChangeKind::reset) return;
  finding.confidence = std::min(finding.confidence, Confidence::likely);
  finding.add_sentence("The counter was cleared in between: it has counted this or more.");
}

void find_events(const Input& input, Findings& findings, std::initializer_list<std::string_view> counters) {
  const double least = input.thresholds.events;
  for (const std::string_view counter : counters) {
    for (const PortChanges& counts : input.counts.all()) {
      const CounterChange* change = counts.find(counter);
      const std::uint64_t counted = change == nullptr ? 0 : counted_of(input, counts, *change);
      if (counted == 0 || static_cast<double>(counted) < least) continue;
      Finding& finding = findings.emplace_back(on_cable(input.subnet, counts.port, {evidence_of(input, counts, *change, 0, least)}));
      hedge(finding, *change);
    }
  }
}

double chance_of(std::uint64_t count, double mean) {
  if (count == 0) return 1;
  if (mean <= 0) return 0;
  // The sum of the terms from `count` on. They shrink from there, as `count` is beyond the mean; else it is not a rare event.
  if (static_cast<double>(count) <= mean) return 1;
  const auto first = static_cast<double>(count);
  double term = std::exp(first * std::log(mean) - mean - std::lgamma(first + 1)), sum = 0;
  for (double at = first; term > sum * 1e-9 && at < first + 1e4; ++at) {
    sum += term;
    term *= mean / (at + 1);
  }
  return std::min(sum, 1.0);
}

Confidence confidence_in(std::uint64_t count, double mean, std::size_t links) {
  constexpr double rare = 1e-3;
  const double chance = chance_of(count, mean);
  if (chance * static_cast<double>(std::max<std::size_t>(links, 1)) < rare) return Confidence::sure;
  return chance < rare ? Confidence::likely : Confidence::possible;
}

std::optional<std::pair<std::vector<std::uint32_t>, std::string>> odd_versions(std::string_view kind, const PlacesByVersion& versions) {
  if (versions.size() < 2) return std::nullopt;
  const auto count = [](const auto& version) { return version.second.size(); };
  const auto most = std::ranges::max_element(versions, {}, count);
  const bool has_most = std::ranges::count(versions, most->second.size(), count) == 1;
  std::vector<std::uint32_t> odd;
  std::string words;
  for (const auto& [version, places] : versions) {
    if (has_most && version == most->first) continue;
    odd.insert(odd.end(), places.begin(), places.end());
    add_part(words, version);
    if (!has_most) words += fmt::format(" in {}", places.size());
  }
  return std::pair(std::move(odd), fmt::format("{}: firmware {}{}.", kind, words,
                                               has_most ? fmt::format(" here, {} in {} others", most->first, most->second.size())
                                                        : ": no version is the most common"));
}

}  // namespace ib::health
