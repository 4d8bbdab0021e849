// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What of the fabric infiniband-diags' iblinkinfo reads: all of it, or what lies around one node.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "subnet/order.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools {

/// The options that say where to look.
class PartialScan {
 public:
  std::optional<std::string> route;  ///< -D; wins over the GUID
  std::optional<std::string> guid;   ///< -S and -G
  bool all{};                        ///< -a: tell of all that was found on the way
  unsigned hops{};                   ///< -n; 0: not given

  /// Fills `fabric`. Returns the port GUID of the node to tell of; nothing: all nodes. Throws DiagsExit where nothing can be read.
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

  bool part_alone_ = false;  ///< the fabric is what a bounded sweep learns, and its nodes stand in the order in which they were found
};

}  // namespace ib::tools
