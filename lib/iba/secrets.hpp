// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Finds the bytes of a structure that are secret keys, which iba-defs/ marks with secret="yes". A key that is zero, or that has its
// well-known value, is not a secret and is printed like any other number. Also finds the bytes that say which node, service or piece of
// hardware it is: GUIDs, GIDs, and the texts that iba-defs/ marks with identifies="yes" (node descriptions, serial numbers). They are
// replaced where MADs are kept for others to read.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "iba/struct_info.hpp"

namespace ib {

/// The text that is printed in place of a key's value.
inline constexpr std::string_view hidden_text = "<not displayed>";

/// Whether `field` is a key with a secret value. `bytes` is the structure that contains the field; missing bytes count as zero.
bool holds_secret(Bytes bytes, const FieldInfo& field);

/// Whether any field of a structure, nested structures included, holds a secret key.
bool has_secrets(Bytes bytes, const StructInfo& info);

/// A copy of the structure with zeros in place of secret keys. Bytes after the end of the structure are copied unchanged.
std::vector<std::uint8_t> without_secrets(Bytes bytes, const StructInfo& info);

/// The place of one value of a field.
struct FieldPlace {
  const FieldInfo* field;
  std::size_t offset;  ///< in bytes from the beginning of the outermost structure
  std::size_t size;
};
/// The places of all keys of a structure, whether they are set or not, nested structures included.
std::vector<FieldPlace> secret_places(const StructInfo& info);
/// The places of all values that identify something in a structure, nested structures included. `bytes` is the structure, which may decide
/// which structures are nested in it.
std::vector<FieldPlace> identity_places(Bytes bytes, const StructInfo& info);

}  // namespace ib
