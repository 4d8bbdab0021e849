// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Words that give a field of an attribute a value: "portState=Init". Their beginnings are for shells that complete them.
#pragma once

#include <string>
#include <vector>

#include "iba/struct_info.hpp"

namespace ib::tools {

/// A word for each field that can be given a value, in the order of the fields. A field of a nested structure has the name of its parent
/// field in front.
std::vector<std::string> field_assignments(const StructInfo& info);

/// The assignments in `words`, one in each element: "a=1,b=2" are two. A comma separates only where a field of the attribute and "=" follow
/// it, so that a value may hold commas (texts, flags).
std::vector<std::string> separate_assignments(const std::vector<std::string>& words, const StructInfo& info);

}  // namespace ib::tools
