// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/exporter/findings.hpp"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "counters/history.hpp"
#include "counters/waiting.hpp"
#include "health/diagnosis.hpp"
#include "health/finding_text.hpp"
#include "metrics/families.hpp"
#include "subnet/rate.hpp"

namespace ib::tools::exporter {
namespace {

namespace health = ib::health;
using health::CheckState;
using health::Movement;
using health::PortCounts;
using metrics::PortRow;
using metrics::Reading;
using Kind = counters::CounterChange::Kind;

constexpr std::size_t most_texts = 100;  // of findings, for people

/// A comparison of two rows of one port.
class RowPair {
 public:
  RowPair(const Reading* before_reading, const PortRow* before, const Reading& now_reading, const PortRow& now)
      : before_(before), now_(now), octets_per_second_(counters::octets_per_second(now_reading.fabric->subnet, now.port)) {
    if (before == nullptr) return;
    const std::chrono::milliseconds then(before->milliseconds), later(now.milliseconds);
    seconds_ = counters::seconds_between(before_reading->begun + then, now_reading.begun + later);
  }

  PortCounts counts() const {
    PortCounts counts;
    counts.port = now_.port;
    counts.seconds = seconds_;
    counts.began_anew = began_anew();
    for (std::size_t column = 0; column < metrics::columns().size(); ++column) add(counts, column);
    return counts;
  }

  /// Whether a counter has counted something.
  bool has_grown(std::size_t column) const { return is_pair(column) && change(column).delta.value_or(0) != 0; }
  /// The share of time in which the port waited. Absent if it is not known: a counter that has reached its greatest value may have counted
  /// more.
  std::optional<double> wait_share(std::size_t column, std::uint8_t tick, const subnet::LinkRate& rate) const {
    if (!seconds_ || !is_pair(column)) return std::nullopt;
    const counters::CounterChange waited = change(column);
    if (waited.kind != Kind::counted) return std::nullopt;
    return counters::waiting_share(*waited.delta, tick, *seconds_, rate);
  }

 private:
  /// Whether a column is known in both rows, from the same attribute.
  bool is_pair(std::size_t column) const {
    return before_ != nullptr && before_->is_known(column) && now_.is_known(column) && before_->is_wide(column) == now_.is_wide(column);
  }
  counters::CounterChange change(std::size_t column) const {
    const FieldInfo& field = metrics::field_of(column, now_.is_wide(column));
    return counters::change_of(before_->value(column), now_.value(column), field, seconds_, octets_per_second_);
  }
  bool began_anew() const {
    counters::NewBeginning beginning;
    for (std::size_t column = 0; column < metrics::counter_columns; ++column)
      if (is_pair(column)) beginning.add(before_->value(column), change(column));
    return beginning.found();
  }

  void add(PortCounts& counts, std::size_t column) const {
    const metrics::Column& of = metrics::columns()[column];
    if (of.is_traffic || !now_.is_known(column)) return;
    if (of.source == metrics::Source::error_details) counts.has_error_details = true;
    if (of.source == metrics::Source::discard_details) counts.has_discard_details = true;
    const FieldInfo& field = metrics::field_of(column, now_.is_wide(column));
    Movement movement{&metrics::field_of(column, false), {}, {}, now_.value(column), false};
    movement.is_stuck =
        of.source == metrics::Source::counters && counters::CounterValue{movement.now, static_cast<std::uint8_t>(field.bits)}.saturated();
    if (is_pair(column)) {
      movement.change = change(column);
      movement.before = before_->value(column);
    }
    const bool stands_still =
        movement.change.kind == Kind::unknown || (movement.change.kind == Kind::counted && movement.change.delta.value_or(0) == 0);
    if (movement.is_stuck || !stands_still) counts.movements.push_back(movement);
  }

