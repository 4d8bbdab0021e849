// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The end port of the host that looks: while it is Down, a fabric of one node says nothing of the others.
#include <fmt/format.h>

#include "health/checks/evidence.hpp"
#include "health/checks/topics.hpp"
#include "subnet/diff/counterparts.hpp"
#include "subnet/sweep/discovery.hpp"

namespace ib::health {
namespace {

/// The end of the link that the baseline has at the own port; a place without a node if it has none, or several nodes of that GUID.
Place former_end(const Input& input) {
  if (input.baseline == nullptr) return {};
  const subnet::Subnet& was = input.baseline->subnet;
  const subnet::Port& own = input.subnet.port(input.subnet.start);
  const subnet::NodeIndex node = subnet::only_node(was, input.subnet.node(own.node).guid());
  if (node == subnet::none) return {};
  const subnet::PortIndex port = was.port_of(node, own.number);
  if (port == subnet::none || was.port(port).peer == subnet::none) return {};
  Place end = place_of(was, was.port(port).peer);
  end.is_before = true;
  return end;
}

void find_own_port(const Input& input, Findings& findings) {
  if (!subnet::is_start_down(input.subnet)) return;
  Finding& finding = findings.emplace_back(on_cable(input.subnet, input.subnet.start));
  if (const Place end = former_end(input); end.node != subnet::none) finding.ends.push_back(end);
  const subnet::Port& port = input.subnet.port(input.subnet.start);
  const auto state = [&finding](std::string_view field, auto value) {
    const std::string_view word = smp::to_text(value);
    if (!word.empty()) finding.evidence.push_back(field_value(field, 0, {std::uint64_t{static_cast<std::uint8_t>(value)}, word}));
  };
  state("portState", port.state());
  if (port.physical_state() != smp::PortPhysicalState::no_change) state("portPhysicalState", port.physical_state());
  if (!input.own_port.empty()) finding.detail = fmt::format("It is {} of this host.", input.own_port);
}

}  // namespace

std::span<const Check> own_port_checks() {
  using enum Level;
  static constexpr Check checks[] = {
      {"own-port",
       error,
       {},
       "This host's own port is Down: nothing is known of the rest of the fabric, and nothing else was checked.",
       "Look at the cable at both ends, and at the switch port; if the port was disabled, enable it (ibtool ibportstate -D 0 PORT enable).",
       find_own_port},
  };
  return checks;
}

}  // namespace ib::health
