// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include <algorithm>

#include "iba-gen/smp.hpp"
#include "phy/reading.hpp"
#include "subnet/sweep/mlnx.hpp"
#include "subnet/sweep/survey.hpp"

namespace ib::phy {
namespace {

constexpr std::uint32_t capabilities_modifier = 4;  // of the vendor's GeneralInfo, an SMP

/// The planes of a node; none where it refuses an attribute, or says that it lacks it.
async::Task<mad::Result<NodePlanes>> request_planes(subnet::SurveyPort port) {
  const mad::Result<smp::MlnxGeneralCapabilities> can =
      co_await port.transactor.try_subn_get<smp::MlnxGeneralCapabilities>(port.path, capabilities_modifier);
  if (!can) {
    if (can.error().status() == 0) co_return can.shared_error();
    co_return NodePlanes{};
  }
  if (!can->is_extended_node_info_supported) co_return NodePlanes{};
  const mad::Result<smp::MlnxExtNodeInfo> info = co_await port.transactor.try_subn_get<smp::MlnxExtNodeInfo>(port.path);
  if (!info) {
    if (info.error().status() == 0) co_return info.shared_error();
    co_return NodePlanes{};
  }
  co_return NodePlanes{info->asic_max_planes, info->is_plane_asymmetry_enabled != 0};
}

template <class Row>
const Row* row_at(const std::vector<Row>& rows, const std::vector<std::uint32_t>& places, std::uint32_t at) {
  return at >= places.size() || places[at] == subnet::none ? nullptr : &rows[places[at]];
}

}  // namespace

async::Task<Planes> read_planes(mad::Transactor& transactor, const subnet::Subnet& subnet, path::Path start,
                                const std::vector<NodeIndex>& nodes) {
  std::vector<PortIndex> ports;
  for (const NodeIndex node : nodes) {
    if (subnet::is_mellanox(subnet.node(node).info)) ports.push_back(subnet.node(node).first_port);
  }
  const subnet::SurveyOptions options(std::move(start), subnet::SurveyWay::smp);
  const subnet::SurveyQuestion<NodePlanes> read = request_planes;
  subnet::Surveyed<NodePlanes> found = co_await subnet::survey<NodePlanes>(transactor, subnet, std::move(ports), options, read);
  Planes planes;
  for (const auto& row : found.rows) {
    if (row.value && row.value->count > 1) planes.of_node[subnet.port(row.port).node] = *row.value;
  }
  planes.failures = std::move(found.failures);
  co_return planes;
}

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
