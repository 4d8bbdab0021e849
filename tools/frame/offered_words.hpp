// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Names of this host and of a stored fabric that a command line may contain, for shells that complete it. A list is empty if its source
// cannot be read.
#pragma once

#include <string>
#include <vector>

#include "tools/frame/world.hpp"

namespace ib::tools {

/// The RDMA devices: "mlx5_0".
std::vector<std::string> device_names(const World& world);
/// The end ports of the RDMA devices: "mlx5_0/1".
std::vector<std::string> end_port_names(const World& world);
/// The descriptions of the nodes in the snapshot `file`, each once, sorted. Descriptions with bytes that are not plain text are left out.
std::vector<std::string> stored_node_names(const std::string& file);

}  // namespace ib::tools
