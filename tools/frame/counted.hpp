// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Large numbers for people.
#pragma once

#include <cstdint>
#include <string>

namespace ib::tools {

/// A number with commas between thousands.
std::string counted(std::uint64_t number);

}  // namespace ib::tools
