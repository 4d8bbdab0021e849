// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The component mask becomes a list of tests, each of some bits of the record.
#include "sa/table_match.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

#include "iba/registry.hpp"
#include "iba/wire.hpp"

namespace ib::sa {
namespace {

// The data of a rate in Mb/s, by code 0…24. Those of FDR are rounded as the data of a link at FDR is: 64b/66b coding.
constexpr double fdr = 14062.5 * 64 / 66;
constexpr double data_by_code[] = {0,      0,       2000,  8000,    24000,   4000,     16000,  32000,  48000,
                                   64000,  96000,   fdr,   4 * fdr, 8 * fdr, 12 * fdr, 25000,  100000, 200000,
                                   300000, 2 * fdr, 50000, 400000,  600000,  800000,   1200000};

// In half Gb/s of what a link with 8b/10b coding signals for the same data. Only the order matters.
constexpr double order_per_mbps = 2 * 1.25 / 1000;

/// The mask bits of a field: of one element of an array whose elements have a bit each, or else of the whole field.
std::uint64_t mask_of(const FieldInfo& field, std::uint32_t element) {
  if (field.mask_bit < 0) return 0;
  const bool each = field.count > 1 && field.mask_bits == field.count;
  if (each) return std::uint64_t{1} << (static_cast<unsigned>(field.mask_bit) + element);
  return ((std::uint64_t{1} << std::max<unsigned>(field.mask_bits, 1)) - 1) << field.mask_bit;
}

bool equal_bits(Bytes a, Bytes b, std::uint32_t bit, std::uint32_t width) {
  for (std::uint32_t done = 0; done < width; done += 64) {
    const unsigned part = std::min(width - done, 64U);
    if (wire::get_bits(a, bit + done, part) != wire::get_bits(b, bit + done, part)) return false;
  }
  return true;
}

bool equal_texts(Bytes a, Bytes b, std::uint32_t bit, std::uint32_t width) {
  for (std::uint32_t done = 0; done < width; done += 8) {
    const std::uint64_t character = wire::get_bits(a, bit + done, 8);
    if (character != wire::get_bits(b, bit + done, 8)) return false;
    if (character == 0) return true;
  }
  return true;
}

}  // namespace

unsigned order_of(Rate rate) {
  const auto code = static_cast<std::size_t>(rate);
  return code < std::size(data_by_code) ? order_of_data(data_by_code[code]) : 0;
}

unsigned order_of_data(double data_mbps) { return static_cast<unsigned>(std::lround(data_mbps * order_per_mbps)); }

TableMatch::TableMatch(const StructInfo& record, Bytes wanted, std::uint64_t component_mask, bool all_of_these_bits)
    : record_(record), wanted_(wanted.begin(), wanted.end()), mask_(component_mask) {
  for (const FieldInfo& field : record.fields) {
    if (field.reserved) continue;
    for (std::uint32_t i = 0; i < field.count; ++i) {
      const std::uint32_t at = field.bit_offset + i * field.bits;
      if ((mask_ & mask_of(field, i)) != 0) add(field, at, all_of_these_bits);
      for (const MemberMask& member : member_masks(field)) {
        const FieldInfo* inner = find_field(*field.structure, member.member);
        for (std::uint32_t k = 0; inner != nullptr && !inner->reserved && k < inner->count; ++k) {
          if ((mask_ >> (static_cast<unsigned>(member.bit) + k) & 1U) != 0)
            add(*inner, at + inner->bit_offset + k * inner->bits, all_of_these_bits);
        }
      }
    }
  }
}

void TableMatch::add(const FieldInfo& field, std::uint32_t bit, bool all_of_these_bits) {
  constexpr std::string_view selector = "_selector";
  // A value is compared as its selector says, and not at all without one (IBA 15.2.5.16).
  if (find_field(record_, std::string(field.name).append(selector)) != nullptr) return;
  if (std::string_view name = field.name; name.ends_with(selector)) {
    name.remove_suffix(selector.size());
    const FieldInfo* selected = find_field(record_, name);
    if (selected != nullptr && (mask_ & mask_of(*selected, 0)) != 0) add_selected(*selected, wire::get_bits(wanted_, bit, field.bits));
    return;
  }
  Comparison comparison = Comparison::equal;
  if (field.kind == FieldKind::structure && field.structure == &smp::NodeDescription::info()) comparison = Comparison::text;
  if (all_of_these_bits && &record_ == &PortInfoRecord::info() && field.name.view().starts_with("capability_mask"))
    comparison = Comparison::all_bits;
  conditions_.push_back({bit, field.bits, comparison});
}

void TableMatch::add_selected(const FieldInfo& field, std::uint64_t selector) {
  const auto selected = static_cast<Selector>(selector);
  if (selected == Selector::largest) return;  // compares nothing
  const Comparison comparison = selected == Selector::greater_than ? Comparison::greater
                                : selected == Selector::less_than  ? Comparison::less
                                                                   : Comparison::equal;
  conditions_.push_back({field.bit_offset, field.bits, comparison, field.name == "rate"});
}

bool TableMatch::passes(const Condition& condition, Bytes row) const {
  if (condition.comparison == Comparison::text) return equal_texts(row, wanted_, condition.bit, condition.width);
  if (condition.comparison == Comparison::equal && !condition.is_rate) return equal_bits(row, wanted_, condition.bit, condition.width);
  const auto value_in = [&condition](Bytes record) {
    const std::uint64_t value = wire::get_bits(record, condition.bit, condition.width);
    return condition.is_rate ? order_of(static_cast<Rate>(value)) : value;
  };
  const std::uint64_t has = value_in(row), wants = value_in(wanted_);
  if (condition.comparison == Comparison::all_bits) return (has & wants) == wants;
  return condition.comparison == Comparison::less ? has < wants : condition.comparison == Comparison::greater ? has > wants : has == wants;
}

bool TableMatch::operator()(Bytes row) const {
  return std::ranges::all_of(conditions_, [&](const Condition& condition) { return passes(condition, row); });
}

}  // namespace ib::sa
