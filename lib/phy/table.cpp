// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "phy/table.hpp"

#include <algorithm>
#include <utility>

namespace ib::phy {
namespace {

using subnet::NodeIndex;
using subnet::PortIndex;

template <class Row>
const Row* row_at(const std::vector<Row>& rows, const std::vector<std::uint32_t>& places, std::uint32_t at) {
  return at >= places.size() || places[at] == subnet::none ? nullptr : &rows[places[at]];
}

}  // namespace

Table::Table(std::shared_ptr<const Reading> reading, const subnet::Subnet& now, const subnet::Counterparts* pairs)
    : reading_(std::move(reading)),
      ports_(now.ports().size(), subnet::none),
      devices_(now.nodes().size(), subnet::none),
      environments_(now.nodes().size(), subnet::none) {
  const auto enter = [](std::vector<std::uint32_t>& places, std::uint32_t at, std::size_t row) {
    if (at != subnet::none) places[at] = static_cast<std::uint32_t>(row);
  };
  const auto node_now = [pairs](NodeIndex at) { return pairs != nullptr ? pairs->node_now(at) : at; };
  for (std::size_t row = 0; row < reading_->ports.size(); ++row) {
    const PortIndex at = reading_->ports[row].port;
    if (reading_->ports[row].plane == 0) enter(ports_, pairs != nullptr ? pairs->port_now(at) : at, row);
  }
  for (std::size_t row = 0; row < reading_->devices.size(); ++row) enter(devices_, node_now(reading_->devices[row].node), row);
  for (std::size_t row = 0; row < reading_->environments.size(); ++row)
    enter(environments_, node_now(reading_->environments[row].node), row);
}

const PortRow* Table::find(PortIndex port) const {
  const PortRow* row = reading_ == nullptr ? nullptr : row_at(reading_->ports, ports_, port);
  return row != nullptr && row->is_known() ? row : nullptr;
}

std::span<const PortRow> Table::planes(PortIndex port) const {
  const PortRow* row = reading_ == nullptr ? nullptr : row_at(reading_->ports, ports_, port);
  if (row == nullptr) return {};
  const PortRow *const first = row + 1, *const end = reading_->ports.data() + reading_->ports.size();
  return {first, std::find_if(first, end, [](const PortRow& of) { return of.plane == 0; })};
}

const Firmware* Table::firmware(NodeIndex node) const {
  const DeviceRow* row = reading_ == nullptr ? nullptr : row_at(reading_->devices, devices_, node);
  return row != nullptr && row->firmware ? &*row->firmware : nullptr;
}

const EnvironmentRow* Table::environment(NodeIndex node) const {
  return reading_ == nullptr ? nullptr : row_at(reading_->environments, environments_, node);
}

}  // namespace ib::phy
