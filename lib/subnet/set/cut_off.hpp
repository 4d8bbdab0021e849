// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Finds the port of a node through which requests and answers pass. After this port is disabled, no request can reach the node to enable it
// again.
#pragma once

#include <optional>
#include <unordered_set>
#include <vector>

#include "async/task.hpp"
#include "iba-gen/smp.hpp"
#include "mad/transactor.hpp"
#include "path/path.hpp"
#include "subnet/model/model.hpp"

namespace ib::subnet {

/// Whether SMPs to the node at `path` come in through its port `port`, or its answers leave through that port. `node` and
/// `info` are the NodeInfo and the PortInfo of `port` that came by `path`. Port 0 means the port through which the SMP came in.
///
///  - For a directed route, LocalPortNum gives the port (IBA 14.2.5.6).
///  - For an end node, LocalPortNum also gives the port: an SMP comes in through the port that owns the LID.
///  - A switch that is addressed by LID may report 0 there. Its answers leave through the entry of this host's LID in its
///    linear forwarding table. That entry is read from the switch.
///
/// The error is the error of the request for this entry.
async::Task<mad::Result<bool>> carries_our_smps(mad::Transactor& transactor, path::Path path, smp::NodeInfo node, unsigned port,
                                                smp::PortInfo info);

/// Throws UsageError if carries_our_smps(). The message names the port at the other end of the link, from which the link can be
/// disabled and enabled again. For the link of this host, the message says that there is no such port. `from_sa` is as in
/// find_peer(). Throws the MadError of carries_our_smps().
async::Task<> check_carries_our_smps(mad::Transactor& transactor, path::Path path, smp::NodeInfo node, unsigned port, smp::PortInfo info,
                                     bool from_sa = false);

// Directed routes through a subnet that avoid some links, such as links that are about to go down.

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
