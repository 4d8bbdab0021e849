// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What all ports whose counters were read have counted between two readings.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "counters/difference.hpp"
#include "subnet/model/model.hpp"

namespace ib::health {

using counters::CounterChange;
using counters::PortChanges;

class CounterTable {
 public:
  explicit CounterTable(std::size_t ports) : rows_(ports, subnet::none) {}

  void add(PortChanges port) {
    rows_[port.port] = static_cast<std::uint32_t>(ports_.size());
    ports_.push_back(std::move(port));
  }
  /// Null: the port's counters were not read.
  const PortChanges* find(subnet::PortIndex port) const { return rows_[port] == subnet::none ? nullptr : &ports_[rows_[port]]; }
  /// What a counter of a port has counted; 0 where it stands still, or where that is not known.
  std::uint64_t delta(subnet::PortIndex port, std::string_view counter) const {
    const PortChanges* changes = find(port);
    return changes == nullptr ? 0 : changes->delta(counter);
  }
  /// In the order in which they were added.
  std::span<const PortChanges> all() const { return ports_; }

 private:
  std::vector<std::uint32_t> rows_;  ///< in ports_, by port
  std::vector<PortChanges> ports_;
};

}  // namespace ib::health
