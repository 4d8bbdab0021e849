// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// An attribute of counters that is read again and again: what it holds, and what was counted since it was read before.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "counters/thresholds.hpp"
#include "iba/dump.hpp"
#include "tools/perfquery/readings.hpp"
#include "tools/shared/growth.hpp"

namespace ib::tools::perfquery {

/// One reading. In JSON an element of the list that is open.
struct WatchReport final : Report {
  explicit WatchReport(const StructInfo& structure) : info(structure) {}
  void visit(report::Sink& sink) const override;
  void text(TextOut& out) const override;

  const StructInfo& info;
  NameStyle names = NameStyle::iba;
  std::string node;  ///< "Lid 2 (fe80::20:0)"
  Round round;
  std::vector<PortReading> ports;
  std::vector<std::optional<PortReading>> before;  ///< of the same ports; absent the first time
  /// Only counters that grew at least so much a second are shown; null: all.
  const counters::ErrorThresholds* thresholds{};

 private:
  template <class Use>
  void each_counter(std::size_t at, Use use) const;
  bool is_shown(const FieldInfo& field, const counters::CounterChange& change) const;
};

}  // namespace ib::tools::perfquery
