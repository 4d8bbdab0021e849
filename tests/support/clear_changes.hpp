// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#pragma once

#include "iba/struct_info.hpp"
#include "iba/wire.hpp"

namespace ibtest {

/// Sets the fields that would change something (FieldInfo::changes) to zero, as a typed structure sends them. The structure begins at bit
/// `base` of `bytes`.
inline void clear_changes(ib::MutableBytes bytes, const ib::StructInfo& info, std::uint32_t base = 0) {
  for (const ib::FieldInfo& field : info.fields) {
    for (std::uint32_t i = 0; i < field.count; ++i) {
      const std::uint32_t at = base + field.bit_offset + i * field.bits;
      if (field.structure != nullptr) clear_changes(bytes, *field.structure, at);
      for (std::uint32_t bit = 0; field.changes && bit < field.bits; ++bit) ib::wire::set_bits(bytes, at + bit, 1, 0);
    }
  }
}

}  // namespace ibtest
