// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "counters/history.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "counters/attributes.hpp"
#include "iba/generic.hpp"
#include "subnet/rate.hpp"

namespace ib::counters {
namespace {

using Kind = CounterChange::Kind;

/// The greatest number of counts a second that are possible at the rate of a link, by the unit of the counter; absent if it does not depend
/// on the rate.
std::optional<double> most_per_second(const FieldInfo& field, double octets_per_second) {
  constexpr double word = 4, smallest_packet = 24;  // octets; IBA 5.2: LRH, BTH, ICRC and VCRC
  constexpr double margin = 1.25;                   // readings are timed at their arrival
  if (field.unit == "4 bytes") return octets_per_second / word * margin;
  if (field.name.ends_with("_pkts")) return octets_per_second / smallest_packet * margin;
  if (field.name.ends_with("_wait")) return std::nullopt;  // in ticks, whose length the device chooses (IBA 16.1.3.5)
  return octets_per_second * margin;                       // at most every symbol is an error
}

/// Calls `use` with each counter of an attribute: its field and index.
template <class Use>
void each_counter(const StructInfo& attribute, Use use) {
  for (const FieldInfo& field : attribute.fields) {
    if (is_selector(field)) continue;
    for (std::uint32_t index = 0; index < std::max<std::uint32_t>(field.count, 1); ++index) use(field, index);
  }
}

}  // namespace

CounterChange change_of(std::uint64_t before, std::uint64_t now, unsigned bits) {
  constexpr unsigned all_bits = 64;
  constexpr std::uint64_t half_range = std::uint64_t{1} << 63;
  if (bits >= all_bits) {
    // It wrapped if it went down by more than half of its range. At line rate half of the range takes decades.
    const std::uint64_t delta = now - before;
    if (delta < half_range) return {Kind::counted, delta};
    return {now > before ? Kind::implausible : Kind::reset, {}};
  }
  const std::uint64_t greatest = (std::uint64_t{1} << bits) - 1;
  if (now < before) return {Kind::reset, {}};
  if (now != greatest) return {Kind::counted, now - before};
  return {Kind::saturated, now == before ? std::nullopt : std::optional(now - before)};
}

CounterChange change_of(std::uint64_t before, std::uint64_t now, const FieldInfo& field, std::optional<double> seconds,
                        std::optional<double> octets_per_second) {
  const CounterChange change = change_of(before, now, field.bits);
  if (!change.delta || !seconds || !octets_per_second) return change;
  const std::optional<double> most = most_per_second(field, *octets_per_second);
  if (most && static_cast<double>(*change.delta) > *most * *seconds + 1) return {Kind::implausible, {}};
  return change;
}

std::optional<double> seconds_between(async::Time before, async::Time now) {
  if (now <= before) return std::nullopt;
  return std::chrono::duration<double>(now - before).count();
}

CounterChange CounterGrowth::change(const FieldInfo& field, std::uint32_t index) const {
  return change_of(read_number(before.bytes, field, index), read_number(now.bytes, field, index), field, seconds, octets_per_second);
}

bool CounterGrowth::began_anew() const {
  NewBeginning beginning;
  each_counter(*now.attribute, [&](const FieldInfo& field, std::uint32_t index) {
    beginning.add(read_number(before.bytes, field, index), change(field, index));
  });
  return beginning.found();
}

CounterKey counter_key(const subnet::Subnet& subnet, subnet::NodeIndex node, std::uint8_t select) {
  const Guid guid = subnet.node(node).guid();
  std::uint8_t twin = 0;
  for (subnet::NodeIndex at = subnet.find_node(guid); at != node && at != subnet::none && twin != CounterKey::not_kept;
       at = subnet.node(at).twin) {
    ++twin;
  }
  return {guid, twin, select};
}

std::optional<double> octets_per_second(const subnet::Subnet& subnet, subnet::PortIndex port) {
  constexpr double octets_per_megabit = 1e6 / 8;
  double mbps = subnet::best_rate(subnet, port).mbps();
  if (subnet.port(port).peer == subnet::none) mbps = subnet::supported_by_port(subnet, port).mbps();
  return mbps > 0 ? std::optional(mbps * octets_per_megabit) : std::nullopt;
}

std::optional<CounterGrowth> CounterHistory::take(const CounterKey& key, const StructInfo& attribute, async::Time time, Bytes bytes,
                                                  std::optional<double> octets_per_second) {
  if (key.twin == CounterKey::not_kept) return std::nullopt;
  CounterSample sample{&attribute, time, {bytes.begin(), bytes.end()}};
  sample.bytes.resize(attribute.bytes);
  std::vector<CounterSample>& known = samples_[key];
  const auto last = std::ranges::find(known, &attribute, &CounterSample::attribute);
  if (last == known.end()) {
    known.reserve(known.size() + 1);
    known.push_back(std::move(sample));
    return std::nullopt;
  }
  const std::optional<double> seconds = seconds_between(last->time, time);
  CounterSample before = std::exchange(*last, sample);
  return CounterGrowth{std::move(before), std::move(sample), seconds, octets_per_second};
}

const CounterSample* CounterHistory::last(const CounterKey& key, const StructInfo& attribute) const {
  const auto known = samples_.find(key);
  if (known == samples_.end()) return nullptr;
  const auto sample = std::ranges::find(known->second, &attribute, &CounterSample::attribute);
  return sample == known->second.end() ? nullptr : &*sample;
}

void CounterHistory::keep_nodes_of(const subnet::Subnet& subnet) {
  std::set<Guid> crowds;  // of which the history knows several
  for (const auto& [key, samples] : samples_) {
    if (key.twin != 0) crowds.insert(key.node);
  }
  std::erase_if(samples_, [&](const auto& entry) {
    const subnet::NodeIndex node = subnet.find_node(entry.first.node);
    return node == subnet::none || crowds.contains(entry.first.node) || subnet.node(node).twin != subnet::none;
  });
}

}  // namespace ib::counters
