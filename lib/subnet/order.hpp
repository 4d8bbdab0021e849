// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The orders in which a subnet is listed. The replies of a sweep come in any order, so every listing order is computed from the
// finished model. The same fabric therefore always gives the same output.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "subnet/model.hpp"

namespace ib::subnet {

/// All nodes, each once: breadth first from the start, with ports in ascending order. A CA is left only through the port that
/// reached it. Nodes without a link to the start come last, by GUID.
std::vector<NodeIndex> breadth_first(const Subnet& subnet);

/// The nodes of `kind` by GUID, or all nodes if `kind` is absent.
std::vector<NodeIndex> by_guid(const Subnet& subnet, std::optional<NodeKind> kind);

/// One NodeInfo reply in the order of ibnetdiscover.
struct LegacyStep {
  PortIndex port;                   ///< the port through which the NodeInfo came
  std::vector<std::uint8_t> route;  ///< of the request, without the leading 0
  bool is_new;                      ///< the first reply of its node
  bool described;                   ///< the node's description had been read before
  bool port_read;                   ///< the port's PortInfo had been read before
};

/// The sweep of this fabric by infiniband-diags' ibnetdiscover, with replies in the order of the requests.
struct LegacySweep {
  std::vector<NodeIndex> found;  ///< nodes in the order of discovery; ibnetdiscover lists them in reverse
  std::vector<PortIndex> ports;  ///< in the order of their PortInfo replies
  /// By node: the port through which the node was found. The PortInfos of a switch were requested through that port.
  std::vector<std::optional<std::uint8_t>> entry_ports;
  std::vector<LegacyStep> steps;  ///< empty unless requested
  unsigned hops{};                ///< the longest route of a request
  std::uint64_t mads{};           ///< number of requests without retries
};
/// With `mlnx_extended_port_info`, Mellanox devices are also asked whether a link is FDR10.
LegacySweep legacy_sweep(const Subnet& subnet, bool with_steps, bool mlnx_extended_port_info);
/// The order in which the programs of infiniband-diags list the nodes of a sweep: the last found node first. Nodes that `sweep` does
/// not find come after these.
std::vector<NodeIndex> legacy_order(const Subnet& subnet, const LegacySweep& sweep);

}  // namespace ib::subnet
