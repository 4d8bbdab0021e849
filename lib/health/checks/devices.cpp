// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Devices: temperatures and fans of switches, and firmware that is not that of others of their kind.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/escape.hpp"
#include "health/checks/evidence.hpp"
#include "health/checks/topics.hpp"

namespace ib::health {
namespace {

using subnet::NodeIndex;

/// Calls use() with each node whose environment was read.
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
      names += (names.empty() ? "" : ", ") + (sensor.name.empty() ? std::to_string(sensor.index) : in_quotes(sensor.name));
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
      const std::string speed = fan.rpm ? fmt::format(" ({} rpm)", *fan.rpm) : std::string();
      slow += fmt::format("{}{}{}", slow.empty() ? "" : ", ", fan.index, speed);
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
    if (versions.size() < 2) continue;
    const OddVersions odd = odd_versions(versions);
    findings.emplace_back(on_nodes(odd.places, Finding::Subject::group)).detail =
        fmt::format("Device 0x{:x}, PSID {}: {}.", kind.first, in_quotes(kind.second), odd.text);
  }
}

}  // namespace

std::span<const Check> device_checks() {
  using enum Level;
  using enum Source;
  static constexpr Check checks[] = {
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
