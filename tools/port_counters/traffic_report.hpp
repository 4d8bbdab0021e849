// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The report of ibdatacounts and ibdatacounters: data and packets of ports.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "counters/counters.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/growth.hpp"

namespace ib::tools::port_counters {

inline constexpr std::array<std::string_view, 4> traffic_counters{"port_xmit_data", "port_rcv_data", "port_xmit_pkts", "port_rcv_pkts"};

/// Data and packets that a port, or all ports of a switch together, sent and received.
struct TrafficRow {
  subnet::PortIndex port = subnet::none;
  bool all_ports{};
  std::array<counters::CounterValue, traffic_counters.size()> counts{};
  /// The change since the last readings. For several ports: the sums, as long as all values are known.
  struct Grown {
    counters::CounterChange change;  ///< of several ports: `saturated`, `reset` or `implausible` if it is so of one of them
    std::optional<double> per_second;
    bool any{};  ///< add() was called
    void add(const counters::CounterChange& of, std::optional<double> seconds);
  };
  std::array<Grown, traffic_counters.size()> grown{};
  std::string failure;  ///< the reason why the counts are not known; empty if they are

  /// The counter of traffic_counters at that place, with what it has counted.
  GrownCounter grown_counter(std::size_t at) const;
};

class TrafficReport final : public FabricReport {
 public:
  explicit TrafficReport(const Fabric& of) : FabricReport(of) {}
  void visit(report::Sink& sink) const override;
  /// The summary; of a report about one port, its row.
  void text(TextOut& out) const override;

  /// Adds a row. With `out` it is printed, and not kept.
  void add(TrafficRow row, TextOut* out);

  std::vector<TrafficRow> rows;  ///< as far as they are kept
  bool verbose{}, int_names{};
  bool single{};   ///< the report is about one port and has no summary
  bool element{};  ///< one of several readings: in JSON, an element of the open list
  Round round;     ///< of an element

 private:
  std::string place(const TrafficRow& row) const;
  std::string name(const FieldInfo& field) const;
  std::size_t checked_{};  ///< rows with counts that were added
  void row_text(TextOut& out, const TrafficRow& row) const;
};

}  // namespace ib::tools::port_counters
