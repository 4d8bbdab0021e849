// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The interface between the generated tables of descriptors and the registry. Other code uses iba/registry.hpp. The tables contain numbers
// only: a text is an offset in one long text, and a reference is the number of another row. A pointer in a table would have to be relocated
// at each start of the program, and there were 13,000 of them. The descriptors of struct_info.hpp are made from the rows when they are
// first used.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "iba/struct_info.hpp"

namespace ib::detail {

/// A part of one long text.
struct StoredText {
  std::uint32_t at : 24, size : 8;

  constexpr std::string_view in(const char* texts) const { return {texts + at, size}; }
};

/// Rows of another table, one after another.
struct StoredRows {
  std::uint16_t first, count;
};

struct StoredEnumValue {
  StoredText name, text;
  std::uint64_t number;
};

struct StoredEnum {
  StoredText name;
  bool flags;
  StoredRows values;
};

struct StoredMask {
  StoredText member;
  std::int8_t bit;
};

/// FieldInfo, member by member.
struct StoredField {
  StoredText name, iba_name, legacy_name;
  std::uint32_t bit_offset, bits, count;
  FieldKind kind;
  Display display;
  bool reserved;
  std::int8_t mask_bit;
  std::int16_t enumeration, structure;  ///< −1: none
  StoredText unit, saquery_name, perfquery_name;
  StoredRows member_masks;
  StoredText was, libibmad_name;
  LibibmadText libibmad_text;
  std::uint8_t libibmad_bits, libibmad_rank, mask_bits;
  bool secret;
  std::uint64_t well_known;
  bool counter;
};

struct StoredModifier {
  StoredText name;
  std::uint32_t bit_offset, bits;
};

/// StructInfo, member by member.
struct StoredStruct {
  StoredText name, iba_name, title, section;
  std::uint32_t bytes;
  std::int32_t attribute_id;
  std::uint8_t mgmt_class, class_version;
  std::uint32_t methods;
  StoredRows fields;
  bool format;
  StoredText variant;
  StoredRows modifier;
  StoredText saquery_name;
  std::uint32_t oui;
};

/// One attribute (or, with attribute_id −1, one MAD format) of one management class.
struct IndexRow {
  std::uint8_t mgmt_class;
  std::uint8_t class_version;
  std::uint32_t oui;  ///< 0 means any
  std::int32_t attribute_id;
  std::uint16_t structure;
};

/// The layout of a trap's DataDetails.
struct TrapRow {
  std::uint16_t number, structure;
};

struct StoredTables {
  const char* texts;  ///< of every StoredText
  std::span<const StoredEnumValue> values;
  std::span<const StoredEnum> enums;
  std::span<const StoredMask> masks;
  std::span<const StoredField> fields;
  std::span<const StoredModifier> modifiers;
  std::span<const StoredStruct> structs;
  std::span<const IndexRow> index;
  std::span<const TrapRow> traps;
};

/// Generated.
const StoredTables& stored_tables();

/// The structure of that row, which lives as long as the program.
const StructInfo& structure(std::size_t row);
/// The enumeration of that row, which lives as long as the program.
const EnumInfo& enumeration(std::size_t row);

}  // namespace ib::detail
