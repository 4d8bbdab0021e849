// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/exporter/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "counters/difference.hpp"
#include "counters/waiting.hpp"
#include "health/diagnosis.hpp"
#include "health/finding_text.hpp"
#include "metrics/families.hpp"
#include "subnet/model/rate.hpp"
#include "tools/shared/remedy_text.hpp"

namespace ib::tools::exporter {
namespace {

namespace health = ib::health;
using counters::CounterRow;
using health::CheckState;
using metrics::Reading;

constexpr std::size_t most_texts = 100;  // of findings, for people

/// What a port has counted since its row before, which may be null.
counters::RowDifference difference(const CounterRow* before, const Reading& now, const CounterRow& row) {
  return {before, row, counters::octets_per_second(now.fabric->subnet, row.port)};
}

using Devices = std::vector<metrics::Device>;
using Readings = std::vector<metrics::DeviceReading>;

std::span<const CounterRow> rows_of(const Reading& reading, const metrics::DeviceReading& device) {
  return std::span(reading.rows).subspan(device.first_row, device.rows);
}

/// The rows of the device with that GUID; none if it was not read.
std::span<const CounterRow> rows_of(const Reading& reading, const Devices& devices, const Readings& readings, Guid guid) {
  const auto found = std::ranges::lower_bound(devices, guid, {}, &metrics::Device::guid);
  if (found == devices.end() || found->guid != guid || readings.empty()) return {};
  return rows_of(reading, readings[static_cast<std::size_t>(found - devices.begin())]);
}

/// Calls `use` with the row of a port in the reading before, or null, each row of one kind of devices, and the reading of the device. Ports
/// of both readings are found by GUID and number, for a sweep may lie between them. Where several devices claim a GUID, it is not known
/// which of them had the row before.
template <class Use>
void each_pair(const Reading* before, const Reading& now, bool switches, Use use) {
  const metrics::SweptFabric& fabric = *now.fabric;
  const Devices& devices = switches ? fabric.switches : fabric.hcas;
  const Readings& readings = switches ? now.switches : now.hcas;
  for (std::size_t at = 0; at < readings.size(); ++at) {
    std::span<const CounterRow> old;
    if (before != nullptr) {
      const metrics::SweptFabric& then = *before->fabric;
      const bool is_one = &then == &fabric || (!then.has_twins(devices[at].guid) && !fabric.has_twins(devices[at].guid));
      if (is_one)
        old = rows_of(*before, switches ? then.switches : then.hcas, switches ? before->switches : before->hcas, devices[at].guid);
    }
    auto next = old.begin();
    for (const CounterRow& row : rows_of(now, readings[at])) {
      const unsigned number = fabric.subnet.port(row.port).number;
      while (next != old.end() && before->fabric->subnet.port(next->port).number < number) ++next;
      const bool is_there = next != old.end() && before->fabric->subnet.port(next->port).number == number;
      use(is_there ? &*next : nullptr, row, readings[at]);
    }
  }
}

/// Fills the table of counts, device by device.
void count(const Reading* before, const Reading& now, bool switches, health::CounterTable& table) {
  each_pair(before, now, switches, [&](const CounterRow* then, const CounterRow& row, const metrics::DeviceReading&) {
    table.add(difference(then, now, row).errors());
  });
}

/// Takes the subnet managers that were polled. One at a LID that no port of the model has was not requested: where there is no other one,
/// it is not known whether the fabric has a manager.
void take_managers(const metrics::Managers& managers, const metrics::SweptFabric& fabric, health::Input& input) {
  input.has_read_managers = true;
  for (const metrics::Manager& manager : managers.known) input.managers.push_back({manager.port, manager.info, {}});
  for (const subnet::PortIndex port : managers.silent) input.silent.push_back({port, {}});
  input.silent_managers = managers.silent.size() + managers.refused;
  input.is_sa_silent = fabric.is_sa_silent;
  const bool is_elsewhere = health::own_sm_lid(fabric.subnet).is_unicast() && health::own_sm_port(fabric.subnet) == subnet::none;
  if (is_elsewhere && input.managers.empty() && input.silent_managers == 0)
    input.source(health::Source::managers).state = CheckState::skipped;
  health::judge_managers(input);
}

/// Sets which sources are available.
void judge_sources(const Reading& now, const metrics::Managers* managers, health::Input& input) {
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

/// Takes the registers of ports and the environment of switches. A port that was not read has no finding by them.
void take_registers(const metrics::PhyReading& phy, health::Input& input) {
  using health::Source;
  input.phy = phy.table;
  input.phy_before = phy.before;
  input.source(Source::phy) = input.source(Source::environment) = {};
  if (phy.before.is_read() && input.source(Source::window).state == CheckState::done) input.source(Source::blocks) = {};
}

/// The labels of an end of a finding: GUID, port, name.
using EndLabels = std::tuple<Guid, unsigned, std::string_view>;
/// The labels of a finding on a page, which nodes that claim one GUID, or ports that claim one, may share.
using Labels = std::tuple<std::string_view, std::uint8_t, std::string_view, EndLabels, EndLabels>;

Labels labels_of(const metrics::Findings::Finding& finding, const metrics::SweptFabric& fabric) {
  const auto labels = [&fabric](const metrics::Findings::Finding::End& end) -> EndLabels {
    if (end.node == subnet::none) return {};
    const subnet::Subnet& subnet = fabric.subnet;
    if (end.port == subnet::none) return {subnet.node(end.node).info.port_guid, ~0U, fabric.name(end.node)};
    return {metrics::device_guid(subnet, end.port), subnet.port(end.port).number, fabric.name(end.node)};
  };
  return {finding.check, finding.level, finding.confidence, labels(finding.end), labels(finding.other_end)};
}

metrics::Findings::Finding flat(const health::Finding& finding, const subnet::Subnet& subnet) {
  metrics::Findings::Finding row{finding.check->id, name(finding.confidence), static_cast<std::uint8_t>(*finding.level), {}, {}, {}};
  if (!finding.ends.empty()) row.end = {finding.ends.front().node, finding.ends.front().port};
  if (finding.subject != health::Finding::Subject::group && finding.ends.size() > 1)
    row.other_end = {finding.ends[1].node, finding.ends[1].port};
  if (row.end.port != subnet::none) {
    row.guid = metrics::device_guid(subnet, row.end.port);
  } else if (row.end.node != subnet::none) {
    row.guid = subnet.node(row.end.node).info.port_guid;
  }
  return row;
}

/// The number of devices whose counters were not read.
std::size_t count_unread(const Readings& readings) {
  return static_cast<std::size_t>(std::ranges::count_if(readings, [](const auto& reading) { return metrics::has_failed(reading); }));
}

/// Sets the verdict, that of `ibtool health` on the same findings. Devices whose counters were not read, and what the sweep could not read,
/// are a gap.
void judge(const health::Diagnosis& diagnosis, const Reading& now, metrics::Findings& found) {
  const subnet::Subnet& subnet = now.fabric->subnet;
  const std::size_t unread = count_unread(now.switches) + count_unread(now.hcas);
  const bool is_whole = unread == 0 && now.fabric->failures.empty() && !diagnosis.any_not_read();
  health::VerdictFacts facts;
  facts.verdict = diagnosis.any_from(health::Level::warning) ? health::Verdict::findings
                  : is_whole                                 ? health::Verdict::healthy
                                                             : health::Verdict::unknown;
  facts.host_count = health::host_count(subnet, {});
  facts.switch_count = health::switch_count(subnet, {});
  facts.link_count = health::link_count(subnet, {});
  facts.take(diagnosis);
  const std::size_t devices = now.switches.size() + now.hcas.size();
  if (unread > 0) facts.gaps.push_back(fmt::format("counters of {} of {} devices", devices - unread, devices));
  found.verdict = verdict_text(facts);
  found.is_unknown = facts.verdict == health::Verdict::unknown;
}

/// The findings as pages have them.
std::shared_ptr<metrics::Findings> flat(const health::Diagnosis& diagnosis, std::shared_ptr<const metrics::SweptFabric> of) {
  const metrics::SweptFabric& fabric = *of;
  auto found = std::make_shared<metrics::Findings>();
  found->fabric = std::move(of);
  found->seconds = diagnosis.window_seconds;
  for (const health::CheckResult& result : diagnosis.checks) {
    if (result.is_run && result.state != CheckState::skipped) found->checks.push_back({result.check->id, {}});
  }
  const health::FindingText words{fabric.subnet, fabric.names};
  std::set<Labels> known;
  for (const health::Finding& finding : diagnosis.findings) {
    const metrics::Findings::Finding row = flat(finding, fabric.subnet);
    if (!known.insert(labels_of(row, fabric)).second) continue;
    found->list.push_back(row);
    ++std::ranges::find(found->checks, row.check, &metrics::Findings::Check::id)->counts.at(row.level);
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
  found->needs_no_reading = true;
  return found;
}

std::vector<subnet::PortIndex> find_new_links(const Reading& before, const Reading& now) {
  constexpr std::array columns{counters::column_of("link_downed_counter"), counters::column_of("link_error_recovery_counter")};
  std::vector<subnet::PortIndex> ports;
  const auto compare = [&](const CounterRow* then, const CounterRow& row, const metrics::DeviceReading&) {
    const counters::RowDifference between = difference(then, now, row);
    const auto has_grown = [&between](std::size_t column) { return between.change(column).delta.value_or(0) != 0; };
    if (std::ranges::any_of(columns, has_grown)) ports.push_back(row.port);
  };
  for (const bool switches : {true, false}) each_pair(&before, now, switches, compare);
  return ports;
}

std::shared_ptr<const std::vector<float>> find_waits(const Reading& before, const Reading& now) {
  auto waits = std::make_shared<std::vector<float>>(now.rows.size(), std::numeric_limits<float>::quiet_NaN());
  const auto note = [&](const CounterRow* then, const CounterRow& row, const metrics::DeviceReading& device) {
    const counters::RowDifference between = difference(then, now, row);
    const counters::CounterChange waited = between.change(counters::column_of("port_xmit_wait"));
    // A counter that has reached its greatest value may have counted more.
    if (!device.tick || !between.error_seconds() || waited.kind != counters::CounterChange::Kind::counted) return;
    const subnet::LinkRate rate = subnet::active_rate(now.fabric->subnet, row.port);
    const std::optional<double> share = counters::waiting_share(*waited.delta, *device.tick, *between.error_seconds(), rate);
    if (share) (*waits)[static_cast<std::size_t>(&row - now.rows.data())] = static_cast<float>(*share);
  };
  for (const bool switches : {true, false}) each_pair(&before, now, switches, note);
  return waits;
}

std::shared_ptr<const metrics::Findings> find(const Reading* before, const Reading& now, const metrics::Managers* managers,
                                              const metrics::PhyReading* phy) {
  const metrics::SweptFabric& fabric = *now.fabric;
  const health::Thresholds thresholds;
  subnet::Failures failures = fabric.failures;
  failures.insert(failures.end(), now.failures.begin(), now.failures.end());
  health::Input input(fabric.subnet, failures, thresholds);
  for (const bool switches : {true, false}) count(before, now, switches, input.counts);
  if (now.fec_modes) input.fec_modes = *now.fec_modes;
  if (managers != nullptr) take_managers(*managers, fabric, input);
  judge_sources(now, managers, input);
  if (phy != nullptr) take_registers(*phy, input);
  const health::Diagnosis diagnosis = health::examine(input, {});
  std::shared_ptr<metrics::Findings> found = flat(diagnosis, now.fabric);
  judge(diagnosis, now, *found);
  return found;
}

}  // namespace ib::tools::exporter
