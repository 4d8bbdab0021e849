// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "report/field_columns.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/escape.hpp"
#include "iba/dump.hpp"
#include "iba/secrets.hpp"
#include "report/structure.hpp"

namespace ib::report {
namespace {

constexpr std::uint32_t most_bits_of_number = 32;  // longer numbers that are not counters are texts in JSON

std::string words_of(Bytes bytes, const FieldInfo& field) {
  if (field.structure != nullptr) return hex_text(field_bytes(bytes, field));
  std::string words;
  for (std::uint32_t i = 0; i < field.count; ++i) words += (i == 0 ? "" : ",") + field_text(bytes, field, i);
  return words;
}

/// A value that is written as visit_fields() writes it.
Cell nested(Bytes bytes, const FieldInfo& field, Keys keys, std::string words) {
  return Nested{std::move(words), [bytes, &field, keys](Sink& sink, std::string_view key) { visit_member(sink, key, bytes, field, keys); }};
}

/// A value that a structure which is there does not give.
Cell without_value() {
  return Nested{{}, [](Sink& sink, std::string_view key) { sink.null(key); }};
}

Cell number_cell(Bytes bytes, const FieldInfo& field, Keys keys) {
  const std::uint64_t number = read_number(bytes, field);
  if (field.bits > most_bits_of_number && !field.counter) return nested(bytes, field, keys, field_text(bytes, field));
  if (field.enumeration != nullptr) return Coded{static_cast<double>(number), symbol(*field.enumeration, number)};
  if (field.display == Display::hex) return nested(bytes, field, keys, field_text(bytes, field));
  return number;
}

/// A field of a structure, or of a structure that is nested in it.
struct FieldPlace {
  const StructInfo* layout{};
  const FieldInfo* outer{};  ///< the nested structure, or null
  const FieldInfo* field{};

  std::string key() const { return outer == nullptr ? std::string(field->name) : fmt::format("{}.{}", outer->name, field->name); }
  /// A key that is hidden is not known. What is a list, a structure or a long number is Nested.
  Cell cell(Bytes structure, Keys keys) const;
};

Cell FieldPlace::cell(Bytes structure, Keys keys) const {
  const Bytes bytes = outer == nullptr ? structure : field_bytes(structure, *outer);
  if (keys == Keys::hidden && holds_secret(bytes, *field)) return without_value();
  if (field->count > 1 || field->structure != nullptr) return nested(bytes, *field, keys, words_of(bytes, *field));
  const Value value = read_field(bytes, *field);
  if (std::holds_alternative<std::uint64_t>(value)) return number_cell(bytes, *field, keys);
  if (const auto* guid = std::get_if<Guid>(&value)) return *guid;
  if (const auto* lid = std::get_if<Lid>(&value)) return std::uint64_t{lid->value};
  if (field->kind == FieldKind::text) return std::string(fixed_text(std::get<Bytes>(value)));
  return nested(bytes, *field, keys, field_text(bytes, *field));
}

/// The fields of `info` that are not reserved, in their order, with the fields of nested structures.
std::vector<FieldPlace> field_places(const StructInfo& info) {
  std::vector<FieldPlace> places;
  for (const FieldInfo& field : info.fields) {
    if (field.reserved) continue;
    if (field.structure == nullptr || field.count > 1) {
      places.push_back({&info, nullptr, &field});
      continue;
    }
    for (const FieldInfo& inner : field.structure->fields) {
      if (!inner.reserved) places.push_back({&info, &field, &inner});
    }
  }
  return places;
}

/// How much a column says to who has chosen none, the most significant first.
enum class Rank : std::uint8_t { address, record_id, state, short_flags, number, other };

Rank rank_of(const FieldPlace& place) {
  constexpr std::uint32_t bits_of_short_flags = 8;
  const FieldInfo& field = *place.field;
  if (field.count > 1 || field.secret || field.kind == FieldKind::bytes || field.kind == FieldKind::structure) return Rank::other;
  if (field.kind != FieldKind::uint) return Rank::address;
  if (field.mask_bit >= 0 && place.outer == nullptr) return Rank::record_id;
  if (field.enumeration == nullptr) return Rank::number;
  if (!field.enumeration->flags) return Rank::state;
  return field.bits > bits_of_short_flags ? Rank::other : Rank::short_flags;
}

}  // namespace

std::vector<Column<LaidOut>> field_columns(const FieldsShown& shown) {
  std::vector<Column<LaidOut>> columns;
  std::vector<std::vector<FieldPlace>> places;  // by column: one of each layout that has the field
  for (const StructInfo* layout : shown.layouts) {
    for (const FieldPlace& place : field_places(*layout)) {
      const auto name =
          std::make_shared<const std::string>(shown.object.empty() ? place.key() : fmt::format("{}.{}", shown.object, place.key()));
      const auto at = static_cast<std::size_t>(std::ranges::find(columns, *name, &ColumnInfo::key) - columns.begin());
      if (at == columns.size()) {
        columns.push_back({{.key = *name, .heading = place.field->iba_name, .is_needed = !shown.object.empty()}, {}, name});
        places.emplace_back();
      }
      if (place.field->enumeration != nullptr && place.field->count == 1) columns[at].coded = true;
      places[at].push_back(place);
    }
  }
  std::size_t usual = 0;
  for (const Rank rank : {Rank::address, Rank::record_id, Rank::state, Rank::short_flags, Rank::number}) {
    for (std::size_t at = 0; at < columns.size() && usual < shown.most_usual; ++at) {
      const FieldPlace& place = places[at].front();
      if (place.layout != shown.layouts.front() || rank_of(place) != rank) continue;
      columns[at].usual = true;
      ++usual;
    }
  }
  for (std::size_t at = 0; at < columns.size(); ++at) {
    columns[at].get = [keys = shown.keys, of = places[at]](const LaidOut& row) -> Cell {
      if (row.bytes.empty()) return std::monostate{};
      const auto place = std::ranges::find(of, row.layout, &FieldPlace::layout);
      return place == of.end() ? without_value() : place->cell(row.bytes, keys);
    };
  }
  return columns;
}

}  // namespace ib::report
