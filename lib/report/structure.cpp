// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Walks a descriptor. Missing bytes count as zero, as everywhere in the generic view.
#include "report/structure.hpp"

#include <string>

#include "base/escape.hpp"
#include "iba/generic.hpp"
#include "iba/secrets.hpp"

namespace ib::report {
namespace {

class Visitor {
 public:
  Visitor(Sink& sink, Keys keys) : sink_(sink), keys_(keys) {}

  void field_at(std::string_view key, Bytes bytes, const FieldRef& ref) {
    const Value value = read_path(bytes, ref);
    plain(key, *ref.field, value);
    const auto* number = std::get_if<std::uint64_t>(&value);
    if (ref.field->enumeration != nullptr && number != nullptr)
      sink_.text_or_null(std::string(key) + "_text", symbol(*ref.field->enumeration, *number));
  }

  void members(Bytes bytes, const StructInfo& info) {
    for (const FieldInfo& field : info.fields) {
      if (!field.reserved) member(field.name, bytes, field, held_structure(bytes, info, field));
    }
  }

  /// `inner` is the structure that the field holds, or null.
  void member(std::string_view key, Bytes bytes, const FieldInfo& field, const StructInfo* inner) {
    if (keys_ == Keys::hidden && holds_secret(bytes, field)) {
      sink_.null(key);
    } else if (field.count == 1) {
      element(key, bytes, field, inner, 0);
    } else {
      sink_.begin_array(key);
      for (std::uint32_t i = 0; i < field.count; ++i) element({}, bytes, field, inner, i);
      sink_.end_array();
    }
    if (field.enumeration != nullptr && field.count == 1)
      sink_.text_or_null(std::string(key) + "_text", symbol(*field.enumeration, read_number(bytes, field)));
  }

 private:
  void element(std::string_view key, Bytes bytes, const FieldInfo& field, const StructInfo* inner, std::uint32_t index) {
    if (inner != nullptr) {
      sink_.begin_object(key);
      members(field_bytes(bytes, field, index), *inner);
      sink_.end_object();
      return;
    }
    plain(key, field, read_field(bytes, field, index));
  }

  void plain(std::string_view key, const FieldInfo& field, const Value& value) {
    if (const auto* raw = std::get_if<Bytes>(&value)) {
      if (field.kind == FieldKind::text) {
        sink_.text(key, fixed_text(*raw));
      } else {
        sink_.text(key, hex_text(*raw));
      }
    } else if (const auto* prefix = std::get_if<GidPrefix>(&value)) {
      sink_.value(key, Gid::from(*prefix, Guid{}));
    } else if (const auto* number = std::get_if<std::uint64_t>(&value)) {
      plain_number(key, field, *number);
    } else {
      std::visit([&](const auto& v) { plain_value(key, v); }, value);
    }
  }

  void plain_number(std::string_view key, const FieldInfo& field, std::uint64_t number) {
    constexpr std::uint32_t most_bits = 32;
    if (!field.counter && field.bits > most_bits) return sink_.hex64(key, number);
    sink_.value(key, number, field.counter ? counter(field.unit) : field.enumeration != nullptr ? state() : Measure{{}, field.unit});
  }

  template <class T>
  void plain_value(std::string_view key, const T& value) {
    if constexpr (requires { sink_.value(key, value); }) sink_.value(key, value);
  }

  Sink& sink_;
  Keys keys_;
};

}  // namespace

void visit_structure(Sink& sink, Bytes bytes, const StructInfo& info, Keys keys) { Visitor(sink, keys).members(bytes, info); }

void visit_fields(Sink& sink, std::string_view key, Bytes bytes, const StructInfo& info, Keys keys) {
  sink.begin_object(key);
  visit_structure(sink, bytes, info, keys);
  sink.end_object();
}

void visit_field(Sink& sink, std::string_view key, Bytes bytes, const FieldRef& ref) {
  Visitor(sink, Keys::shown).field_at(key, bytes, ref);
}

void visit_member(Sink& sink, std::string_view key, Bytes bytes, const FieldInfo& field, Keys keys) {
  Visitor(sink, keys).member(key, bytes, field, field.structure);
}

void visit_attribute(Sink& sink, Bytes bytes, const StructInfo& info, Keys keys) {
  sink.value("attribute", info.iba_name);
  visit_fields(sink, "data", bytes, info, keys);
}

}  // namespace ib::report
