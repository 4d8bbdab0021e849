// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Where a path leads, by the links of a model and without asking anyone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "path/path.hpp"
#include "subnet/model.hpp"

namespace ib::subnet {

/// Where LocalPortNum stands in a PortInfo, in bytes (IBA 14.2.5.6).
inline constexpr std::size_t local_port_num_offset = 28;

struct PathEnd {
  NodeIndex node = none;                  ///< the node at its end, or none
  std::uint8_t entry_port{};              ///< the port by which it enters that node; 0 of a switch
  std::optional<std::uint8_t> arrival{};  ///< the same, of a switch too; nothing of a switch that is reached by its LID
  PortIndex beyond = none;                ///< with no node: the last port that the path leaves by, if it gets so far
};

/// Follows `path`, whose local node is the one at the start of the model.
PathEnd end_of_path(const Subnet& subnet, const path::Path& path);

/// Makes of what the node at `end` answers to a Get of `attribute` what it answers to one that comes in by its port `arrival`: LocalPortNum
/// in NodeInfo and PortInfo, PortGUID in the NodeInfo of a node whose ports have GUIDs of their own. Other attributes stay as they are.
void set_arrival(const Subnet& subnet, const PathEnd& end, std::uint8_t arrival, std::uint16_t attribute,
                 std::vector<std::uint8_t>& content);

}  // namespace ib::subnet
