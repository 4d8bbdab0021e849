// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "iba/identities.hpp"

#include <algorithm>

#include "iba/generic.hpp"
#include "iba/tables.hpp"

namespace ib {
namespace {

void add_places(Bytes bytes, const StructInfo& info, std::size_t at, std::vector<IdentityPlace>& places) {
  for (const FieldInfo& field : info.fields) {
    const StructInfo* inner = held_structure(bytes, info, field);
    if (inner == nullptr && !is_identity(field)) continue;
    for (std::uint32_t i = 0; i < field.count; ++i) {
      const std::size_t offset = at + (field.bit_offset + std::size_t{i} * field.bits) / 8;
      inner != nullptr ? add_places(field_bytes(bytes, field, i), *inner, offset, places)
                       : places.push_back({&field, offset, field.bits / 8});
    }
  }
}

}  // namespace

bool is_identity(const FieldInfo& field) {
  return field.kind == FieldKind::guid || field.kind == FieldKind::gid ||
         std::ranges::find(detail::tables().identities, &field) != detail::tables().identities.end();
}

std::vector<IdentityPlace> identity_places(Bytes bytes, const StructInfo& info) {
  std::vector<IdentityPlace> places;
  add_places(bytes, info, 0, places);
  return places;
}

}  // namespace ib
