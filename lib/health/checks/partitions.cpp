// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// P_Keys: what hosts are members of, and what the switch ports at the other ends of their links let pass (IBA 10.9, 14.2.5.7).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "health/checks/check_functions.hpp"
#include "health/checks/evidence.hpp"

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

}  // namespace

void find_pkey_mismatches(const Input& input, Findings& findings) {
  for (const auto& [at, gate] : input.pkeys) {
    const subnet::Port& port = input.subnet.port(at);
    if (input.subnet.node(port.node).kind() != subnet::NodeKind::sw || port.number == 0 || port.peer == subnet::none) continue;
    const auto host = input.pkeys.find(port.peer);
    if (host == input.pkeys.end()) continue;
    const std::vector<std::uint16_t> missing = kept_out(host->second, gate);
    if (missing.empty()) continue;
    Finding finding = on_cable(input.subnet, at);
    const smp::PortInfo info = port.info();
    finding.evidence = {field_value("partitionEnforcementInbound", 0, {std::uint64_t{info.partition_enforcement_inbound}, {}}),
                        field_value("partitionEnforcementOutbound", 0, {std::uint64_t{info.partition_enforcement_outbound}, {}})};
    finding.detail = fmt::format("The host has {}, which the port of the switch does not let pass.", pkeys_text(missing));
    findings.push_back(std::move(finding));
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
    Finding finding = on_ports(input.subnet, of.limited);
    finding.subject = Finding::Subject::group;
    finding.detail = fmt::format("Partition {:#06x} has limited members alone.", base);
    findings.push_back(std::move(finding));
  }
}

}  // namespace ib::health
