// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What subnet managers set on ports: states, LIDs, LMCs.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/escape.hpp"
#include "health/check_functions.hpp"
#include "health/evidence.hpp"

namespace ib::health {
namespace {

using subnet::NodeKind;
using subnet::PortIndex;

/// Links whose ports are trained and in a state that packets do not pass.
void find_state(const Input& input, Findings& findings, smp::PortState state) {
  for (PortIndex at = 0; at < input.subnet.ports().size(); ++at) {
    const subnet::Port& port = input.subnet.port(at);
    if (port.number == 0 || !port.is_link_up() || port.state() != state) continue;
    Finding finding = on_cable(input.subnet, at);
    finding.evidence.push_back(field_value("portState", 0, {static_cast<std::uint64_t>(state), to_text(state)}));
    findings.push_back(std::move(finding));
  }
}

bool is_active(const subnet::Port& port) { return port.is_link_up() && port.state() == smp::PortState::active; }

/// Whether packets for the LID of an end port can come in: it is Active, or of a switch one of its external ports is.
bool is_in_use(const subnet::Subnet& subnet, PortIndex end) {
  const subnet::Node& node = subnet.node(subnet.port(end).node);
  if (node.kind() != NodeKind::sw) return is_active(subnet.port(end));
  return std::ranges::any_of(subnet.ports_of(node), [](const subnet::Port& port) { return port.number != 0 && is_active(port); });
}

/// The end ports in use whose PortInfo was read, by GUID and number.
std::vector<PortIndex> end_ports_in_use(const subnet::Subnet& subnet) {
  std::vector<PortIndex> ends;
  for (PortIndex at = 0; at < subnet.ports().size(); ++at) {
    const subnet::Port& port = subnet.port(at);
    const bool is_end = subnet.end_port_of(at) == at && (port.number != 0 || subnet.node(port.node).kind() == NodeKind::sw);
    if (is_end && port.has_info && is_in_use(subnet, at)) ends.push_back(at);
  }
  std::ranges::sort(ends, {}, [&subnet](PortIndex at) {
    const subnet::Port& port = subnet.port(at);
    return std::tuple(subnet.node(port.node).guid(), port.number, at);
  });
  return ends;
}

Finding on_ports(const subnet::Subnet& subnet, std::initializer_list<PortIndex> ports) {
  Finding finding;
  finding.subject = Finding::Subject::place;
  for (const PortIndex port : ports) finding.ends.push_back(place_of(subnet, port));
  return finding;
}

}  // namespace

void find_initialize(const Input& input, Findings& findings) { find_state(input, findings, smp::PortState::init); }

void find_armed(const Input& input, Findings& findings) { find_state(input, findings, smp::PortState::armed); }

void find_zero_lids(const Input& input, Findings& findings) {
  for (const PortIndex at : end_ports_in_use(input.subnet)) {
    if (input.subnet.lid(at).is_unicast()) continue;
    Finding finding = on_ports(input.subnet, {at});
    finding.evidence.push_back(field_value("LID", 0, {std::uint64_t{input.subnet.lid(at).value}, {}}));
    findings.push_back(std::move(finding));
  }
}

void find_duplicate_lids(const Input& input, Findings& findings) {
  std::map<std::uint16_t, PortIndex> owners;
  for (const PortIndex at : end_ports_in_use(input.subnet)) {
    const Lid base = input.subnet.lid(at);
    if (!base.is_unicast()) continue;
    const unsigned last = std::min<unsigned>(base.value + (1U << input.subnet.lmc(at)) - 1, last_unicast_lid);
    PortIndex told = subnet::none;
    for (unsigned lid = base.value; lid <= last; ++lid) {
      const auto [owner, is_new] = owners.try_emplace(static_cast<std::uint16_t>(lid), at);
      if (is_new || owner->second == told) continue;
      told = owner->second;
      Finding finding = on_ports(input.subnet, {told, at});
      for (const std::size_t end : {0U, 1U})
        finding.evidence.push_back(field_value("LID", end, {std::uint64_t{input.subnet.lid(end == 0 ? told : at).value}, {}}));
      finding.detail = fmt::format("Both have LID {}.", lid);
      findings.push_back(std::move(finding));
    }
  }
}

void find_other_lmcs(const Input& input, Findings& findings) {
  std::map<unsigned, std::vector<PortIndex>> by_lmc;  // of channel adapters and routers: those of switches have a rule of their own
  for (const PortIndex at : end_ports_in_use(input.subnet)) {
    if (input.subnet.port(at).number != 0) by_lmc[input.subnet.lmc(at)].push_back(at);
  }
  if (by_lmc.size() < 2) return;
  const auto most = std::ranges::max_element(by_lmc, {}, [](const auto& of) { return of.second.size(); });
  for (const auto& [lmc, ports] : by_lmc) {
    if (lmc == most->first) continue;
    for (const PortIndex at : ports) {
      Finding finding = on_ports(input.subnet, {at});
      finding.evidence.push_back(field_value("LMC", 0, {std::uint64_t{lmc}, {}}, most->first));
      findings.push_back(std::move(finding));
    }
  }
}

}  // namespace ib::health
