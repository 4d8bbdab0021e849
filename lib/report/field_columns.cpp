// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "report/field_columns.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/escape.hpp"
#include "iba/dump.hpp"
#include "iba/generic.hpp"
#include "iba/secrets.hpp"
#include "report/structure.hpp"

namespace ib::report {
namespace {

constexpr std::uint32_t most_bits_of_number = 32;  // longer numbers that are not counters are texts in JSON

/// The elements of a list as a word.
std::string words_of(Bytes bytes, const FieldInfo& field) {
  if (field.structure != nullptr) return hex_text(field_bytes(bytes, field));
  std::string words;
  for (std::uint32_t i = 0; i < field.count; ++i) words += (i == 0 ? "" : ",") + field_text(bytes, field, i);
  return words;
}

/// A value that is written as visit_structure() writes it.
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

/// The fields of `info` that are not reserved, in their order, with the fields of nested structures.
std::vector<FieldPlace> field_places(const StructInfo& info, Keys keys) {
  std::vector<FieldPlace> places;
  for (const FieldInfo& field : info.fields) {
    if (field.reserved) continue;
    if (field.structure == nullptr || field.count > 1) {
      places.push_back({&info, nullptr, &field, keys});
      continue;
    }
    for (const FieldInfo& inner : field.structure->fields) {
      if (!inner.reserved) places.push_back({&info, &field, &inner, keys});
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

void choose_usual(std::vector<PlacedColumn>& columns, const FieldsShown& shown) {
  std::size_t chosen = 0;
  for (const Rank wanted : {Rank::address, Rank::record_id, Rank::state, Rank::short_flags, Rank::number}) {
    for (PlacedColumn& column : columns) {
      const FieldPlace& place = column.places.front();
      if (chosen == shown.most_usual || place.layout != shown.layouts.front() || rank_of(place) != wanted) continue;
      column.usual = true;
      ++chosen;
    }
  }
}

}  // namespace

std::string FieldPlace::key() const { return outer == nullptr ? std::string(field->name) : fmt::format("{}.{}", outer->name, field->name); }

Cell FieldPlace::cell(Bytes structure) const {
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

Cell PlacedColumn::cell(const StructInfo* layout, Bytes structure) const {
  if (structure.empty()) return std::monostate{};
  const auto place = std::ranges::find(places, layout, &FieldPlace::layout);
  return place == places.end() ? without_value() : place->cell(structure);
}

std::vector<PlacedColumn> placed_columns(const FieldsShown& shown) {
  std::vector<PlacedColumn> columns;
  for (const StructInfo* layout : shown.layouts) {
    for (const FieldPlace& place : field_places(*layout, shown.keys)) {
      const std::string key = shown.object.empty() ? place.key() : fmt::format("{}.{}", shown.object, place.key());
      const auto known = std::ranges::find_if(columns, [&](const PlacedColumn& column) { return *column.name == key; });
      const bool is_new = known == columns.end();
      PlacedColumn& column = is_new ? columns.emplace_back() : *known;
      column.places.push_back(place);
      column.coded = column.coded || (place.field->enumeration != nullptr && place.field->count == 1);
      if (!is_new) continue;
      column.name = std::make_shared<const std::string>(key);
      column.key = *column.name;
      column.heading = place.field->iba_name;
      column.is_needed = !shown.object.empty();
    }
  }
  choose_usual(columns, shown);
  return columns;
}

}  // namespace ib::report
