// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// How many planes the ports of devices have. From XDR on a port may be several planes of lanes, each with its own links and errors.
// ExtendedNodeInfo says so; the vendor's general capabilities say which device has that attribute. HierarchyInfo is not read: how its
// records are divided into selector and value is in no open source.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "mad/transactor.hpp"
#include "subnet/model/failures.hpp"
#include "subnet/model/model.hpp"

namespace ib::phy {

struct NodePlanes {
  unsigned count{};
  bool may_differ{};  ///< the device lets planes of a port go down one by one
};

struct Planes {
  std::map<subnet::NodeIndex, NodePlanes> of_node;  ///< the nodes with planes, which are at least two
  subnet::Failures failures;                        ///< nodes that did not answer

  /// The number of planes of each port of a node; 0: its ports have none.
  unsigned count(subnet::NodeIndex node) const {
    const auto found = of_node.find(node);
    return found == of_node.end() ? 0 : found->second.count;
  }
};

/// Requests the planes of those of `nodes` that are of a vendor with planes: one SMP each, and another one where the attribute is there.
/// `start` is the path from which the model was swept. `subnet` must outlive the task.
async::Task<Planes> read_planes(mad::Transactor& transactor, const subnet::Subnet& subnet, path::Path start,
                                const std::vector<subnet::NodeIndex>& nodes);

}  // namespace ib::phy
