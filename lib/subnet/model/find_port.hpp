// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Finds the port of a model for a TARGET that a user gives. Sends no requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "path/path.hpp"
#include "subnet/model/failures.hpp"
#include "subnet/model/model.hpp"

namespace ib::subnet {

/// An end port, or a sentence that says what was not found or is ambiguous.
struct FoundPort {
  PortIndex port = none;
  std::string missing;  ///< empty if there is a port
  explicit operator bool() const { return port != none; }
};

/// The end port in `swept` that `target`, the result of path::parse_target(), means:
///
///  - a LID: the port that owns the LID, with its LMC; where another node is meant (IbPath::expected_node_guid), that one wherever its LID
///  is now;
///  - a GID: the port with the GUID of the GID, if the port has the subnet prefix of the GID (fe80:: fits every subnet);
///  - a GID with a node GUID: the only known end port of the node;
///  - a GID with a SystemImageGUID that only one node has: as with its node GUID;
///  - a directed route: the end of the route from Subnet::start, or from the LID at which the route begins.
///
/// Nothing is found if two nodes claim a GUID, or if a node has several end ports.
FoundPort find_port(const SweptSubnet& swept, const path::Path& target);

/// The sentence that names the nodes that claim the node GUID `guid`, or of which a port claims it; empty if only one does, or none.
std::string several_text(const Subnet& subnet, Guid guid);

/// Like find_port(), but throws Error with the text of `missing`.
PortIndex get_port(const SweptSubnet& swept, const path::Path& target);

/// The node of `whole` at which the model `part` of the same subnet begins, or none. Of several nodes with its GUID the one with its LID.
NodeIndex same_start(const Subnet& whole, const Subnet& part);

// Finds where a path leads, by the links of a model. Sends no requests.

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
