// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Directed routes through a subnet that avoid some links, such as links that are about to go down.
#pragma once

#include <optional>
#include <unordered_set>
#include <vector>

#include "path/path.hpp"
#include "subnet/model/model.hpp"

namespace ib::subnet {

/// The shortest routes from `subnet.start` over links with no port in `avoided`. `subnet` must outlive this object.
class RoutesAround {
 public:
  RoutesAround(const Subnet& subnet, const std::unordered_set<PortIndex>& avoided);

  /// The route to `end_port` itself, not to another port of its adapter. The route has no local end port yet. Nothing if there
  /// is no route, or if it is too long (IBA 14.2.2).
  std::optional<path::IbDrPath> to(PortIndex end_port) const;

 private:
  const Subnet& subnet_;
  std::vector<PortIndex> via_;  ///< by end port: the output port of the node before it
};

}  // namespace ib::subnet
