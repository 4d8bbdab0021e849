// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Data and packets of ports, as ibdatacounts and ibdatacounters print them.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "subnet/counters.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools::port_counters {

inline constexpr std::array<std::string_view, 4> traffic_counters{"port_xmit_data", "port_rcv_data", "port_xmit_pkts", "port_rcv_pkts"};

/// What a port has sent and received, or all ports of a switch together.
struct TrafficRow {
  subnet::PortIndex port = subnet::none;
  bool all_ports{};
  std::array<subnet::CounterValue, traffic_counters.size()> counts{};
  std::array<subnet::CounterValue, traffic_counters.size()> before{};  ///< of the reading before; unknown where there is none
  std::string failure;                                                 ///< why nothing is known; empty where all is well
};

class TrafficReport final : public FabricReport {
 public:
  explicit TrafficReport(const Fabric& of) : FabricReport(of) {}
  void visit(out::Sink& sink) const override;
  void text(TextOut& out) const override;

  std::vector<TrafficRow> rows;
  bool verbose{}, int_names{};
  bool single{};                  ///< of one port: there is no summary
  bool element{};                 ///< in JSON an element of the list that is open: one of several readings
  std::optional<double> seconds;  ///< since the reading before

 private:
  std::string place(const TrafficRow& row) const;
  std::string name(const FieldInfo& field) const;
  void row_text(TextOut& out, const TrafficRow& row) const;
};

}  // namespace ib::tools::port_counters
