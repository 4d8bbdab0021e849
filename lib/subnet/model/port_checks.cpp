// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/model/port_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/escape.hpp"
#include "iba/text.hpp"
#include "subnet/model/rate.hpp"

namespace ib::subnet {
namespace {

using Relation = Mismatch::Relation;

template <class State>
std::string words_of(State state) {
  const std::string_view text = to_text(state);
  return text.empty() ? fmt::format("?({})", static_cast<unsigned>(state)) : std::string(text);
}

std::string width_words(unsigned lanes) { return lanes == 0 ? "?" : fmt::format("{}x", lanes); }
std::string speed_words(Speed speed) { return speed == Speed::unknown ? "?" : std::string(name(speed)); }

bool is_port0(const Subnet& subnet, PortIndex at) {
  const Port& port = subnet.port(at);
  return port.number == 0 && subnet.node(port.node).kind() == NodeKind::sw;
}

/// Whether both ends report a trained link. False without a link: the other end is then not known.
bool is_link_trained(const Subnet& subnet, PortIndex at) {
  const Port& port = subnet.port(at);
  return !is_port0(subnet, at) && is_trained(port) && port.peer != none && is_trained(subnet.port(port.peer));
}

}  // namespace

std::string Mismatch::sentence() const {
  if (!words.empty()) return words;
  constexpr std::string_view relations[] = {"expected", "but shouldn't be", "expected less than"};
  return fmt::format("{} is {}, {} {}", field, in_quotes(found), relations[static_cast<unsigned>(relation)], in_quotes(expected));
}

bool is_trained(const Port& port) { return port.is_link_up() || port.physical_state() == smp::PortPhysicalState::error_recovery; }

bool is_link_active(const Port& port) { return port.is_link_up() && port.state() == smp::PortState::active; }

bool is_end_port(const Subnet& subnet, PortIndex at) {
  return subnet.end_port_of(at) == at && (subnet.port(at).number != 0 || is_port0(subnet, at));
}

bool is_end_port_in_use(const Subnet& subnet, PortIndex at) {
  const Port& port = subnet.port(at);
  if (!is_end_port(subnet, at) || !port.has_info) return false;
  return port.number != 0 ? is_link_active(port) : std::ranges::any_of(subnet.ports_of(subnet.node(port.node)), [](const Port& of_switch) {
    return of_switch.number != 0 && is_link_active(of_switch);
  });
}

std::map<std::uint16_t, std::vector<PortIndex>> contested_lids(const Subnet& subnet) {
  std::map<std::uint16_t, std::vector<PortIndex>> claims;
  for (PortIndex at = 0; at < subnet.ports().size(); ++at) {
    const Lid base = subnet.lid(at);
    if (!base.is_unicast() || !is_end_port_in_use(subnet, at)) continue;
    const unsigned last = std::min<unsigned>(base.value + (1U << subnet.lmc(at)) - 1, last_unicast_lid);
    for (unsigned lid = base.value; lid <= last; ++lid) claims[static_cast<std::uint16_t>(lid)].push_back(at);
  }
  std::erase_if(claims, [](const auto& claim) { return claim.second.size() < 2; });
  const auto order = [&subnet](PortIndex at) { return std::tuple(subnet.node_of(at).guid(), subnet.port(at).number, at); };
  for (auto& [lid, ports] : claims) std::ranges::sort(ports, {}, order);
  return claims;
}

bool has_is_sm(const smp::PortInfo& info) { return (info.capability_mask & smp::capability_mask::is_sm) != 0; }

bool may_have_manager(const Subnet& subnet, PortIndex at) {
  const Port& port = subnet.port(at);
  if (!is_end_port(subnet, at) || !port.has_info) return false;
  if (has_is_sm(port.info())) return true;
  const Lid manager = subnet.start == none ? Lid{} : subnet.port(subnet.start).info().master_sm_lid;
  return manager.is_unicast() && subnet.find_lid(manager) == at;
}

Mismatches check_port_state(const Subnet& subnet, PortIndex at) {
  const Port& port = subnet.port(at);
  if (is_port0(subnet, at)) {
    const Node& node = subnet.node(port.node);
    const bool has_state = node.has_switch_info && node.switch_info().enhanced_port0 != 0;
    if (!has_state || port.state() == smp::PortState::active) return {};
  } else if (is_link_active(port)) {
    return {};
  } else if (!port.is_link_up()) {
    return {{.error = true,
             .field = "portPhysicalState",
             .found = words_of(port.physical_state()),
             .expected = words_of(smp::PortPhysicalState::link_up)}};
  }
  return {{.field = "portState", .found = words_of(port.state()), .expected = words_of(smp::PortState::active)}};
}

Mismatches check_link_width(const Subnet& subnet, PortIndex at) {
  if (!is_link_trained(subnet, at)) return {};
  const unsigned now = active_rate(subnet, at).lanes, best = best_rate(subnet, at).lanes;
  if (now >= best) return {};
  return {{.field = "linkWidthActive", .found = width_words(now), .expected = width_words(best)}};
}

Mismatches check_link_speed(const Subnet& subnet, PortIndex at) {
  if (!is_link_trained(subnet, at)) return {};
  const Speed now = active_rate(subnet, at).speed, best = best_rate(subnet, at).speed;
  if (now >= best) return {};
  return {{.field = "linkSpeedActive", .found = speed_words(now), .expected = speed_words(best)}};
}

Mismatches check_lids(const Subnet& subnet, PortIndex at) {
  const Port& port = subnet.port(at);
  if (!is_end_port(subnet, at) || (!is_port0(subnet, at) && !is_trained(port))) return {};
  const smp::PortInfo info = port.info();
  Mismatches findings;
  for (const auto& [field, lid] : {std::pair{"LID", info.lid}, {"masterSMLID", info.master_sm_lid}}) {
    if (lid == Lid{}) findings.push_back({.field = field, .found = "0", .expected = "0", .relation = Relation::not_equal});
  }
  return findings;
}

Mismatches check_ids(const Subnet& subnet, IdOwners& owners, PortIndex at) {
  Mismatches findings;
  const std::string place = fmt::format("lid {} port {}", subnet.lid(at).value, subnet.port(at).number);
  const auto add = [&findings](std::string words) { findings.push_back({.error = true, .words = std::move(words)}); };
  const unsigned base = subnet.port(at).has_info ? subnet.lid(at).value : 0;
  if (base == 0 && subnet.port(at).has_info) add(fmt::format("The LID is 0, at {}", place));
  const unsigned end = base == 0 ? 0 : base + (1U << subnet.lmc(at));
  for (unsigned lid = base; lid < end; ++lid) {
    const PortIndex other = IdOwners::before(owners.lids, lid, at);
    if (other == none) continue;
    add(fmt::format("Duplicate LIDs found, {} {}, at {}", to_text(subnet.end_port_guid(other)), to_text(subnet.end_port_guid(at)), place));
    break;
  }
  const Guid node_guid = subnet.node_of(at).guid(), port_guid = subnet.end_port_guid(at);
  const PortIndex of_node = IdOwners::before(owners.node_guids, node_guid, at);
  const PortIndex of_port = IdOwners::before(owners.port_guids, port_guid, at);
  const auto check_guid = [&](std::string_view what, Guid guid, bool is_double) {
    if (guid == Guid{}) {
      add(fmt::format("The {} GUID is 0, at {}", what, place));
    } else if (is_double) {
      add(fmt::format("Duplicate {} GUIDs found, GUID {} at {}", what, to_text(guid), place));
    }
  };
  check_guid("node", node_guid, of_node != none && subnet.port(of_node).node != subnet.port(at).node);
  check_guid("port", port_guid, of_port != none);
  return findings;
}

Mismatches check_port(const Subnet& subnet, PortIndex port, PortChecks checks) {
  Mismatches findings;
  const auto add = [&findings](Mismatches more) { std::ranges::move(more, std::back_inserter(findings)); };
  if (checks.state) add(check_port_state(subnet, port));
  if (!findings.empty() && findings.front().error) return findings;
  if (checks.width) add(check_link_width(subnet, port));
  if (checks.speed) {
    add(check_link_speed(subnet, port));
    add(check_lids(subnet, port));
  }
  return findings;
}

}  // namespace ib::subnet
