// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The attributes of performance management that hold counters of a port (IBA 16.1.3, 16.1.4).
#pragma once

#include "iba-gen/smp.hpp"
#include "iba/struct_info.hpp"

namespace ib::counters {

/// The layout of PortExtendedSpeedsCounters on a link with that FEC mode.
const StructInfo& extended_speeds_layout(smp::FecMode mode);

/// Whether a field of an attribute of counters selects what is counted, read or reset. Such a field is not a counter itself.
bool is_selector(const FieldInfo& field);

}  // namespace ib::counters
