// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What the checks of nodes, ports and counters print: a row for each, with what was found. Those where all is well are shown with -v
// alone; at the end the summary counts them too.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "subnet/port_checks.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools {

enum class CheckKind : std::uint8_t { node, port, errors };

/// The checks of one kind on one port.
struct CheckRow {
  CheckKind kind{};
  subnet::PortIndex port = subnet::none;  ///< of a node its end port
  bool all_ports{};                       ///< the counters of all ports of a switch together; `port` is its port 0
  subnet::Findings findings{};

  /// Whether it counts as bad: an error, or a counter beyond its threshold.
  bool failed() const;
};

class CheckReport final : public FabricReport {
 public:
  /// `of` must outlive the report.
  explicit CheckReport(const Fabric& of) : FabricReport(of) {}

  bool verbose{};        ///< also what is well
  bool colour{};         ///< for a terminal
  bool describes{true};  ///< port rows have the name of the node
  bool summary{true};    ///< ends with the numbers of what was checked
  bool errors_apart{};   ///< what is wrong is told on stderr, not here

  /// Counts a row, unless it is of all ports, and shows it.
  void add(CheckRow row);
  /// Counts it alone.
  void count(const CheckRow& row);
  /// Keeps it alone: those where all is well only if `verbose`.
  void show(CheckRow row);
  const std::vector<CheckRow>& rows() const { return rows_; }
  /// "lid 3 port 1", "lid 3 all ports"
  std::string place(const CheckRow& row) const;

  void visit(out::Sink& sink) const override;
  void text(TextOut& out) const override;
  Exit status() const override;

 private:
  struct Counts {
    unsigned checked{}, bad{};
  };
  Counts& counts(CheckKind kind) { return counts_[static_cast<unsigned>(kind)]; }
  const Counts& counts(CheckKind kind) const { return counts_[static_cast<unsigned>(kind)]; }
  std::string header(const CheckRow& row) const;
  std::string coloured(std::string_view code, std::string text) const;
  void visit_row(out::Sink& sink, const CheckRow& row) const;

  std::vector<CheckRow> rows_;
  std::array<Counts, 3> counts_{};
  std::array<bool, 3> has_{};
};

/// The end ports of a fabric, node by node in the order of breadth_first(): port 0 of a switch, the known ports of the others.
std::vector<subnet::PortIndex> end_ports(const subnet::Subnet& subnet);

/// Thresholds of `file`, and only these; where none is named the usual ones with what the site's default file says. Throws UsageError
/// for a line of `file` that is none; in the default file that is a warning.
subnet::ErrorThresholds read_thresholds(const std::optional<std::string>& file);

/// Whether what goes to `file` may have colours.
bool takes_colours(std::FILE* file);

}  // namespace ib::tools
