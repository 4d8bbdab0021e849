// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The interface between the generated tables of descriptors and the registry. Other code uses iba/registry.hpp.
#pragma once

#include <cstdint>
#include <span>

#include "iba/dialects.hpp"
#include "iba/queries.hpp"
#include "iba/struct_info.hpp"

namespace ib::detail {

/// One attribute (or, with attribute_id −1, one MAD format) of one management class.
struct IndexRow {
  std::uint8_t mgmt_class;
  std::uint8_t class_version;
  std::uint32_t oui;  ///< 0 means any
  std::int32_t attribute_id;
  const StructInfo* structure;
};

/// The layout of a trap's DataDetails.
struct TrapRow {
  std::uint16_t number;
  const StructInfo* structure;
};

/// A field with names of other programs.
struct DialectRow {
  std::uint16_t field;  ///< in Tables::fields
  FieldDialects dialects;
};

struct Tables {
  std::span<const StructInfo> structs;
  std::span<const FieldInfo> fields;  ///< of all structures
  std::span<const IndexRow> index;
  std::span<const TrapRow> traps;
  std::span<const FieldInfo* const> identities;  ///< the fields that are marked with identifies="yes"
  std::span<const MemberMask> member_masks;
  std::span<const QueryInfo> queries;
  std::span<const DialectRow> dialects;  ///< sorted by `field`
};

/// Generated.
const Tables& tables();

}  // namespace ib::detail
