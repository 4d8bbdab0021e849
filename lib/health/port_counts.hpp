// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The counts of ports between two readings, as far as they matter. Most counters of a good fabric stand still, and are not kept.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "counters/readings.hpp"
#include "iba/struct_info.hpp"
#include "subnet/model.hpp"

namespace ib::health {

/// A counter that has changed, or that is stuck.
struct Movement {
  const FieldInfo* counter{};
  counters::CounterChange change;       ///< unknown with one reading
  std::optional<std::uint64_t> before;  ///< absent with one reading
  std::uint64_t now{};
  bool is_stuck{};  ///< it has the greatest value of its field
};

/// The counters of one port.
struct PortCounts {
  subnet::PortIndex port = subnet::none;
  std::optional<double> seconds;  ///< between the readings of its errors; absent with one reading
  bool began_anew{};              ///< all counters that had counted something began again: it restarted, or all were cleared
  bool has_error_details{}, has_discard_details{};
  std::vector<Movement> movements;

  /// The movement of a counter by its name in iba-defs; null if it stands still.
  const Movement* find(std::string_view counter) const;
  /// What a counter has counted; 0 where it stands still, or where that is not known.
  std::uint64_t delta(std::string_view counter) const;
};

/// The counts of a port, from its reading and what it has counted since the one before (counters::take()).
PortCounts counts_of(const counters::PmaReading& now, const counters::PmaGrowth& growth);

/// The counts of all ports whose counters were read.
class CounterTable {
 public:
  explicit CounterTable(std::size_t ports) : rows_(ports, subnet::none) {}

  void add(PortCounts counts);
  /// Null: the port's counters were not read.
  const PortCounts* find(subnet::PortIndex port) const { return rows_[port] == subnet::none ? nullptr : &counts_[rows_[port]]; }
  std::uint64_t delta(subnet::PortIndex port, std::string_view counter) const;
  /// In the order in which they were added.
  std::span<const PortCounts> all() const { return counts_; }

 private:
  std::vector<std::uint32_t> rows_;
  std::vector<PortCounts> counts_;
};

}  // namespace ib::health
