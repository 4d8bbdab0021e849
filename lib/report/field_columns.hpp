// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The columns of a table whose rows are structures of the IBA: a column a field, made from the descriptor. A key is the field's name in
// JSON ("node_info.node_guid" for a field of a nested structure), a heading its name in the IBA. JSON has the values of
// report::visit_fields().
//
//   Table<Row> table(field_columns<Row>({.layouts = {&info}}, [&](const Row& row) { return LaidOut{&info, row.bytes}; }));
#pragma once

#include <vector>

#include "base/bytes.hpp"
#include "base/keys.hpp"
#include "iba/struct_info.hpp"
#include "report/columns.hpp"

namespace ib::report {

/// A structure and its layout. Of an empty one no value is known.
struct LaidOut {
  const StructInfo* layout;
  Bytes bytes;
};

/// What the fields are of, and how they are shown.
struct FieldsShown {
  std::vector<const StructInfo*> layouts;  ///< several where they depend on the device: the columns are of all of them
  Keys keys = Keys::hidden;
  std::string_view object{};   ///< the member whose members the fields are: "data"
  std::size_t most_usual = 8;  ///< columns in a text unless others are chosen
};

/// A column for each field that is not reserved, in their order, with the fields of nested structures. In a text are at most `most_usual`
/// of the first layout: first addresses and names, then what identifies a record, states, short sets of flags and numbers. Keys are never
/// among them. A value is not known where the layout of the structure lacks the field.
std::vector<Column<LaidOut>> field_columns(const FieldsShown& shown);

/// As above; `structure_of(row)` is the structure of a row.
template <class Row, class StructureOf>
std::vector<Column<Row>> field_columns(const FieldsShown& shown, StructureOf structure_of) {
  return columns_of_part<Row>(std::span<const Column<LaidOut>>(field_columns(shown)), structure_of);
}

}  // namespace ib::report
