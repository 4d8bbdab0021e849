// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What snapshots hold beside the model that a fabric is compared with: P_Keys, subnet managers, and the firmware of Mellanox devices.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "iba-gen/mlx.hpp"
#include "snapshot/snapshot.hpp"
#include "snapshot/transactor.hpp"
#include "tools/health/sources.hpp"

namespace ib::tools::health {
namespace {

using ib::health::Input;
using subnet::PortIndex;
using Answer = std::vector<std::uint8_t>;

/// The version of the firmware in an answer to GeneralInfo: from InfiniScale IV on it may be an extended one.
std::string firmware_text(Bytes answer) {
  std::array<std::uint8_t, mlx::Is4GeneralInfo::wire_size> bytes{};
  std::copy_n(answer.begin(), std::min(answer.size(), bytes.size()), bytes.begin());
  const auto info = mlx::Is4GeneralInfo::unpack(bytes);
  const bool is_extended = info.ext_major != 0 || info.ext_minor != 0 || info.ext_sub_minor != 0;
  return is_extended ? fmt::format("{}.{}.{}", info.ext_major, info.ext_minor, info.ext_sub_minor)
                     : fmt::format("{}.{}.{}", info.fw_major, info.fw_minor, info.fw_sub_minor);
}

/// The end port by which each node was swept.
std::vector<PortIndex> end_ports(const subnet::Subnet& subnet) {
  std::vector<PortIndex> ports;
  for (const subnet::Node& node : subnet.nodes()) {
    const PortIndex at = node.kind() == subnet::NodeKind::sw ? node.first_port : node.first_port + node.entry_port;
    if (!node.is_twin && node.twin == subnet::none && subnet.lid(at) != Lid{}) ports.push_back(at);
  }
  return ports;
}

async::Task<> read_firmware(snapshot::SnapshotTransactor& transactor, path::Path start, Input& input) {
  const subnet::SurveyQuestion<Answer> ask = [](subnet::SurveyPort port) {
    return port.transactor.try_get(port.path, mlx::GeneralInfo::info());
  };
  const subnet::SurveyOptions options(std::move(start));
  std::vector<PortIndex> ports = end_ports(input.subnet);
  const subnet::Surveyed<Answer> found = co_await subnet::survey<Answer>(transactor, input.subnet, std::move(ports), options, ask);
  for (const auto& row : found.rows) {
    if (row.value) input.firmware[input.subnet.node(input.subnet.port(row.port).node).guid()] = firmware_text(*row.value);
  }
}

}  // namespace

async::Task<ib::health::BaselineTables> tables_in_snapshot(snapshot::Snapshot& stored) {
  const sys::DeviceList devices = stored.devices();
  const sys::EndPort& port = devices.select({}, std::to_string(stored.port_number()));
  snapshot::SnapshotTransactor transactor(stored, port, Keys::hidden);
  const path::Path start = path::IbDrPath(&port);
  const subnet::Failures none{};
  const ib::health::Thresholds thresholds{};
  Input then(transactor.subnet(), none, thresholds);
  if (stored.has_part("pkeys")) co_await survey_pkeys(transactor, start, then);
  if (stored.has_part("sminfo")) {
    const subnet::Surveyed<smp::SMInfo> managers = co_await survey_managers(transactor, then.subnet, start);
    for (const auto& row : managers.rows) {
      if (row.value) then.managers.push_back({row.port, *row.value, {}});
    }
  }
  if (stored.has_part("vendor")) co_await read_firmware(transactor, start, then);
  co_return ib::health::tables_of(then);
}

async::Task<> read_stored_firmware(Session& session, Input& input) {
  if (!session.options().from || !session.snapshot().has_part("vendor")) co_return;
  ib::health::BaselineTables tables = co_await tables_in_snapshot(session.snapshot());
  input.firmware = std::move(tables.firmware);
}

}  // namespace ib::tools::health
