// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The orders in which a subnet is listed. Replies of a sweep come in any order, so every order is computed from the
// finished model: the same fabric always prints the same.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "subnet/model.hpp"

namespace ib::subnet {

/// All nodes, each once: breadth first from the start, ports in ascending order, through the port by which a node is
/// reached (a CA's other ports lead nowhere). Nodes that no link leads to come last, by GUID.
std::vector<NodeIndex> breadth_first(const Subnet& subnet);

/// The nodes of `kind`, or all where it is absent, by GUID.
std::vector<NodeIndex> by_guid(const Subnet& subnet, std::optional<NodeKind> kind);

/// One NodeInfo reply as ibnetdiscover would have seen it.
struct LegacyStep {
  PortIndex port;                   ///< the port by which the NodeInfo came in
  std::vector<std::uint8_t> route;  ///< of the request, without the leading 0
  bool is_new;                      ///< the first one of its node
  bool described;                   ///< the node's description was read already
  bool port_read;                   ///< the port's PortInfo was read already
};

/// Where such a sweep begins, how far it goes, and what is kept of it.
struct LegacyScan {
  PortIndex start = none;  ///< the port by which the first node was reached; none: Subnet::start
  unsigned start_hops{};   ///< length of the directed route to that node
  bool by_lid{};           ///< that node is addressed by its LID instead
  unsigned max_hops{};     ///< how far it goes, by libibnetdisc's way to count; 0: as far as there are links
  bool mlnx{};             ///< it would ask Mellanox devices whether a link is FDR10
  bool with_steps{};       ///< LegacySweep::steps is wanted
};

/// How infiniband-diags' ibnetdiscover would have swept this fabric with replies in order of the requests.
struct LegacySweep {
  std::vector<NodeIndex> found;  ///< nodes in the order of discovery; it lists them backwards
  std::vector<PortIndex> ports;  ///< in the order in which their PortInfo came
  /// By node: the port by which it was found. The PortInfos of a switch were asked for through that one.
  std::vector<std::optional<std::uint8_t>> entry_ports;
  std::vector<LegacyStep> steps;      ///< only where they were asked for
  unsigned hops{};                    ///< the longest route it tried
  std::uint64_t mads{};               ///< the requests it would have sent, retries not counted
  PortIndex start = none;             ///< the port by which the first node was reached
  std::vector<bool> read;             ///< by port: its PortInfo was read
  std::vector<PortIndex> unanswered;  ///< the ports beyond which nothing answered
  /// In the order in which it saw them, those that it later thought better of included.
  std::vector<std::pair<PortIndex, PortIndex>> links;
};
LegacySweep legacy_sweep(const Subnet& subnet, const LegacyScan& scan);
/// Of the whole fabric. `mlnx_extended_port_info`: it would ask Mellanox devices whether a link is FDR10.
LegacySweep legacy_sweep(const Subnet& subnet, bool with_steps, bool mlnx_extended_port_info);
/// The order in which the programs of infiniband-diags list the nodes of what they swept: the last found first, behind them what `sweep`
/// would not have found.
std::vector<NodeIndex> legacy_order(const Subnet& subnet, const LegacySweep& sweep);

/// The part of `subnet` that such a sweep would have learnt: a sweep that is bounded leaves ports unread and links unseen at its rim.
Subnet learnt_part(const Subnet& subnet, const LegacySweep& sweep);

}  // namespace ib::subnet
