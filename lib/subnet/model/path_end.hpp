// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Finds where a path leads, by the links of a model. Sends no requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "path/path.hpp"
#include "subnet/model/model.hpp"

namespace ib::subnet {

/// The offset of LocalPortNum in PortInfo, in bytes (IBA 14.2.5.6).
inline constexpr std::size_t local_port_num_offset = 28;

struct PathEnd {
  NodeIndex node = none;                  ///< the node at the end of the path, or none
  std::uint8_t entry_port{};              ///< the port by which the path enters that node; 0 for a switch
  std::optional<std::uint8_t> arrival{};  ///< the entry port of a switch too; nothing for a switch that is reached by its LID
  PortIndex beyond = none;                ///< if there is no node: the last output port of the path, if the path gets that far
};

/// Follows `path`, whose local node is the one at the start of the model.
PathEnd end_of_path(const Subnet& subnet, const path::Path& path);

/// Changes `content`, an answer of the node at `end` to a Get of `attribute`, into its answer to a Get that comes in by its port `arrival`.
/// That sets LocalPortNum in NodeInfo and PortInfo, and PortGUID in the NodeInfo of a node whose ports have GUIDs of their own. Other
/// attributes stay unchanged.
void set_arrival(const Subnet& subnet, const PathEnd& end, std::uint8_t arrival, std::uint16_t attribute,
                 std::vector<std::uint8_t>& content);

}  // namespace ib::subnet
