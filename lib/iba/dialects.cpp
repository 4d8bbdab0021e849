// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "iba/dialects.hpp"

#include <algorithm>
#include <functional>

#include "iba/tables.hpp"

namespace ib {

FieldDialects dialects_of(const FieldInfo& field) {
  const std::span<const FieldInfo> fields = detail::tables().fields;
  constexpr std::less<> before;  // also of pointers that are not into one table
  if (before(&field, fields.data()) || !before(&field, fields.data() + fields.size())) return {};
  const std::span<const detail::DialectRow> rows = detail::tables().dialects;
  const auto row = std::ranges::lower_bound(rows, &field - fields.data(), {}, &detail::DialectRow::field);
  if (row == rows.end() || row->field != &field - fields.data()) return {};
  return {row->smpquery, row->saquery, row->perfquery, row->libibmad, row->was, row->libibmad_text, row->libibmad_bits, row->libibmad_rank};
}

}  // namespace ib
