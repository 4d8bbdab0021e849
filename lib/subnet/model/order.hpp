// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The orders in which a subnet is listed. The replies of a sweep come in any order, so every listing order is computed from the
// finished model: a fabric always gives one output.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "subnet/model/failures.hpp"
#include "subnet/model/model.hpp"

namespace ib::subnet {

/// The output ports by which a breadth-first walk from the start first comes to each end port, with ports in ascending order: the links of
/// the shortest routes. No link with a port in `avoided` is taken, and of nodes that are not switches only the start is left, by its port.
std::vector<PortIndex> first_links(const Subnet& subnet, const std::unordered_set<PortIndex>& avoided = {});

/// All nodes, each once, in the order of first_links(). Nodes without a link to the start come last, by GUID.
std::vector<NodeIndex> breadth_first(const Subnet& subnet);

/// The end ports of a fabric, node by node in the order of breadth_first(): port 0 of a switch, the known ports of the others.
std::vector<PortIndex> end_ports(const Subnet& subnet);
std::vector<PortIndex> end_ports(const Subnet& subnet, NodeIndex at);

/// All nodes by GUID.
std::vector<NodeIndex> by_guid(const Subnet& subnet);

/// One NodeInfo reply in the order of ibnetdiscover.
struct LegacyStep {
  PortIndex port;                   ///< the port through which the NodeInfo came
  std::vector<std::uint8_t> route;  ///< of the request, without the leading 0
  bool is_new;                      ///< the first reply of its node
  bool described;                   ///< the node's description had been read before
  bool port_read;                   ///< the port's PortInfo had been read before
};

/// Where a sweep of ibnetdiscover begins, how far it goes, and what is kept of it.
struct LegacyScan {
  PortIndex start = none;  ///< the port by which the first node was reached; none: Subnet::start
  unsigned start_hops{};   ///< length of the directed route to that node
  bool by_lid{};           ///< that node is addressed by its LID instead
  unsigned max_hops{};     ///< how far it goes, by libibnetdisc's way to count; 0: as far as there are links
  bool mlnx{};             ///< it requests MlnxExtPortInfo of Mellanox devices, for FDR10
  bool with_steps{};       ///< LegacySweep::steps is wanted
};

/// The sweep of this fabric that ibnetdiscover of infiniband-diags would have made, if all replies came in the order of the requests.
struct LegacySweep {
  std::vector<NodeIndex> found;  ///< nodes in the order of discovery; ibnetdiscover lists them in reverse
  std::vector<PortIndex> ports;  ///< in the order of their PortInfo replies
  /// By node: the port through which the node was found. The PortInfos of a switch were requested through that port.
  std::vector<std::optional<std::uint8_t>> entry_ports;
  std::vector<LegacyStep> steps;      ///< only with LegacyScan::with_steps
  unsigned hops{};                    ///< the longest route it tried
  std::uint64_t mads{};               ///< the requests it would have sent, retries not counted
  PortIndex start = none;             ///< the port by which the first node was reached
  std::vector<bool> read;             ///< by port: its PortInfo was read
  std::vector<PortIndex> unanswered;  ///< the ports beyond which nothing answered
  /// The links in the order in which it found them, including those that it later replaced by others.
  std::vector<std::pair<PortIndex, PortIndex>> links;
};
LegacySweep legacy_sweep(const Subnet& subnet, const LegacyScan& scan);
/// The order in which the programs of infiniband-diags list the nodes of a sweep: the last found node first. Nodes that `sweep` does
/// not find come after these.
std::vector<NodeIndex> legacy_order(const Subnet& subnet, const LegacySweep& sweep);

/// Whether libibnetdisc would find less of the subnet. It does not cross a port whose PortPhysicalState is not LinkUp, and does not read
/// the ports of a switch whose port 0 did not answer PortInfo.
bool exceeds_legacy_sweep(const Subnet& subnet);
/// Whether libibnetdisc would have sent the request that failed.
bool is_in_legacy_sweep(const Subnet& subnet, const Failure& failure);

/// The part of `whole` that `sweep` would have read. At the greatest distance of a limited sweep, ports stay unread and links unseen.
SweptSubnet restricted_to(const SweptSubnet& whole, const LegacySweep& sweep);

/// Sets the members of each node that say how it is reached, as a breadth-first sweep from Subnet::start would: Node::hops, via and
/// entry_port. Without a start sets nothing.
void lay_routes(Subnet& subnet);

}  // namespace ib::subnet
