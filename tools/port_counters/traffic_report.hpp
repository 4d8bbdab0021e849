// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The report of ibdatacounts and ibdatacounters: data and packets of ports.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "subnet/counters.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/interval.hpp"

namespace ib::tools::port_counters {

inline constexpr std::array<std::string_view, 4> traffic_counters{"port_xmit_data", "port_rcv_data", "port_xmit_pkts", "port_rcv_pkts"};

/// Data and packets that a port, or all ports of a switch together, sent and received.
struct TrafficRow {
  subnet::PortIndex port = subnet::none;
  bool all_ports{};
  std::array<subnet::CounterValue, traffic_counters.size()> counts{};
  /// What was counted since the readings before, and in a second; absent where that is not known. Of several ports: the sums, where each
  /// port counts for the time between its own two readings.
  std::array<std::optional<std::uint64_t>, traffic_counters.size()> deltas{};
  std::array<std::optional<double>, traffic_counters.size()> rates{};
  std::string failure;  ///< the reason why the counts are not known; empty if they are
};

class TrafficReport final : public FabricReport {
 public:
  explicit TrafficReport(const Fabric& of) : FabricReport(of) {}
  void visit(out::Sink& sink) const override;
  void text(TextOut& out) const override;

  std::vector<TrafficRow> rows;
  bool verbose{}, int_names{};
  bool single{};   ///< the report is about one port and has no summary
  bool element{};  ///< one of several readings: in JSON, an element of the open list
  Round round;     ///< of an element

 private:
  std::string place(const TrafficRow& row) const;
  std::string name(const FieldInfo& field) const;
  void row_text(TextOut& out, const TrafficRow& row) const;
};

}  // namespace ib::tools::port_counters
