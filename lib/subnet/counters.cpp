// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/counters.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "iba-gen/pm.hpp"
#include "iba/generic.hpp"
#include "subnet/pma_supports.hpp"

namespace ib::subnet {
namespace {

namespace capability = pm::capability_mask;

constexpr std::uint32_t additional_from = 72 * 8;  // the bit at which PortCountersExtended ends in IBA 1.2.1
constexpr unsigned counter_select2_bit = 16, qp1_dropped_bit = 17;
constexpr std::uint64_t half_range = std::uint64_t{1} << 63;

/// Whether a field selects counters instead of counting.
bool is_selector(const FieldInfo& field) {
  return field.name == "port_select" || field.name == "counter_select" || field.name == "counter_select2";
}

std::uint16_t needed_for(std::string_view counter) {
  if (counter == "port_xmit_wait") return capability::port_counters_xmit_wait_supported;
  if (counter == "qp1_dropped") return capability::is_qp1_drop_supported;
  return 0;
}

std::vector<CounterInfo> make_counter_infos() {
  std::vector<CounterInfo> all;
  const auto entry = [&all](const FieldInfo& field) -> CounterInfo& {
    const auto known = std::ranges::find(all, field.name, &CounterInfo::name);
    if (known != all.end()) return *known;
    CounterInfo info;
    info.name = field.name;
    info.needs = needed_for(field.name);
    info.octets = field.unit == "4 bytes" ? 4 : 0;
    info.traffic = info.octets != 0 || field.name.ends_with("_pkts");
    return all.emplace_back(info);
  };
  // Bits of reset masks follow the order of the counters. The bits of CounterSelect2 begin at bit 16. The first counter there
  // is PortXmitWait in PortCounters, followed by QP1Dropped, and the additional part in PortCountersExtended (IBA 16.1.3.5,
  // 16.1.4.11).
  unsigned bit = 0;
  for (const FieldInfo& field : pm::PortCounters::info().fields) {
    if (field.reserved || is_selector(field)) continue;
    CounterInfo& info = entry(field);
    info.narrow = &field;
    info.narrow_reset = std::uint64_t{1} << (field.name == "qp1_dropped" ? qp1_dropped_bit : bit++);
  }
  bit = 0;
  for (const FieldInfo& field : pm::PortCountersExt::info().fields) {
    if (field.reserved || is_selector(field)) continue;
    CounterInfo& info = entry(field);
    info.wide = &field;
    info.additional = field.bit_offset >= additional_from;
    info.ietf = !info.additional && info.narrow == nullptr;
    if (info.additional) bit = std::max(bit, counter_select2_bit);
    info.wide_reset = std::uint64_t{1} << bit++;
  }
  return all;
}

/// Requests `attribute` of port `number` from a PMA.
async::Task<mad::Result<std::vector<std::uint8_t>>> ask_pma(mad::Transactor& transactor, path::Path pma, const StructInfo& attribute,
                                                            std::uint8_t number) {
  const std::array<std::uint8_t, 2> port_select{0, number};  // byte 1 in every attribute of a port
  mad::Result<std::vector<std::uint8_t>> answer = co_await transactor.try_get(pma, attribute, 0, port_select);
  co_return answer;
}

CounterChange::Kind kind_of(const CounterValue& before, const CounterValue& after) {
  using Kind = CounterChange::Kind;
  if (!before.known() || before.bits != after.bits) return Kind::unknown;
  // A counter of 64 bits wrapped if it went down by more than half of its range. At line rate, half of the range takes decades.
  const bool wrapped = after.bits == 64 && after.value - before.value < half_range;
  if (after.value < before.value && !wrapped) return Kind::reset;
  return after.saturated() ? Kind::saturated : Kind::counted;
}

CounterChange change(const CounterInfo& info, const CounterValue& before, const CounterValue& after, double seconds) {
  CounterChange change{kind_of(before, after), {}, {}};
  if (change.kind != CounterChange::Kind::counted) return change;
  change.delta = after.value - before.value;  // modulo 2^64
  if (seconds > 0) change.rate = static_cast<double>(*change.delta) * std::max(1U, info.octets) / seconds;
  return change;
}

}  // namespace

std::span<const CounterInfo> counter_infos() {
  static const std::vector<CounterInfo> infos = make_counter_infos();
  return infos;
}

bool PmaSupport::extended() const {
  return (capability_mask & (capability::is_extended_width_supported | capability::is_extended_width_no_ietf_supported)) != 0;
}

bool PmaSupport::all_port_select() const { return (capability_mask & capability::all_port_select) != 0; }

bool PmaSupport::narrow(const CounterInfo& counter) const {
  return counter.narrow != nullptr && (capability_mask & counter.needs) == counter.needs;
}

bool PmaSupport::wide(const CounterInfo& counter) const {
  if (counter.wide == nullptr || !extended() || (capability_mask & counter.needs) != counter.needs) return false;
  if (counter.additional) return (capability_mask2 & pm::capability_mask2::is_additional_port_counters_extended_supported) != 0;
  return !counter.ietf || (capability_mask & capability::is_extended_width_supported) != 0;
}

const CounterValue& CounterReading::operator[](std::string_view name) const {
  const std::span<const CounterInfo> infos = counter_infos();
  const auto found = std::ranges::find(infos, name, &CounterInfo::name);
  if (found == infos.end()) throw std::invalid_argument("no counter is named " + std::string(name));
  return values.at(static_cast<std::size_t>(found - infos.begin()));
}

CounterReading merge_counters(const PmaSupport& support, Bytes port_counters, Bytes port_counters_extended) {
  CounterReading reading;
  reading.values.reserve(counter_infos().size());
  for (const CounterInfo& info : counter_infos()) {
    CounterValue value;
    const bool wide = support.wide(info) && !port_counters_extended.empty();
    const FieldInfo* field = wide ? info.wide : info.narrow;
    if (wide || (support.narrow(info) && !port_counters.empty())) {
      value.value = read_number(wide ? port_counters_extended : port_counters, *field);
      value.bits = static_cast<std::uint8_t>(field->bits);
    }
    reading.values.push_back(value);
  }
  return reading;
}

async::Task<mad::Result<PmaSupport>> read_pma_support(mad::Transactor& transactor, path::Path pma) {
  const auto info = co_await transactor.try_performance_get<mad::ClassPortInfo>(pma);
  if (!info) co_return info.shared_error();
  co_return PmaSupport{info->capability_mask, info->capability_mask2};
}

async::Task<mad::Result<CounterReading>> read_counters(mad::Transactor& transactor, path::Path pma, std::uint8_t number,
                                                       PmaSupport support) {
  std::vector<std::uint8_t> narrow, wide;
  const bool all_wide =
      std::ranges::none_of(counter_infos(), [&](const CounterInfo& info) { return support.narrow(info) && !support.wide(info); });
  if (!all_wide) {
    mad::Result<std::vector<std::uint8_t>> answer = co_await ask_pma(transactor, pma, pm::PortCounters::info(), number);
    if (!answer) co_return answer.shared_error();
    narrow = std::move(*answer);
  }
  if (support.extended()) {
    mad::Result<std::vector<std::uint8_t>> answer = co_await ask_pma(transactor, pma, pm::PortCountersExt::info(), number);
    if (!answer) co_return answer.shared_error();
    wide = std::move(*answer);
  }
  co_return merge_counters(support, narrow, wide);
}

namespace {

async::Task<mad::Result<CounterReading>> read_surveyed(PmaSupports& supports, SurveyPort port) {
  const mad::Result<PmaSupport> support = co_await supports.of(port);
  if (!support) co_return support.shared_error();
  mad::Result<CounterReading> reading = co_await read_counters(port.transactor, port.path, port.number, *support);
  co_return reading;
}

}  // namespace

async::Task<Surveyed<CounterReading>> survey_counters(mad::Transactor& transactor, const Subnet& subnet, std::vector<PortIndex> ports,
                                                      SurveyOptions options) {
  PmaSupports supports(subnet);
  const SurveyQuestion<CounterReading> ask = [&supports](SurveyPort port) { return read_surveyed(supports, port); };
  Surveyed<CounterReading> found = co_await survey(transactor, subnet, std::move(ports), std::move(options), ask);
  co_return found;
}

std::optional<std::uint64_t> least_growth(const CounterValue& before, const CounterValue& after) {
  const CounterChange::Kind kind = kind_of(before, after);
  const bool is_full = kind == CounterChange::Kind::saturated;
  if (kind != CounterChange::Kind::counted && !(is_full && after.value > before.value)) return std::nullopt;
  return after.value - before.value;
}

std::vector<CounterChange> difference(const CounterReading& before, const CounterReading& after, double seconds) {
  std::vector<CounterChange> changes;
  const std::span<const CounterInfo> infos = counter_infos();
  for (std::size_t i = 0; i < infos.size() && i < before.values.size() && i < after.values.size(); ++i) {
    changes.push_back(change(infos[i], before.values[i], after.values[i], seconds));
  }
  return changes;
}

}  // namespace ib::subnet
