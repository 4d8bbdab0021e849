// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "counters/row.hpp"

#include <algorithm>
#include <limits>

#include "base/split.hpp"
#include "iba-gen/pm.hpp"
#include "iba/dialects.hpp"
#include "iba/generic.hpp"
#include "iba/registry.hpp"

namespace ib::counters {
namespace {

namespace capability = pm::capability_mask;

constexpr std::uint32_t additional_from = 72 * 8;  // the bit at which PortCountersExtended ends in IBA 1.2.1
constexpr unsigned counter_select2_bit = 16, qp1_dropped_bit = 17;

std::vector<CounterInfo> make_counter_infos() {
  std::vector<CounterInfo> all;
  const auto info_of = [&all](const FieldInfo& field) -> CounterInfo& {
    const auto known = std::ranges::find(all, field.name, &CounterInfo::name);
    if (known != all.end()) return *known;
    CounterInfo info;
    info.name = field.name;
    info.column = column_of(field.name);
    if (field.name == "port_xmit_wait") info.needs = capability::port_counters_xmit_wait_supported;
    if (field.name == "qp1_dropped") info.needs = capability::is_qp1_drop_supported;
    info.traffic = columns[info.column].is_traffic();
    return all.emplace_back(info);
  };
  // Bits of reset masks follow the order of the counters. The bits of CounterSelect2 begin at bit 16. The first counter there
  // is PortXmitWait in PortCounters, followed by QP1Dropped, and the additional part in PortCountersExtended (IBA 16.1.3.5,
  // 16.1.4.11).
  unsigned bit = 0;
  for (const FieldInfo& field : pm::PortCounters::info().fields) {
    if (is_selector(field)) continue;
    CounterInfo& info = info_of(field);
    info.narrow = &field;
    info.narrow_reset = std::uint64_t{1} << (field.name == "qp1_dropped" ? qp1_dropped_bit : bit++);
  }
  bit = 0;
  for (const FieldInfo& field : pm::PortCountersExt::info().fields) {
    if (is_selector(field)) continue;
    CounterInfo& info = info_of(field);
    info.wide = &field;
    info.additional = field.bit_offset >= additional_from;
    info.ietf = !info.additional && info.narrow == nullptr;
    if (info.additional) bit = std::max(bit, counter_select2_bit);
    info.wide_reset = std::uint64_t{1} << bit++;
  }
  return all;
}

bool is_named(const FieldInfo* field, std::string_view name) {
  if (field == nullptr) return false;
  const FieldDialects words = dialects_of(*field);
  const std::array names{field->name, field->iba_name, words.libibmad, words.perfquery};
  return std::ranges::any_of(names, [name](std::string_view known) { return equal_ignoring_case(known, name); });
}

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

/// Takes the counters of PortExtendedSpeedsCounters. Counters of lanes are added up.
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

const StructInfo& extended_speeds_layout(smp::FecMode mode) {
  const bool is_rs = mode == smp::FecMode::rs_fec || mode == smp::FecMode::rs_fec2;
  return is_rs ? pm::PortExtendedSpeedsCountersRsFec::info() : pm::PortExtendedSpeedsCounters::info();
}

bool is_selector(const FieldInfo& field) {
  return field.reserved || field.name == "op_code" || field.name == "port_select" || field.name.view().starts_with("counter_select");
}

std::span<const CounterInfo> counter_infos() {
  static const std::vector<CounterInfo> infos = make_counter_infos();
  return infos;
}

const CounterInfo* find_counter(std::string_view name) {
  const std::span<const CounterInfo> infos = counter_infos();
  if (name.empty()) return nullptr;
  const auto found = std::ranges::find_if(
      infos, [name](const CounterInfo& counter) { return is_named(counter.narrow, name) || is_named(counter.wide, name); });
  return found == infos.end() ? nullptr : &*found;
}

bool PmaSupport::extended() const {
  return (capability_mask & (capability::is_extended_width_supported | capability::is_extended_width_no_ietf_supported)) != 0;
}

bool PmaSupport::additional() const {
  return extended() && (capability_mask2 & pm::capability_mask2::is_additional_port_counters_extended_supported) != 0;
}

bool PmaSupport::all_port_select() const { return (capability_mask & capability::all_port_select) != 0; }

bool PmaSupport::narrow(const CounterInfo& counter) const {
  return counter.narrow != nullptr && (capability_mask & counter.needs) == counter.needs;
}

bool PmaSupport::wide(const CounterInfo& counter) const {
  if (counter.wide == nullptr || !extended() || (capability_mask & counter.needs) != counter.needs) return false;
  if (counter.additional) return additional();
  return !counter.ietf || (capability_mask & capability::is_extended_width_supported) != 0;
}

async::Task<mad::Result<PmaSupport>> read_pma_support(mad::Transactor& transactor, path::Path pma) {
  const auto info = co_await transactor.try_performance_get<mad::ClassPortInfo>(pma);
  if (!info) co_return info.shared_error();
  co_return PmaSupport{info->capability_mask, info->capability_mask2};
}

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
  if (of.counter != nullptr) return of.counter->named_field();
  return column >= first_fec && is_of_lanes && of.of_lane != nullptr ? *of.of_lane : *of.of_port;
}

void CounterRow::take(const PmaSupport& support, const StructInfo& attribute, Bytes bytes, async::Time time) {
  const bool is_extended = &attribute == &pm::PortCountersExt::info();
  if (is_extended || &attribute == &pm::PortCounters::info()) {
    take_counters(*this, support, is_extended, bytes);
    traffic_time = time;
    if (!is_extended || support.additional()) error_time = time;
    return;
  }
  if (&attribute == &pm::PortRcvErrorDetails::info()) {
    take_details(*this, Source::error_details, bytes);
  } else if (&attribute == &pm::PortXmitDiscardDetails::info()) {
    take_details(*this, Source::discard_details, bytes);
  } else {
    take_fec(*this, &attribute == &pm::PortExtendedSpeedsCounters::info(), bytes);
  }
  if (error_time == async::Time{}) error_time = time;  // nothing else was read
}

}  // namespace ib::counters
