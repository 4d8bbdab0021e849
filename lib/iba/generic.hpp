// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The generic view: a structure as bytes plus its StructInfo. Fields are read and written by descriptor or by path
// (`nodeInfo.nodeGUID`, `GUIDBlock[3]`). Dumps, JSON, `query -f` and `saquery` are built on this view.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.hpp"
#include "iba/struct_info.hpp"
#include "iba/types.hpp"

namespace ib {

/// The value of a field. Text, opaque bytes and nested structures are views into the structure's bytes.
using Value = std::variant<std::uint64_t, Guid, Gid, GidPrefix, Lid, Bytes>;

/// One element of one field at any depth of nesting.
struct FieldRef {
  const FieldInfo* field = nullptr;
  std::uint32_t index = 0;       ///< index within an array
  bool whole = true;             ///< the path named no index
  std::uint32_t bit_offset = 0;  ///< from the first bit of the outermost structure
  int mask_bit = -1;             ///< first SA component-mask bit, −1 if there is none
  std::uint64_t mask = 0;        ///< all SA component-mask bits to set with the field
};

/// Reads element `index` of a field. The structure begins at bit `base` of `bytes`. Missing bytes read as zero, or shorten a
/// view.
Value read_field(Bytes bytes, const FieldInfo& field, std::uint32_t index = 0, std::uint32_t base = 0);

/// Reads an element as a number. Integer-like kinds of up to 64 bits have a number; other kinds give 0.
std::uint64_t read_number(Bytes bytes, const FieldInfo& field, std::uint32_t index = 0, std::uint32_t base = 0);

/// The bytes of element `index` of a field that is aligned to whole bytes, cut at the end of `bytes`.
Bytes field_bytes(Bytes bytes, const FieldInfo& field, std::uint32_t index = 0, std::uint32_t base = 0);

/// The layout of the `data` of a MAD with this attribute. It is the attribute itself, but for a ClassPortInfo of NVIDIA's class 0x0a that
/// has a key in front.
const StructInfo& layout_of(const StructInfo& attribute, Bytes data);

/// The structure that `field` holds. A structure field holds its nested structure. `data` of a MAD format holds the attribute
/// that the header names, if it fits. DataDetails of a generic notice holds the layout of its trap. Null for other fields.
const StructInfo* held_structure(Bytes bytes, const StructInfo& info, const FieldInfo& field);

/// Finds a field by path. Names are IBA, C++ or legacy names, without regard to case. The name of an array without index means
/// element 0. A name that only one nested structure has needs no prefix.
std::optional<FieldRef> find_path(const StructInfo& info, std::string_view path);

Value read_path(Bytes bytes, const FieldRef& ref);
/// Writes the low bits of `value` to the element at `ref`.
void write_number(MutableBytes bytes, const FieldRef& ref, std::uint64_t value);

/// Parses `text` according to the field's kind and writes the value. Accepts numbers (decimal, 0x, 0 octal), enum names and
/// texts, flags joined by `,` or `|`, GUIDs, GIDs, prefixes, LIDs, text, and bytes as hex digits. Returns the field that was
/// written. Throws UsageError if the path or the value is wrong, if the value does not fit, or if the field would change something in a
/// device that is read (FieldInfo::changes).
FieldRef set_field(MutableBytes bytes, const StructInfo& info, std::string_view path, std::string_view text);

/// The beginning of an assignment, `portState=` or `GUIDBlock[`, for each field that can be given a value, in the order of the fields.
std::vector<std::string> assignable_members(const StructInfo& info, const std::string& before = {});
/// The assignments in `words`, one in each element: `a=1,b=2` are two. A comma separates only where a field of the structure and `=` follow
/// it, so that a value may hold commas (texts, flags).
std::vector<std::string> separate_assignments(const std::vector<std::string>& words, const StructInfo& info);

/// Writes the value that selects this layout of a register (StructInfo::selector). Nothing for any other structure.
void select_layout(MutableBytes bytes, const StructInfo& info);
/// Whether `bytes` hold the value that selects this layout; true for any other structure.
bool is_layout(Bytes bytes, const StructInfo& info);

/// The enum text of a value, or the texts of its flags joined by `,`. Empty if the value has no text.
std::string symbol(const EnumInfo& enumeration, std::uint64_t value);

/// The number of an enum name or text, or of several flags joined by `,` or `|`, without regard to case. Nothing if there is no
/// such name.
std::optional<std::uint64_t> parse_symbol(const EnumInfo& enumeration, std::string_view text);

}  // namespace ib
