// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Ways to nodes and ports that the model alone tells, without asking anyone. `start` is the path that the model was swept from: its
// end port, M_Key, tries and timeout become those of the paths.
#pragma once

#include <optional>

#include "path/path.hpp"
#include "subnet/model.hpp"

namespace ib::subnet {

/// The directed route that goes on from the end of `path`; from that of a routed path it begins at the LID.
path::IbDrPath route_from(const path::Path& path);

/// To the SMA of a node, by the directed route that reached it first; to the start itself `start`. Where `start` goes to a LID, the
/// route begins there.
path::Path smp_path(const Subnet& subnet, NodeIndex node, const path::Path& start);

/// By LID to the end port of `port`, for QP `qp` (0 or 1), with SL 0. Nothing where the model knows no LID of
/// it, or another port claimed that LID before.
std::optional<path::Path> lid_path(const Subnet& subnet, PortIndex port, const path::Path& start, Qpn qp);

/// To the agents of GMPs that answer for `port`: those at the LID of its end port.
inline std::optional<path::Path> gmp_path(const Subnet& subnet, PortIndex port, const path::Path& start) {
  return lid_path(subnet, port, start, Qpn{1});
}

}  // namespace ib::subnet
