// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Records of the subnet administrator as saquery lists them: the dotted listing, but for the few nested attributes that have
// a form of their own (tables, sections).
#pragma once

#include <string>

#include "base/bytes.hpp"
#include "base/keys.hpp"
#include "iba/struct_info.hpp"

namespace ib::tools {

enum class RecordNames { saquery, internal };

/// What a record of this kind is headed with: `NodeRecord`, or `SANodeRecord`.
std::string_view record_title(const StructInfo& info, RecordNames names);

/// The lines of one record, each indented by two tabs. Safe for terminals.
std::string record_text(Bytes record, const StructInfo& info, RecordNames names, Keys keys = Keys::hidden);

}  // namespace ib::tools
