// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A structure of the IBA told to a sink field by field, from its bytes and its descriptor: what JSON shows of any
// attribute without code of its own.
#pragma once

#include "base/bytes.hpp"
#include "base/keys.hpp"
#include "iba/struct_info.hpp"
#include "out/sink.hpp"

namespace ib::out {

/// Emits a member for each field that is not reserved, under its C++ name, into the object that is open. Arrays and
/// nested structures become arrays and objects; a field with an enumeration is followed by NAME_text. Keys that are
/// set become null unless they are shown. In a MAD format `data` is decoded as the attribute that the header names.
void visit_structure(Sink& sink, Bytes bytes, const StructInfo& info, Keys keys = Keys::hidden);

}  // namespace ib::out
