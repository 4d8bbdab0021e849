// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A row as JSON, by the keys that `ibtool phy` has for the same values.
#pragma once

#include "phy/port_row.hpp"
#include "report/sink.hpp"

namespace ib::phy {

/// Writes the values of a row into the open object; null for what was not read.
void visit(report::Sink& sink, const PortRow& row);

}  // namespace ib::phy
