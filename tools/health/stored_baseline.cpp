// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What files hold beside the model that a fabric is compared with: P_Keys, subnet managers, and the firmware of Mellanox devices, which a
// live fabric is read for.
#include "tools/health/fetch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/escape.hpp"
#include "phy/reading.hpp"
#include "snapshot/transactor.hpp"
#include "subnet/diff/counterparts.hpp"
#include "subnet/model/failures.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/stack.hpp"
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

bool has_firmware(snapshot::StoredFabric& stored) { return stored.has_part("vendor") || stored.has_part("phy"); }

/// Reads the firmware of the nodes of these ports. Returns what failed.
async::Task<subnet::Failures> survey_firmware(mad::Transactor& transactor, phy::ReadingOptions options, std::vector<PortIndex> ports,
                                              Input& input) {
  options.wanted = phy::ReadingScope::nothing;
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

async::Task<> read_firmware(Stack& stack, Fabric& fabric, Extent& extent, Input& input) {
  const std::map<Guid, std::string>& known = input.baseline->tables.firmware;
  if (known.empty()) co_return;
  if (stack.host().options().from) {
    if (!has_firmware(stack.host().stored())) co_return;
    BaselineTables tables = co_await tables_in_file(stack.host().stored());
    input.firmware = std::move(tables.firmware);
    co_return;
  }
  co_await read_service_levels_once(stack, extent.paths);
  std::vector<PortIndex> ports = swept_ports(input.subnet);
  std::erase_if(ports, [&](PortIndex at) { return !known.contains(input.subnet.node(input.subnet.port(at).node).guid()); });
  phy::ReadingOptions options = reading_options(stack, extent.paths, extent.wanted.vs_keys);
  options.silent = &extent.silent;
  subnet::Failures failures = co_await survey_firmware(stack.transactor(), std::move(options), std::move(ports), input);
  std::erase_if(failures, [](const subnet::Failure& of) { return of.kind == subnet::Failure::Kind::refused; });  // it need not answer
  add_failures(stack.host(), fabric, std::move(failures));
}

StoredBaseline::StoredBaseline(const std::optional<std::string>& file, const subnet::NodeNameMap& names) {
  if (!file) return;
  stored_ = snapshot::open_fabric(*file);
  static_cast<subnet::SweptSubnet&>(fabric_.emplace()) = stored_->read_fabric(nullptr);
  fabric_->names = names;
  if (stored_->has_part("counters")) counters_time_ = stored_->ended().value_or(0);  // refused when it is to begin a window
}

async::Task<> StoredBaseline::read_tables() {
  if (stored_) tables_ = co_await tables_in_file(*stored_);
}

bool StoredBaseline::is_first_reading(Host& host) const {
  if (!counters_time_ || !host.options().from) return counters_time_.has_value();
  return host.stored().has_part("counters") && host.stored().ended().value_or(0) > *counters_time_;
}

const Baseline* StoredBaseline::compare(const subnet::Subnet& current) {
  if (!fabric_) return nullptr;
  compared_.emplace(fabric_->subnet, subnet::changes(current, fabric_->subnet), tables_);
  const std::string other = subnet::other_fabric(current, fabric_->subnet, compared_->changes.pairs);
  if (!other.empty()) throw UsageError(fmt::format("--baseline: {} cannot be compared: {}", in_quotes(stored_->file()), other));
  return &*compared_;
}

std::string why_impossible(std::optional<std::int64_t> milliseconds, WallTime now) {
  constexpr std::int64_t day = 86400000;  // milliseconds
  const std::int64_t present = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  if (!milliseconds) return "it does not say when it was written";
  if (*milliseconds <= 0) return "it is dated before 1970, or its clock was not set";
  if (*milliseconds > present) return "it is dated in the future: check the clocks of both hosts";
  const std::int64_t age = present - *milliseconds;
  if (age > std::chrono::milliseconds(longest_window).count())
    return fmt::format("it is dated {} days ago, as if its clock had not been set", age / day);
  return {};
}

async::Time time_of(std::int64_t milliseconds, async::Loop& loop) {
  const WallTime then{std::chrono::milliseconds(milliseconds)};
  return loop.now() - std::chrono::duration_cast<async::Duration>(loop.clock().wall_time() - then);
}

async::Time time_of(snapshot::StoredFabric& stored, async::Loop& loop) {
  const std::optional<std::int64_t> ended = stored.ended();
  const std::string why = why_impossible(ended, loop.clock().wall_time());
  if (!why.empty()) throw UsageError(fmt::format("{} cannot begin a window: {}", in_quotes(stored.file()), why));
  return time_of(*ended, loop);
}

}  // namespace ib::tools::health
