// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Data and packets of the ports of nodes: a row for all ports of a switch together, and for each port of another node.
#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "counters/difference.hpp"
#include "counters/readings.hpp"

namespace ib::counters {

inline constexpr std::array<std::string_view, 4> traffic_counters{"port_xmit_data", "port_rcv_data", "port_xmit_pkts", "port_rcv_pkts"};

struct TrafficRow {
  PortIndex port = subnet::none;
  bool all_ports{};  ///< of a switch, whose port 0 is `port`
  std::array<CounterChange, traffic_counters.size()> counts{};
  std::shared_ptr<const Error> failure{};  ///< the reason why the counters are not known; null if they are

  void add(const RowDifference& difference);
};

/// The rows of a node, and what was counted since the rows in `history`, which gets these. Each port counts for the time between its own
/// two readings.
std::vector<TrafficRow> traffic_of(const subnet::Subnet& subnet, const PmaNode& node, CounterHistory& history);

}  // namespace ib::counters
