// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The rows are sorted by field and hold no pointer: a process that does not print these words never reads their pages.
#include "iba/dialects.hpp"

#include <algorithm>
#include <functional>

#include "iba/tables.hpp"

namespace ib {

FieldDialects dialects_of(const FieldInfo& field) {
  const std::span<const FieldInfo> fields = detail::tables().fields;
  constexpr std::less<> before;  // also of pointers that are not into one table
  if (before(&field, fields.data()) || !before(&field, fields.data() + fields.size())) return {};
  const auto [rows, words] = detail::dialect_rows();
  const auto row = std::ranges::lower_bound(rows, &field - fields.data(), {}, &detail::DialectRow::field);
  if (row == rows.end() || row->field != &field - fields.data()) return {};
  return {words + row->smpquery, words + row->saquery, words + row->perfquery, words + row->libibmad,
          words + row->was,      row->libibmad_text,   row->libibmad_bits,     row->libibmad_rank};
}

}  // namespace ib
