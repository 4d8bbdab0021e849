// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "iba/secrets.hpp"

#include <algorithm>

#include "iba/generic.hpp"

namespace ib {
namespace {

/// Calls `use` with each marked field, the bytes of the structure that contains the field, and the offset of these bytes.
template <class Use>
void for_each_secret(Bytes bytes, const StructInfo& info, std::size_t at, const Use& use) {
  for (const FieldInfo& field : info.fields) {
    if (field.secret) use(bytes, field, at);
    const StructInfo* inner = held_structure(bytes, info, field);
    for (std::uint32_t i = 0; inner != nullptr && i < field.count; ++i) {
      const std::size_t offset = (field.bit_offset + std::size_t{i} * field.bits) / 8;
      for_each_secret(field_bytes(bytes, field, i), *inner, at + offset, use);
    }
  }
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
  for_each_secret(bytes, info, 0, [&](Bytes in, const FieldInfo& field, std::size_t) { any |= holds_secret(in, field); });
  return any;
}

std::vector<std::uint8_t> without_secrets(Bytes bytes, const StructInfo& info) {
  std::vector<std::uint8_t> copy(bytes.begin(), bytes.end());
  for_each_secret(bytes, info, 0, [&](Bytes in, const FieldInfo& field, std::size_t at) {
    if (!holds_secret(in, field)) return;
    std::fill_n(copy.begin() + static_cast<std::ptrdiff_t>(at + field.bit_offset / 8), field_bytes(in, field).size(), std::uint8_t{0});
  });
  return copy;
}

std::vector<SecretPlace> secret_places(const StructInfo& info) {
  std::vector<SecretPlace> places;
  const std::vector<std::uint8_t> zeros(info.bytes);
  for_each_secret(zeros, info, 0, [&](Bytes, const FieldInfo& field, std::size_t at) {
    places.push_back({at + field.bit_offset / 8, field.bits / 8});
  });
  return places;
}

}  // namespace ib
