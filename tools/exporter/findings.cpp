// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/exporter/engine.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <span>

#include "counters/difference.hpp"
#include "health/diagnosis.hpp"
#include "health/finding.hpp"
#include "subnet/model/rate.hpp"
#include "tools/shared/remedy_text.hpp"

namespace ib::tools::exporter {
namespace {

namespace health = ib::health;
using counters::CounterRow;
using health::CheckState;
using metrics::Reading;

constexpr std::size_t most_texts = 100;  // of findings, for people

std::span<const CounterRow> rows_of(const Reading& reading, const metrics::DeviceReading& device) {
  return std::span(reading.rows).subspan(device.first_row, device.rows);
}

/// The rows of a device in the reading before; none if it was not read. Where several devices claim a GUID, it is not known which of them
/// had the rows, unless the sweep is the same.
std::span<const CounterRow> rows_before(const Reading* before, const metrics::SweptFabric& now, const metrics::Device& device) {
  if (before == nullptr) return {};
  const metrics::SweptFabric& then = *before->fabric;
  if (&then != &now && (then.has_twins(device.guid) || now.has_twins(device.guid))) return {};
  const metrics::Device* known = then.find(device.is_switch, device.guid);
  const auto at = static_cast<std::size_t>(known - then.devices.data());
  return known != nullptr && at < before->devices.size() ? rows_of(*before, before->devices[at]) : std::span<const CounterRow>();
}

/// Calls `use` with each row, its difference to the row of the port in the reading before, and the reading of the device. Ports of both
/// readings are found by GUID and number, for a sweep may lie between them.
template <class Use>
void each_difference(const Reading* before, const Reading& now, Use use) {
  const subnet::Subnet& subnet = now.fabric->subnet;
  for (std::size_t at = 0; at < now.devices.size(); ++at) {
    const std::span<const CounterRow> old = rows_before(before, *now.fabric, now.fabric->devices[at]);
    auto next = old.begin();
    for (const CounterRow& row : rows_of(now, now.devices[at])) {
      const unsigned number = subnet.port(row.port).number;
      while (next != old.end() && before->fabric->subnet.port(next->port).number < number) ++next;
      const bool is_there = next != old.end() && before->fabric->subnet.port(next->port).number == number;
      use(row, counters::RowDifference(is_there ? &*next : nullptr, row, counters::octets_per_second(subnet, row.port)), now.devices[at]);
    }
  }
}

/// Takes the subnet managers that were polled. One at a LID that no port of the model has was not requested: where there is no other one,
/// it is not known whether the fabric has a manager.
void take_managers(const subnet::SurveyedManagers& managers, const metrics::SweptFabric& fabric, health::Input& input) {
  health::take_managers(managers, {}, input);
  input.is_sa_silent = fabric.is_sa_silent;
  const bool is_elsewhere = health::own_sm_lid(fabric.subnet).is_unicast() && health::own_sm_port(fabric.subnet) == subnet::none;
  if (is_elsewhere && input.managers.empty() && input.silent_managers == 0)
    input.source(health::Source::managers).state = CheckState::skipped;
}

void judge_sources(const Reading& now, const subnet::SurveyedManagers* managers, health::Input& input) {
  const std::span<const counters::PortChanges> all = input.counts.all();
  const bool any_window = std::ranges::any_of(all, [](const counters::PortChanges& port) { return port.seconds.has_value(); });
  using health::Source;
  if (all.empty()) input.source(Source::counters).state = CheckState::not_read;
  if (!any_window) input.source(Source::window).state = CheckState::not_read;
  constexpr std::size_t blocks = counters::column_of("port_fec_uncorrectable_block_ctr");
  const auto has_blocks = [](const CounterRow& row) { return row.is_known(blocks); };
  const auto skip = [&input](Source source) { input.source(source).state = CheckState::skipped; };
  if (input.fec_modes.empty()) skip(Source::fec);
  if (std::ranges::none_of(now.rows, has_blocks)) skip(Source::blocks);
  if (managers == nullptr) skip(Source::managers);
  for (const Source unread : {Source::activity, Source::pkeys, Source::groups, Source::routes}) skip(unread);
}

std::optional<metrics::Findings::End> end_of(const health::Place& place, const metrics::SweptFabric& fabric) {
  const subnet::Subnet& subnet = fabric.subnet;
  if (place.node == subnet::none) return std::nullopt;
  if (place.port == subnet::none) return metrics::Findings::End{subnet.node(place.node).info.port_guid, {}, fabric.name(place.node)};
  return metrics::Findings::End{metrics::device_guid(subnet, place.port), subnet.port(place.port).number, fabric.name(place.node)};
}

std::shared_ptr<metrics::Findings> flat(const health::Diagnosis& diagnosis, std::shared_ptr<const metrics::SweptFabric> of) {
  const metrics::SweptFabric& fabric = *of;
  auto found = std::make_shared<metrics::Findings>();
  found->fabric = std::move(of);
  for (const health::CheckResult& result : diagnosis.checks) {
    if (result.is_run && result.state != CheckState::skipped) found->checks.push_back({result.check->id, {}});
  }
  const health::FindingText words{fabric.subnet, fabric.names};
  std::set<metrics::Findings::Row> known;  // nodes that claim one GUID, or ports that claim one, may share them
  for (const health::Finding& finding : diagnosis.findings) {
    metrics::Findings::Row row{finding.check->id, name(finding.confidence), static_cast<std::uint8_t>(*finding.level)};
    if (!finding.ends.empty()) row.end = end_of(finding.ends.front(), fabric);
    const bool has_other = finding.subject != health::Finding::Subject::group && finding.ends.size() > 1;
    if (has_other) row.other_end = end_of(finding.ends[1], fabric);
    if (!known.insert(row).second) continue;
    found->list.push_back(row);
    ++std::ranges::find(found->checks, row.check, &metrics::Findings::Counts::check)->counts.at(row.level);
    if (found->texts.size() == most_texts) continue;
    found->texts.push_back(words.ends(finding) + ": " + words.seen(finding));
    found->remedies.push_back(remedy_text(finding.what_to_do()));
  }
  return found;
}

}  // namespace

std::shared_ptr<const metrics::Findings> find_down_port(std::shared_ptr<const metrics::SweptFabric> own, const std::string& own_port) {
  const health::Thresholds thresholds;
  health::Input input(own->subnet, own->failures, thresholds);
  input.own_port = own_port;
  const health::Diagnosis diagnosis = health::examine(input, {});
  const std::shared_ptr<metrics::Findings> found = flat(diagnosis, std::move(own));
  found->verdict = health::findings_text(diagnosis.levels);
  found->needs_no_reading = true;
  return found;
}

std::vector<PortIndex> find_new_links(const Reading& before, const Reading& now) {
  constexpr std::array columns{counters::column_of("link_downed_counter"), counters::column_of("link_error_recovery_counter")};
  std::vector<PortIndex> ports;
  each_difference(&before, now, [&](const CounterRow& row, const counters::RowDifference& between, const metrics::DeviceReading&) {
    const auto has_grown = [&between](std::size_t column) { return between.change(column).delta.value_or(0) != 0; };
    if (std::ranges::any_of(columns, has_grown)) ports.push_back(row.port);
  });
  return ports;
}

std::shared_ptr<const std::vector<float>> find_waits(const Reading& before, const Reading& now) {
  auto waits = std::make_shared<std::vector<float>>(now.rows.size(), std::numeric_limits<float>::quiet_NaN());
  each_difference(&before, now, [&](const CounterRow& row, const counters::RowDifference& between, const metrics::DeviceReading& device) {
    const counters::CounterChange waited = between.change(counters::column_of("port_xmit_wait"));
    // A counter that has reached its greatest value may have counted more.
    if (!device.tick || !between.error_seconds() || waited.kind != counters::ChangeKind::counted) return;
    const subnet::LinkRate rate = subnet::active_rate(now.fabric->subnet, row.port);
    const std::optional<double> share = counters::waiting_share(*waited.delta, *device.tick, *between.error_seconds(), rate);
    if (share) (*waits)[static_cast<std::size_t>(&row - now.rows.data())] = static_cast<float>(*share);
  });
  return waits;
}

std::shared_ptr<const metrics::Findings> find(const Reading* before, const Reading& now, const subnet::SurveyedManagers* managers,
                                              const metrics::PhyReading* phy) {
  const metrics::SweptFabric& fabric = *now.fabric;
  const health::Thresholds thresholds;
  subnet::Failures failures = fabric.failures;
  failures.insert(failures.end(), now.failures.begin(), now.failures.end());
  health::Input input(fabric.subnet, failures, thresholds);
  each_difference(before, now, [&](const CounterRow&, const counters::RowDifference& between, const metrics::DeviceReading&) {
    input.counts.add(between.errors());
  });
  if (now.fec_modes) input.fec_modes = *now.fec_modes;
  if (managers != nullptr) take_managers(*managers, fabric, input);
  judge_sources(now, managers, input);
  if (phy != nullptr) {  // a port that was not read has no finding by its registers
    input.phy = phy->table;
    input.phy_before = phy->before;
    input.source(health::Source::phy) = input.source(health::Source::environment) = {};
    if (phy->before.is_read() && input.source(health::Source::window).state == CheckState::done) input.source(health::Source::blocks) = {};
  }
  const health::Diagnosis diagnosis = health::examine(input, {});
  std::shared_ptr<metrics::Findings> found = flat(diagnosis, now.fabric);
  // The verdict as `ibtool health` gives it: devices whose counters were not read, and what the sweep could not read, are a gap.
  const auto unread = static_cast<std::size_t>(std::ranges::count_if(now.devices, metrics::has_failed));
  const bool is_whole = unread == 0 && fabric.failures.empty() && !diagnosis.any_not_read();
  const health::Verdict verdict = diagnosis.any_from(health::Level::warning) ? health::Verdict::findings
                                  : is_whole                                 ? health::Verdict::healthy
                                                                             : health::Verdict::unknown;
  const std::size_t devices = now.devices.size();
  const std::string gap = unread == 0 ? "" : fmt::format("counters of {} of {} devices", devices - unread, devices);
  found->verdict = verdict_text(verdict, diagnosis, gap);
  found->is_unknown = verdict == health::Verdict::unknown;
  return found;
}

}  // namespace ib::tools::exporter
