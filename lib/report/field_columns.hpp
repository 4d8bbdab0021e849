// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The columns of a table whose rows are structures of the IBA: a column a field, made from the descriptor. A key is the field's name in
// JSON ("node_info.node_guid" for a field of a nested structure), a heading its name in the IBA. JSON has the values of
// report::visit_structure().
//
//   const auto columns = field_columns<Row>({.layouts = {&smp::PortInfo::info()}}, [](const Row& row) { return row.bytes(); });
//   Table<Row, FieldColumn<Row>> table(columns);
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/keys.hpp"
#include "iba/struct_info.hpp"
#include "report/columns.hpp"

namespace ib::report {

/// A column whose value any function gets.
template <class Row>
struct FieldColumn : ColumnInfo {
  std::function<Cell(const Row& row)> get;
  std::shared_ptr<const std::string> name{};  ///< what `key` is a view of, where no descriptor has it
};

/// One field of a structure, or of a structure that is nested in it.
struct FieldPlace {
  const StructInfo* layout{};
  const FieldInfo* outer{};  ///< the nested structure, or null
  const FieldInfo* field{};
  Keys keys = Keys::hidden;

  std::string key() const;
  /// The value of a structure; a key that is hidden is not known. What is a list, a structure or a long number there is Nested.
  Cell cell(Bytes structure) const;
};

/// What the fields are of, and how they are shown.
struct FieldsShown {
  std::vector<const StructInfo*> layouts;  ///< several where they depend on the device: the columns are of all of them
  Keys keys = Keys::hidden;
  std::string_view object{};   ///< the member whose members the fields are: "data"
  std::size_t most_usual = 8;  ///< columns in a text unless others are chosen
};

/// A column of fields: not reserved, in their order, with the fields of nested structures.
struct PlacedColumn : ColumnInfo {
  std::shared_ptr<const std::string> name;
  std::vector<FieldPlace> places;  ///< one of each layout that has the field

  /// The value in a structure of `layout`, which is empty where there is none; not known where the layout lacks the field.
  Cell cell(const StructInfo* layout, Bytes structure) const;
};

/// In a text are at most `most_usual` of the first layout: first addresses and names, then what identifies a record, states, short sets of
/// flags and numbers. Keys are never among them.
std::vector<PlacedColumn> placed_columns(const FieldsShown& shown);

/// `bytes_of(row)` is the structure, which is empty where the row has none: then no value is known. `layout_of(row)` is its layout.
template <class Row, class BytesOf, class LayoutOf>
std::vector<FieldColumn<Row>> field_columns(const FieldsShown& shown, BytesOf bytes_of, LayoutOf layout_of) {
  std::vector<FieldColumn<Row>> columns;
  for (PlacedColumn& placed : placed_columns(shown)) {
    FieldColumn<Row>& column = columns.emplace_back(FieldColumn<Row>{placed, {}, placed.name});
    column.get = [placed = std::move(placed), bytes_of, layout_of](const Row& row) { return placed.cell(layout_of(row), bytes_of(row)); };
  }
  return columns;
}
/// As above, of one layout.
template <class Row, class BytesOf>
std::vector<FieldColumn<Row>> field_columns(const FieldsShown& shown, BytesOf bytes_of) {
  return field_columns<Row>(shown, bytes_of, [layout = shown.layouts.front()](const Row&) { return layout; });
}

}  // namespace ib::report
