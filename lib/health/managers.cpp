// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Subnet managers: there should be one master, which should be the best of them, and a standby; and all ports should know the master.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "health/check_functions.hpp"
#include "health/evidence.hpp"

namespace ib::health {
namespace {

using smp::SMState;
using subnet::PortIndex;

std::vector<const Manager*> managers_in(const Input& input, SMState state) {
  std::vector<const Manager*> found;
  for (const Manager& manager : input.managers) {
    if (manager.info.sm_state == state) found.push_back(&manager);
  }
  return found;
}

Finding on_managers(const Input& input, const std::vector<const Manager*>& managers) {
  std::vector<PortIndex> ports;
  for (const Manager* manager : managers) ports.push_back(manager->port);
  Finding finding = on_ports(input.subnet, ports);
  finding.subject = Finding::Subject::manager;
  return finding;
}

Evidence state_value(const Manager& manager, std::size_t end) {
  return field_value("SMState", end, {static_cast<std::uint64_t>(manager.info.sm_state), to_text(manager.info.sm_state)});
}

/// Whether `a` should be master rather than `b`: the greater priority, then the lower GUID (IBA 14.4.1).
bool precedes(const Manager& a, const Manager& b) {
  return std::tuple(-static_cast<int>(a.info.priority), a.info.guid) < std::tuple(-static_cast<int>(b.info.priority), b.info.guid);
}

/// Whether a LID is one of those of a port.
bool has_lid(const subnet::Subnet& subnet, PortIndex port, Lid lid) {
  const unsigned base = subnet.lid(port).value;
  return lid.value >= base && lid.value < base + (1U << subnet.lmc(port));
}

}  // namespace

void find_no_manager(const Input& input, Findings& findings) {
  if (input.silent_managers > 0 || !managers_in(input, SMState::master).empty()) return;
  std::vector<const Manager*> others;
  for (const Manager& manager : input.managers) others.push_back(&manager);
  if (others.empty() && input.subnet.nodes().empty()) return;
  Finding finding = others.empty() ? on_node(input.subnet.start == subnet::none ? 0 : input.subnet.port(input.subnet.start).node)
                                   : on_managers(input, others);
  for (std::size_t end = 0; end < others.size(); ++end) finding.evidence.push_back(state_value(*others[end], end));
  finding.detail = others.empty() ? "No port in the fabric says that it has a subnet manager." : "None of the subnet managers is master.";
  findings.push_back(std::move(finding));
}

void find_many_masters(const Input& input, Findings& findings) {
  const std::vector<const Manager*> masters = managers_in(input, SMState::master);
  if (masters.size() < 2) return;
  Finding finding = on_managers(input, masters);
  for (std::size_t end = 0; end < masters.size(); ++end) finding.evidence.push_back(state_value(*masters[end], end));
  findings.push_back(std::move(finding));
}

void find_no_standby(const Input& input, Findings& findings) {
  const std::vector<const Manager*> masters = managers_in(input, SMState::master);
  if (input.silent_managers > 0 || masters.size() != 1 || !managers_in(input, SMState::standby).empty()) return;
  findings.push_back(on_managers(input, masters));
}

void find_better_standbys(const Input& input, Findings& findings) {
  const std::vector<const Manager*> masters = managers_in(input, SMState::master), standbys = managers_in(input, SMState::standby);
  if (masters.size() != 1 || standbys.empty()) return;
  const Manager& master = *masters.front();
  const Manager& best = **std::ranges::min_element(standbys, [](const Manager* a, const Manager* b) { return precedes(*a, *b); });
  if (!precedes(best, master)) return;
  Finding finding = on_managers(input, {&master, &best});
  for (const std::size_t end : {0U, 1U})
    finding.evidence.push_back(field_value("priority", end, {std::uint64_t{(end == 0 ? master : best).info.priority}, {}}));
  finding.detail = "The first one is master, the second one, on standby, comes before it.";
  findings.push_back(std::move(finding));
}

void find_other_sm_lids(const Input& input, Findings& findings) {
  const std::vector<const Manager*> masters = managers_in(input, SMState::master);
  if (masters.empty()) return;
  std::map<std::uint16_t, std::vector<PortIndex>> others;
  for (const PortIndex at : end_ports_in_use(input.subnet)) {
    const Lid told = input.subnet.port(at).info().master_sm_lid;
    const bool is_known = std::ranges::any_of(masters, [&](const Manager* of) { return has_lid(input.subnet, of->port, told); });
    if (!is_known) others[told.value].push_back(at);
  }
  for (const auto& [lid, ports] : others) {
    Finding finding = on_ports(input.subnet, ports);
    if (ports.size() > 1) finding.subject = Finding::Subject::group;
    for (std::size_t end = 0; end < ports.size(); ++end)
      finding.evidence.push_back(field_value("masterSMLID", end, {std::uint64_t{lid}, {}}, input.subnet.lid(masters.front()->port).value));
    findings.push_back(std::move(finding));
  }
}

void find_stuck_managers(const Input& input, Findings& findings) {
  for (const Manager& manager : input.managers) {
    const bool should_move = manager.info.sm_state == SMState::master || manager.info.sm_state == SMState::standby;
    if (!should_move || !manager.act_count_before || manager.info.act_count - *manager.act_count_before > manager.own_requests) continue;
    Finding finding = on_managers(input, {&manager});
    Evidence evidence = field_value("actCount", 0, {std::uint64_t{manager.info.act_count}, {}});
    evidence.before.number = std::uint64_t{*manager.act_count_before};
    finding.evidence.push_back(evidence);
    findings.push_back(std::move(finding));
  }
}

}  // namespace ib::health
