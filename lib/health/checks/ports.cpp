// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What subnet managers set on ports: states, LIDs, LMCs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "health/checks/evidence.hpp"
#include "health/checks/topics.hpp"
#include "subnet/model/port_checks.hpp"

namespace ib::health {
namespace {

using subnet::PortIndex;

/// Whether no subnet manager sets ports to Active: none is master, or no link is Active.
bool is_without_manager(const Input& input) {
  const auto is_master = [](const Manager& manager) { return manager.info.sm_state == smp::SMState::master; };
  const auto is_active = [](const subnet::Port& port) { return port.number != 0 && subnet::is_link_active(port); };
  const bool has_no_master = input.has_read_managers && input.silent_managers == 0 && std::ranges::none_of(input.managers, is_master);
  return has_no_master || std::ranges::none_of(input.subnet.ports(), is_active);
}

/// Merges the findings from index `first` on into one, if there are several of them and they have one cause.
void group(const Input& input, Findings& findings, std::size_t first) {
  if (findings.size() - first < 2) return;
  Finding all = on_nodes({}, Finding::Subject::group);
  for (std::size_t at = first; at < findings.size(); ++at) {
    Evidence evidence = findings[at].evidence.front();
    evidence.end = all.ends.size();
    all.ends.push_back(findings[at].ends.front());
    all.evidence.push_back(evidence);
  }
  std::ranges::sort(all.ends, {}, [&input](const Place& end) {
    return std::pair(input.subnet.node(end.node).guid(), input.subnet.port(end.port).number);
  });
  all.detail = "No subnet manager is active, or none reaches them.";
  findings.resize(first);
  findings.push_back(std::move(all));
}

/// Links whose ports are trained and in a state in which packets do not pass.
void find_state(const Input& input, Findings& findings, smp::PortState state) {
  for (PortIndex at = 0; at < input.subnet.ports().size(); ++at) {
    const subnet::Port& port = input.subnet.port(at);
    if (port.number == 0 || !port.is_link_up() || port.state() != state) continue;
    findings.emplace_back(on_cable(input.subnet, at))
        .evidence.push_back(field_value("portState", 0, {static_cast<std::uint64_t>(state), to_text(state)}));
  }
}

void find_initialize(const Input& input, Findings& findings) {
  const std::size_t first = findings.size();
  find_state(input, findings, smp::PortState::init);
  if (is_without_manager(input)) group(input, findings, first);
}

void find_zero_lids(const Input& input, Findings& findings) {
  for (const PortIndex at : end_ports_in_use(input.subnet)) {
    if (input.subnet.lid(at).is_unicast()) continue;
    findings.emplace_back(on_ports(input.subnet, std::array{at}))
        .evidence.push_back(field_value("LID", 0, {std::uint64_t{input.subnet.lid(at).value}, {}}));
  }
}

void find_duplicate_lids(const Input& input, Findings& findings) {
  const auto owners = subnet::contested_lids(input.subnet);
  std::set<std::vector<PortIndex>> known;  // ports with an LMC share several LIDs
  for (const auto& [lid, ports] : owners) {
    if (!known.insert(ports).second) continue;
    Finding& finding = findings.emplace_back(on_ports(input.subnet, ports));
    for (std::size_t end = 0; end < ports.size(); ++end)
      finding.evidence.push_back(field_value("LID", end, {std::uint64_t{input.subnet.lid(ports[end]).value}, {}}));
    finding.detail = ports.size() == 2 ? fmt::format("Both have LID {}.", lid) : fmt::format("These {} have LID {}.", ports.size(), lid);
  }
}

void find_other_lmcs(const Input& input, Findings& findings) {
  std::map<unsigned, std::vector<PortIndex>> by_lmc;  // of channel adapters and routers: those of switches have a rule of their own
  std::size_t count = 0;
  for (const PortIndex at : end_ports_in_use(input.subnet)) {
    if (input.subnet.port(at).number == 0) continue;
    by_lmc[input.subnet.lmc(at)].push_back(at);
    ++count;
  }
  if (by_lmc.size() < 2) return;
  const auto most = std::ranges::max_element(by_lmc, {}, [](const auto& of) { return of.second.size(); });
  if (2 * most->second.size() <= count) return;  // half of the ports are not most of them
  for (const auto& [lmc, ports] : by_lmc) {
    if (lmc == most->first) continue;
    for (const PortIndex at : ports) {
      findings.emplace_back(on_ports(input.subnet, std::array{at}))
          .evidence.push_back(field_value("LMC", 0, {std::uint64_t{lmc}, {}}, most->first));
    }
  }
}

}  // namespace

std::span<const Check> port_checks() {
  using enum Level;
  static constexpr Check checks[] = {
      {"port-init",
       error,
       {},
       "The link is up, but no subnet manager has configured it: only management packets pass.",
       "Check whether a subnet manager runs (ibtool sminfo), and look in its log why it skips this port: P_Key, LID, duplicate GUID.",
       find_initialize},
      {"port-armed",
       error,
       {},
       "The subnet manager stopped half-way, or the other end is not ready.",
       "Have the subnet manager sweep again; if the port stays Armed, reset it (ibtool ibportstate reset).",
       [](const Input& input, Findings& findings) { find_state(input, findings, smp::PortState::armed); }},
      {"lid-zero",
       error,
       {},
       "The port is Active and has no LID: nothing can be sent to it.",
       "Have the subnet manager sweep again, and look at its log.",
       find_zero_lids},
      {"lid-duplicate",
       error,
       {},
       "Several ports have the same LID: packets for one of them reach another.",
       "Check whether two subnet managers are master (ibtool sminfo); then have one sweep again.",
       find_duplicate_lids},
      {"lmc-mismatch",
       warning,
       {},
       "The port has another LMC than most: it has fewer, or more, LIDs and paths than the subnet manager plans.",
       "Look at the lmc of the subnet manager's configuration, and have it sweep again.",
       find_other_lmcs},
  };
  return checks;
}

}  // namespace ib::health
