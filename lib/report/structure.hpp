// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Writes a structure of the IBA to a sink field by field, from its bytes and its descriptor. No attribute needs JSON code of
// its own.
#pragma once

#include <string_view>

#include "base/bytes.hpp"
#include "base/keys.hpp"
#include "iba/generic.hpp"
#include "iba/struct_info.hpp"
#include "iba/wire.hpp"
#include "report/sink.hpp"

namespace ib::report {

/// Writes an object, the member `key` or an element of an array, with a member for each field that is not reserved, under its C++ name.
/// Arrays and nested structures become arrays and objects. A field with an enumeration is followed by NAME_text, which is null if the
/// number has no word. Numbers of more than 32 bits that are not counters are texts, 0x and 16 digits. With Keys::hidden, keys that are set
/// become null. In a MAD format, `data` is decoded as the attribute that the header names.
void visit_fields(Sink& sink, std::string_view key, Bytes bytes, const StructInfo& info, Keys keys = Keys::hidden);

/// Writes the field at `ref` of the structure `bytes`, not a nested one, as the member `key`, and KEY_text as in visit_fields().
void visit_field(Sink& sink, std::string_view key, Bytes bytes, const FieldRef& ref);

/// Writes one field of the structure that begins at `bytes` as the member `key`, as visit_fields() does.
void visit_member(Sink& sink, std::string_view key, Bytes bytes, const FieldInfo& field, Keys keys = Keys::hidden);

/// Writes an attribute in the form of all reports: the member `attribute` is its name, the member `data` holds its fields.
void visit_attribute(Sink& sink, Bytes bytes, const StructInfo& info, Keys keys = Keys::hidden);
template <class T>
requires requires { T::info(); }
void visit_attribute(Sink& sink, const T& value, Keys keys = Keys::hidden) { visit_attribute(sink, wire::packed(value), T::info(), keys); }

}  // namespace ib::report
