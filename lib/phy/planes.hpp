// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// How many planes the ports of devices have. From XDR on a port may be several planes of lanes, each with its own links and errors.
// ExtendedNodeInfo says so; the vendor's general capabilities say which device has that attribute. HierarchyInfo is not read: how its
// records are divided into selector and value is in no open source.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "mad/transactor.hpp"
#include "subnet/failures.hpp"
#include "subnet/model.hpp"

namespace ib::phy {

struct Planes {
  std::map<subnet::NodeIndex, unsigned> of_node;  ///< the nodes with planes: how many each port has, at least 2
  subnet::Failures failures;                      ///< nodes that did not answer
};

/// Requests the planes of those of `nodes` that are of a vendor with planes: one SMP each, and another one where the attribute is there.
/// `start` is the path from which the model was swept. `subnet` must outlive the task.
async::Task<Planes> read_planes(mad::Transactor& transactor, const subnet::Subnet& subnet, path::Path start,
                                const std::vector<subnet::NodeIndex>& nodes);

}  // namespace ib::phy
