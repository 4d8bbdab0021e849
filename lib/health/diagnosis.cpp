// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/diagnosis.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/split.hpp"
#include "health/checks/common.hpp"
#include "routing/unicast.hpp"
#include "subnet/sweep/discovery.hpp"

namespace ib::health {
namespace {

using routing::HostIndex;
using routing::SwitchIndex;

Scope nothing_of(const Subnet& subnet) {
  return {false, std::vector<bool>(subnet.ports().size()), std::vector<bool>(subnet.nodes().size())};
}

void add_link(Scope& scope, const Subnet& subnet, PortIndex port) {
  for (const PortIndex end : {port, subnet.port(port).peer}) {
    if (end == subnet::none) continue;
    scope.ports[end] = true;
    scope.nodes[subnet.port(end).node] = true;
  }
}

/// Runs a check, and enters it as the check of its findings.
void run(const Check& check, const Input& input, Findings& findings) {
  const std::size_t before = findings.size();
  check.run(input, findings);
  for (std::size_t at = before; at < findings.size(); ++at) {
    Finding& finding = findings[at];
    finding.check = &check;
    if (!finding.level) finding.level = check.level;
    for (Evidence& evidence : finding.evidence) evidence.check = &check;
  }
}

CheckResult result_of(const Check& check, const Input& input, const Selection& selection, const std::vector<Coverage>& coverage) {
  CheckResult result{&check, CheckState::done};
  if (!selection.has(check)) return {&check, CheckState::skipped, std::string(selection.why_not), 0, false};
  for (std::size_t at = 0; at < source_count; ++at) {
    const SourceState& source = input.sources.at(at);
    if (!check.needs.test(at) || source.state == CheckState::done) continue;
    result.is_run = result.is_run && source.is_partial;
    const auto is_part = [at](const Coverage& of) { return of.source == static_cast<Source>(at) && of.ports.read != 0 && !of.is_whole(); };
    if (result.state == CheckState::not_read || (source.is_partial && std::ranges::any_of(coverage, is_part))) continue;
    result.state = source.state;
    result.reason = source.reason;
  }
  const auto is_gap = [&check](const Coverage& of) {
    return !of.is_whole() && (of.source == Source::topology ? check.needs.none() : check.needs.test(static_cast<std::size_t>(of.source)));
  };
  const auto gap = std::ranges::find_if(coverage, is_gap);
  if (result.state == CheckState::done && gap != coverage.end()) {
    result.state = CheckState::partly;
    result.reason = coverage_text(*gap);
    result.ports = gap->ports;
  }
  return result;
}

void count_findings(Diagnosis& diagnosis) {
  for (const Finding& finding : diagnosis.findings) {
    ++diagnosis.levels.at(static_cast<std::size_t>(*finding.level));
    std::set<const Check*> parts{finding.check};
    parts.insert(finding.also.begin(), finding.also.end());
    for (const Evidence& evidence : finding.evidence) parts.insert(evidence.check);
    for (CheckResult& result : diagnosis.checks) result.finding_count += parts.contains(result.check) ? 1 : 0;
  }
  for (CheckResult& result : diagnosis.checks) {  // what has found something has looked, at the part that was read
    if (result.state == CheckState::not_read && result.finding_count > 0) result.state = CheckState::partly;
  }
}

/// Sets the length of the window, and the error ratio that it proves on the link for which it proves the least.
void measure_window(Diagnosis& diagnosis, const Input& input, const Scope& scope) {
  for (const PortChanges& counts : input.counts.all()) {
    diagnosis.implausible += static_cast<std::size_t>(
        std::ranges::count_if(counts.changes, [](const CounterChange& change) { return change.kind == ChangeKind::implausible; }));
    if (!counts.seconds) continue;
    diagnosis.window_seconds = std::min(diagnosis.window_seconds.value_or(*counts.seconds), *counts.seconds);
  }
  for (PortIndex port = 0; port < input.subnet.ports().size(); ++port) {
    const PortIndex peer = input.subnet.port(port).peer;
    if (peer == subnet::none || peer < port || (!scope.has_port(port) && !scope.has_port(peer))) continue;
    ++diagnosis.proven_links.of;
    const std::optional<double> seconds = seconds_at_both_ends(input, port);
    const subnet::LinkRate rate = subnet::active_rate(input.subnet, port);
    if (!seconds || !rate.known()) continue;
    ++diagnosis.proven_links.read;
    const double ratio = provable_ratio(bits_in(rate, *seconds));
    if (ratio <= diagnosis.provable_ratio.value_or(0)) continue;
    diagnosis.provable_ratio = ratio;
    diagnosis.slowest = rate;
  }
}

/// While the own port is Down, that is the only finding, whatever checks are wanted: the others have nothing to look at.
void examine_own_port(const Input& input, const Selection& selection, Diagnosis& diagnosis) {
  const Check& own = *find_check("own-port");
  if (std::ranges::find(selection.skip, &own) == selection.skip.end()) run(own, input, diagnosis.findings);
  for (const Check& check : all_checks()) {
    CheckResult result = result_of(check, input, selection, {});
    if (&check == &own) {
      result = {&own, diagnosis.findings.empty() ? CheckState::skipped : CheckState::done, result.reason};
    } else if (result.state == CheckState::done) {
      result = {&check, CheckState::not_read, "the own port is Down", 0, false};
    }
    diagnosis.checks.push_back(std::move(result));
  }
  count_findings(diagnosis);
}

}  // namespace

bool Scope::has(const Place& place) const {
  if (is_all) return true;
  if (place.is_before || place.node == subnet::none) return false;
  return place.port == subnet::none ? nodes[place.node] : ports[place.port];
}

bool Scope::has(const Finding& finding) const {
  // Without a sound subnet manager every host is without it.
  const bool is_of_all =
      (finding.subject == Finding::Subject::manager || finding.check->id == "sm-none") && *finding.level >= Level::warning;
  return is_all || is_of_all || std::ranges::any_of(finding.ends, [this](const Place& end) { return has(end); });
}

void Scope::narrow(Finding& finding) const {
  if (is_all || finding.subject != Finding::Subject::group) return;
  std::vector<std::size_t> places(finding.ends.size(), finding.ends.size());  // of each end among those that stay
  std::vector<Place> ends;
  for (std::size_t at = 0; at < finding.ends.size(); ++at) {
    if (!has(finding.ends[at])) continue;
    places[at] = ends.size();
    ends.push_back(finding.ends[at]);
  }
  std::erase_if(finding.evidence, [&](const Evidence& evidence) { return places.at(evidence.end) == finding.ends.size(); });
  for (Evidence& evidence : finding.evidence) evidence.end = places.at(evidence.end);
  finding.ends = std::move(ends);
}

std::size_t host_count(const Subnet& subnet, const HostNames& names, const Scope& scope) {
  const Machines machines(subnet, names);
  std::set<Machine> all;
  for (NodeIndex at = 0; at < subnet.nodes().size(); ++at) {
    const subnet::Node& node = subnet.node(at);
    if (node.kind() != NodeKind::ca || subnet::is_aggregation_node(node) || !scope.has(Place{at, subnet::none})) continue;
    all.insert(machines.of(at));
  }
  return all.size();
}

std::size_t switch_count(const Subnet& subnet, const Scope& scope) {
  std::size_t count = 0;
  for (NodeIndex at = 0; at < subnet.nodes().size(); ++at)
    count += subnet.node(at).kind() == NodeKind::sw && scope.has(Place{at, subnet::none}) ? 1 : 0;
  return count;
}

std::size_t link_count(const Subnet& subnet, const Scope& scope) {
  std::size_t ends = 0;
  for (PortIndex at = 0; at < subnet.ports().size(); ++at) ends += subnet.port(at).peer != subnet::none && scope.has_port(at) ? 1 : 0;
  return (ends + 1) / 2;  // a looped cable has one linked port
}

Scope scope_around(const Subnet& subnet, NodeIndex centre) {
  Scope scope = nothing_of(subnet);
  const subnet::Node& node = subnet.node(centre);
  for (PortIndex port = node.first_port; port < node.first_port + node.slots; ++port) add_link(scope, subnet, port);
  scope.nodes.assign(scope.nodes.size(), false);
  scope.nodes[centre] = true;
  return scope;
}

Scope scope_between(const routing::Network& network, const routing::LinearTables& tables, const std::set<NodeIndex>& hosts) {
  const Subnet& subnet = network.subnet();
  Scope scope = nothing_of(subnet);
  std::vector<HostIndex> senders;
  for (HostIndex host = 0; host < network.hosts().size(); ++host) {
    const PortIndex port = network.hosts()[host].port;
    if (!hosts.contains(subnet.port(port).node)) continue;
    senders.push_back(host);
    add_link(scope, subnet, port);
  }
  for (const NodeIndex host : hosts) scope.nodes[host] = true;
  routing::RouteTree ways(network, tables, false);
  std::vector<std::size_t> passes(network.switches().size());  // by switch: the pass that was here last
  std::size_t pass = 0;
  for (const routing::DestinationLid& to : network.destinations(false)) {
    if (!std::ranges::binary_search(senders, to.host)) continue;
    ways.find(to);
    ++pass;
    for (const HostIndex sender : senders) {
      if (!ways.sends(sender)) continue;
      // Each switch once: all packets to the destination take the same way from it on.
      for (SwitchIndex at = network.hosts()[sender].leaf; at != routing::none && ways.is_reached(at) && passes[at] != pass;
           at = ways.hop(at).next) {
        passes[at] = pass;
        if (const auto out = ways.hop(at).out; out != routing::none) add_link(scope, subnet, network.port_of(out));
      }
    }
  }
  return scope;
}

std::string_view name(CheckState state) {
  constexpr std::array<std::string_view, 4> names{"done", "partly", "not_read", "skipped"};
  return names.at(static_cast<std::size_t>(state));
}

bool Diagnosis::any_from(Level level) const {
  return std::ranges::any_of(findings, [level](const Finding& finding) { return *finding.level >= level; });
}

bool Diagnosis::any_not_read() const {
  return std::ranges::any_of(
      checks, [](const CheckResult& result) { return result.state == CheckState::not_read || result.state == CheckState::partly; });
}

Diagnosis examine(const Input& input, const Selection& selection, const Scope& scope) {
  Diagnosis diagnosis;
  diagnosis.host_count = host_count(input.subnet, input.host_names, scope);
  diagnosis.switch_count = switch_count(input.subnet, scope);
  diagnosis.link_count = link_count(input.subnet, scope);
  diagnosis.is_of_selection = !std::ranges::all_of(all_checks(), [&selection](const Check& check) { return selection.has(check); });
  if (subnet::is_start_down(input.subnet)) {
    examine_own_port(input, selection, diagnosis);
    return diagnosis;
  }
  Findings findings;
  diagnosis.coverage = coverage_of(input);
  for (const Check& check : all_checks()) {
    diagnosis.checks.push_back(result_of(check, input, selection, diagnosis.coverage));
    if (diagnosis.checks.back().is_run) run(check, input, findings);
  }
  std::erase_if(findings, [&scope](const Finding& finding) { return !scope.has(finding); });
  for (Finding& finding : findings) scope.narrow(finding);
  diagnosis.findings = explain(merge(std::move(findings), input), input);
  add_layer(diagnosis.findings, input);
  count_findings(diagnosis);
  measure_window(diagnosis, input, scope);
  diagnosis.has_counters = !input.counts.all().empty();
  return diagnosis;
}

std::string_view name(Verdict verdict) {
  constexpr std::array<std::string_view, 3> names{"healthy", "findings", "unknown"};
  return names.at(static_cast<std::size_t>(verdict));
}

std::string findings_text(const std::array<std::size_t, 3>& levels) {
  std::string text;
  for (const auto& [level, many] : {std::pair{Level::error, "errors"}, {Level::warning, "warnings"}, {Level::info, "infos"}}) {
    const std::size_t count = levels.at(static_cast<std::size_t>(level));
    if (count > 0) add_part(text, count_text(count, name(level), many));
  }
  return text.empty() ? "nothing found" : text;
}

std::string verdict_text(Verdict verdict, const Diagnosis& diagnosis, const std::string& further_gap) {
  std::string begin;
  if (verdict == Verdict::healthy) {
    const auto run = std::ranges::count_if(diagnosis.checks, &CheckResult::is_run);
    begin = diagnosis.is_of_selection ? fmt::format("Healthy by {} of {} checks: ", run, diagnosis.checks.size()) : "Healthy: ";
  } else if (verdict == Verdict::unknown) {
    begin = "Not known, because not everything was read: ";
  }
  std::string text =
      fmt::format("{}{} on {}, {}, {}; ", begin, findings_text(diagnosis.levels), count_text(diagnosis.host_count, "host", "hosts"),
                  count_text(diagnosis.switch_count, "switch", "switches"), count_text(diagnosis.link_count, "cable", "cables"));
  std::string watched = "watched";
  for (const Coverage& of : diagnosis.coverage) {
    if (of.is_whole()) continue;
    if (of.source == Source::window) {
      watched = coverage_text(of) + " for";
    } else {
      text += coverage_text(of) + ", ";
    }
  }
  if (!further_gap.empty()) text += further_gap + ", ";
  if (const auto seconds = diagnosis.window_seconds) return text + fmt::format("{} {}.", watched, duration_text(*seconds));
  return text + (diagnosis.has_counters ? "port states only: counters were read once." : "port states only: no counters were read.");
}

}  // namespace ib::health
