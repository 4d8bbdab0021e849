// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Finds the port of a model for a TARGET that a user gives. Sends no requests.
#pragma once

#include <string>

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
///  - a LID: the port that owns the LID, with its LMC; where another node is meant (IbPath::meant), that one wherever its LID is now;
///  - a GID: the port with the GUID of the GID, if the port's subnet prefix is that of the GID (fe80:: fits every subnet);
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

}  // namespace ib::subnet
