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

constexpr std::uint32_t most_bits_of_number = 32;  // longer numbers that are no counters are texts in JSON

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

Cell number_cell(Bytes bytes, const FieldInfo& field, Keys keys) {
  const std::uint64_t number = read_number(bytes, field);
  if (field.bits > most_bits_of_number && !field.counter) return nested(bytes, field, keys, field_text(bytes, field));
  if (field.enumeration != nullptr) return Coded{static_cast<double>(number), symbol(*field.enumeration, number)};
  if (field.display == Display::hex) return nested(bytes, field, keys, field_text(bytes, field));
  return number;
}

/// How much a column says to who has chosen none, the most telling first.
enum class Rank : std::uint8_t { address, record_id, state, short_flags, number, other };

Rank rank_of(const FieldPlace& place) {
  constexpr std::uint32_t bits_of_short_flags = 8;
  const FieldInfo& field = *place.field;
  if (field.count > 1 || field.kind == FieldKind::bytes || field.kind == FieldKind::structure) return Rank::other;
  if (field.kind != FieldKind::uint) return Rank::address;
  if (field.mask_bit >= 0 && place.outer == nullptr) return Rank::record_id;
  if (field.enumeration == nullptr) return Rank::number;
  if (!field.enumeration->flags) return Rank::state;
  return field.bits > bits_of_short_flags ? Rank::other : Rank::short_flags;
}

}  // namespace

std::string FieldPlace::key() const { return outer == nullptr ? std::string(field->name) : fmt::format("{}.{}", outer->name, field->name); }

Cell FieldPlace::cell(Bytes structure) const {
  const Bytes bytes = outer == nullptr ? structure : field_bytes(structure, *outer);
  if (keys == Keys::hidden && holds_secret(bytes, *field)) return std::monostate{};
  if (field->count > 1 || field->structure != nullptr) return nested(bytes, *field, keys, words_of(bytes, *field));
  const Value value = read_field(bytes, *field);
  if (std::holds_alternative<std::uint64_t>(value)) return number_cell(bytes, *field, keys);
  if (const auto* guid = std::get_if<Guid>(&value)) return *guid;
  if (const auto* lid = std::get_if<Lid>(&value)) return std::uint64_t{lid->value};
  if (field->kind == FieldKind::text) return std::string(fixed_text(std::get<Bytes>(value)));
  return nested(bytes, *field, keys, field_text(bytes, *field));
}

std::vector<FieldPlace> field_places(const StructInfo& info, Keys keys) {
  std::vector<FieldPlace> places;
  for (const FieldInfo& field : info.fields) {
    if (field.reserved) continue;
    if (field.structure == nullptr || field.count > 1) {
      places.push_back({nullptr, &field, keys});
      continue;
    }
    for (const FieldInfo& inner : field.structure->fields) {
      if (!inner.reserved) places.push_back({&field, &inner, keys});
    }
  }
  return places;
}

std::vector<bool> usual_places(const std::vector<FieldPlace>& places, std::size_t most) {
  std::vector<bool> usual(places.size());
  std::size_t chosen = 0;
  for (const Rank wanted : {Rank::address, Rank::record_id, Rank::state, Rank::short_flags, Rank::number}) {
    for (std::size_t at = 0; at < places.size() && chosen < most; ++at) {
      if (rank_of(places[at]) != wanted) continue;
      usual[at] = true;
      ++chosen;
    }
  }
  return usual;
}

}  // namespace ib::report
