// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A record of the subnet administrator as a listing: its members, then the attribute that it holds in the form of that attribute.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.hpp"
#include "base/keys.hpp"
#include "iba/struct_info.hpp"

namespace ib::sa {

/// How members are called: as saquery of python-rdma calls them, or by their names in the C++ structures.
enum class RecordNames : std::uint8_t { saquery, internal };

/// The lines of one record, each indented by two tabs. Safe for terminals.
std::string record_text(Bytes record, const StructInfo& info, RecordNames names, Keys keys = Keys::hidden);

}  // namespace ib::sa
