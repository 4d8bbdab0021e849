// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "counters/traffic.hpp"

namespace ib::counters {

void TrafficRow::add(const RowDifference& difference) {
  for (std::size_t at = 0; at < counts.size(); ++at) counts[at].add(difference.change(column_of(traffic_counters[at])));
}

std::vector<TrafficRow> traffic_of(const subnet::Subnet& subnet, const PmaNode& node, CounterHistory& history) {
  std::vector<TrafficRow> rows;
  const auto add = [&](TrafficRow& row, const PmaReading& reading) {
    if (!reading.known()) {
      row.failure = why_not(reading.problems.back());
      return;
    }
    std::optional<double> rate;
    if (reading.select != subnet::all_ports) rate = octets_per_second(subnet, reading.port);
    const std::optional<CounterRow> before = history.take(counter_key(subnet, node.node, reading.select), reading.row);
    row.add({before ? &*before : nullptr, reading.row, rate});
  };
  const bool is_switch = subnet.node(node.node).kind() == subnet::NodeKind::sw;
  if (is_switch) rows.push_back({.port = node.first, .all_ports = true});
  if (is_switch && node.all) add(rows.front(), *node.all);
  for (const PmaReading& reading : node.ports) {
    if (!is_switch) rows.push_back({.port = reading.port});
    add(rows.back(), reading);
  }
  return rows;
}

}  // namespace ib::counters
