// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "counters/difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "subnet/diff/counterparts.hpp"

namespace ib::counters {
namespace {

constexpr unsigned all_bits = 64;

/// The greatest number of counts that are possible in `seconds` at the rate of a link, by the unit of the counter; absent if it does not
/// depend on the rate.
std::optional<double> most_in(double seconds, const FieldInfo& field, double octets_per_second) {
  constexpr double word = 4, smallest_packet = 24;  // octets; IBA 5.2: LRH, BTH, ICRC and VCRC
  // Readings are timed at the arrival of their answers, which may be that much later than the counters were read: a late answer to an
  // earlier try counts.
  constexpr double margin = 1.25, late = 5;  // s
  const double octets = octets_per_second * margin * (seconds + late);
  if (field.unit == "4 bytes") return octets / word;
  if (field.name.view().ends_with("_pkts")) return octets / smallest_packet;
  if (field.name.view().ends_with("_wait")) return std::nullopt;  // in ticks, whose length the device chooses (IBA 16.1.3.5)
  return octets;                                                  // at most every symbol is an error
}

/// `change` with its rate, unless it is more than the link can have carried. A counter that was cleared has counted what it holds now, or
/// more.
CounterChange plausible(CounterChange change, std::uint64_t now, const FieldInfo& field, std::optional<double> seconds,
                        std::optional<double> octets_per_second) {
  if (change.delta && seconds) change.per_second = static_cast<double>(*change.delta) / *seconds;
  const std::optional<std::uint64_t> least = change.kind == ChangeKind::reset ? now : change.delta;
  if (!least || !seconds || !octets_per_second) return change;
  const std::optional<double> most = most_in(*seconds, field, *octets_per_second);
  return most && static_cast<double>(*least) > *most ? CounterChange{ChangeKind::implausible, {}} : change;
}

/// The change of a counter that stops at a greatest value, at which it was, and is, or not.
CounterChange change_below(std::uint64_t before, bool was_full, std::uint64_t now, bool is_full) {
  if (now < before || (was_full && !is_full)) return {ChangeKind::reset, {}};
  if (!is_full) return {ChangeKind::counted, now - before};
  return {ChangeKind::saturated, now == before ? std::nullopt : std::optional(now - before)};
}

bool is_notable(const CounterChange& change) {
  if (change.is_full) return true;
  return change.kind == ChangeKind::counted ? change.delta.value_or(0) != 0 : change.kind != ChangeKind::unknown;
}

/// Takes over details of `before` whose sum has not moved since: they have not, either.
void keep_details(CounterRow& row, const CounterRow& before) {
  for (std::size_t column = counter_columns; column < counter_columns + detail_columns; ++column) {
    if (row.is_known(column) || !before.is_known(column)) continue;
    const std::size_t sum = column_of(columns[column].source == Source::error_details ? "port_rcv_errors" : "port_xmit_discards");
    const bool stands_still = row.is_known(sum) && before.is_known(sum) && row.value(sum) == before.value(sum) && !row.is_full(sum);
    if (!stands_still) continue;
    row.known |= std::uint64_t{1} << column;
    row.details[column - counter_columns] = before.details[column - counter_columns];
  }
}

/// Removes nodes that `subnet` does not hold, and nodes of which several claim one GUID.
template <class T>
void keep_nodes(std::unordered_map<CounterKey, T, CounterKeyHash>& all, const subnet::Subnet& subnet) {
  std::set<Guid> crowds;  // of which `all` has several
  for (const auto& [key, value] : all) {
    if (key.twin != 0) crowds.insert(key.node);
  }
  std::erase_if(all, [&](const auto& entry) {
    const NodeIndex node = subnet.find_node(entry.first.node);
    return node == subnet::none || crowds.contains(entry.first.node) || !subnet::has_own_guid(subnet, node);
  });
}

/// The word of JSON for a change; empty if nothing is known.
std::string_view change_word(ChangeKind kind) {
  constexpr std::string_view words[] = {"", "counted", "saturated", "reset", "implausible"};
  return words[static_cast<unsigned>(kind)];
}

}  // namespace

CounterChange change_of(std::uint64_t before, std::uint64_t now, unsigned bits) {
  constexpr std::uint64_t half_range = std::uint64_t{1} << 63;
  if (bits >= all_bits) {
    // It wrapped if it went down by more than half of its range. At line rate half of the range takes decades.
    const std::uint64_t delta = now - before;
    if (delta < half_range) return {ChangeKind::counted, delta};
    return {now >= half_range ? ChangeKind::implausible : ChangeKind::reset, {}};
  }
  const std::uint64_t greatest = (std::uint64_t{1} << bits) - 1;
  return change_below(before, before == greatest, now, now == greatest);
}

CounterChange change_of(std::uint64_t before, std::uint64_t now, const FieldInfo& field, std::optional<double> seconds,
                        std::optional<double> octets_per_second) {
  return plausible(change_of(before, now, field.bits), now, field, seconds, octets_per_second);
}

std::optional<double> seconds_between(async::Time before, async::Time now) {
  if (now <= before) return std::nullopt;
  return std::chrono::duration<double>(now - before).count();
}

std::optional<double> octets_per_second(const subnet::Subnet& subnet, PortIndex port) {
  constexpr double octets_per_megabit = 1e6 / 8;
  double mbps = subnet::best_rate(subnet, port).mbps();
  if (subnet.port(port).peer == subnet::none) mbps = subnet::supported_by_port(subnet, port).mbps();
  return mbps > 0 ? std::optional(mbps * octets_per_megabit) : std::nullopt;
}

std::optional<double> waiting_share(std::uint64_t waited, std::uint8_t tick, double seconds, const subnet::LinkRate& rate) {
  constexpr std::uint8_t tick_of_whole_port = 7;
  constexpr double bits_per_megabit = 1e6, bits_per_octet = 8;
  if (!rate.known() || seconds <= 0) return std::nullopt;
  const double mbps = tick == tick_of_whole_port ? rate.data_mbps() : rate.data_mbps() / rate.lanes;
  const double seconds_per_tick = (tick + 1) * bits_per_octet / (mbps * bits_per_megabit);
  return std::min(static_cast<double>(waited) * seconds_per_tick / seconds, 1.0);
}

void CounterChange::add(const CounterChange& other) {
  if (counter == nullptr) {
    *this = other;
    return;
  }
  const bool is_known = kind != ChangeKind::unknown && other.kind != ChangeKind::unknown;
  kind = is_known ? std::max(kind, other.kind) : ChangeKind::unknown;
  now += other.now;
  const auto sum = [](auto a, auto b) { return a && b ? decltype(a)(*a + *b) : std::nullopt; };
  before = sum(before, other.before);
  delta = sum(delta, other.delta);
  per_second = sum(per_second, other.per_second);
  is_full = is_full || other.is_full;
}

const CounterChange* PortChanges::find(std::string_view counter) const {
  const auto found = std::ranges::find_if(changes, [counter](const CounterChange& of) { return of.counter->name == counter; });
  return found == changes.end() ? nullptr : &*found;
}

std::uint64_t PortChanges::delta(std::string_view counter) const {
  const CounterChange* change = find(counter);
  return change == nullptr ? 0 : change->delta.value_or(0);
}

RowDifference::RowDifference(const CounterRow* before, const CounterRow& now, std::optional<double> octets_per_second)
    : before_(before), now_(now), octets_per_second_(octets_per_second) {
  if (before == nullptr) return;
  error_seconds_ = seconds_between(before->error_time, now.error_time);
  traffic_seconds_ = seconds_between(before->traffic_time, now.traffic_time);
}

/// The earlier value of a column; absent if it is not known from the same attribute. Details that were not read before were 0 if their sum
/// was 0.
std::optional<std::uint64_t> RowDifference::before(std::size_t column) const {
  if (before_ == nullptr) return std::nullopt;
  const Source source = columns[column].source;
  if (source == Source::fec && before_->is_of_lanes != now_.is_of_lanes) return std::nullopt;
  if (before_->is_known(column))
    return before_->is_wide(column) == now_.is_wide(column) ? std::optional(before_->value(column)) : std::nullopt;
  if (source != Source::error_details && source != Source::discard_details) return std::nullopt;
  const std::size_t sum = column_of(source == Source::error_details ? "port_rcv_errors" : "port_xmit_discards");
  return before_->is_known(sum) && before_->value(sum) == 0 ? std::optional<std::uint64_t>(0) : std::nullopt;
}

CounterChange RowDifference::change(std::size_t column) const {
  CounterChange change;
  change.counter = &now_.named_field(column);
  if (!now_.is_known(column)) return change;
  const Column& of = columns[column];
  const FieldInfo& field = now_.field(column);
  const std::uint64_t now = now_.value(column);
  const std::optional<std::uint64_t> then = before(column);
  const std::optional<double> seconds = of.is_traffic() ? traffic_seconds_ : error_seconds_;
  if (then && of.source == Source::fec) {
    const CounterChange sum = change_below(*then, before_->is_full(column), now, now_.is_full(column));
    change = plausible(sum, now, field, seconds, octets_per_second_);
  } else if (then) {
    change = change_of(*then, now, field, seconds, octets_per_second_);
  }
  change.counter = &now_.named_field(column);
  change.before = then;
  change.now = now;
  change.is_full = of.source == Source::counters && now_.is_full(column);
  return change;
}

bool RowDifference::began_anew() const {
  // A restart may itself count a few errors, so that a small counter that was not reset does not speak against it.
  constexpr std::uint64_t counted_by_a_restart = 3;
  bool any_reset = false, any_kept = false;
  for (std::size_t column = 0; column < counter_columns && before_ != nullptr; ++column) {
    const CounterChange change = this->change(column);
    if (change.before.value_or(0) == 0) continue;
    if (change.kind == ChangeKind::reset) {
      any_reset = true;
    } else if (*change.before > counted_by_a_restart) {
      any_kept = true;
    }
  }
  return any_reset && !any_kept;
}

/// Adds the details of the counter `sum`, which are read right after it. A detail that has counted more than twice as much is of another
/// time.
void RowDifference::add_details(PortChanges& to, Source source, std::string_view sum) const {
  const CounterChange whole = change(column_of(sum));
  for (std::size_t column = counter_columns; column < counter_columns + detail_columns; ++column) {
    if (columns[column].source != source || !now_.is_known(column)) continue;
    if (source == Source::discard_details) to.has_discard_details = true;
    CounterChange detail = change(column);
    const bool is_of_other_time = whole.kind == ChangeKind::counted && detail.delta.value_or(0) > 2 * *whole.delta;
    if (is_of_other_time) detail.kind = ChangeKind::unknown;
    if (source == Source::discard_details && detail.kind != ChangeKind::counted) to.lacks_discard_details = true;
    if (is_notable(detail)) to.changes.push_back(detail);
  }
}

PortChanges RowDifference::errors() const {
  PortChanges all;
  all.port = now_.port;
  all.seconds = error_seconds_;
  all.began_anew = began_anew();
  const auto add = [&](std::size_t first, std::size_t last) {
    for (std::size_t column = first; column < last; ++column) {
      if (columns[column].meaning != Meaning::error) continue;
      if (const CounterChange change = this->change(column); is_notable(change)) all.changes.push_back(change);
    }
  };
  add(0, counter_columns);
  add_details(all, Source::error_details, "port_rcv_errors");
  add_details(all, Source::discard_details, "port_xmit_discards");
  add(counter_columns + detail_columns, columns.size());
  return all;
}

PortChanges RowDifference::traffic() const {
  PortChanges all;
  all.port = now_.port;
  all.seconds = traffic_seconds_;
  for (std::size_t column = 0; column < counter_columns; ++column) {
    if (!columns[column].is_traffic()) continue;
    if (const CounterChange change = this->change(column); change.kind != ChangeKind::unknown) all.changes.push_back(change);
  }
  return all;
}

void visit_growth(report::Sink& sink, const CounterChange& change, const GrowthMembers& members) {
  sink.begin_object();
  sink.value("counter", change.counter->name);
  if (members.has_index) sink.value("index", members.index);
  sink.value("count", change.now, report::counter(change.counter->unit));
  sink.text_or_null("change", change_word(change.kind));
  sink.value("delta", change.delta);
  sink.value("per_second", change.per_second);
  if (members.threshold) sink.value("threshold", *members.threshold);
  sink.end_object();
}

std::string growth_line(std::string_view label, const CounterChange& change) {
  if (change.delta.value_or(0) != 0 && change.per_second) {
    const bool is_least = change.kind == ChangeKind::saturated;
    return fmt::format("{}{:<8} (+ {:.3f}/s{})\n", label, change.now, *change.per_second, is_least ? " or more" : "");
  }
  if (change.kind == ChangeKind::reset || change.kind == ChangeKind::implausible)
    return fmt::format("{}{:<8} ({})\n", label, change.now, change_word(change.kind));
  return fmt::format("{}{}\n", label, change.now);
}

std::string growth_words(std::string_view label, const CounterChange& change) {
  if (change.kind == ChangeKind::reset || change.kind == ChangeKind::implausible)
    return fmt::format(" [{} {}]", label, change_word(change.kind));
  if (change.delta.value_or(0) == 0) return {};
  return fmt::format(" [{} + {}{} ({:.3f}/s)]", label, *change.delta, change.kind == ChangeKind::saturated ? " or more" : "",
                     change.per_second.value_or(0));
}

CounterKey counter_key(const subnet::Subnet& subnet, NodeIndex node, std::uint8_t select) {
  const Guid guid = subnet.node(node).guid();
  std::uint8_t twin = 0;
  for (NodeIndex at = subnet.find_node(guid); at != node && at != subnet::none && twin != CounterKey::not_kept; at = subnet.node(at).twin) {
    ++twin;
  }
  return {guid, twin, select};
}

std::optional<CounterRow> CounterHistory::take(const CounterKey& key, const CounterRow& row) {
  if (key.twin == CounterKey::not_kept) return std::nullopt;
  const auto [known, is_new] = rows_.try_emplace(key, row);
  if (is_new) return std::nullopt;
  const CounterRow before = std::exchange(known->second, row);
  keep_details(known->second, before);
  return before;
}

const CounterRow* CounterHistory::last(const CounterKey& key) const {
  const auto known = rows_.find(key);
  return known == rows_.end() ? nullptr : &known->second;
}

void CounterHistory::keep_nodes_of(const subnet::Subnet& subnet) { keep_nodes(rows_, subnet); }

std::optional<PmaSupport> KnownPmas::find(const subnet::Subnet& subnet, NodeIndex node) const {
  const auto known = supports_.find(counter_key(subnet, node, 0));
  return known == supports_.end() ? std::nullopt : std::optional(known->second);
}

void KnownPmas::add(const subnet::Subnet& subnet, NodeIndex node, const PmaSupport& support) {
  const CounterKey key = counter_key(subnet, node, 0);
  if (key.twin != CounterKey::not_kept) supports_[key] = support;
}

void KnownPmas::keep_nodes_of(const subnet::Subnet& subnet) { keep_nodes(supports_, subnet); }

}  // namespace ib::counters
