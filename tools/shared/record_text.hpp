// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The text of saquery for records of the subnet administrator: a dotted listing. A few nested attributes have special forms (tables,
// sections).
#pragma once

#include <string>

#include "base/bytes.hpp"
#include "base/keys.hpp"
#include "iba/struct_info.hpp"

namespace ib::tools {

enum class RecordNames { saquery, internal };

/// The heading of a record of this kind: `NodeRecord` or `SANodeRecord`.
std::string_view record_title(const StructInfo& info, RecordNames names);

/// The lines of one record, each indented by two tabs. Safe for terminals.
std::string record_text(Bytes record, const StructInfo& info, RecordNames names, Keys keys = Keys::hidden);

}  // namespace ib::tools
