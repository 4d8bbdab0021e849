// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Walks a descriptor. Missing bytes count as zero, as everywhere in the generic view.
#include "report/structure.hpp"

#include <string>
#include <type_traits>
#include <variant>

#include "base/escape.hpp"
#include "iba/secrets.hpp"

namespace ib::report {
namespace {

void write_number(Sink& sink, std::string_view key, const FieldInfo& field, std::uint64_t number) {
  constexpr std::uint32_t most_bits = 32;
  if (!field.counter && field.bits > most_bits) return sink.hex64(key, number);
  sink.value(key, number, field.counter ? counter(field.unit) : field.enumeration != nullptr ? state() : Measure{{}, field.unit});
}

void write_value(Sink& sink, std::string_view key, const FieldInfo& field, const Value& value) {
  std::visit(
      [&]<class T>(const T& v) {
        if constexpr (std::is_same_v<T, Bytes>) {
          sink.text(key, field.kind == FieldKind::text ? std::string(fixed_text(v)) : hex_text(v));
        } else if constexpr (std::is_same_v<T, GidPrefix>) {
          sink.value(key, Gid::from(v, Guid{}));
        } else if constexpr (std::is_same_v<T, std::uint64_t>) {
          write_number(sink, key, field, v);
        } else {
          sink.value(key, v);
        }
      },
      value);
}

void write_word(Sink& sink, std::string_view key, const EnumInfo& enumeration, std::uint64_t number) {
  sink.text_or_null(std::string(key) + "_text", symbol(enumeration, number));
}

/// `inner` is the structure that the field holds, or null.
void write_member(Sink& sink, std::string_view key, Bytes bytes, const FieldInfo& field, const StructInfo* inner, Keys keys) {
  const auto element = [&](std::string_view of, std::uint32_t index) {
    if (inner == nullptr) return write_value(sink, of, field, read_field(bytes, field, index));
    visit_fields(sink, of, field_bytes(bytes, field, index), *inner, keys);
  };
  if (keys == Keys::hidden && holds_secret(bytes, field)) {
    sink.null(key);
  } else if (field.count == 1) {
    element(key, 0);
  } else {
    sink.begin_array(key);
    for (std::uint32_t i = 0; i < field.count; ++i) element({}, i);
    sink.end_array();
  }
  if (field.enumeration != nullptr && field.count == 1) write_word(sink, key, *field.enumeration, read_number(bytes, field));
}

}  // namespace

void visit_fields(Sink& sink, std::string_view key, Bytes bytes, const StructInfo& info, Keys keys) {
  sink.begin_object(key);
  for (const FieldInfo& field : info.fields) {
    if (!field.reserved) write_member(sink, field.name, bytes, field, held_structure(bytes, info, field), keys);
  }
  sink.end_object();
}

void visit_field(Sink& sink, std::string_view key, Bytes bytes, const FieldRef& ref) {
  const Value value = read_path(bytes, ref);
  write_value(sink, key, *ref.field, value);
  const auto* number = std::get_if<std::uint64_t>(&value);
  if (ref.field->enumeration != nullptr && number != nullptr) write_word(sink, key, *ref.field->enumeration, *number);
}

void visit_member(Sink& sink, std::string_view key, Bytes bytes, const FieldInfo& field, Keys keys) {
  write_member(sink, key, bytes, field, field.structure, keys);
}

void visit_attribute(Sink& sink, Bytes bytes, const StructInfo& info, Keys keys) {
  sink.value("attribute", info.iba_name);
  visit_fields(sink, "data", bytes, info, keys);
}

}  // namespace ib::report
