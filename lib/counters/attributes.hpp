// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The attributes of performance management that hold counters of a port (IBA 16.1.3, 16.1.4). This is the only list of them: all code that
// reads, stores or names them uses it.
#pragma once

#include <span>

#include "iba-gen/smp.hpp"
#include "iba/struct_info.hpp"

namespace ib::counters {

/// PortCounters first, PortCountersExtended second, then the attributes that a PMA need not have.
std::span<const StructInfo* const> counter_attributes();

/// The attributes that a PMA need not have, in the order of counter_attributes().
std::span<const StructInfo* const> optional_counter_attributes();

/// The layout of PortExtendedSpeedsCounters on a link with that FEC mode.
const StructInfo& extended_speeds_layout(smp::FecMode mode);

/// Whether a field of an attribute of counters selects what is counted, read or reset. Such a field is not a counter itself.
bool is_selector(const FieldInfo& field);

}  // namespace ib::counters
