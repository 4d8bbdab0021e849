// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Ports that were taken out of use, and ports of several planes (XDR) whose planes are not alike.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "base/escape.hpp"
#include "health/checks/evidence.hpp"
#include "health/checks/topics.hpp"
#include "iba-gen/reg.hpp"

namespace ib::health {
namespace {

using phy::PortRow;
using subnet::PortIndex;

/// A port that was taken out of use, or that is about to be.
void find_reasons(const Input& input, Findings& findings, bool (*is_meant)(mlx::UnhealthyReason reason)) {
  for (const auto& [at, reason] : input.unhealthy) {
    if (!is_meant(reason)) continue;
    findings.emplace_back(on_cable(input.subnet, at))
        .evidence.push_back(field_value("UnhealthyReason", 0, {static_cast<std::uint64_t>(reason), mlx::to_text(reason)}));
  }
}

bool is_up(reg::LinkFsm state) { return state == reg::LinkFsm::active || state == reg::LinkFsm::physical_up; }

/// "plane 1 active, plane 2 polling": of the planes whose state was read.
std::string states_text(std::span<const PortRow> planes) {
  std::string text;
  for (const PortRow& plane : planes) {
    if (!plane.has(phy::Part::operation)) continue;
    const std::string_view state = to_text(plane.link_state);
    text += fmt::format("{}plane {} {}", text.empty() ? "" : ", ", plane.plane,
                        state.empty() ? fmt::format("in state {}", static_cast<unsigned>(plane.link_state)) : std::string(state));
  }
  return text;
}

/// Adds a finding of the port if some of its planes are up, and others are not.
void find_differing_states(const Input& input, PortIndex at, Findings& findings) {
  const std::span<const PortRow> planes = input.phy.planes(at);
  const auto is_known_as = [&planes](bool up) {
    return std::ranges::any_of(planes, [up](const PortRow& of) { return of.has(phy::Part::operation) && is_up(of.link_state) == up; });
  };
  if (!is_known_as(true) || !is_known_as(false)) return;
  Finding& finding = findings.emplace_back(on_cable(input.subnet, at));
  finding.detail = fmt::format("{} port {}: {}.", in_quotes(input.subnet.node(input.subnet.port(at).node).description()),
                               input.subnet.port(at).number, states_text(planes));
  const auto of_node = input.planes.of_node.find(input.subnet.port(at).node);
  if (of_node != input.planes.of_node.end() && of_node->second.may_differ) {
    finding.level = Level::warning;
    finding.add_sentence("The device is set to let planes go down one by one.");
  }
}

/// The plane of each cable of a port: by vendor and serial number, where only one plane has it.
std::map<std::string, unsigned> planes_by_cable(std::span<const PortRow> planes) {
  std::map<std::string, unsigned> by_cable;
  for (const PortRow& plane : planes) {
    const std::string serial = plane.has_module() ? phy::padded_text(plane.module.serial_number) : std::string();
    if (serial.empty()) continue;
    const auto [place, is_new] = by_cable.emplace(phy::padded_text(plane.module.vendor) + '\0' + serial, plane.plane);
    if (!is_new) place->second = 0;
  }
  std::erase_if(by_cable, [](const auto& cable) { return cable.second == 0; });
  return by_cable;
}

/// Adds a finding of the link if a cable of its own, which both of its ends name, leads from a plane to another one.
void find_crossed_planes(const Input& input, PortIndex at, Findings& findings) {
  const auto there = planes_by_cable(input.phy.planes(input.subnet.port(at).peer));
  std::string crossed;
  for (const auto& [cable, plane] : planes_by_cable(input.phy.planes(at))) {
    const auto other = there.find(cable);
    if (other == there.end() || other->second == plane) continue;
    crossed += fmt::format("{}{} from plane {} to plane {}", crossed.empty() ? "" : ", ", in_quotes(cable.substr(cable.find('\0') + 1)),
                           plane, other->second);
  }
  if (crossed.empty()) return;
  Finding& finding = findings.emplace_back(on_cable(input.subnet, at));
  finding.confidence = Confidence::likely;
  finding.detail = fmt::format("By the serial numbers at both ends, cables lead to another plane: {}.", crossed);
}

void find_unhealthy_ports(const Input& input, Findings& findings) {
  find_reasons(input, findings, [](mlx::UnhealthyReason reason) {
    using enum mlx::UnhealthyReason;
    return reason != unsupported && reason != none && reason != asymmetric;
  });
}

void find_asymmetric_planes(const Input& input, Findings& findings) {
  find_reasons(input, findings, [](mlx::UnhealthyReason reason) { return reason == mlx::UnhealthyReason::asymmetric; });
  for (PortIndex at = 0; at < input.subnet.ports().size(); ++at) find_differing_states(input, at, findings);
  for (const PortIndex at : first_ends(input.subnet)) find_crossed_planes(input, at, findings);
}

}  // namespace

std::span<const Check> unhealthy_checks() {
  using enum Level;
  using enum Source;
  static constexpr Check checks[] = {
      {"port-unhealthy", error, needs(unhealthy), "The device or the subnet manager took the port out of use, or is about to.",
       "See the other findings about this link; after the repair have the subnet manager take the port back (opensm's unhealthy ports).",
       find_unhealthy_ports},
      {"plane-asymmetric", error, needs(planes), "The planes of the port do not have the same state, or are cabled to other planes.",
       "Look at the cables of all planes of the port, and at the other ends of these.", find_asymmetric_planes},
  };
  return checks;
}

}  // namespace ib::health
