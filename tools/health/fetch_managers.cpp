// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// SMInfo of the ports that report a subnet manager. A manager may refuse SMInfo to a requester without its SM_Key. That is not a fault of
// the node, and is reported as not read.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>
#include <vector>

#include "snapshot/snapshot.hpp"
#include "snapshot/transactor.hpp"
#include "subnet/survey.hpp"
#include "tools/health/counter_readings.hpp"
#include "tools/health/sources.hpp"

namespace ib::tools::health {
namespace {

using ib::health::Input;
using ib::health::Manager;
using ib::health::Source;
using subnet::PortIndex;
using Surveyed = subnet::Surveyed<smp::SMInfo>;

constexpr std::chrono::seconds least_window{120};  // managers that do nothing for that long do not even poll each other

std::vector<PortIndex> manager_ports(const subnet::Subnet& subnet) {
  std::vector<PortIndex> ports;
  for (PortIndex at = 0; at < subnet.ports().size(); ++at) {
    const subnet::Port& port = subnet.port(at);
    if (subnet.end_port_of(at) == at && port.has_info && (port.info().capability_mask & smp::capability_mask::is_sm) != 0)
      ports.push_back(at);
  }
  return ports;
}

EarlierManagers earlier_of(const Surveyed& found, const subnet::Subnet& subnet, async::Time time) {
  EarlierManagers earlier;
  earlier.time = time;
  std::set<Guid> several;
  for (const Surveyed::PortAnswer& row : found.rows) {
    if (!row.value) continue;
    const bool is_only = earlier.act_counts.emplace(subnet.port_guid(row.port), row.value->act_count).second;
    if (!is_only) several.insert(subnet.port_guid(row.port));
  }
  for (const Guid guid : several) earlier.act_counts.erase(guid);
  return earlier;
}

/// Sets the earlier activity counts of the managers, if they are old enough for a comparison.
void compare(Session& session, const std::optional<EarlierManagers>& earlier, Input& input) {
  const async::Time now = session.options().from ? time_of(session.snapshot(), session.loop()) : session.loop().now();
  if (!earlier || now - earlier->time < least_window) {
    skip(input, Source::activity, fmt::format("needs a window of {} s", least_window.count()));
    return;
  }
  for (Manager& manager : input.managers) {
    const Guid guid = input.subnet.port_guid(manager.port);
    const auto is_its = [&](const Manager& one) { return input.subnet.port_guid(one.port) == guid; };
    const auto before = earlier->act_counts.find(guid);
    if (before == earlier->act_counts.end() || std::ranges::count_if(input.managers, is_its) > 1) continue;
    manager.act_count_before = before->second;
    manager.own_requests = earlier->own_requests;
  }
}

}  // namespace

async::Task<Surveyed> survey_managers(mad::Transactor& transactor, const subnet::Subnet& subnet, path::Path start) {
  const subnet::SurveyOptions options(std::move(start), subnet::SurveyWay::smp);
  const subnet::SurveyQuestion<smp::SMInfo> ask = [&](subnet::SurveyPort port) {
    return subnet::try_get_by<smp::SMInfo>(port, subnet::sma_path(subnet, port.index, options.start));
  };
  std::vector<PortIndex> ports = manager_ports(subnet);
  co_return co_await subnet::survey<smp::SMInfo>(transactor, subnet, std::move(ports), options, ask);
}

void ManagerHistory::add(EarlierManagers now) {
  while (rounds_.size() > 1 && now.time - rounds_[1].time >= least_window) rounds_.pop_front();
  for (EarlierManagers& earlier : rounds_) ++earlier.own_requests;
  rounds_.push_back(std::move(now));
}

std::optional<EarlierManagers> ManagerHistory::before(async::Time now) const {
  if (rounds_.empty()) return std::nullopt;
  const auto is_long_ago = [now](const EarlierManagers& round) { return now - round.time >= least_window; };
  const auto last = std::ranges::find_if(rounds_.rbegin(), rounds_.rend(), is_long_ago);
  return last == rounds_.rend() ? rounds_.front() : *last;
}

async::Task<EarlierManagers> managers_now(Session& session, const Fabric& fabric) {
  const Surveyed found = co_await survey_managers(session.transactor(), fabric.subnet, session.here());
  co_return earlier_of(found, fabric.subnet, session.loop().now());
}

async::Task<std::optional<EarlierManagers>> managers_in_snapshot(Session& session, const std::string& file) {
  snapshot::Snapshot stored(file);
  if (!stored.has_part("sminfo")) co_return std::nullopt;
  const sys::DeviceList devices = stored.devices();
  const sys::EndPort& port = devices.select({}, std::to_string(stored.port_number()));
  snapshot::SnapshotTransactor transactor(stored, port, Keys::hidden);
  path::Path start = path::IbDrPath(&port);
  const Surveyed found = co_await survey_managers(transactor, transactor.subnet(), std::move(start));
  co_return earlier_of(found, transactor.subnet(), time_of(stored, session.loop()));
}

async::Task<EarlierManagers> read_managers(Session& session, const Fabric& fabric, const std::optional<EarlierManagers>& earlier,
                                           Input& input) {
  if (session.options().from && !session.snapshot().has_part("sminfo")) {
    for (const Source source : {Source::managers, Source::activity}) skip(input, source, "the snapshot has no SMInfo");
    co_return EarlierManagers();
  }
  input.has_asked_managers = true;
  const Surveyed found = co_await survey_managers(session.transactor(), fabric.subnet, session.here());
  for (const Surveyed::PortAnswer& row : found.rows) {
    if (row.value) {
      input.managers.push_back({row.port, *row.value, {}});
    } else {
      ++input.silent_managers;
    }
  }
  if (input.silent_managers > 0) {
    for (const Source source : {Source::managers, Source::activity}) {
      not_read(input, source, fmt::format("{} of {} subnet managers did not tell SMInfo", input.silent_managers, found.rows.size()));
      input.source(source).is_partial = !input.managers.empty();
    }
  }
  if (input.silent_managers == 0 || !input.managers.empty()) compare(session, earlier, input);
  co_return earlier_of(found, fabric.subnet, session.loop().now());
}

}  // namespace ib::tools::health
