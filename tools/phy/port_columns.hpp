// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The columns of `ibtool phy`: one list for its text, JSON and CSV.
#pragma once

#include <span>

#include "phy/port_row.hpp"
#include "report/columns.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools {

/// A row of the table: a port and what was read of it.
struct PhyLine {
  const Fabric* fabric;
  const phy::PortRow* row;
};

/// The columns of a table of links, and of one of ports that are down: they differ in which are shown unless others are chosen.
std::span<const report::Column<PhyLine>> link_columns();
std::span<const report::Column<PhyLine>> down_columns();

}  // namespace ib::tools
