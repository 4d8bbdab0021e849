// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Directed routes through a subnet that keep off some of its links: those that are about to go down.
#pragma once

#include <optional>
#include <unordered_set>
#include <vector>

#include "path/path.hpp"
#include "subnet/model.hpp"

namespace ib::subnet {

/// The shortest routes from `subnet.start`, which must outlive this, over links of which neither port is in `avoided`.
class RoutesAround {
 public:
  RoutesAround(const Subnet& subnet, const std::unordered_set<PortIndex>& avoided);

  /// The route that ends at `end_port` itself, not at another port of its adapter, and has no local end port yet; nothing where there
  /// is none, or where it is too long (IBA 14.2.2).
  std::optional<path::IbDrPath> to(PortIndex end_port) const;

 private:
  const Subnet& subnet_;
  std::vector<PortIndex> via_;  ///< by end port: the port of the node before it
};

}  // namespace ib::subnet
