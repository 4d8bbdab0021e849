// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Words of this host and of a stored fabric that command lines may have, for shells that complete them. What can not be read has none.
#pragma once

#include <string>
#include <vector>

#include "tools/frame/world.hpp"

namespace ib::tools {

/// The RDMA devices: "mlx5_0".
std::vector<std::string> device_names(const World& world);
/// Their end ports: "mlx5_0/1".
std::vector<std::string> end_port_names(const World& world);
/// The descriptions of the nodes in the snapshot `file`, each once, sorted. Those with bytes that are no plain text are left out.
std::vector<std::string> stored_node_names(const std::string& file);

}  // namespace ib::tools
