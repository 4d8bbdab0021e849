// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// P_Keys: what hosts are members of, and what the switch ports at the other ends of their links let pass (IBA 10.9, 14.2.5.7). Broadcast
// groups of IPoIB: a port whose link is slower than its group cannot join it, or loses packets of it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "health/checks/evidence.hpp"
#include "health/checks/topics.hpp"
#include "iba/text.hpp"
#include "sa/table_match.hpp"

namespace ib::health {
namespace {

using subnet::PortIndex;

constexpr std::uint16_t full_member = 0x8000;
constexpr std::uint16_t base_of(std::uint16_t pkey) { return pkey & 0x7fffU; }

std::string pkeys_text(const std::vector<std::uint16_t>& pkeys) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t at = 0; at < pkeys.size() && at < most; ++at) text += fmt::format("{}{:#06x}", at == 0 ? "" : ", ", pkeys[at]);
  return pkeys.size() > most ? text + ", …" : text;
}

/// The P_Keys of a host whose partitions a switch port does not know. Whether the membership is limited does not matter to it.
std::vector<std::uint16_t> kept_out(const std::vector<std::uint16_t>& host, const std::vector<std::uint16_t>& gate) {
  std::vector<std::uint16_t> missing;
  for (const std::uint16_t pkey : host) {
    if (std::ranges::find(gate, base_of(pkey), base_of) == gate.end()) missing.push_back(pkey);
  }
  return missing;
}

void find_pkey_mismatches(const Input& input, Findings& findings) {
  for (const auto& [at, gate] : input.pkeys) {
    const subnet::Port& port = input.subnet.port(at);
    if (input.subnet.node(port.node).kind() != subnet::NodeKind::sw || port.number == 0 || port.peer == subnet::none) continue;
    const auto host = input.pkeys.find(port.peer);
    if (host == input.pkeys.end()) continue;
    const std::vector<std::uint16_t> missing = kept_out(host->second, gate);
    if (missing.empty()) continue;
    Finding& finding = findings.emplace_back(on_cable(input.subnet, at));
    const smp::PortInfo info = port.info();
    finding.evidence = {field_value("partitionEnforcementInbound", 0, {std::uint64_t{info.partition_enforcement_inbound}, {}}),
                        field_value("partitionEnforcementOutbound", 0, {std::uint64_t{info.partition_enforcement_outbound}, {}})};
    finding.detail = fmt::format("The host has {}, which the port of the switch does not let pass.", pkeys_text(missing));
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
      if ((pkey & full_member) != 0) of.has_full = true;
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
unsigned link_order(const subnet::Subnet& subnet, subnet::PortIndex port) {
  const subnet::LinkRate rate = subnet::active_rate(subnet, port);
  return rate.known() ? sa::order_of_data(rate.data_mbps()) : 0;
}

void find_fast_groups(const Input& input, Findings& findings) {
  for (const BroadcastGroup& group : input.groups) {
    const unsigned wanted = sa::order_of(group.rate);
    std::vector<subnet::PortIndex> slow;
    for (const subnet::PortIndex port : group.members) {
      const unsigned has = link_order(input.subnet, port);
      if (has != 0 && has < wanted) slow.push_back(port);
    }
    if (slow.empty()) continue;
    const auto order = [&input](subnet::PortIndex port) { return link_order(input.subnet, port); };
    const subnet::LinkRate slowest = subnet::active_rate(input.subnet, *std::ranges::min_element(slow, {}, order));
    findings.emplace_back(on_ports(input.subnet, slow, Finding::Subject::group)).detail =
        fmt::format("The group {} has a rate of {}; the slowest link of its members is {}x {}.", to_text(group.mgid), to_text(group.rate),
                    slowest.lanes, subnet::name(slowest.speed));
  }
}

}  // namespace

std::span<const Check> partition_checks() {
  using enum Level;
  using enum Source;
  static constexpr Check checks[] = {
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
