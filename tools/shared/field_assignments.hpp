// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// "portState=", "portMaskBlock[": the beginnings of words that give a field of an attribute a value, for shells that complete them.
#pragma once

#include <string>
#include <vector>

#include "iba/struct_info.hpp"

namespace ib::tools {

/// A word for each field that is not reserved, in the order of the fields. A field of a nested structure has the name of its parent field
/// in front.
std::vector<std::string> field_assignments(const StructInfo& info);

}  // namespace ib::tools
