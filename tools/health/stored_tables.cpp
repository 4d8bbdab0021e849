// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What snapshots hold beside the model that a fabric is compared with: P_Keys, subnet managers, and the firmware of Mellanox devices, which
// a live fabric is read for.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "phy/reading.hpp"
#include "snapshot/stored_fabric.hpp"
#include "snapshot/transactor.hpp"
#include "subnet/diff/counterparts.hpp"
#include "subnet/model/failures.hpp"
#include "subnet/model/port_paths.hpp"
#include "tools/health/sources.hpp"
#include "tools/shared/vs_keys.hpp"

namespace ib::tools::health {
namespace {

using subnet::PortIndex;

/// The end port by which each node was swept.
std::vector<PortIndex> swept_ports(const subnet::Subnet& subnet) {
  std::vector<PortIndex> ports;
  for (subnet::NodeIndex index = 0; index < subnet.nodes().size(); ++index) {
    const subnet::Node& node = subnet.node(index);
    const PortIndex at = node.kind() == subnet::NodeKind::sw ? node.first_port : node.first_port + node.entry_port;
    if (subnet::has_own_guid(subnet, index) && subnet.lid(at) != Lid{}) ports.push_back(at);
  }
  return ports;
}

/// Whether a file may have GeneralInfo of the vendor's class.
bool has_firmware(snapshot::StoredFabric& stored) { return stored.has_part("vendor") || stored.has_part("phy"); }

/// Reads the firmware of the nodes of these ports. Returns what failed.
async::Task<subnet::Failures> survey_firmware(mad::Transactor& transactor, phy::ReadingOptions options, std::vector<PortIndex> ports,
                                              Input& input) {
  options.wanted = phy::Wanted::nothing;
  phy::Reading found = co_await phy::read_phy(transactor, input.subnet, std::move(ports), std::move(options));
  for (const phy::DeviceRow& device : found.devices) {
    if (device.firmware) input.firmware[input.subnet.node(device.node).guid()] = device.firmware->version;
  }
  co_return std::move(found.failures);
}

}  // namespace

async::Task<BaselineTables> tables_in_file(snapshot::StoredFabric& stored) {
  const sys::DeviceList devices = stored.devices();
  const sys::EndPort& port = devices.select({}, std::to_string(stored.port_number()));
  snapshot::SnapshotTransactor transactor(stored, port, Keys::hidden);
  const path::Path start = path::IbDrPath(&port);
  const subnet::Failures none{};
  const Thresholds thresholds{};
  Input then(transactor.subnet(), none, thresholds);
  if (stored.has_part("pkeys")) co_await survey_pkeys(transactor, start, then);
  if (stored.has_part("sminfo")) {
    const subnet::Surveyed<smp::SMInfo> managers = co_await survey_managers(transactor, then.subnet, start);
    for (const auto& row : managers.rows) {
      if (row.value) then.managers.push_back({row.port, *row.value, {}});
    }
  }
  if (has_firmware(stored)) {
    std::vector<PortIndex> ports = swept_ports(then.subnet);
    const subnet::PortPaths paths(then.subnet, start);
    phy::ReadingOptions options;
    options.paths = &paths;
    options.is_stored = true;
    co_await survey_firmware(transactor, std::move(options), std::move(ports), then);
  }
  co_return tables_of(then);
}

async::Task<> read_firmware(Stack& stack, Fabric& fabric, const Wanted& wanted, subnet::PortPaths& paths, SilentDevices& silent,
                            Input& input) {
  const std::map<Guid, std::string>& known = input.baseline->tables.firmware;
  if (known.empty()) co_return;
  if (stack.host().options().from) {
    if (!has_firmware(stack.host().stored())) co_return;
    BaselineTables tables = co_await tables_in_file(stack.host().stored());
    input.firmware = std::move(tables.firmware);
    co_return;
  }
  co_await read_service_levels_once(stack, paths);
  std::vector<PortIndex> ports = swept_ports(input.subnet);
  std::erase_if(ports, [&](PortIndex at) { return !known.contains(input.subnet.node(input.subnet.port(at).node).guid()); });
  phy::ReadingOptions options = reading_options(stack, paths, wanted.vs_keys);
  options.silent = &silent;
  subnet::Failures failures = co_await survey_firmware(stack.transactor(), std::move(options), std::move(ports), input);
  std::erase_if(failures, [](const subnet::Failure& of) { return of.kind == subnet::Failure::Kind::refused; });  // it need not answer
  add_failures(stack.host(), fabric, std::move(failures));
}

}  // namespace ib::tools::health
