// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "counters/row.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "iba-gen/pm.hpp"
#include "iba/generic.hpp"

namespace ib::counters {
namespace {

constexpr std::size_t first_detail = counter_columns, first_fec = counter_columns + detail_columns;

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

void take_details(CounterRow& row, Source source, Bytes bytes) {
  for (std::size_t column = first_detail; column < first_fec; ++column) {
    if (columns[column].source != source) continue;
    row.known |= std::uint64_t{1} << column;
    const std::size_t at = column - first_detail;
    row.details[at] = static_cast<std::uint16_t>(read_number(bytes, *fields().details[at]));
  }
}

/// Takes the counters of PortExtendedSpeedsCounters. Those of lanes are added up.
void take_fec(CounterRow& row, bool is_of_lanes, Bytes bytes) {
  row.is_of_lanes = is_of_lanes;
  row.full_fec = 0;
  for (std::size_t at = 0; at < fec_columns; ++at) {
    const FieldInfo* field = is_of_lanes ? fields().of_lane[at] : fields().of_port[at];
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
    const CounterInfo& info = *fields().counters[column];
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
    if (error_time == async::Time{}) error_time = time;  // it is read alone
    return;
  }
  const bool is_extended = &attribute == &pm::PortCountersExt::info();
  take_counters(*this, support, is_extended, bytes);
  traffic_time = time;
  if (!is_extended || support.additional()) error_time = time;
}

}  // namespace ib::counters
