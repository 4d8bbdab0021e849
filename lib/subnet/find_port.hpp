// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// From what people write as TARGET to the port of a model, without asking anyone.
#pragma once

#include <string>
#include <string_view>

#include "path/path.hpp"
#include "subnet/model.hpp"
#include "subnet/node_name_map.hpp"

namespace ib::subnet {

/// An end port, or a sentence that names what was not found or is not clear.
struct FoundPort {
  PortIndex port = none;
  std::string missing;  ///< empty where there is a port
  explicit operator bool() const { return port != none; }
};

/// The end port that `target`, as path::parse_target() reads it, stands for in `subnet`:
///
///  - a LID: the port that owns it, LMC considered;
///  - a GID: the port with the GUID in it, whose subnet prefix the GID has (fe80:: is every subnet's);
///  - that GUID may also be of a node: its only end port that is known;
///  - a directed route: what it leads to from `subnet.start`, or from the LID that it begins at.
///
/// Where two nodes claim a GUID, or a node has several end ports, nothing is found.
FoundPort find_port(const Subnet& subnet, const path::Path& target);

/// The end port of the node of that name: that of `names` (which may be null), else its description. Nothing where several have it.
FoundPort find_named_port(const Subnet& subnet, std::string_view name, const NodeNameMap* names);

/// find_port(); throws Error with what is missing.
PortIndex get_port(const Subnet& subnet, const path::Path& target);

}  // namespace ib::subnet
