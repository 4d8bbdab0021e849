// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What registers show: bit errors of links, modules and cables, planes of ports (XDR), temperatures and fans, and firmware that is not that
// of others of its kind. One total says nothing: a ratio is judged by the time since the counters were cleared, a counter by two readings.
#include <fmt/format.h>

#include <algorithm>

#include "base/escape.hpp"
#include "base/split.hpp"
#include "health/checks/common.hpp"
#include "iba-gen/reg.hpp"

namespace ib::health {
namespace {

using phy::PortRow;

template <class Use>
void each_linked_row(const Input& input, Use use) {
  input.each_phy_row([&](PortIndex at, const PortRow& row) {
    if (input.subnet.port(at).peer != subnet::none) use(at, row);
  });
}

/// Adds a finding of each cable whose ratio is above a limit. The ratio by the time since the counters were cleared is a number of errors,
/// which chance must not explain.
void find_ratios(const Input& input, Findings& findings, std::string_view field, std::optional<double> (*ratio_of)(const PortRow& row),
                 phy::BerLimits phy::LinkLimits::*limits_of) {
  const std::size_t links = link_count(input.subnet);
  each_linked_row(input, [&](PortIndex at, const PortRow& row) {
    const std::optional<double> ratio = ratio_of(row), seconds = phy::seconds_since_clear(row);
    const std::optional<phy::LinkLimits> limits = phy::ber_limits(row);
    const subnet::LinkRate rate = subnet::active_rate(input.subnet, at);
    if (!ratio || !seconds || !limits || !rate.known()) return;
    const double bits = bits_in(rate, *seconds), errors = *ratio * bits;
    const phy::BerLimits& of = (*limits).*limits_of;
    for (const auto& [limit, level] : {std::pair{of.error, Level::error}, {of.warning, Level::warning}}) {
      if (*ratio <= limit || errors < input.thresholds.least_errors) continue;
      Evidence evidence = beyond_limit(field, *ratio, limit);
      evidence.seconds = *seconds;
      evidence.provable_ratio = provable_ratio(bits);
      Finding& finding = findings.emplace_back(on_cable(input.subnet, at, {evidence}));
      finding.level = level;
      finding.confidence = confidence_in(static_cast<std::uint64_t>(errors), bits * limit, links);
      finding.detail = fmt::format("The counters were cleared {} before; the limit is for {}.", duration_text(*seconds), limits->of);
      const double needed = phy::seconds_to_prove(limit, rate.data_mbps() * 1e6);
      if (*seconds < needed) {
        finding.confidence = std::min(finding.confidence, Confidence::likely);
        finding.add_sentence(fmt::format("A link at the limit has three errors in {}.", duration_text(needed)));
      }
      return;
    }
  });
}

void find_weak_lanes(const Input& input, Findings& findings) {
  each_linked_row(input, [&](PortIndex at, const PortRow& row) {
    const std::optional<phy::WeakLane> weak = phy::weak_lane(row, input.thresholds.lane_times, input.thresholds.lane_ratio);
    if (!weak || !phy::seconds_since_clear(row)) return;
    const Evidence evidence = beyond_limit("raw_ber", weak->ber, input.thresholds.lane_ratio);
    findings.emplace_back(on_cable(input.subnet, at, {evidence})).detail =
        fmt::format("That is lane {}; the next worst has {:g}.", weak->lane, weak->others);
  });
}

bool is_not_taken(const PortRow& row) {
  using enum reg::LinkTrouble;
  constexpr std::array codes{long_range_foreign, eeprom, part_number_list, unsupported_cable, cable_compliance_mismatch};
  constexpr std::uint16_t first_mismatch = 24, last_mismatch = 32;
  if (!row.has(phy::Part::troubleshooting)) return false;
  return std::ranges::find(codes, static_cast<reg::LinkTrouble>(row.trouble)) != codes.end() ||
         (row.trouble >= first_mismatch && row.trouble <= last_mismatch);
}

/// Whether a code says more than that nothing is at the other end.
bool is_fault(const PortRow& row) {
  using enum reg::LinkTrouble;
  constexpr std::array harmless{none, unknown, cable_unplugged, in_process, no_signal, no_partner, no_partner_for_long, closed_by_command};
  return row.has(phy::Part::troubleshooting) && std::ranges::find(harmless, static_cast<reg::LinkTrouble>(row.trouble)) == harmless.end();
}

Evidence trouble_value(const PortRow& row) {
  return field_value("trouble", 0, {std::uint64_t{row.trouble}, phy::trouble_text(row.trouble)});
}

void find_other_vendors(const Input& input, Findings& findings) {
  std::vector<PortIndex> ports;
  std::string example;
  for (const PortIndex at : first_ends(input.subnet)) {
    const PortRow *row = input.phy.find(at), *peer = input.phy.find(input.subnet.port(at).peer);
    if (row == nullptr || peer == nullptr) continue;
    const auto is_optical = [](const PortRow& of) { return of.has_module() && of.module.type == reg::ModuleType::optical_module; };
    const std::string vendor = phy::padded_text(row->module.vendor), other = phy::padded_text(peer->module.vendor);
    if (!is_optical(*row) || !is_optical(*peer) || vendor.empty() || other.empty() || vendor == other) continue;
    ports.push_back(at);
    if (example.empty()) example = fmt::format("{} and {}", in_quotes(vendor), in_quotes(other));
  }
  if (ports.empty()) return;
  findings.emplace_back(on_ports(input.subnet, ports, Finding::Subject::group)).detail =
      fmt::format("The modules at the two ends are of different vendors, for example {}.", example);
}

void find_hot_modules(const Input& input, Findings& findings) {
  input.each_phy_row([&](PortIndex at, const PortRow& row) {
    if (const auto alarm = phy::temperature_alarm(row))
      findings.push_back(on_cable(input.subnet, at, {beyond_limit("temperature_celsius", alarm->value, alarm->limit)}));
  });
}

void find_weak_light(const Input& input, Findings& findings) {
  input.each_phy_row([&](PortIndex at, const PortRow& row) {
    const PortIndex peer = input.subnet.port(at).peer;
    if (peer == subnet::none) return;  // without a link the other end need not send light
    const auto add = [&](std::string_view field, std::string_view what, const phy::Excess& alarm) {
      findings.emplace_back(on_cable(input.subnet, at, {beyond_limit(field, alarm.value, alarm.limit)})).detail =
          fmt::format("The {} is {} alarm threshold.", what, alarm.is_low ? "below its low" : "above its high");
    };
    if (const auto alarm = phy::tx_power_alarm(row)) add("tx_power_dbm", "transmitter", *alarm);
    if (const auto alarm = phy::rx_power_alarm(row)) return add("rx_power_dbm", "receiver", *alarm);
    const PortRow* sender = input.phy.find(peer);
    const std::optional<double> loss = sender != nullptr ? phy::attenuation(*sender, row) : std::nullopt;
    if (!loss || *loss < input.thresholds.light_loss) return;
    Finding& finding = findings.emplace_back(on_cable(input.subnet, at));
    finding.confidence = Confidence::likely;
    finding.detail = fmt::format("{:.0f} dB are lost between the sender at the other end and the weakest lane here; {:g} are the limit.",
                                 *loss, input.thresholds.light_loss);
  });
}

void find_unsupported_modules(const Input& input, Findings& findings) {
  input.each_phy_row([&](PortIndex at, const PortRow& row) {
    if (is_not_taken(row)) findings.push_back(on_cable(input.subnet, at, {trouble_value(row)}));
  });
}

void find_down_ports(const Input& input, Findings& findings) {
  input.each_phy_row([&](PortIndex at, const PortRow& row) {
    const subnet::Port& port = input.subnet.port(at);
    if (port.peer != subnet::none || port.is_link_up() || !row.has_module() || is_not_taken(row)) return;
    Finding& finding = findings.emplace_back(on_cable(input.subnet, at));
    finding.level = is_fault(row) ? Level::warning : Level::info;
    if (row.has(phy::Part::troubleshooting) && phy::is_trouble(row.trouble)) finding.evidence.push_back(trouble_value(row));
  });
}

void find_mixed_modules(const Input& input, Findings& findings) {
  std::map<std::string, PlacesByVersion> kinds;
  input.each_phy_row([&](PortIndex at, const PortRow& row) {
    const std::string part = phy::padded_text(row.module.part_number), firmware = phy::module_firmware(row);
    if (!part.empty() && !firmware.empty())
      kinds[fmt::format("{} {}", in_quotes(phy::padded_text(row.module.vendor)), in_quotes(part))][firmware].push_back(at);
  });
  for (const auto& [kind, versions] : kinds) {
    if (const auto odd = odd_versions(kind, versions))
      findings.emplace_back(on_ports(input.subnet, odd->first, Finding::Subject::group)).detail = odd->second;
  }
  find_other_vendors(input, findings);
}

void find_reasons(const Input& input, Findings& findings, bool (*is_meant)(mlx::UnhealthyReason reason)) {
  for (const auto& [at, reason] : input.unhealthy) {
    if (is_meant(reason)) findings.push_back(on_cable(input.subnet, at, {field_value("UnhealthyReason", 0, code(reason))}));
  }
}

bool is_up(reg::LinkFsm state) { return state == reg::LinkFsm::active || state == reg::LinkFsm::physical_up; }

/// "plane 1 active, plane 2 polling": of the planes whose state was read.
std::string states_text(std::span<const PortRow> planes) {
  std::string text;
  for (const PortRow& plane : planes) {
    if (!plane.has(phy::Part::operation)) continue;
    const std::string_view state = to_text(plane.link_state);
    add_part(text, fmt::format("plane {} {}", plane.plane,
                               state.empty() ? fmt::format("in state {}", static_cast<unsigned>(plane.link_state)) : std::string(state)));
  }
  return text;
}

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
    add_part(crossed, fmt::format("{} from plane {} to plane {}", in_quotes(cable.substr(cable.find('\0') + 1)), plane, other->second));
  }
  if (crossed.empty()) return;
  Finding& finding = findings.emplace_back(on_cable(input.subnet, at));
  finding.confidence = Confidence::likely;
  finding.detail = fmt::format("By the serial numbers at both ends, cables lead to another plane: {}.", crossed);
}

