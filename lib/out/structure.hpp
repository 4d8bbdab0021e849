// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A structure of the IBA told to a sink field by field, from its bytes and its descriptor: what JSON shows of any
// attribute without code of its own.
#pragma once

#include <array>
#include <string_view>

#include "base/bytes.hpp"
#include "base/keys.hpp"
#include "iba/struct_info.hpp"
#include "out/sink.hpp"

namespace ib::out {

/// Emits a member for each field that is not reserved, under its C++ name, into the object that is open. Arrays and
/// nested structures become arrays and objects; a field with an enumeration is followed by NAME_text, which is null where the number
/// has no word. Keys that are set become null unless they are shown. In a MAD format `data` is decoded as the attribute that the header
/// names.
void visit_structure(Sink& sink, Bytes bytes, const StructInfo& info, Keys keys = Keys::hidden);
/// The same as an object of its own: the member `key`, or an element of an array.
void visit_fields(Sink& sink, std::string_view key, Bytes bytes, const StructInfo& info, Keys keys = Keys::hidden);

/// An attribute as every report tells it: the members `attribute`, its name, and `data`, its fields.
void visit_attribute(Sink& sink, Bytes bytes, const StructInfo& info, Keys keys = Keys::hidden);
/// The same of a typed structure.
template <class T>
requires requires { T::info(); }
void visit_attribute(Sink& sink, const T& value, Keys keys = Keys::hidden) {
  std::array<std::uint8_t, T::wire_size> bytes{};
  value.pack(bytes);
  visit_attribute(sink, bytes, T::info(), keys);
}

}  // namespace ib::out
