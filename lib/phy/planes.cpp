// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "phy/planes.hpp"

#include <utility>

#include "iba-gen/smp.hpp"
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

}  // namespace

async::Task<Planes> read_planes(mad::Transactor& transactor, const subnet::Subnet& subnet, path::Path start,
                                const std::vector<subnet::NodeIndex>& nodes) {
  std::vector<subnet::PortIndex> ports;
  for (const subnet::NodeIndex node : nodes) {
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

}  // namespace ib::phy
