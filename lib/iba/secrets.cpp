// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "iba/secrets.hpp"

#include <algorithm>

#include "iba/generic.hpp"
#include "iba/tables.hpp"

namespace ib {
namespace {

/// Calls `use` with each field of a structure and of the structures in it: the bytes of the structure that contains the field, their
/// offset, and whether the field holds a structure.
template <class Use>
void for_each_field(Bytes bytes, const StructInfo& info, std::size_t at, const Use& use) {
  for (const FieldInfo& field : info.fields) {
    const StructInfo* inner = held_structure(bytes, info, field);
    use(bytes, field, at, inner != nullptr);
    for (std::uint32_t i = 0; inner != nullptr && i < field.count; ++i) {
      const std::size_t offset = (field.bit_offset + std::size_t{i} * field.bits) / 8;
      for_each_field(field_bytes(bytes, field, i), *inner, at + offset, use);
    }
  }
}

bool is_identity(const FieldInfo& field) {
  return field.kind == FieldKind::guid || field.kind == FieldKind::gid ||
         std::ranges::find(detail::tables().identities, &field) != detail::tables().identities.end();
}

}  // namespace

bool holds_secret(Bytes bytes, const FieldInfo& field) {
  if (!field.secret) return false;
  if (field.bits > 64) return !is_zero(field_bytes(bytes, field));
  const std::uint64_t key = read_number(bytes, field);
  return key != 0 && key != field.well_known;
}

bool has_secrets(Bytes bytes, const StructInfo& info) {
  bool any = false;
  for_each_field(bytes, info, 0, [&](Bytes in, const FieldInfo& field, std::size_t, bool) { any |= holds_secret(in, field); });
  return any;
}

std::vector<std::uint8_t> without_secrets(Bytes bytes, const StructInfo& info) {
  std::vector<std::uint8_t> copy(bytes.begin(), bytes.end());
  for_each_field(bytes, info, 0, [&](Bytes in, const FieldInfo& field, std::size_t at, bool) {
    if (!holds_secret(in, field)) return;
    std::fill_n(copy.begin() + static_cast<std::ptrdiff_t>(at + field.bit_offset / 8), field_bytes(in, field).size(), std::uint8_t{0});
  });
  return copy;
}

std::vector<FieldPlace> secret_places(const StructInfo& info) {
  std::vector<FieldPlace> places;
  const std::vector<std::uint8_t> zeros(info.bytes);
  for_each_field(zeros, info, 0, [&](Bytes, const FieldInfo& field, std::size_t at, bool) {
    if (field.secret) places.push_back({&field, at + field.bit_offset / 8, field.bits / 8});
  });
  return places;
}

std::vector<FieldPlace> identity_places(Bytes bytes, const StructInfo& info) {
  std::vector<FieldPlace> places;
  for_each_field(bytes, info, 0, [&](Bytes, const FieldInfo& field, std::size_t at, bool holds_structure) {
    if (holds_structure || !is_identity(field)) return;
    for (std::uint32_t i = 0; i < field.count; ++i)
      places.push_back({&field, at + (field.bit_offset + std::size_t{i} * field.bits) / 8, field.bits / 8});
  });
  return places;
}

}  // namespace ib
