// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Finds the bytes of a structure that say which node, service or piece of hardware it is: GUIDs, GIDs, and the texts that iba-defs/ marks
// with identifies="yes" (node descriptions, serial numbers). They are replaced where MADs are kept for others to read.
#pragma once

#include <cstddef>
#include <vector>

#include "base/bytes.hpp"
#include "iba/struct_info.hpp"

namespace ib {

/// Whether `field` identifies something.
bool is_identity(const FieldInfo& field);

/// The place of one such value in a structure.
struct IdentityPlace {
  const FieldInfo* field;
  std::size_t offset;  ///< in bytes from the beginning of the structure
  std::size_t size;
};
/// The places of all values that identify something in a structure, nested structures included. `bytes` is the structure, which may decide
/// which structures are nested in it.
std::vector<IdentityPlace> identity_places(Bytes bytes, const StructInfo& info);

}  // namespace ib
