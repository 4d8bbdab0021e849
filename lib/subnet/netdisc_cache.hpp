// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The files in which libibnetdisc keeps a fabric (`ibnetdiscover --cache`). All numbers in them are little-endian, attributes stand in
// them as they came from the wire:
//
//   file   magic (4 bytes), version (4), number of nodes (4), number of ports (4), GUID of the node the sweep began at (8), hops (4),
//          then the nodes, then the ports
//   node   LID (2), LMC (1), enhanced port 0 (1), SwitchInfo (64), GUID (8), type (1), ports it has (1), NodeInfo (64),
//          NodeDescription (64), ports that are stored (1), the key of each of these
//   port   GUID (8), number (1), number on the front panel (1), LID (2), LMC (1), PortInfo (64), GUID of its node (8),
//          whether it is linked (1), the key of the port at the other end
//   key    port GUID (8), number (1)
//
// What is read may come from anywhere: each size is checked, and keys are looked up before anything relies on them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "iba/types.hpp"
#include "subnet/model.hpp"
#include "subnet/order.hpp"

namespace ib::subnet {

/// The payload of an SMP (IBA 14.2.1.2).
using SmpData = std::array<std::uint8_t, 64>;

struct CachedNode {
  Lid lid;  ///< of port 0; zero for what is no switch
  std::uint8_t lmc{}, enhanced_port0{};
  SmpData switch_info{};
  Guid guid;
  std::uint8_t type{}, num_ports{};
  SmpData info{}, description{};
  std::vector<std::uint32_t> ports;  ///< of NetdiscCache::ports, by number
};

struct CachedPort {
  Guid guid;
  std::uint8_t number{}, external{};
  Lid lid;
  std::uint8_t lmc{};
  SmpData info{};
  std::uint32_t node{};         ///< of NetdiscCache::nodes
  std::uint32_t remote = none;  ///< of NetdiscCache::ports
};

/// A file, with indexes in the place of keys.
struct NetdiscCache {
  std::uint32_t from_node{};  ///< of `nodes`: where the sweep began
  std::uint32_t max_hops{};
  std::vector<CachedNode> nodes;  ///< as they were found: the file has the last one first
  std::vector<CachedPort> ports;  ///< as libibnetdisc would write them
};

/// Whether the first bytes of a file are those of such a cache.
bool is_netdisc_cache(Bytes file);

/// Reads a file. A port that a node or a link names and that has no record is left out, as one that no node names. Throws UsageError
/// with a sentence for a file that is cut off, contradicts itself or is larger than a subnet can be.
NetdiscCache read_netdisc_cache(Bytes file);

/// The file.
std::vector<std::uint8_t> netdisc_cache_file(const NetdiscCache& cache);

/// Fills `subnet`, which must be empty. Its nodes are those of the cache, in the same order.
void fill_subnet(const NetdiscCache& cache, Subnet& subnet);

/// What a sweep of libibnetdisc would have stored. `listed` has the nodes in the order in which the file has them, the last found first.
/// Ports without a PortInfo have no record. The first of nodes that claim one GUID is stored, the others are not.
NetdiscCache cache_of(const Subnet& subnet, const LegacySweep& sweep, std::span<const NodeIndex> listed);

}  // namespace ib::subnet
