// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Discovery reads a subnet by SMPs, breadth first from one port, with many requests at a time. A sweep always ends, and it
// never throws because of a node. Missing and impossible information becomes a Failure of the model, and the sweep continues
// around it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "async/task.hpp"
#include "mad/transactor.hpp"
#include "path/path.hpp"
#include "subnet/model.hpp"

namespace ib::subnet {

/// How known nodes are addressed.
enum class Routing : std::uint8_t {
  directed,  ///< by the directed route that found the node
  lid,       ///< by LID if the node has one, and by directed route if that does not work
};

struct DiscoverOptions {
  Routing routing = Routing::directed;
  /// The greatest number of links from the start. Of nodes at this distance, only what the link to them needs is read.
  unsigned radius = ~0U;
  /// The longest directed route to use, at most 63 (IBA 14.2.2).
  unsigned max_hops = path::max_hops;
  /// Also read MlnxExtPortInfo if a link may be FDR10.
  bool mlnx_extended_port_info = false;
  /// The longest time without answers before the sweep stops waiting for silent nodes and asks nodes farther away.
  std::chrono::milliseconds patience{50};
  /// Gets one line for people when the sweep changes its method (LID routing does not work here, …).
  std::function<void(std::string_view)> tell;
  /// Called for each new node with the number of nodes found so far.
  std::function<void(std::size_t)> progress;
};

/// The number of requests of a sweep, compared with the minimum that reads the same fabric. The minimum is one NodeInfo for the
/// start and for each link; NodeDescription, SwitchInfo and a PortInfo for each port of a switch; NodeDescription and a
/// PortInfo for each linked port of another node.
struct DiscoverStats {
  std::uint64_t plan{};
  /// Additional requests with the same reason (mad::asked). Requests with other reasons, and retries, are in the Transactor's
  /// statistics.
  std::vector<std::pair<std::string_view, std::uint64_t>> beyond;
  void add(std::string_view reason, std::uint64_t count = 1);
};

/// Reads the subnet around `start` into `subnet`, which must be empty. `start` is the path to the first node (usually the local
/// one) and gives M_Key, timeout and retries. Throws what try_call() throws, and the MadError of the first node's NodeInfo.
async::Task<DiscoverStats> discover(mad::Transactor& transactor, Subnet& subnet, path::Path start, DiscoverOptions options);

}  // namespace ib::subnet
