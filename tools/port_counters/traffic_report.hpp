// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The report of ibdatacounts and ibdatacounters: data and packets of ports.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "counters/counters.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/fabric_columns.hpp"
#include "tools/shared/growth.hpp"
#include "tools/shared/table_options.hpp"

namespace ib::tools::port_counters {

inline constexpr std::array<std::string_view, 4> traffic_counters{"port_xmit_data", "port_rcv_data", "port_xmit_pkts", "port_rcv_pkts"};

/// Adds the data and the packets of a port to those of a row: a change for each of `traffic_counters`.
void add_traffic(counters::PortChanges& row, const counters::RowDifference& difference);

/// A row of a table: a port, or all ports of a switch together.
struct TrafficLine : PortLine {
  counters::PortChanges counts;
};
/// The columns of a port, and of data and packets; with `rates` also how fast they grow.
std::vector<report::Column<TrafficLine>> traffic_columns(bool rates);
/// Throws UsageError for options that name a column that is not there, or for JSON as rows of ports.
void check_traffic_table(const TableOptions& options, Format format, bool rates);

class TrafficReport final : public FabricReport {
 public:
  explicit TrafficReport(const Fabric& of) : FabricReport(of) {}
  void visit(report::Sink& sink) const override;
  /// The summary; of a report about one port, its row.
  void text(TextOut& out) const override;

  /// Emits the report, or its rows, which are moved out, as a table where `options` want one.
  void emit(Emit& emit, const TableOptions& options, std::FILE* file);

  /// Adds a row. With `out` it is printed, and not kept.
  void add(counters::PortChanges row, TextOut* out);

  std::vector<counters::PortChanges> rows;  ///< as far as they are kept; each counter of `traffic_counters`, or a failure
  bool verbose{}, int_names{};
  bool single{};   ///< the report is about one port and has no summary
  bool element{};  ///< one of several readings: in JSON, an element of the open list
  Round round;     ///< of an element

 private:
  std::string place(const counters::PortChanges& row) const;
  std::string name(const FieldInfo& field) const;
  std::size_t checked_{};  ///< rows with counts that were added
  void row_text(TextOut& out, const counters::PortChanges& row) const;
  void visit_element(report::Sink& sink, const std::vector<counters::PortChanges>& ports) const;
  void visit_row(report::Sink& sink, const counters::PortChanges& row) const;
};

}  // namespace ib::tools::port_counters
