// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Discovery: reading a subnet from the outside by SMPs, breadth first from one port, many at a time. A sweep always
// ends and never throws for what a node does: what can not be learnt, or can not be true, becomes a Failure of the
// model, and the sweep goes on around it.
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

/// How nodes are addressed once they are known.
enum class Routing : std::uint8_t {
  directed,  ///< by the directed route that found them
  lid,       ///< at their LID where they have one; by directed route where that turns out not to work
};

struct DiscoverOptions {
  Routing routing = Routing::directed;
  /// Links from the start that are followed. Nodes at the rim are read only as far as the link to them needs.
  unsigned radius = ~0U;
  /// The longest directed route to use, at most 63 (IBA 14.2.2).
  unsigned max_hops = path::max_hops;
  /// Also ask for MlnxExtPortInfo where a link may be FDR10.
  bool mlnx_extended_port_info = false;
  /// How long nothing may come in before nodes farther away are asked without waiting for the silent ones.
  std::chrono::milliseconds patience{50};
  /// Gets one line for people when the sweep changes its ways (LID routing does not work here, …).
  std::function<void(std::string_view)> tell;
  /// Called for each node with the number of those found so far.
  std::function<void(std::size_t)> progress;
};

/// What a sweep sent, set against the least that reads the same fabric: one NodeInfo for the start and for each link;
/// NodeDescription, SwitchInfo and a PortInfo for each port of a switch; NodeDescription and a PortInfo for each
/// linked port of another node.
struct DiscoverStats {
  std::uint64_t plan{};
  /// Requests on top of it that were made for the same reason (mad::asked). Those made for other reasons, and
  /// retries, are in the Transactor's statistics.
  std::vector<std::pair<std::string_view, std::uint64_t>> beyond;
  void add(std::string_view reason, std::uint64_t count = 1);
};

/// Reads the subnet around `start`, the path to the node to begin at (usually the local one), into `subnet`, which must
/// be empty. M_Key, timeout and retries are those of `start`. Throws what try_call() throws, and the MadError of the
/// start node's NodeInfo, without which there is nothing to tell.
async::Task<DiscoverStats> discover(mad::Transactor& transactor, Subnet& subnet, path::Path start, DiscoverOptions options);

}  // namespace ib::subnet
