// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/evidence.hpp"

#include <utility>

#include "health/window.hpp"

namespace ib::health {

Evidence evidence_of(const Input& input, const PortCounts& counts, const Movement& movement, std::size_t end, std::optional<double> limit) {
  Evidence evidence;
  evidence.counter = movement.counter;
  evidence.end = end;
  if (movement.before) evidence.before.number = *movement.before;
  evidence.after.number = movement.now;
  evidence.delta = movement.change.delta;
  evidence.seconds = counts.seconds;
  evidence.limit = limit;
  const subnet::LinkRate rate = subnet::active_rate(input.subnet, counts.port);
  if (counts.seconds && rate.known()) evidence.provable_ratio = provable_ratio(bits_in(rate, *counts.seconds));
  return evidence;
}

Evidence field_value(std::string_view field, std::size_t end, Value value, std::optional<double> limit) {
  Evidence evidence;
  evidence.field = field;
  evidence.end = end;
  evidence.after = value;
  evidence.limit = limit;
  return evidence;
}

Value width_value(const subnet::LinkRate& rate) { return {std::uint64_t{rate.lanes}, {}}; }
Value speed_value(const subnet::LinkRate& rate) { return {subnet::lane_mbps(rate.speed), subnet::name(rate.speed)}; }

void find_counted(const Input& input, Findings& findings, std::string_view counter, double least) {
  for (const PortCounts& counts : input.counts.all()) {
    const Movement* movement = counts.find(counter);
    if (movement == nullptr || !movement->change.delta || static_cast<double>(*movement->change.delta) < least) continue;
    if (*movement->change.delta == 0) continue;
    Finding finding = on_cable(input.subnet, counts.port);
    finding.evidence.push_back(evidence_of(input, counts, *movement, 0, least));
    findings.push_back(std::move(finding));
  }
}

}  // namespace ib::health