void find_asymmetric_planes(const Input& input, Findings& findings) {
  find_reasons(input, findings, [](mlx::UnhealthyReason reason) { return reason == mlx::UnhealthyReason::asymmetric; });
  for (PortIndex at = 0; at < input.subnet.ports().size(); ++at) find_differing_states(input, at, findings);
  for (const PortIndex at : first_ends(input.subnet)) find_crossed_planes(input, at, findings);
}

template <class Use>
void each_environment(const Input& input, Use use) {
  for (NodeIndex node = 0; node < input.subnet.nodes().size(); ++node) {
    if (const phy::EnvironmentRow* row = input.phy.environment(node); row != nullptr) use(node, *row);
  }
}

void find_hot_devices(const Input& input, Findings& findings) {
  each_environment(input, [&](NodeIndex node, const phy::EnvironmentRow& row) {
    Finding finding = on_node(node);
    std::string names;
    for (const phy::Sensor& sensor : row.sensors) {
      if (!sensor.celsius || !sensor.limit || *sensor.celsius < *sensor.limit) continue;
      finding.evidence.push_back(beyond_limit("temperature_celsius", *sensor.celsius, *sensor.limit));
      add_part(names, sensor.name.empty() ? std::to_string(sensor.index) : in_quotes(sensor.name));
    }
    if (finding.evidence.empty()) return;
    finding.detail = fmt::format("Sensor{} {}.", finding.evidence.size() == 1 ? "" : "s", names);
    findings.push_back(std::move(finding));
  });
}

