// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// "portState=", "portMaskBlock[": the beginnings of words that give a field of an attribute a value, for shells that complete them.
#pragma once

#include <string>
#include <vector>

#include "iba/struct_info.hpp"

namespace ib::tools {

/// Of each field that is not reserved, in their order, those of nested structures behind the name of their field.
std::vector<std::string> field_assignments(const StructInfo& info);

}  // namespace ib::tools
