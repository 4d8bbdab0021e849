// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The component mask becomes a list of tests, each of some bits of the record.
#include "sa/table_match.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "iba-gen/sa.hpp"
#include "iba/registry.hpp"
#include "iba/wire.hpp"
#include "sa/rates.hpp"

namespace ib::sa {
namespace {

constexpr std::uint64_t bits(std::initializer_list<unsigned> numbers) {
  std::uint64_t mask = 0;
  for (const unsigned number : numbers) mask |= std::uint64_t{1} << number;
  return mask;
}
constexpr std::uint64_t range(unsigned first, unsigned last) { return (~std::uint64_t{0} >> (63 - last)) & (~std::uint64_t{0} << first); }

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

/// Whether the capability mask of a PortInfoRecord has the bit of extended speeds.
bool says_extended_speeds(Bytes row) {
  constexpr std::uint32_t extended_speeds = 1U << 14;  // IBA 14.2.5.6 CapabilityMask
  const auto record = wire::unpack_short<PortInfoRecord>(row);
  return (static_cast<std::uint32_t>(record.port_info.capability_mask) & extended_speeds) != 0;
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

std::uint64_t heeded_components(const StructInfo& record) {
  const auto is = [&record](const StructInfo& info) { return &record == &info; };
  if (is(PortInfoRecord::info())) {
    // Not InitTypeReply, ClientReregister, the trap suppression, and the hints on credits and latency.
    return bits({0, 1}) | range(3, 18) | range(20, 29) | range(31, 42) | bits({45, 47, 48, 49, 53, 54, 55, 57});
  }
  if (is(SwitchInfoRecord::info())) return bits({0});
  if (is(LinkRecord::info())) return range(0, 3);
  if (is(LinearForwardingTableRecord::info())) return bits({0, 1});
  if (is(MulticastForwardingTableRecord::info())) return bits({0, 1, 3});
  if (is(SLToVLMappingTableRecord::info()) || is(VLArbitrationTableRecord::info()) || is(PKeyTableRecord::info())) return range(0, 2);
  if (is(SMInfoRecord::info())) return bits({0, 2, 5, 6});
  if (is(InformInfoRecord::info())) return bits({0, 1});
  if (is(GuidInfoRecord::info())) return bits({0, 1});
  if (is(ServiceRecord::info())) return range(0, 2) | range(5, 36);    // not the lease
  if (is(MCMemberRecord::info())) return range(0, 9) | range(12, 17);  // not the packet life time
  if (is(NodeRecord::info())) return bits({0}) | range(2, 14);
  return ~std::uint64_t{0};
}

TableMatch::TableMatch(const StructInfo& record, Bytes wanted, std::uint64_t component_mask, PortInfoMatch ports)
    : record_(record), wanted_(wanted.begin(), wanted.end()), mask_(component_mask & heeded_components(record)), ports_(std::move(ports)) {
  for (const FieldInfo& field : record.fields) {
    if (field.reserved) continue;
    for (std::uint32_t i = 0; i < field.count; ++i) {
      const std::uint32_t at = field.bit_offset + i * field.bits;
      if ((mask_ & mask_of(field, i)) != 0) add(field, at, field.bits);
      for (const MemberMask& member : field.member_masks) {
        const FieldInfo* inner = find_field(*field.structure, member.member);
        for (std::uint32_t k = 0; inner != nullptr && !inner->reserved && k < inner->count; ++k) {
          if ((mask_ >> (static_cast<unsigned>(member.bit) + k) & 1U) != 0)
            add(*inner, at + inner->bit_offset + k * inner->bits, inner->bits);
        }
      }
    }
  }
}

void TableMatch::add(const FieldInfo& field, std::uint32_t bit, std::uint32_t width) {
  const std::string selector_name = std::string(field.name) + "_selector";
  if (find_field(record_, selector_name) != nullptr) return;  // the selector adds it
  if (field.name.ends_with("_selector")) {
    const FieldInfo* selected = find_field(record_, field.name.substr(0, field.name.size() - std::string_view("_selector").size()));
    // opensm compares as soon as there is a selector, with the value 0 if the query has no value.
    if (selected != nullptr) add_selected(*selected, selected->bit_offset, wire::get_bits(wanted_, bit, width));
    return;
  }
  How how = How::equal;
  const bool is_port_info = &record_ == &PortInfoRecord::info();
  if (field.kind == FieldKind::structure && field.structure == &smp::NodeDescription::info()) how = How::text;
  if (is_port_info && ports_.all_of_these_bits && field.name.starts_with("capability_mask")) how = How::all_bits;
  if (is_port_info && field.name.starts_with("link_speed_ext_")) how = How::extended;
  if (&record_ == &MCMemberRecord::info() && field.name == "p_key") how = How::partition;
  // opensm compares the whole byte of ProxyJoin, with its reserved bits.
  if (&record_ == &MCMemberRecord::info() && field.name == "proxy_join") width = 8;
  tests_.push_back({bit, width, how});
}

void TableMatch::add_selected(const FieldInfo& field, std::uint32_t bit, std::uint64_t selector) {
  const bool is_rate = field.name == "rate";
  switch (static_cast<Selector>(selector)) {
    case Selector::greater_than:
      return tests_.push_back({bit, field.bits, is_rate ? How::faster : How::greater});
    case Selector::less_than:
      return tests_.push_back({bit, field.bits, is_rate ? How::slower : How::less});
    case Selector::exactly:
      return tests_.push_back({bit, field.bits, is_rate ? How::same_rate : How::equal});
    case Selector::largest:
      return;
  }
}

bool TableMatch::passes(const Test& test, Bytes row) const {
  if (test.how == How::equal) return equal_bits(row, wanted_, test.bit, test.width);
  if (test.how == How::text) return equal_texts(row, wanted_, test.bit, test.width);
  const std::uint64_t has = wire::get_bits(row, test.bit, test.width), wants = wire::get_bits(wanted_, test.bit, test.width);
  const unsigned has_place = order_of(static_cast<Rate>(has)), wants_place = order_of(static_cast<Rate>(wants));
  constexpr std::uint64_t partition_bits = 0x7fff, full_member = 0x8000;
  switch (test.how) {
    case How::all_bits:
      return (has & wants) == wants;
    case How::less:
      return has < wants;
    case How::greater:
      return has > wants;
    case How::slower:
      return has_place < wants_place;
    case How::faster:
      return has_place > wants_place;
    case How::same_rate:
      return has_place == wants_place;
    case How::partition:
      return (has & partition_bits) == (wants & partition_bits) && ((has | wants) & full_member) != 0;
    case How::extended:
      return has == wants || !(ports_.has_extended_speeds ? ports_.has_extended_speeds(row) : says_extended_speeds(row));
    default:
      return true;
  }
}

bool TableMatch::operator()(Bytes row) const {
  return std::ranges::all_of(tests_, [&](const Test& test) { return passes(test, row); });
}

bool matches(const StructInfo& record, Bytes row, Bytes wanted, std::uint64_t component_mask) {
  return TableMatch(record, wanted, component_mask)(row);
}

}  // namespace ib::sa