void find_slow_fans(const Input& input, Findings& findings) {
  each_environment(input, [&](NodeIndex node, const phy::EnvironmentRow& row) {
    std::string slow;
    for (const phy::Fan& fan : row.fans) {
      if (!fan.is_below_limit.value_or(false)) continue;
      add_part(slow, fan.rpm ? fmt::format("{} ({} rpm)", fan.index, *fan.rpm) : std::to_string(fan.index));
    }
    if (!slow.empty()) findings.emplace_back(on_node(node)).detail = fmt::format("Below their limit: fan {}.", slow);
  });
}

void find_mixed_firmware(const Input& input, Findings& findings) {
  std::map<std::pair<std::uint16_t, std::string>, PlacesByVersion> kinds;  // by device ID and PSID
  for (NodeIndex node = 0; node < input.subnet.nodes().size(); ++node) {
    const phy::Firmware* firmware = input.phy.firmware(node);
    if (firmware != nullptr) kinds[{input.subnet.node(node).info.device_id, firmware->psid}][firmware->version].push_back(node);
  }
  for (const auto& [kind, versions] : kinds) {
    if (const auto odd = odd_versions(fmt::format("Device 0x{:x}, PSID {}", kind.first, in_quotes(kind.second)), versions))
      findings.emplace_back(on_nodes(odd->first, Finding::Subject::group)).detail = odd->second;
  }
}

}  // namespace

