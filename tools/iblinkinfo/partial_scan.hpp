// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reads the part of the fabric that infiniband-diags' iblinkinfo reads: all of it, or the surroundings of one node.
#pragma once

#include <optional>
#include <string>

#include "subnet/model/order.hpp"
#include "tools/shared/libibnetdisc.hpp"

namespace ib::tools {

/// The options that select the part.
class PartialScan {
 public:
  std::optional<std::string> route;  ///< -D; takes precedence over the GUID
  std::optional<std::string> guid;   ///< -S and -G
  bool all{};                        ///< -a: print all nodes that were found on the way
  unsigned hops{};                   ///< -n; 0: not given
  std::optional<std::string> file;   ///< --load-cache

  /// Fills `fabric`. Returns the port GUID of the only node to print, or nothing for all nodes. Throws DiagsExit if nothing can be read.
  async::Task<std::optional<Guid>> read(Session& session, LibibnetdiscFabric& fabric) const;

 private:
  async::Task<std::optional<path::Path>> resolve(Stack& stack) const;
  async::Task<> read_stored(Session& session, LibibnetdiscFabric& fabric) const;
  async::Task<> read_around(Session& session, path::Path start, std::optional<smp::NodeInfo> known, LibibnetdiscFabric& fabric) const;
  async::Task<subnet::PortIndex> read_all_for(Session& session, LibibnetdiscFabric& fabric) const;
};

}  // namespace ib::tools
