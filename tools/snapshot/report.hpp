// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The report of taking a snapshot.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "snapshot/parts.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools {

/// One part of the snapshot.
struct PartRow {
  snapshot::Part part{};
  std::uint64_t planned{};   ///< requests, as far as they were known before
  std::uint64_t answered{};  ///< requests; of the part sa tables
  std::uint64_t refused{};   ///< requests
  std::size_t failures{};    ///< what did not answer, in words of the member `unreachable`
  double seconds{};
};

struct SnapshotReport final : FabricReport {
  explicit SnapshotReport(const Fabric& of) : FabricReport(of) {}

  void visit(report::Sink& sink) const override;
  /// A line for each part with -v, and a last line that says what was read.
  void text(TextOut& out) const override;

  std::string file;
  std::vector<PartRow> parts;
  std::uint64_t answers{}, bytes{};  ///< that the file holds
  double seconds{};
  bool verbose{};

 private:
  std::size_t known_port_count() const;
  std::size_t silent_node_count() const;
};

}  // namespace ib::tools