std::span<const Check> physical_checks() {
  using enum Level;
  using enum Source;
  static constexpr Check checks[] = {
      {"ber-effective", error, needs(phy), "The bit error ratio after FEC is above the limit for links of this kind.",
       "Clean and reseat the connectors; if the errors continue, replace the cable, then the transceiver or the port.",
       [](const Input& input, Findings& findings) {
         find_ratios(input, findings, "effective_ber", phy::effective_ber, &phy::LinkLimits::effective);
       }},
      {"ber-symbol", error, needs(phy), "The symbol error ratio after FEC and retransmission is above the limit for links of this kind.",
       "Clean and reseat the connectors; if the errors continue, replace the cable, then the transceiver or the port.",
       [](const Input& input, Findings& findings) {
         find_ratios(input, findings, "symbol_ber", phy::symbol_ber, &phy::LinkLimits::symbol);
       }},
      {"lane-weak", warning, needs(phy), "One lane has many more errors than its siblings: a dirty fibre, a bad contact, or a dying laser.",
       "Clean and reseat the connectors; if the lane stays weak, replace the cable, then the transceiver.", find_weak_lanes},
      {"module-temperature", error, needs(phy), "The module has reached its own alarm temperature: its laser ages, and it may shut down.",
       "Look at the airflow and at the cages beside it; if only this module is hot, replace it.", find_hot_modules},
      {"module-power", warning, needs(phy), "The module receives or sends too little light, or too much.",
       "Clean the connectors at both ends, look for a bent fibre; then replace the sending module.", find_weak_light},
      {"module-unsupported", error, needs(phy), "The device does not support this cable or module.",
       "Replace it with one that the device supports, or update the firmware of the device.", find_unsupported_modules},
      {"port-down", warning, needs(phy), "A module is plugged in, but no link comes up.",
       "Nothing if the other end is switched off or not cabled on purpose; else look at the other end of the cable.", find_down_ports},
      {"module-mixed", info, needs(phy), "Modules that should be alike differ.",
       "Nothing if this is intended; else update the firmware of modules, and use modules of one vendor at both ends.", find_mixed_modules},
      {"port-unhealthy", error, needs(unhealthy), "The device or the subnet manager took the port out of use, or is about to.",
       "See the other findings about this link; after the repair have the subnet manager take the port back (opensm's unhealthy ports).",
       [](const Input& input, Findings& findings) {
         find_reasons(input, findings, [](mlx::UnhealthyReason reason) {
           using enum mlx::UnhealthyReason;
           return reason != unsupported && reason != none && reason != asymmetric;
         });
       }},
      {"plane-asymmetric", error, needs(planes), "The planes of the port do not have the same state, or are cabled to other planes.",
       "Look at the cables of all planes of the port, and at the other ends of these.", find_asymmetric_planes},
      {"temperature", error, needs(environment), "The device has reached its own temperature limit, and may shut down.",
       "Look at the airflow, the fans and the temperature of the room.", find_hot_devices},
      {"fan", warning, needs(environment), "A fan is below the minimum speed that the device gives.",
       "Replace the fan before the device overheats.", find_slow_fans},
      {"firmware-mixed", info, needs(phy), "Devices of one type and PSID run different firmware.",
       "Nothing if an update is under way; else update those that differ.", find_mixed_firmware},
  };
  return checks;
}

}  // namespace ib::health
