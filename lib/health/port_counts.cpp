// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/port_counts.hpp"

#include <algorithm>
#include <utility>

#include "counters/attributes.hpp"
#include "iba-gen/pm.hpp"
#include "iba/generic.hpp"

namespace ib::health {
namespace {

using ChangeKind = counters::CounterChange::Kind;

bool is_worth_a_word(const Movement& movement) {
  if (movement.is_stuck) return true;
  switch (movement.change.kind) {
    case ChangeKind::unknown:
      return false;
    case ChangeKind::counted:
      return movement.change.delta.value_or(0) != 0;
    default:
      return true;
  }
}

void add_errors(PortCounts& counts, const counters::PmaReading& now, const counters::PmaGrowth& growth) {
  const std::optional<counters::CounterGrowth>& pair = growth.errors_in_extended ? growth.extended : growth.counters;
  for (const counters::CounterInfo& counter : counters::counter_infos()) {
    if (counter.traffic) continue;
    const counters::CounterValue value = now.error_count(counter);
    if (!value.known()) continue;
    const FieldInfo* read = growth.errors_in_extended ? counter.wide : counter.narrow;
    Movement movement{counter.narrow != nullptr ? counter.narrow : read, {}, {}, value.value, value.saturated()};
    if (pair) {
      movement.change = growth.error_change(counter);
      movement.before = read_number(pair->before.bytes, *read);
    }
    if (is_worth_a_word(movement)) counts.movements.push_back(movement);
  }
}

/// Adds the details of the counter `sum`. If they were not read before, they were 0 if `sum` was 0: details are requested only when `sum`
/// has counted.
void add_details(PortCounts& counts, Bytes now, const std::optional<counters::CounterGrowth>& growth, const StructInfo& attribute,
                 std::string_view sum) {
  const Movement* whole = counts.find(sum);
  if (now.empty() || whole == nullptr || !whole->change.delta) return;
  const std::uint64_t most = *whole->change.delta;
  const bool begins_at_zero = whole->before == std::uint64_t{0};
  std::vector<Movement> details;
  for (const FieldInfo& field : attribute.fields) {
    if (field.reserved || counters::is_selector(field)) continue;
    Movement movement{&field, {}, {}, read_number(now, field), false};
    if (growth) {
      movement.change = growth->change(field);
      movement.before = read_number(growth->before.bytes, field);
    } else if (begins_at_zero) {
      movement.change = {ChangeKind::counted, movement.now};
      movement.before = 0;
    }
    if (movement.change.delta.value_or(0) > most) continue;  // of another time than the sum
    if (is_worth_a_word(movement)) details.push_back(movement);
  }
  std::ranges::move(details, std::back_inserter(counts.movements));
}

/// Adds the blocks that error correction could not correct, of all lanes together.
void add_blocks(PortCounts& counts, const counters::CounterGrowth& growth) {
  for (const FieldInfo& field : growth.now.attribute->fields) {
    if (field.reserved || field.name.find("uncorrectable_block") == std::string_view::npos) continue;
    Movement movement{&field, {ChangeKind::counted, 0}, 0, 0, false};
    for (std::uint32_t lane = 0; lane < std::max<std::uint32_t>(field.count, 1); ++lane) {
      const counters::CounterChange change = growth.change(field, lane);
      *movement.before += read_number(growth.before.bytes, field, lane);
      movement.now += read_number(growth.now.bytes, field, lane);
      if (change.delta) {
        *movement.change.delta += *change.delta;
      } else {
        movement.change.kind = change.kind;
      }
    }
    if (movement.change.kind != ChangeKind::counted) movement.change.delta.reset();
    if (is_worth_a_word(movement)) counts.movements.push_back(movement);
  }
}

}  // namespace

const Movement* PortCounts::find(std::string_view counter) const {
  const auto found = std::ranges::find_if(movements, [counter](const Movement& of) { return of.counter->name == counter; });
  return found == movements.end() ? nullptr : &*found;
}

std::uint64_t PortCounts::delta(std::string_view counter) const {
  const Movement* movement = find(counter);
  return movement == nullptr ? 0 : movement->change.delta.value_or(0);
}

PortCounts counts_of(const counters::PmaReading& now, const counters::PmaGrowth& growth) {
  PortCounts counts;
  counts.port = now.port;
  counts.seconds = growth.error_seconds();
  const std::optional<counters::CounterGrowth>& pair = growth.errors_in_extended ? growth.extended : growth.counters;
  counts.began_anew = pair && pair->began_anew();
  counts.has_error_details = !now.error_details.empty();
  counts.has_discard_details = !now.discard_details.empty();
  add_errors(counts, now, growth);
  add_details(counts, now.error_details, growth.error_details, pm::PortRcvErrorDetails::info(), "port_rcv_errors");
  add_details(counts, now.discard_details, growth.discard_details, pm::PortXmitDiscardDetails::info(), "port_xmit_discards");
  if (growth.speeds) add_blocks(counts, *growth.speeds);
  return counts;
}

void CounterTable::add(PortCounts counts) {
  rows_[counts.port] = static_cast<std::uint32_t>(counts_.size());
  counts_.push_back(std::move(counts));
}

std::uint64_t CounterTable::delta(subnet::PortIndex port, std::string_view counter) const {
  const PortCounts* counts = find(port);
  return counts == nullptr ? 0 : counts->delta(counter);
}

}  // namespace ib::health
