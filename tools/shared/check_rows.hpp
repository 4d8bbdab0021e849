// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The report of checks of nodes, ports and counters. Each check is a row with its findings. Rows without findings are printed only with
// -v. The summary at the end counts all rows.
#pragma once

#include <array>
#include <span>

#include "subnet/model/port_checks.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/table_options.hpp"

namespace ib::tools {

enum class CheckKind : std::uint8_t { node, port, errors };

struct CheckRow {
  CheckKind kind{};
  subnet::PortIndex port = subnet::none;  ///< for a check of a node: its end port
  bool all_ports{};                       ///< the counters of all ports of a switch together; `port` is its port 0
  subnet::Mismatches findings{};

  bool failed() const;
};

struct CheckLine : PortLine {
  const CheckRow* row;
};
std::span<const report::Column<CheckLine>> check_columns();

class CheckReport final : public FabricReport {
 public:
  /// `of` must outlive the report.
  explicit CheckReport(const Fabric& of) : FabricReport(of) {}

  bool verbose{};        ///< print rows without findings too
  bool colour{};         ///< print colours
  bool describes{true};  ///< rows of ports include the name of the node
  bool one{};            ///< of one node or port: there is no summary, and errors are printed on stderr, not in the rows

  /// Counts and prints a row. A row for all ports of a switch is not counted.
  void add(CheckRow row);
  void count(const CheckRow& row);
  /// Only keeps the row for the text. A row without findings is kept only if `verbose` is set.
  void show(CheckRow row);
  const std::vector<CheckRow>& rows() const { return rows_; }
  /// "lid 3 port 1", "lid 3 all ports"
  std::string place(const CheckRow& row) const;

  void visit(report::Sink& sink) const override;
  void text(TextOut& out) const override;
  Exit status() const override;
  /// Emits the report, or its rows as a table where `options` want one.
  void emit(Emit& emit, const TableOptions& options) const;

 private:
  struct RowCounts {
    unsigned checked{}, bad{};
  };
  std::string header(const CheckRow& row) const;
  std::string coloured(std::string_view code, std::string text) const;
  std::vector<CheckLine> lines() const;

  std::vector<CheckRow> rows_;
  std::array<RowCounts, 3> counts_{};  ///< by CheckKind
};

}  // namespace ib::tools
