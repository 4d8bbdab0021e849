// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "counters/row.hpp"

#include <algorithm>
#include <limits>

#include "iba-gen/pm.hpp"
#include "iba/generic.hpp"
#include "iba/registry.hpp"

namespace ib::counters {
namespace {

constexpr std::size_t first_detail = counter_columns, first_fec = counter_columns + detail_columns;

/// The fields of a column.
struct Fields {
  const CounterInfo* counter{};            ///< of Source::counters
  const FieldInfo *of_port{}, *of_lane{};  ///< of other sources
};

Fields fields_of(const Column& column) {
  switch (column.source) {
    case Source::counters:
      return {&*std::ranges::find(counter_infos(), column.field, &CounterInfo::name)};
    case Source::error_details:
      return {nullptr, find_field(pm::PortRcvErrorDetails::info(), column.field)};
    case Source::discard_details:
      return {nullptr, find_field(pm::PortXmitDiscardDetails::info(), column.field)};
    default:
      return {nullptr, find_field(pm::PortExtendedSpeedsCountersRsFec::info(), column.field),
              find_field(pm::PortExtendedSpeedsCounters::info(), column.lane_field)};
  }
}

const Fields& fields(std::size_t column) {
  static const auto known = [] {
    std::array<Fields, columns.size()> all;
    std::ranges::transform(columns, all.begin(), fields_of);
    return all;
  }();
  return known[column];
}

void take_details(CounterRow& row, Source source, Bytes bytes) {
  for (std::size_t column = first_detail; column < first_fec; ++column) {
    if (columns[column].source != source) continue;
    row.known |= std::uint64_t{1} << column;
    row.details[column - first_detail] = static_cast<std::uint16_t>(read_number(bytes, *fields(column).of_port));
  }
}

/// Takes the counters of PortExtendedSpeedsCounters. Those of lanes are added up.
void take_fec(CounterRow& row, bool is_of_lanes, Bytes bytes) {
  row.is_of_lanes = is_of_lanes;
  row.full_fec = 0;
  for (std::size_t at = 0; at < fec_columns; ++at) {
    const Fields& of = fields(first_fec + at);
    const FieldInfo* field = is_of_lanes ? of.of_lane : of.of_port;
    if (field == nullptr) continue;
    row.known |= std::uint64_t{1} << (first_fec + at);
    const std::uint64_t most = (std::uint64_t{1} << field->bits) - 1;
    row.fec[at] = 0;
    for (std::uint32_t lane = 0; lane < std::max<std::uint32_t>(field->count, 1); ++lane) {
      const std::uint64_t value = read_number(bytes, *field, lane);
      row.fec[at] += value;
      if (value == most) row.full_fec = static_cast<std::uint8_t>(row.full_fec | 1U << at);
    }
  }
}

void take_counters(CounterRow& row, const PmaSupport& support, bool is_extended, Bytes bytes) {
  for (std::size_t column = 0; column < first_detail; ++column) {
    const CounterInfo& info = *fields(column).counter;
    if (is_extended ? !support.wide(info) : !support.narrow(info) || row.is_wide(column)) continue;
    row.known |= std::uint64_t{1} << column;
    if (is_extended) row.wide |= 1U << column;
    row.counters[column] = read_number(bytes, is_extended ? *info.wide : *info.narrow);
  }
}

}  // namespace

void CounterRow::add(const CounterRow& row) {
  constexpr std::uint64_t greatest = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t column = 0; column < counter_columns; ++column) {
    if (!row.is_known(column)) continue;
    known |= std::uint64_t{1} << column;
    wide |= 1U << column;  // a sum has room for more than each of its parts
    const std::uint64_t added = row.counters[column];
    counters[column] = added > greatest - counters[column] ? greatest : counters[column] + added;
  }
}

bool CounterRow::is_full(std::size_t column) const {
  if (!is_known(column)) return false;
  if (column >= first_fec) return (full_fec >> (column - first_fec) & 1U) != 0;
  const std::uint32_t bits = field(column).bits;
  return bits < 64 && value(column) == (std::uint64_t{1} << bits) - 1;
}

const FieldInfo& CounterRow::field(std::size_t column) const {
  return is_wide(column) ? *fields(column).counter->wide : named_field(column);
}

const FieldInfo& CounterRow::named_field(std::size_t column) const {
  const Fields& of = fields(column);
  if (of.counter != nullptr) return of.counter->narrow != nullptr ? *of.counter->narrow : *of.counter->wide;
  return column >= first_fec && is_of_lanes && of.of_lane != nullptr ? *of.of_lane : *of.of_port;
}

std::optional<Source> source_of(const StructInfo& attribute) {
  if (&attribute == &pm::PortCounters::info() || &attribute == &pm::PortCountersExt::info()) return Source::counters;
  if (&attribute == &pm::PortRcvErrorDetails::info()) return Source::error_details;
  if (&attribute == &pm::PortXmitDiscardDetails::info()) return Source::discard_details;
  const bool is_fec = &attribute == &pm::PortExtendedSpeedsCounters::info() || &attribute == &pm::PortExtendedSpeedsCountersRsFec::info();
  return is_fec ? std::optional(Source::fec) : std::nullopt;
}

void CounterRow::take(const PmaSupport& support, const StructInfo& attribute, Bytes bytes, async::Time time) {
  const Source source = source_of(attribute).value();
  if (source != Source::counters) {
    source == Source::fec ? take_fec(*this, &attribute == &pm::PortExtendedSpeedsCounters::info(), bytes)
                          : take_details(*this, source, bytes);
    if (error_time == async::Time{}) error_time = time;  // nothing else was read
    return;
  }
  const bool is_extended = &attribute == &pm::PortCountersExt::info();
  take_counters(*this, support, is_extended, bytes);
  traffic_time = time;
  if (!is_extended || support.additional()) error_time = time;
}

}  // namespace ib::counters
