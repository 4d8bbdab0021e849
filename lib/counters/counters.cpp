// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB

#include "counters/counters.hpp"

#include <algorithm>

#include "base/letter_case.hpp"
#include "counters/row.hpp"
#include "iba-gen/pm.hpp"
#include "iba/dialects.hpp"

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
    info.octets = field.unit == "4 bytes" ? 4 : 0;
    info.traffic = info.octets != 0 || field.name.view().ends_with("_pkts");
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
  const std::array names{field->name.view(), field->iba_name.view(), words.libibmad, words.perfquery};
  return std::ranges::any_of(names, [name](std::string_view known) { return equal_ignoring_case(known, name); });
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

}  // namespace ib::counters
