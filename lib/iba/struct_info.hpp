// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Descriptors of IBA structures. A tool needs only the descriptor to decode, print or build a structure. The tables of
// descriptors are generated from iba-defs/. The bytes of a structure together with its StructInfo are the "generic view";
// program logic uses the generated typed structs instead.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace ib {

struct EnumInfo;
struct StructInfo;

/// A text of iba-defs: its place in the one text that holds them all. Each table of words is made of these, and has no pointers that would
/// have to be adjusted whenever a program starts.
struct Word {
  std::uint32_t at : 24 = 0, size : 8 = 0;

  std::string_view view() const;
  operator std::string_view() const { return view(); }
  bool empty() const { return size == 0; }
};
inline bool operator==(Word word, std::string_view text) { return word.view() == text; }
inline bool operator==(Word one, Word other) { return one.view() == other.view(); }
inline bool operator<(Word one, Word other) { return one.view() < other.view(); }
inline std::string_view format_as(Word word) { return word.view(); }  // for fmt

/// The descriptor that a field refers to, or null: its place in the generated table, from 1 on.
template <class Info>
struct InfoRef {
  std::uint16_t place = 0;

  operator const Info*() const;
  const Info* operator->() const { return *this; }
};

/// The type of a field.
enum class FieldKind : std::uint8_t { uint, guid, gid, lid, text, bytes, structure };
/// How a field's value is printed if it has no enum or flag text.
enum class Display : std::uint8_t { dec, hex, gid_prefix, guid, gid, text, bytes };

/// One value of an enumeration, or one flag.
struct EnumValue {
  Word name;  ///< as an identifier: `link_up`
  Word text;  ///< as people read it: `LinkUp`
  std::uint64_t number;
};

/// The descriptor of an enumeration or of a set of flags.
struct EnumInfo {
  bool flags;  ///< each number is a single bit; bits may be combined
  std::span<const EnumValue> values;
};

/// The SA component-mask bit of one member of a nested structure (of element 0 if the member is an array).
struct MemberMask {
  Word member;  ///< C++ name
  std::int8_t bit;
};

/// The descriptor of one field. What other programs call it is in iba/dialects.hpp.
struct FieldInfo {
  Word name;                 ///< C++ member and JSON key: `node_guid`
  Word iba_name;             ///< the name in the IBA and in packet dumps: `nodeGUID`
  Word unit;                 ///< empty if the value has none
  std::uint32_t bit_offset;  ///< of element 0, from the first bit of the structure (bit 0 = MSB of byte 0)
  std::uint32_t bits;        ///< of one element
  std::uint32_t count;       ///< number of elements; 1 for a scalar
  FieldKind kind;
  Display display;
  bool reserved;
  bool counter;               ///< only grows until it is set to zero, stops at its greatest value or wraps
  bool changes;               ///< a value other than zero would change something in the device; typed structs send it as zero
  bool secret;                ///< a key, which printers hide while it is set; see iba/secrets.hpp
  std::int8_t mask_bit;       ///< first SA component-mask bit of the field, −1 if there is none
  std::uint8_t mask_bits;     ///< number of mask bits from mask_bit on: one per element, or all bits of one value
  std::uint8_t well_known;    ///< of a secret: the one value besides 0 that is public
  std::uint8_t member_masks;  ///< number of rows that iba/registry.hpp's member_masks() returns
  std::uint16_t first_member_mask;
  InfoRef<EnumInfo> enumeration;  ///< null if the value is a plain number
  InfoRef<StructInfo> structure;  ///< of a nested structure, otherwise null
};

/// One part of an attribute modifier. Bit 0 is the most significant of the 32 bits.
struct ModifierInfo {
  std::string_view name;
  std::uint32_t bit_offset;
  std::uint32_t bits;
};

/// The descriptor of one structure.
struct StructInfo {
  std::string_view name;      ///< qualified C++ name below ib: `smp::PortInfo`
  std::string_view iba_name;  ///< the name in dumps and on the command line: `SMPPortInfo`
  std::string_view title;     ///< as people read it: `PortInfo`
  std::string_view section;   ///< of the IBA specification, or of the source for vendor structures
  std::uint32_t bytes;        ///< size on the wire
  std::int32_t attribute_id;  ///< −1 if the structure is not a MAD attribute
  std::uint8_t mgmt_class;    ///< 0 if the structure belongs to no class or to several
  std::uint8_t class_version;
  std::uint32_t methods;  ///< one bit for each method number below 32: 1<<1 Get, 1<<2 Set, 1<<18 GetTable, …
  std::span<const FieldInfo> fields;
  bool format;                             ///< a whole MAD of its class, whose field `data` holds the attribute
  std::string_view variant;                ///< not empty for a second layout of an attribute; only the context shows which layout applies
  std::span<const ModifierInfo> modifier;  ///< empty if the modifier is unused or has no parts
  std::string_view saquery_name;           ///< the heading in ibtool saquery (`MCMember Record`), or empty
  std::uint32_t oui;                       ///< of an attribute of a vendor class of range 2 (IBA 16.5), otherwise 0
  std::int32_t register_id;                ///< of a register, which AccessRegister carries: the attribute modifier; otherwise −1
  std::int32_t selector;                   ///< of one layout of a register: the index of the field that selects it, otherwise −1
  std::uint32_t selected;                  ///< the value of that field for which the register has this layout
};

namespace detail {
extern const char words[];
extern const EnumInfo enums[];
extern const StructInfo structs[];
}  // namespace detail

inline std::string_view Word::view() const { return {detail::words + at, size}; }
template <>
inline InfoRef<EnumInfo>::operator const EnumInfo*() const {
  return place == 0 ? nullptr : detail::enums + place - 1;
}
template <>
inline InfoRef<StructInfo>::operator const StructInfo*() const {
  return place == 0 ? nullptr : detail::structs + place - 1;
}

}  // namespace ib
