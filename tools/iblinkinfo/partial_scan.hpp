// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reads the part of the fabric that infiniband-diags' iblinkinfo reads: all of it, or the surroundings of one node.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "subnet/order.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools {

/// The options that select the part.
class PartialScan {
 public:
  std::optional<std::string> route;  ///< -D; takes precedence over the GUID
  std::optional<std::string> guid;   ///< -S and -G
  bool all{};                        ///< -a: print all nodes that were found on the way
  unsigned hops{};                   ///< -n; 0: not given

  /// Fills `fabric`. Returns the port GUID of the only node to print, or nothing for all nodes. Throws DiagsExit if nothing can be read.
  async::Task<std::optional<Guid>> read(Session& session, const DiscoveryOptions& discovery, Fabric& fabric);
  /// The nodes of that fabric in the order of infiniband-diags.
  std::vector<subnet::NodeIndex> order(const Fabric& fabric, bool asks_fdr10) const;

 private:
  async::Task<std::optional<path::Path>> resolve(Session& session) const;
  async::Task<> read_stored(Session& session, const DiscoveryOptions& discovery, Fabric& fabric) const;
  async::Task<> read_around(Session& session, const DiscoveryOptions& discovery, path::Path start, std::optional<smp::NodeInfo> known,
                            Fabric& fabric);
  async::Task<subnet::PortIndex> read_all_for(Session& session, DiscoveryOptions discovery, Fabric& fabric) const;
  async::Task<> read_here(Session& session, DiscoveryOptions discovery, Fabric& fabric);
  void cut_off(Fabric& fabric, subnet::LegacyScan bounds);

  bool part_alone_ = false;  ///< the fabric is that of a bounded sweep; its nodes are in the order in which they were found
};

}  // namespace ib::tools
