// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The columns of `ibtool phy`: one list for its text, JSON and CSV.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "phy/port_row.hpp"
#include "report/columns.hpp"

namespace ib::tools {

struct Fabric;

/// The port that a port was linked to in an earlier fabric.
struct FormerPeer {
  Guid node_guid;
  std::string description;
  unsigned port_num{};
};

/// A row of the table: a port, or one plane of it, and what was read of it.
struct PhyLine {
  const Fabric* fabric;
  const phy::PortRow* row;
  bool by_plane{};              ///< the port and its planes are rows of their own
  const phy::Window* window{};  ///< null: there is none
  const FormerPeer* former{};   ///< null: none is known
};

/// What a table of ports is for: it decides which columns there are, and which a text shows unless others are chosen.
struct PhyView {
  bool down{}, planes{}, windows{}, baseline{}, lanes{}, histogram{};
};
std::vector<report::Column<PhyLine>> phy_columns(const PhyView& view);

struct LaneLine : PhyLine {
  std::size_t lane;
};
/// A bin of the FEC histogram of a port.
struct BinLine : PhyLine {
  const phy::HistogramBin* bin;
  std::uint64_t greatest;  ///< the greatest count of the port's bins
};
std::vector<report::Column<LaneLine>> lane_columns();
std::vector<report::Column<BinLine>> bin_columns();
/// The lanes in use of these ports, and the bins of those whose histogram was read.
std::vector<LaneLine> lanes_of(const std::vector<PhyLine>& ports);
std::vector<BinLine> bins_of(const std::vector<PhyLine>& ports);

}  // namespace ib::tools
