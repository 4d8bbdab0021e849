// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The files in which libibnetdisc stores a fabric (`ibnetdiscover --cache`). All numbers are little-endian. Attributes are
// stored as they came from the wire:
//
//   file   magic (4 bytes), version (4), number of nodes (4), number of ports (4), GUID of the node the sweep began at (8), hops (4),
//          then the nodes, then the ports
//   node   LID (2), LMC (1), enhanced port 0 (1), SwitchInfo (64), GUID (8), type (1), ports it has (1), NodeInfo (64),
//          NodeDescription (64), ports that are stored (1), the key of each of these
//   port   GUID (8), number (1), number on the front panel (1), LID (2), LMC (1), PortInfo (64), GUID of its node (8),
//          whether it is linked (1), the key of the port at the other end
//   key    port GUID (8), number (1)
//
// A file may come from anywhere: each size is checked, and keys are looked up before their use.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "iba/types.hpp"
#include "subnet/model/model.hpp"
#include "subnet/model/order.hpp"

namespace ib::formats {

/// The payload of an SMP (IBA 14.2.1.2).
using SmpData = std::array<std::uint8_t, 64>;

/// A node as the file stores it.
struct CachedNode {
  Lid lid;  ///< of port 0; zero if the node is not a switch
  std::uint8_t lmc{}, enhanced_port0{};
  SmpData switch_info{};
  Guid guid;
  std::uint8_t type{}, num_ports{};
  SmpData info{}, description{};
  std::vector<std::uint32_t> ports;  ///< indexes in NetdiscCache::ports, by port number
};

/// A port as the file stores it.
struct CachedPort {
  Guid guid;
  std::uint8_t number{}, external{};
  Lid lid;
  std::uint8_t lmc{};
  SmpData info{};
  std::uint32_t node{};                 ///< index in NetdiscCache::nodes
  std::uint32_t remote = subnet::none;  ///< index in NetdiscCache::ports
};

/// The content of a file, with indexes instead of keys.
struct NetdiscCache {
  std::uint32_t from_node{};  ///< index in `nodes` of the node where the sweep began
  std::uint32_t max_hops{};
  std::vector<CachedNode> nodes;  ///< in the order of discovery; in the file the last found is the first
  std::vector<CachedPort> ports;  ///< in the order in which libibnetdisc writes them
};

/// Whether a file begins as such a file.
bool is_netdisc_cache(Bytes file);

/// Reads a file. A port without a record, named by a node or a link, is left out, and so is a port that no node names. Throws
/// UsageError with a sentence if the file is truncated, contradicts itself or exceeds the size of a subnet.
NetdiscCache read_netdisc_cache(Bytes file);

/// The bytes of the file.
std::vector<std::uint8_t> netdisc_cache_file(const NetdiscCache& cache);

/// Fills `subnet`, which must be empty. Its nodes are the nodes of the cache, in the same order.
void fill_subnet(const NetdiscCache& cache, subnet::Subnet& subnet);

/// The cache that a sweep of libibnetdisc stores. `listed` has the nodes in the order of the file, the last found first. Ports
/// without a PortInfo have no record. Of several nodes that claim the same GUID, only the first is stored.
NetdiscCache cache_of(const subnet::Subnet& subnet, const subnet::LegacySweep& sweep, std::span<const subnet::NodeIndex> listed);

}  // namespace ib::formats
