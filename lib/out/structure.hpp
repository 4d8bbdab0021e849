// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A structure of the IBA told to a sink field by field, from its bytes and its descriptor: what JSON shows of any
// attribute without code of its own.
#pragma once

#include <span>
#include <string_view>

#include "base/bytes.hpp"
#include "iba/struct_info.hpp"
#include "out/sink.hpp"

namespace ib::out {

/// Emits a member for each field that is not reserved, under its C++ name, into the object that is open. Arrays and
/// nested structures become arrays and objects; a field with an enumeration is followed by NAME_text. The fields
/// named in `hidden` (keys) become null. In a MAD format `data` is decoded as the attribute that the header names.
void visit_structure(Sink& sink, Bytes bytes, const StructInfo& info, std::span<const std::string_view> hidden = {});

}  // namespace ib::out
