// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The columns of a table whose rows are structures of the IBA: a column a field, made from the descriptor. A key is the field's name in
// JSON ("node_info.node_guid" for a field of a nested structure), a heading its name in the IBA. JSON has the values of
// report::visit_structure().
//
//   const auto columns = field_columns<Row>(smp::PortInfo::info(), Keys::hidden, [](const Row& row) { return row.bytes(); });
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
  const FieldInfo* outer{};  ///< the nested structure, or null
  const FieldInfo* field{};
  Keys keys = Keys::hidden;

  std::string key() const;
  /// The value of a structure. What is a list, a structure or a long number there is Nested.
  Cell cell(Bytes structure) const;
};

/// The fields of `info` that are not reserved, in their order, those of nested structures among them.
std::vector<FieldPlace> field_places(const StructInfo& info, Keys keys);
/// By place, whether a text has the column unless others are chosen: at most `most`, first addresses and names, then what identifies a
/// record, states, short sets of flags and numbers.
std::vector<bool> usual_places(const std::vector<FieldPlace>& places, std::size_t most);

inline constexpr std::size_t most_usual_columns = 8;

/// `bytes_of(row)` is the structure, which is empty where the row has none: then no value is known.
template <class Row, class BytesOf>
std::vector<FieldColumn<Row>> field_columns(const StructInfo& info, Keys keys, BytesOf bytes_of, std::size_t most = most_usual_columns) {
  std::vector<FieldColumn<Row>> columns;
  const std::vector<FieldPlace> places = field_places(info, keys);
  const std::vector<bool> usual = usual_places(places, most);
  for (std::size_t at = 0; at < places.size(); ++at) {
    const FieldPlace& place = places[at];
    FieldColumn<Row> column;
    column.name = std::make_shared<const std::string>(place.key());
    column.key = *column.name;
    column.heading = place.field->iba_name;
    column.usual = usual[at];
    column.coded = place.field->enumeration != nullptr && place.field->count == 1;
    column.get = [place, bytes_of](const Row& row) {
      const Bytes bytes = bytes_of(row);
      return bytes.empty() ? Cell(std::monostate{}) : place.cell(bytes);
    };
    columns.push_back(std::move(column));
  }
  return columns;
}

}  // namespace ib::report