  const PortRow* before_;
  const PortRow& now_;
  std::optional<double> octets_per_second_, seconds_;
};

using Devices = std::vector<metrics::Device>;
using Readings = std::vector<metrics::DeviceReading>;

std::span<const PortRow> rows_of(const Reading& reading, const metrics::DeviceReading& device) {
  return std::span(reading.rows).subspan(device.first_row, device.rows);
}

/// The rows of the device with that GUID; none if it was not read.
std::span<const PortRow> rows_of(const Reading& reading, const Devices& devices, const Readings& readings, Guid guid) {
  const auto found = std::ranges::lower_bound(devices, guid, {}, &metrics::Device::guid);
  if (found == devices.end() || found->guid != guid || readings.empty()) return {};
  return rows_of(reading, readings[static_cast<std::size_t>(found - devices.begin())]);
}

/// Calls `use` with the row of a port in the reading before, or null, each row of one kind of devices, and the reading of the device. Ports
/// of both readings are found by GUID and number, for a sweep may lie between them.
template <class Use>
void each_pair(const Reading* before, const Reading& now, bool switches, Use use) {
  const metrics::SweptFabric& fabric = *now.fabric;
  const Devices& devices = switches ? fabric.switches : fabric.hcas;
  const Readings& readings = switches ? now.switches : now.hcas;
  for (std::size_t at = 0; at < readings.size(); ++at) {
    std::span<const PortRow> old;
    if (before != nullptr) {
      const metrics::SweptFabric& then = *before->fabric;
      old = rows_of(*before, switches ? then.switches : then.hcas, switches ? before->switches : before->hcas, devices[at].guid);
    }
    auto next = old.begin();
    for (const PortRow& row : rows_of(now, readings[at])) {
      const unsigned number = fabric.subnet.port(row.port).number;
      while (next != old.end() && before->fabric->subnet.port(next->port).number < number) ++next;
      const bool is_there = next != old.end() && before->fabric->subnet.port(next->port).number == number;
      use(is_there ? &*next : nullptr, row, readings[at]);
    }
  }
}

/// Fills the table of counts, device by device.
void count(const Reading* before, const Reading& now, bool switches, health::CounterTable& table) {
  each_pair(before, now, switches, [&](const PortRow* then, const PortRow& row, const metrics::DeviceReading&) {
    table.add(RowPair(before, then, now, row).counts());
  });
}

/// The columns with these fields.
std::vector<std::size_t> columns_of(std::initializer_list<std::string_view> fields) {
  std::vector<std::size_t> found;
  for (std::size_t column = 0; column < metrics::columns().size(); ++column) {
    if (std::ranges::find(fields, metrics::columns()[column].field) != fields.end()) found.push_back(column);
  }
  return found;
}

/// Sets which sources are available.
void judge_sources(health::Input& input) {
  const std::span<const PortCounts> all = input.counts.all();
  const bool any_window = std::ranges::any_of(all, [](const PortCounts& counts) { return counts.seconds.has_value(); });
  using health::Source;
  if (all.empty()) input.source(Source::counters).state = CheckState::not_read;
  if (!any_window) input.source(Source::window).state = CheckState::not_read;
  for (const Source unread :
       {Source::fec, Source::blocks, Source::managers, Source::activity, Source::pkeys, Source::groups, Source::routes})
    input.source(unread).state = CheckState::skipped;
}

/// The labels that distinguish a finding from all others: nodes that claim one GUID may have the same.
using Identity = std::tuple<std::string_view, std::uint8_t, Guid, unsigned, Guid, unsigned>;

Identity identity_of(const metrics::Findings::Finding& finding, const subnet::Subnet& subnet) {
  const auto guid = [&subnet](const auto& end) { return end.node == subnet::none ? Guid{} : subnet.node(end.node).guid(); };
  const auto number = [&subnet](const auto& end) { return end.port == subnet::none ? ~0U : unsigned{subnet.port(end.port).number}; };
  return {finding.check, finding.level, guid(finding.end), number(finding.end), guid(finding.other_end), number(finding.other_end)};
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

/// The findings as pages have them.
std::shared_ptr<metrics::Findings> flat(const health::Diagnosis& diagnosis, std::shared_ptr<const metrics::SweptFabric> of) {
  const metrics::SweptFabric& fabric = *of;
  auto found = std::make_shared<metrics::Findings>();
  found->fabric = std::move(of);
  found->seconds = diagnosis.window_seconds;
  for (const health::CheckResult& result : diagnosis.checks) {
    if (result.state == CheckState::done) found->checks.push_back({result.check->id, {}});
  }
  const health::FindingText words{fabric.subnet, fabric.names};
  std::set<Identity> known;
  for (const health::Finding& finding : diagnosis.findings) {
    const metrics::Findings::Finding row = flat(finding, fabric.subnet);
    if (!known.insert(identity_of(row, fabric.subnet)).second) continue;
    found->list.push_back(row);
    ++std::ranges::find(found->checks, row.check, &metrics::Findings::Check::id)->counts.at(row.level);
    if (found->texts.size() == most_texts) continue;
    found->texts.push_back(words.ends(finding) + ": " + words.seen(finding));
    found->remedies.push_back(finding.check->remedy);
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
  const std::vector<std::size_t> counters = columns_of({"link_downed_counter", "link_error_recovery_counter"});
  std::vector<subnet::PortIndex> ports;
  const auto compare = [&](const PortRow* then, const PortRow& row, const metrics::DeviceReading&) {
    const RowPair pair(&before, then, now, row);
    if (std::ranges::any_of(counters, [&pair](std::size_t column) { return pair.has_grown(column); })) ports.push_back(row.port);
  };
  for (const bool switches : {true, false}) each_pair(&before, now, switches, compare);
  return ports;
}

std::shared_ptr<const std::vector<float>> find_waits(const Reading& before, const Reading& now) {
  const std::size_t column = columns_of({"port_xmit_wait"}).front();
  auto waits = std::make_shared<std::vector<float>>(now.rows.size(), std::numeric_limits<float>::quiet_NaN());
  const auto note = [&](const PortRow* then, const PortRow& row, const metrics::DeviceReading& device) {
    if (!device.tick) return;
    const subnet::LinkRate rate = subnet::active_rate(now.fabric->subnet, row.port);
    const std::optional<double> share = RowPair(&before, then, now, row).wait_share(column, *device.tick, rate);
    if (share) (*waits)[static_cast<std::size_t>(&row - now.rows.data())] = static_cast<float>(*share);
  };
  for (const bool switches : {true, false}) each_pair(&before, now, switches, note);
  return waits;
}

std::shared_ptr<const metrics::Findings> find(const Reading* before, const Reading& now) {
  const metrics::SweptFabric& fabric = *now.fabric;
  const health::Thresholds thresholds;
  subnet::Failures failures = fabric.failures;
  failures.insert(failures.end(), now.failures.begin(), now.failures.end());
  health::Input input(fabric.subnet, failures, thresholds);
  for (const bool switches : {true, false}) count(before, now, switches, input.counts);
  judge_sources(input);
  return flat(health::examine(input, {}), now.fabric);
}

}  // namespace ib::tools::exporter
