// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Modules and cables: too hot, too little light, not supported, or another firmware than others of their kind.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/escape.hpp"
#include "health/checks/evidence.hpp"
#include "health/checks/topics.hpp"
#include "phy/thresholds.hpp"
#include "phy/trouble.hpp"

namespace ib::health {
namespace {

using phy::PortRow;
using subnet::PortIndex;

/// Whether a code says that the device does not take this module or cable.
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

/// Adds a finding of the modules of one kind whose firmware is not that of most.
void find_odd_modules(const Input& input, const std::string& kind, const PlacesByVersion& versions, Findings& findings) {
  if (versions.size() < 2) return;
  const OddVersions odd = odd_versions(versions);
  findings.emplace_back(on_ports(input.subnet, odd.places, Finding::Subject::group)).detail = fmt::format("{}: {}.", kind, odd.text);
}

/// One finding of all links with optical modules of different vendors at their ends.
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
      findings.emplace_back(on_cable(input.subnet, at)).evidence.push_back(beyond_limit("temperature_celsius", alarm->value, alarm->limit));
  });
}

void find_weak_light(const Input& input, Findings& findings) {
  input.each_phy_row([&](PortIndex at, const PortRow& row) {
    const PortIndex peer = input.subnet.port(at).peer;
    if (peer == subnet::none) return;  // without a link the other end need not send light
    const auto add = [&](std::string_view field, std::string_view what, const phy::Excess& alarm) {
      Finding& finding = findings.emplace_back(on_cable(input.subnet, at));
      finding.evidence.push_back(beyond_limit(field, alarm.value, alarm.limit));
      finding.detail = fmt::format("The {} is {} alarm threshold.", what, alarm.is_low ? "below its low" : "above its high");
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
    if (is_not_taken(row)) findings.emplace_back(on_cable(input.subnet, at)).evidence.push_back(trouble_value(row));
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
  for (const auto& [kind, versions] : kinds) find_odd_modules(input, kind, versions, findings);
  find_other_vendors(input, findings);
}

}  // namespace

std::span<const Check> module_checks() {
  using enum Level;
  using enum Source;
  static constexpr Check checks[] = {
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
  };
  return checks;
}

}  // namespace ib::health
