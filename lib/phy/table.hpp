// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The rows of a reading by the ports and nodes of a model: of the one that was read, or of one that was swept later.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "phy/reading.hpp"
#include "subnet/diff/counterparts.hpp"
#include "subnet/model/model.hpp"

namespace ib::phy {

class Table {
 public:
  /// Nothing was read.
  Table() = default;
  /// `reading` is of the ports of `now`; with `pairs` of an earlier model, whose counterparts in `now` these are.
  Table(std::shared_ptr<const Reading> reading, const subnet::Subnet& now, const subnet::Counterparts* pairs = nullptr);
  Table(std::shared_ptr<const Reading> reading, const subnet::Subnet& now, const subnet::Counterparts& pairs)
      : Table(std::move(reading), now, &pairs) {}

  bool is_read() const { return reading_ != nullptr; }
  /// Null if nothing was read of that port.
  const PortRow* find(subnet::PortIndex port) const;
  /// The rows of the planes of that port, from plane 1 on; empty if it has none, or if they were not read.
  std::span<const PortRow> planes(subnet::PortIndex port) const;
  /// Null if the firmware of that node was not read.
  const Firmware* firmware(subnet::NodeIndex node) const;
  /// Null if the node has no sensors or fans, or if they were not read.
  const EnvironmentRow* environment(subnet::NodeIndex node) const;

 private:
  std::shared_ptr<const Reading> reading_;
  std::vector<std::uint32_t> ports_, devices_, environments_;  ///< in the lists of the reading, by index of the model
};

}  // namespace ib::phy
