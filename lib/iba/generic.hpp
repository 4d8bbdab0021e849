// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The generic view: a structure as bytes plus its StructInfo. Fields are read and written by descriptor or
// by path (`nodeInfo.nodeGUID`, `GUIDBlock[3]`); this is what dumps, JSON, `query -f` and `saquery` stand on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/bytes.hpp"
#include "iba/struct_info.hpp"
#include "iba/types.hpp"

namespace ib {

/// A field's value. Text, opaque bytes and nested structures are views into the structure's bytes.
using Value = std::variant<std::uint64_t, Guid, Gid, GidPrefix, Lid, Bytes>;

/// One element of one field, however deeply nested.
struct FieldRef {
  const FieldInfo* field = nullptr;
  std::uint32_t index = 0;       ///< within an array
  bool whole = true;             ///< the path named no index
  std::uint32_t bit_offset = 0;  ///< from the outermost structure's first bit
  int mask_bit = -1;             ///< first SA component-mask bit, −1 where there is none
  std::uint64_t mask = 0;        ///< all SA component-mask bits to set with the field
};

/// Reads element `index` of a field of the structure that begins at bit `base` of `bytes`. Bytes that are
/// not there read as zero (or make a shorter view).
Value read_field(Bytes bytes, const FieldInfo& field, std::uint32_t index = 0, std::uint32_t base = 0);

/// The same as a number, for the integer-like kinds up to 64 bits; 0 for the others.
std::uint64_t read_number(Bytes bytes, const FieldInfo& field, std::uint32_t index = 0, std::uint32_t base = 0);

/// The bytes of element `index` of a field that stands on whole bytes, cut at the end of `bytes`.
Bytes field_bytes(Bytes bytes, const FieldInfo& field, std::uint32_t index = 0, std::uint32_t base = 0);

/// The structure that a field holds: its nested structure; for `data` of a MAD format the attribute that the
/// header names, if it fits; for the DataDetails of a generic notice the layout of its trap. Null for others.
const StructInfo* held_structure(Bytes bytes, const StructInfo& info, const FieldInfo& field);

/// Finds a field by path. Names are IBA, C++ or legacy names without regard to case. A name alone of an array
/// means its element 0; a name that only one nested structure has may stand without its prefix.
std::optional<FieldRef> find_path(const StructInfo& info, std::string_view path);

Value read_path(Bytes bytes, const FieldRef& ref);
void write_number(MutableBytes bytes, const FieldRef& ref, std::uint64_t value);

/// Parses `text` as the field's kind wants it and writes it: numbers (decimal, 0x, 0 octal) or enum names and
/// texts, flags joined by `,` or `|`, GUIDs, GIDs, prefixes, LIDs, text, bytes as hex digits.
/// Throws UsageError if the path or the value is wrong or does not fit. Returns what was written.
FieldRef set_field(MutableBytes bytes, const StructInfo& info, std::string_view path, std::string_view text);

/// The enum text of a value, or the texts of its flags joined by `,`; empty where nothing fits.
std::string symbol(const EnumInfo& enumeration, std::uint64_t value);

/// The number of an enum name or text, or of several flags joined by `,` or `|`, without regard to case.
std::optional<std::uint64_t> parse_symbol(const EnumInfo& enumeration, std::string_view text);

}  // namespace ib
