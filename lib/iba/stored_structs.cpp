// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "iba/stored_structs.hpp"

#include <memory>
#include <vector>

namespace ib::detail {
namespace {

std::string_view text(StoredText stored) { return stored.in(stored_tables().texts); }

template <class Row>
std::span<const Row> rows(std::span<const Row> table, StoredRows rows) {
  return table.subspan(rows.first, rows.count);
}

struct MadeEnum {
  std::vector<EnumValue> values;
  EnumInfo info{};

  explicit MadeEnum(const StoredEnum& stored) {
    for (const StoredEnumValue& value : rows(stored_tables().values, stored.values))
      values.push_back({text(value.name), text(value.text), value.number});
    info = {text(stored.name), stored.flags, values};
  }
};

struct MadeStruct {
  std::vector<std::vector<MemberMask>> masks;
  std::vector<FieldInfo> fields;
  std::vector<ModifierInfo> modifier;
  StructInfo info{};

  explicit MadeStruct(const StoredStruct& stored) {
    const auto stored_fields = rows(stored_tables().fields, stored.fields);
    fields.reserve(stored_fields.size());
    for (const StoredField& field : stored_fields) fields.push_back(made(field));
    for (const StoredModifier& part : rows(stored_tables().modifiers, stored.modifier))
      modifier.push_back({text(part.name), part.bit_offset, part.bits});
    info.name = text(stored.name);
    info.iba_name = text(stored.iba_name);
    info.title = text(stored.title);
    info.section = text(stored.section);
    info.bytes = stored.bytes;
    info.attribute_id = stored.attribute_id;
    info.mgmt_class = stored.mgmt_class;
    info.class_version = stored.class_version;
    info.methods = stored.methods;
    info.fields = fields;
    info.format = stored.format;
    info.variant = text(stored.variant);
    info.modifier = modifier;
    info.saquery_name = text(stored.saquery_name);
    info.oui = stored.oui;
  }

  FieldInfo made(const StoredField& stored) {
    FieldInfo field{};
    field.name = text(stored.name);
    field.iba_name = text(stored.iba_name);
    field.legacy_name = text(stored.legacy_name);
    field.bit_offset = stored.bit_offset;
    field.bits = stored.bits;
    field.count = stored.count;
    field.kind = stored.kind;
    field.display = stored.display;
    field.reserved = stored.reserved;
    field.mask_bit = stored.mask_bit;
    if (stored.enumeration >= 0) field.enumeration = &enumeration(static_cast<std::size_t>(stored.enumeration));
    if (stored.structure >= 0) field.structure = &structure(static_cast<std::size_t>(stored.structure));
    field.unit = text(stored.unit);
    field.saquery_name = text(stored.saquery_name);
    field.perfquery_name = text(stored.perfquery_name);
    if (stored.member_masks.count != 0) {
      std::vector<MemberMask>& of_field = masks.emplace_back();
      for (const StoredMask& mask : rows(stored_tables().masks, stored.member_masks)) of_field.push_back({text(mask.member), mask.bit});
      field.member_masks = of_field;
    }
    field.was = text(stored.was);
    field.libibmad_name = text(stored.libibmad_name);
    field.libibmad_text = stored.libibmad_text;
    field.libibmad_bits = stored.libibmad_bits;
    field.libibmad_rank = stored.libibmad_rank;
    field.mask_bits = stored.mask_bits;
    field.secret = stored.secret;
    field.well_known = stored.well_known;
    field.counter = stored.counter;
    return field;
  }
};

/// The objects that were made so far, by row of a table.
template <class Made, class Row>
const Made& made_of(std::vector<std::unique_ptr<const Made>>& made, std::span<const Row> table, std::size_t row) {
  if (made.empty()) made.resize(table.size());
  if (made.at(row) == nullptr) made[row] = std::make_unique<const Made>(table[row]);
  return *made[row];
}

}  // namespace

const EnumInfo& enumeration(std::size_t row) {
  static std::vector<std::unique_ptr<const MadeEnum>> made;
  return made_of(made, stored_tables().enums, row).info;
}

const StructInfo& structure(std::size_t row) {
  static std::vector<std::unique_ptr<const MadeStruct>> made;
  return made_of(made, stored_tables().structs, row).info;
}

}  // namespace ib::detail
