// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The searches are linear: there are about 150 structures, and no hot path looks one up per packet.
#include "iba/registry.hpp"

#include <functional>

#include "base/split.hpp"
#include "iba-gen/mlx.hpp"
#include "iba/generic.hpp"
#include "iba/tables.hpp"
#include "iba/wire.hpp"

namespace ib {
namespace {

constexpr std::uint16_t first_with_general_info = 47396;  // InfiniScale III, whose GeneralInfo has a layout of its own

/// The row of the class, the attribute and the OUI. `attribute` −1 means the MAD format of the class.
const StructInfo* find_row(std::uint8_t mgmt_class, std::uint8_t class_version, std::int32_t attribute, std::uint32_t oui) {
  for (const detail::IndexRow& row : detail::tables().index) {
    if (row.mgmt_class == mgmt_class && row.class_version == class_version && row.attribute_id == attribute && row.oui == oui &&
        row.structure->variant.empty() && row.structure->register_id < 0)
      return row.structure;
  }
  return nullptr;
}

}  // namespace

std::span<const StructInfo> all_structs() { return detail::tables().structs; }

const StructInfo* find_struct(std::string_view name) {
  const StructInfo* by_title = nullptr;
  int titles = 0;
  for (const StructInfo& s : all_structs()) {
    if (equal_ignoring_case(s.iba_name, name) || equal_ignoring_case(s.name, name)) return &s;
    if (equal_ignoring_case(s.title, name)) {
      by_title = &s;
      ++titles;
    }
  }
  return titles == 1 ? by_title : nullptr;
}

const StructInfo* find_format(std::uint8_t mgmt_class, std::uint8_t class_version, std::uint8_t base_version, std::uint32_t oui) {
  if (base_version != 1) return nullptr;
  if (const auto* found = find_row(mgmt_class, class_version, -1, oui)) return found;
  if (const auto* found = find_row(mgmt_class, class_version, -1, 0)) return found;
  if (!is_vendor(mgmt_class)) return nullptr;
  if (find_keyed_data(mgmt_class) != nullptr) return find_row(mgmt_class, 1, -1, 0);  // of any version: its key is hidden
  return find_row(mgmt_class < 0x30 ? 0x09 : 0x30, 1, -1, 0);
}

const StructInfo* find_keyed_data(std::uint8_t mgmt_class) {
  return mgmt_class == 0x0a || mgmt_class == 0x0c ? find_struct("mlx::KeyedData") : nullptr;
}

const StructInfo* find_attribute(std::uint8_t mgmt_class, std::uint8_t class_version, std::uint16_t attribute_id, std::uint32_t oui) {
  if (const auto* found = find_row(mgmt_class, class_version, attribute_id, oui)) return found;
  if (oui != 0) return nullptr;
  return find_row(mgmt_class, class_version, attribute_id, 0);
}

const StructInfo* find_register(std::uint32_t register_id, Bytes attribute) {
  const StructInfo* any = nullptr;
  for (const StructInfo& info : all_structs()) {
    if (info.register_id < 0 || static_cast<std::uint32_t>(info.register_id) != register_id) continue;
    if (info.selector < 0) {
      any = &info;
      continue;
    }
    if (is_layout(attribute, info)) return &info;
  }
  return any;
}

std::uint32_t mad_oui(Bytes mad) {
  const auto mgmt_class = static_cast<std::uint8_t>(wire::get_bits(mad, 8, 8));
  return has_oui(mgmt_class) ? static_cast<std::uint32_t>(wire::get_bits(mad, 296, 24)) : 0;
}

/// GeneralInfo has two layouts. The answer says which device sent it; a request has no data, and the first layout.
const StructInfo* find_attribute_in(Bytes mad) {
  const auto number = [&](unsigned byte, unsigned bytes) { return wire::get_bits(mad, byte * 8, bytes * 8); };
  const StructInfo* info = find_attribute(static_cast<std::uint8_t>(number(1, 1)), static_cast<std::uint8_t>(number(2, 1)),
                                          static_cast<std::uint16_t>(number(16, 2)), mad_oui(mad));
  constexpr std::size_t data_offset = 24;  // of the vendor class 0x0a
  if (info == &mlx::GeneralInfo::info()) {
    constexpr std::size_t device_id = data_offset + 10;
    const bool is_old = number(device_id, 2) == 0 || number(device_id, 2) == first_with_general_info;
    return is_old ? info : &mlx::Is4GeneralInfo::info();
  }
  if (info != &mlx::AccessRegister::info()) return info;
  const StructInfo* held = find_register(static_cast<std::uint32_t>(number(20, 4)), mad.subspan(std::min(data_offset, mad.size())));
  return held != nullptr ? held : info;
}

std::vector<AttributeClass> classes_of(const StructInfo& attribute) {
  std::vector<AttributeClass> found;
  for (const detail::IndexRow& row : detail::tables().index) {
    if (row.attribute_id == attribute.attribute_id && row.attribute_id >= 0 && row.structure == &attribute)
      found.push_back({row.mgmt_class, row.class_version, row.oui});
  }
  return found;
}

const StructInfo* find_trap(std::uint16_t trap_number) {
  const auto traps = detail::tables().traps;
  const auto found = std::ranges::find(traps, trap_number, &detail::TrapRow::number);
  return found != traps.end() ? found->structure : nullptr;
}

std::span<const MemberMask> member_masks(const FieldInfo& outer) {
  return detail::tables().member_masks.subspan(outer.first_member_mask, outer.member_masks);
}

const FieldInfo* find_field(const StructInfo& info, std::string_view name) {
  const auto exact = std::ranges::find_if(info.fields, [&](const FieldInfo& f) { return f.name == name || f.iba_name == name; });
  if (exact != info.fields.end()) return &*exact;
  const auto loose = std::ranges::find_if(info.fields, [&](const FieldInfo& f) {
    if (equal_ignoring_case(f.name, name) || equal_ignoring_case(f.iba_name, name)) return true;
    const std::string_view legacy = dialects_of(f).smpquery;
    return !legacy.empty() && equal_ignoring_case(legacy, name);
  });
  return loose != info.fields.end() ? &*loose : nullptr;
}

FieldDialects dialects_of(const FieldInfo& field) {
  const std::span<const FieldInfo> fields = detail::tables().fields;
  constexpr std::less<> before;  // also of pointers that are not into one table
  if (before(&field, fields.data()) || !before(&field, fields.data() + fields.size())) return {};
  const std::span<const detail::DialectRow> rows = detail::tables().dialects;
  const auto row = std::ranges::lower_bound(rows, &field - fields.data(), {}, &detail::DialectRow::field);
  if (row == rows.end() || row->field != &field - fields.data()) return {};
  return row->dialects;
}

std::span<const QueryInfo> all_queries() { return detail::tables().queries; }

const QueryInfo* find_query(std::uint8_t mgmt_class, std::uint16_t attribute_id) {
  const std::span<const QueryInfo> all = all_queries();
  const auto found = std::ranges::find_if(
      all, [&](const QueryInfo& query) { return query.mgmt_class == mgmt_class && query.info->attribute_id == attribute_id; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace ib
