// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Subnet managers: there should be one master, which should be the best of them, and a standby; and all ports should know the master.
//
// P_Keys: what hosts are members of, and what the switch ports at the other ends of their links let pass (IBA 10.9, 14.2.5.7). Broadcast
// groups of IPoIB: a port whose link is slower than its group cannot join it, or loses packets of it.
#include <fmt/format.h>

#include <algorithm>

#include "base/escape.hpp"
#include "health/checks/common.hpp"
#include "health/routes.hpp"
#include "iba/text.hpp"
#include "sa/table_match.hpp"
#include "subnet/model/port_checks.hpp"

namespace ib::health {
namespace {

using smp::SMState;

std::vector<const Manager*> managers_in(const Input& input, SMState state) {
  std::vector<const Manager*> found;
  for (const Manager& manager : input.managers) {
    if (manager.info.sm_state == state) found.push_back(&manager);
  }
  return found;
}

Finding on_manager(const Input& input, PortIndex port, std::vector<Evidence> evidence = {}) {
  return on_port(input.subnet, port, std::move(evidence), Finding::Subject::manager);
}

Finding on_managers(const Input& input, const std::vector<const Manager*>& managers) {
  std::vector<PortIndex> ports;
  for (const Manager* manager : managers) ports.push_back(manager->port);
  return on_ports(input.subnet, ports, Finding::Subject::manager);
}

void add_states(Finding& finding, const std::vector<const Manager*>& managers) {
  for (std::size_t end = 0; end < managers.size(); ++end)
    finding.evidence.push_back(field_value("SMState", end, code(managers[end]->info.sm_state)));
}

/// Whether `a` should be master rather than `b`: the greater priority, then the lower GUID (IBA 14.4.1).
bool precedes(const Manager& a, const Manager& b) {
  return std::tuple(-static_cast<int>(a.info.priority), a.info.guid) < std::tuple(-static_cast<int>(b.info.priority), b.info.guid);
}

bool has_lid(const Subnet& subnet, PortIndex port, Lid lid) {
  const unsigned base = subnet.lid(port).value;
  return lid.value >= base && lid.value < base + (1U << subnet.lmc(port));
}

/// The finding that no port of the model has a subnet manager. A manager that this port knows, and that is in no part of the fabric that it
/// sees, may be well behind a cable that is gone: to start another one is not a remedy then.
Finding nobody_manages(const Input& input) {
  const Lid lid = own_sm_lid(input.subnet);
  if (const PortIndex at = own_sm_port(input.subnet); at != subnet::none) {
    Finding finding = on_manager(input, at);
    finding.detail = "The subnet manager was here, but no port of the fabric has one now.";
    finding.remedy = "Start the subnet manager again, and look in its log why it ended.";
    return finding;
  }
  Finding finding = on_node(input.subnet.start == subnet::none ? 0 : input.subnet.port(input.subnet.start).node);
  finding.detail = "No port in the fabric reports a subnet manager.";
  if (!lid.is_unicast()) return finding;
  const Subnet* was = input.baseline == nullptr ? nullptr : &input.baseline->subnet;
  const PortIndex before = was == nullptr ? subnet::none : was->find_lid(lid);
  const std::string name = before == subnet::none ? "" : ", of " + in_quotes(was->node(was->port(before).node).description()) + ",";
  finding.detail = fmt::format("The subnet manager was at LID {}{} which is not in the part of the fabric that can be reached from here.",
                               lid.value, name.empty() ? "," : name);
  finding.confidence = Confidence::likely;
  finding.remedy =
      "Look at the node at that LID and at the cables on the way to it (--baseline names both): a second manager would be master here, and "
      "clash with that one once the cables are back.";
  return finding;
}

void find_no_manager(const Input& input, Findings& findings) {
  if (input.silent_managers > 0 || input.has_manager_elsewhere || !managers_in(input, SMState::master).empty()) return;
  std::vector<const Manager*> others;
  for (const Manager& manager : input.managers) others.push_back(&manager);
  if (others.empty() && input.subnet.nodes().empty()) return;
  if (others.empty()) {
    findings.push_back(nobody_manages(input));
    return;
  }
  Finding& finding = findings.emplace_back(on_managers(input, others));
  add_states(finding, others);
  finding.detail = "None of the subnet managers is master.";
  finding.remedy = "Look at these managers and their logs: one of them should become master within a minute; restart it if it does not.";
}

void find_silent_managers(const Input& input, Findings& findings) {
  const bool has_master = !managers_in(input, SMState::master).empty();
  for (const SilentManager& silent : input.silent) {
    Finding& finding = findings.emplace_back(on_manager(input, silent.port));
    const bool is_ours = has_lid(input.subnet, silent.port, own_sm_lid(input.subnet));
    if (silent.state ? *silent.state != SMState::master : has_master && !is_ours) finding.level = Level::warning;
    finding.detail = "It does not answer SMInfo";
    if (silent.state) finding.detail += fmt::format("; the subnet administrator has it as {}", to_text(*silent.state));
    if (is_ours) finding.detail += "; the port that looks here has it as its master";
    if (!subnet::has_is_sm(input.subnet.port(silent.port).info()))
      finding.detail += "; its port does not report one any more (IsSM), so that it may have ended";
    if (is_ours && input.is_sa_silent) finding.detail += "; its subnet administrator does not answer either";
    finding.detail += ".";
  }
}

void find_silent_sa(const Input& input, Findings& findings) {
  const PortIndex at = own_sm_port(input.subnet);
  if (!input.is_sa_silent || at == subnet::none) return;
  if (input.managers.empty() && input.silent_managers == 0) return;  // there is none: sm-none
  if (std::ranges::find(input.silent, at, &SilentManager::port) != input.silent.end()) return;
  const NodeIndex node = input.subnet.port(at).node;
  if (is_cut_off(input, node)) return;
  Finding& finding = findings.emplace_back(on_manager(input, at));
  finding.detail = "The requests were routed to it by LID.";
  if (input.nodes_not_traced.contains(node)) finding.confidence = Confidence::likely;
}

void find_many_masters(const Input& input, Findings& findings) {
  const std::vector<const Manager*> masters = managers_in(input, SMState::master);
  if (masters.size() >= 2) add_states(findings.emplace_back(on_managers(input, masters)), masters);
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
  Finding& finding = findings.emplace_back(on_managers(input, {&master, &best}));
  if (best.info.priority == master.info.priority) finding.level = Level::info;  // only by the lower GUID: many masters keep their place
  for (const std::size_t end : {0U, 1U})
    finding.evidence.push_back(field_value("priority", end, number((end == 0 ? master : best).info.priority)));
  finding.detail = "The first one is master, the second one, on standby, comes before it.";
}

void find_other_sm_lids(const Input& input, Findings& findings) {
  const std::vector<const Manager*> masters = managers_in(input, SMState::master);
  if (masters.empty()) return;
  std::map<std::uint16_t, std::vector<PortIndex>> others;
  for (const PortIndex at : end_ports_in_use(input.subnet)) {
    const Lid sm_lid = input.subnet.port(at).info().master_sm_lid;
    const bool is_known = std::ranges::any_of(masters, [&](const Manager* of) { return has_lid(input.subnet, of->port, sm_lid); });
    if (!is_known) others[sm_lid.value].push_back(at);
  }
  for (const auto& [lid, ports] : others) {
    Finding& finding =
        findings.emplace_back(on_ports(input.subnet, ports, ports.size() > 1 ? Finding::Subject::group : Finding::Subject::place));
    for (std::size_t end = 0; end < ports.size(); ++end)
      finding.evidence.push_back(field_value("masterSMLID", end, number(lid), input.subnet.lid(masters.front()->port).value));
  }
}

void find_stuck_managers(const Input& input, Findings& findings) {
  for (const Manager& manager : input.managers) {
    const bool should_move = manager.info.sm_state == SMState::master || manager.info.sm_state == SMState::standby;
    if (!should_move || !manager.act_count_before || manager.info.act_count - *manager.act_count_before > manager.own_requests) continue;
    const Evidence evidence = changed_value("actCount", 0, number(*manager.act_count_before), number(manager.info.act_count));
    findings.push_back(on_manager(input, manager.port, {evidence}));
  }
}

constexpr std::uint16_t full_member = 0x8000;
constexpr std::uint16_t base_of(std::uint16_t pkey) { return pkey & 0x7fffU; }

void find_pkey_mismatches(const Input& input, Findings& findings) {
  for (const auto& [at, pkeys] : input.pkeys) {
    const subnet::Port& port = input.subnet.port(at);
    if (input.subnet.node(port.node).kind() != NodeKind::sw || port.number == 0 || port.peer == subnet::none) continue;
    const auto host = input.pkeys.find(port.peer);
    if (host == input.pkeys.end()) continue;
    std::vector<std::uint16_t> missing = host->second;  // a switch port does not look at whether the membership is limited
    std::erase_if(missing, [&gate = pkeys](std::uint16_t pkey) { return std::ranges::find(gate, base_of(pkey), base_of) != gate.end(); });
    if (missing.empty()) continue;
    const smp::PortInfo info = port.info();
    const std::vector evidence{field_value("partitionEnforcementInbound", 0, number(info.partition_enforcement_inbound)),
                               field_value("partitionEnforcementOutbound", 0, number(info.partition_enforcement_outbound))};
    findings.emplace_back(on_cable(input.subnet, at, evidence)).detail =
        fmt::format("The host has {}, which the port of the switch does not let pass.", pkeys_text(missing));
  }
}

void find_partitions_without_full_member(const Input& input, Findings& findings) {
  if (input.source(Source::pkeys).is_partial) return;  // the full member may be among the ports that did not answer
  struct Partition {
    std::vector<PortIndex> limited;
    bool has_full{};
  };
  std::map<std::uint16_t, Partition> partitions;
  for (const auto& [at, pkeys] : input.pkeys) {
    if (input.subnet.end_port_of(at) != at) continue;
    for (const std::uint16_t pkey : pkeys) {
      Partition& of = partitions[base_of(pkey)];
      of.has_full = of.has_full || (pkey & full_member) != 0;
      if ((pkey & full_member) == 0) of.limited.push_back(at);
    }
  }
  for (const auto& [base, of] : partitions) {
    if (of.has_full) continue;
    findings.emplace_back(on_ports(input.subnet, of.limited, Finding::Subject::group)).detail =
        fmt::format("Partition {:#06x} has limited members only.", base);
  }
}

/// The place of the rate of a port's link in the order of rates; 0 where it is not known.
unsigned link_order(const Subnet& subnet, PortIndex port) {
  const subnet::LinkRate rate = subnet::active_rate(subnet, port);
  return rate.known() ? sa::order_of_data(rate.data_mbps()) : 0;
}

void find_fast_groups(const Input& input, Findings& findings) {
  for (const BroadcastGroup& group : input.groups) {
    const unsigned wanted = sa::order_of(group.rate);
    std::vector<PortIndex> slow;
    for (const PortIndex port : group.members) {
      const unsigned has = link_order(input.subnet, port);
      if (has != 0 && has < wanted) slow.push_back(port);
    }
    if (slow.empty()) continue;
    const auto order = [&input](PortIndex port) { return link_order(input.subnet, port); };
    const subnet::LinkRate slowest = subnet::active_rate(input.subnet, *std::ranges::min_element(slow, {}, order));
    findings.emplace_back(on_ports(input.subnet, slow, Finding::Subject::group)).detail =
        fmt::format("The group {} has a rate of {}; the slowest link of its members is {}.", to_text(group.mgid), to_text(group.rate),
                    rate_text(slowest));
  }
}

}  // namespace

std::span<const Check> manager_checks() {
  using enum Level;
  using enum Source;
  static constexpr Check checks[] = {
      {"sm-none", error, needs(managers), "No subnet manager is active: new ports stay in Initialize, and routes are not repaired.",
       "Start a subnet manager (opensm, or the one of a managed switch).", find_no_manager},
      {"sm-silent", error, needs(managers),
       "The subnet manager does not answer: new ports stay in Initialize, and routes are not repaired.",
       "Look at its process and its host (stopped, out of memory, its log); restart that one, not another one.", find_silent_managers},
      {"sa-silent", error, needs(managers), "The subnet administrator does not answer: hosts get no paths and join no groups.",
       "Look at the load and the log of the subnet manager that it is a part of; restart that one if it stays so.", find_silent_sa},
      {"sm-many-masters", error, needs(managers), "Several subnet managers are master: they undo each other's work.",
       "Stop all but one; compare their SM_Keys and their configuration, then have it sweep again.", find_many_masters},
      {"sm-no-standby", info, needs(managers), "There is no subnet manager that would take the place of the master.",
       "Start one on another node, with a lower priority.", find_no_standby},
      {"sm-not-best", warning, needs(managers), "A subnet manager on standby should be master: no handover, or no trust between the two.",
       "Compare the SM_Keys of both, and look at their logs.", find_better_standbys},
      {"sm-lid-differs", error, needs(managers), "These ports have a wrong SM LID: the SA does not get their requests.",
       "Have the subnet manager sweep again, and look for another one that set these ports.", find_other_sm_lids},
      {"sm-stuck", warning, needs(managers, activity), "The subnet manager does nothing: it neither sweeps nor polls.",
       "Look at its process and its log; restart it.", find_stuck_managers},
      {"pkey-mismatch", error, needs(pkeys), "The switch port filters partitions of which the host is a member: packets are discarded.",
       "Have the subnet manager sweep again, and look at its partition configuration.", find_pkey_mismatches},
      {"pkey-no-full-member", warning, needs(pkeys),
       "Limited members cannot communicate with each other: this partition carries no traffic.",
       "Give full membership to the ports that the others need to reach, in the partition configuration of the subnet manager.",
       find_partitions_without_full_member},
      {"multicast-rate", error, needs(groups),
       "The rate of the group exceeds the rate of some members' links: these cannot join it, or lose packets.",
       "Lower the rate of the group in the partition configuration of the subnet manager, or repair the slow links.", find_fast_groups},
  };
  return checks;
}

}  // namespace ib::health
