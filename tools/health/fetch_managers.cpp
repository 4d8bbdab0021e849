// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// SMInfo of the subnet managers that are known: by IsSM, by the SM LID of our own port, by the SA's records. A manager may refuse SMInfo to
// a requester without its SM_Key. That is not a fault of the node, and is reported as not read.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "iba-gen/sa.hpp"
#include "sa/subn_adm.hpp"
#include "snapshot/stored_fabric.hpp"
#include "snapshot/transactor.hpp"
#include "subnet/model/port_checks.hpp"
#include "subnet/set/set_target.hpp"
#include "subnet/sweep/survey.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/stack.hpp"
#include "tools/health/fetch.hpp"

namespace ib::tools::health {
namespace {

using subnet::PortIndex;
using Surveyed = subnet::Surveyed<smp::SMInfo>;

std::vector<PortIndex> manager_ports(const subnet::Subnet& subnet) {
  std::vector<PortIndex> ports;
  for (PortIndex at = 0; at < subnet.ports().size(); ++at) {
    if (subnet::may_have_manager(subnet, at)) ports.push_back(at);
  }
  return ports;
}

EarlierManagers earlier_of(const Surveyed& found, const subnet::Subnet& subnet, async::Time time) {
  EarlierManagers earlier;
  earlier.time = time;
  std::set<Guid> known, twins;
  for (const Surveyed::PortAnswer& row : found.rows) {
    const Guid guid = subnet.port_guid(row.port);
    if (!known.insert(guid).second) twins.insert(guid);
    if (row.value) earlier.act_counts[guid] = row.value->act_count;
  }
  for (const Guid twin : twins) earlier.act_counts.erase(twin);  // it is not known whose count it is
  return earlier;
}

/// The subnet managers in the SA's records, by LID. Nothing if it does not give them; `is_silent` says whether it did not answer at all.
async::Task<std::map<Lid, smp::SMInfo>> read_records(Stack& stack, bool& is_silent) {
  std::map<Lid, smp::SMInfo> records;
  co_await stack.prepare_sa();
  mad::Transactor& transactor = stack.transactor();
  const path::IbPath& sa = transactor.sa_path().ib();
  if (sa.dlid == Lid{} && !sa.has_grh) co_return records;
  try {
    const sa::SMInfoRecord::Query query;
    const auto answer = co_await sa::try_subn_adm_get_table(transactor, query);
    if (!answer) {
      is_silent = subnet::kind_of(answer.error()) == subnet::Failure::Kind::no_answer;
    } else {
      for (const sa::SMInfoRecord& record : answer->records) records.emplace(record.lid, record.sm_info);
    }
  } catch (const SysError&) {
    throw;
  } catch (const Error&) {  // an answer that contradicts itself: the ports themselves are read
  }
  co_return records;
}

/// SMInfo of the subnet manager at the SM LID of our own port, which no port of the model has.
async::Task<bool> answers_elsewhere(Stack& stack, const subnet::Subnet& subnet) {
  const Lid lid = own_sm_lid(subnet);
  if (stack.host().options().from || !lid.is_unicast() || subnet.find_lid(lid) != subnet::none) co_return false;
  path::Path path = subnet::smp_path_to(stack.host().end_port(), lid);
  stack.apply_options(path);
  const mad::Result<smp::SMInfo> answer = co_await stack.transactor().try_subn_get<smp::SMInfo>(path);
  co_return static_cast<bool>(answer);
}

/// Takes what the managers answered. A port without IsSM that answers with an error has no subnet manager, for instance because it ended.
void take(const Surveyed& found, const std::map<Lid, smp::SMInfo>& records, Input& input) {
  for (const Surveyed::PortAnswer& row : found.rows) {
    if (row.value) {
      input.managers.push_back({row.port, *row.value, {}});
      continue;
    }
    const bool is_silent = found.failures[row.failure].kind == subnet::Failure::Kind::no_answer;
    if (!is_silent && !subnet::has_is_sm(input.subnet.port(row.port).info())) continue;
    ++input.silent_managers;
    if (!is_silent) continue;
    const auto record = records.find(input.subnet.lid(row.port));
    input.silent.push_back({row.port, record == records.end() ? std::nullopt : std::optional(record->second.sm_state)});
  }
}

/// Sets the earlier activity counts of the managers, if they are old enough for a comparison.
void compare(Stack& stack, const std::optional<EarlierManagers>& earlier, Input& input) {
  const bool is_stored = earlier && stack.host().options().from;
  const async::Time now = is_stored ? time_of(stack.host().stored(), stack.loop()) : stack.loop().now();
  if (!earlier || now - earlier->time < least_window) {
    input.skip(Source::activity, fmt::format("needs a window of {} s", least_window.count()));
    return;
  }
  const auto guid_of = [&input](const Manager& manager) { return input.subnet.port_guid(manager.port); };
  for (Manager& manager : input.managers) {
    const auto before = earlier->act_counts.find(guid_of(manager));
    if (before == earlier->act_counts.end() || std::ranges::count(input.managers, before->first, guid_of) > 1) continue;
    manager.act_count_before = before->second;
    manager.own_requests = earlier->own_requests;
  }
}

}  // namespace

async::Task<Surveyed> survey_managers(mad::Transactor& transactor, const subnet::Subnet& subnet, path::Path start,
                                      std::vector<PortIndex> further) {
  const subnet::SurveyOptions options(std::move(start), subnet::SurveyWay::smp);
  const subnet::SurveyQuestion<smp::SMInfo> question = [&](subnet::SurveyPort port) {
    return subnet::try_get_by<smp::SMInfo>(port, subnet::sma_path(subnet, port.index, options.start));
  };
  std::vector<PortIndex> ports = manager_ports(subnet);
  for (const PortIndex port : further) {
    if (std::ranges::find(ports, port) == ports.end()) ports.push_back(port);
  }
  co_return co_await subnet::survey<smp::SMInfo>(transactor, subnet, std::move(ports), options, question);
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

async::Task<EarlierManagers> managers_now(Stack& stack, const Fabric& fabric) {
  const Surveyed found = co_await survey_managers(stack.transactor(), fabric.subnet, stack.here());
  co_return earlier_of(found, fabric.subnet, stack.loop().now());
}

async::Task<std::optional<EarlierManagers>> managers_in_file(Stack& stack, const std::string& file) {
  const std::unique_ptr<snapshot::StoredFabric> stored = snapshot::open_fabric(file);
  if (!stored->has_part("sminfo")) co_return std::nullopt;
  const sys::DeviceList devices = stored->devices();
  const sys::EndPort& port = devices.select({}, std::to_string(stored->port_number()));
  snapshot::SnapshotTransactor transactor(*stored, port, Keys::hidden);
  path::Path start = path::IbDrPath(&port);
  const Surveyed found = co_await survey_managers(transactor, transactor.subnet(), std::move(start));
  co_return earlier_of(found, transactor.subnet(), time_of(*stored, stack.loop()));
}

async::Task<EarlierManagers> read_managers(Stack& stack, const Fabric& fabric, const std::optional<EarlierManagers>& earlier,
                                           bool is_sa_silent, Input& input) {
  if (lacks_part(stack.host(), "sminfo", Source::activity, "SMInfo", input) &&
      lacks_part(stack.host(), "sminfo", Source::managers, "SMInfo", input))
    co_return EarlierManagers();
  input.has_read_managers = true;
  input.is_sa_silent = is_sa_silent;
  std::map<Lid, smp::SMInfo> records;
  if (!is_sa_silent) records = co_await read_records(stack, input.is_sa_silent);
  std::vector<PortIndex> further;
  for (const auto& [lid, info] : records) {
    const PortIndex port = lid.is_unicast() ? fabric.subnet.find_lid(lid) : subnet::none;
    if (port != subnet::none) further.push_back(port);
  }
  const Surveyed found = co_await survey_managers(stack.transactor(), fabric.subnet, stack.here(), std::move(further));
  take(found, records, input);
  if (input.managers.empty() && input.silent_managers == 0) input.has_manager_elsewhere = co_await answers_elsewhere(stack, fabric.subnet);
  judge_managers(input);
  if (input.silent_managers == 0 || !input.managers.empty()) compare(stack, earlier, input);
  co_return earlier_of(found, fabric.subnet, stack.loop().now());
}

}  // namespace ib::tools::health
