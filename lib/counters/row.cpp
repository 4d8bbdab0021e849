// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "counters/row.hpp"

#include <algorithm>
#include <string>

#include "iba-gen/pm.hpp"
#include "iba/generic.hpp"

namespace ib::counters {
namespace {

constexpr std::size_t first_detail = counter_columns, first_fec = counter_columns + detail_columns;
constexpr unsigned widest = 64;  // bits: only PortCountersExtended has such fields

const FieldInfo* field_in(const StructInfo& attribute, std::string_view name) {
  const auto found = std::ranges::find(attribute.fields, name, &FieldInfo::name);
  if (found == attribute.fields.end() && !name.empty()) throw std::logic_error("no field is named " + std::string(name));
  return found == attribute.fields.end() ? nullptr : &*found;
}

/// The fields of each column.
struct Fields {
  std::array<const CounterInfo*, counter_columns> counters{};
  std::array<const FieldInfo*, detail_columns> details{};
  std::array<const FieldInfo*, fec_columns> of_port{}, of_lane{};

  Fields() {
    for (std::size_t column = 0; column < first_detail; ++column) counters[column] = find_info(columns[column].field);
    for (std::size_t column = first_detail; column < first_fec; ++column) {
      const bool is_error = columns[column].source == Source::error_details;
      const StructInfo& attribute = is_error ? pm::PortRcvErrorDetails::info() : pm::PortXmitDiscardDetails::info();
      details[column - first_detail] = field_in(attribute, columns[column].field);
    }
    for (std::size_t column = first_fec; column < columns.size(); ++column) {
      of_port[column - first_fec] = field_in(pm::PortExtendedSpeedsCountersRsFec::info(), columns[column].field);
      of_lane[column - first_fec] = field_in(pm::PortExtendedSpeedsCounters::info(), columns[column].lane_field);
    }
  }

 private:
  static const CounterInfo* find_info(std::string_view name) {
    const std::span<const CounterInfo> infos = counter_infos();
    const auto found = std::ranges::find(infos, name, &CounterInfo::name);
    if (found == infos.end()) throw std::logic_error("no counter is named " + std::string(name));
    return &*found;
  }
};

const Fields& fields() {
  static const Fields known;
  return known;
}

void add_details(CounterRow& row, const PmaReading& reading) {
  for (std::size_t column = first_detail; column < first_fec; ++column) {
    const Bytes bytes = columns[column].source == Source::error_details ? reading.error_details : reading.discard_details;
    if (bytes.empty()) continue;
    row.known |= std::uint64_t{1} << column;
    const std::size_t at = column - first_detail;
    row.details[at] = static_cast<std::uint16_t>(read_number(bytes, *fields().details[at]));
  }
}

/// Adds the counters of PortExtendedSpeedsCounters. Those of lanes are added up.
void add_fec(CounterRow& row, const PmaReading& reading) {
  if (reading.speeds.empty() || reading.speeds_info == nullptr) return;
  row.is_of_lanes = reading.speeds_info == &pm::PortExtendedSpeedsCounters::info();
  for (std::size_t at = 0; at < fec_columns; ++at) {
    const FieldInfo* field = row.is_of_lanes ? fields().of_lane[at] : fields().of_port[at];
    if (field == nullptr) continue;
    row.known |= std::uint64_t{1} << (first_fec + at);
    const std::uint64_t most = (std::uint64_t{1} << field->bits) - 1;
    for (std::uint32_t lane = 0; lane < std::max<std::uint32_t>(field->count, 1); ++lane) {
      const std::uint64_t value = read_number(reading.speeds, *field, lane);
      row.fec[at] += value;
      if (value == most) row.full_fec = static_cast<std::uint8_t>(row.full_fec | 1U << at);
    }
  }
}

}  // namespace

bool CounterRow::is_full(std::size_t column) const {
  if (!is_known(column)) return false;
  if (column >= first_fec) return (full_fec >> (column - first_fec) & 1U) != 0;
  return CounterValue{value(column), static_cast<std::uint8_t>(field(column).bits)}.saturated();
}

const FieldInfo& CounterRow::field(std::size_t column) const {
  if (column >= first_fec) return named_field(column);
  if (column >= first_detail) return *fields().details[column - first_detail];
  const CounterInfo& info = *fields().counters[column];
  return is_wide(column) || info.narrow == nullptr ? *info.wide : *info.narrow;
}

const FieldInfo& CounterRow::named_field(std::size_t column) const {
  if (column < first_detail) {
    const CounterInfo& info = *fields().counters[column];
    return info.narrow != nullptr ? *info.narrow : *info.wide;
  }
  if (column < first_fec) return *fields().details[column - first_detail];
  const FieldInfo* of_lane = fields().of_lane[column - first_fec];
  return is_of_lanes && of_lane != nullptr ? *of_lane : *fields().of_port[column - first_fec];
}

CounterValue value_of(const PmaReading& reading, std::size_t column) {
  const CounterInfo& info = *fields().counters[column];
  const auto value_in = [](Bytes attribute, const FieldInfo& field) {
    return CounterValue{read_number(attribute, field), static_cast<std::uint8_t>(field.bits)};
  };
  if (!reading.extended.empty() && reading.support.wide(info)) return value_in(reading.extended, *info.wide);
  if (!reading.counters.empty() && reading.support.narrow(info)) return value_in(reading.counters, *info.narrow);
  return {};
}

CounterRow row_of(const PmaReading& reading) {
  CounterRow row;
  row.port = reading.port;
  row.error_time = reading.error_time();
  row.traffic_time = reading.extended.empty() ? reading.counters_time : reading.extended_time;
  for (std::size_t column = 0; column < first_detail; ++column) {
    const CounterValue value = value_of(reading, column);
    if (!value.known()) continue;
    row.known |= std::uint64_t{1} << column;
    if (value.bits == widest) row.wide |= 1U << column;
    row.counters[column] = value.value;
  }
  add_details(row, reading);
  add_fec(row, reading);
  return row;
}

}  // namespace ib::counters
