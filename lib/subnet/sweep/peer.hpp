// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Finds the other end of one link without reading the rest of the fabric, and the port of a node through which requests and answers pass:
// after this port is disabled, no request can reach the node to enable it again.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "async/task.hpp"
#include "iba-gen/smp.hpp"
#include "mad/transactor.hpp"
#include "path/path.hpp"

namespace ib::subnet {

struct Peer {
  path::Path path;  ///< the path to the port's node
  unsigned port{};
  smp::PortInfo info;
};

/// The peer of port `port` of the node at `path`. `node` and `info` are the NodeInfo and PortInfo that the node answered. The NodeInfo of
/// the peer is requested by the directed route extended through the port. For a node that forwards no SMPs, the route is shortened by one
/// hop instead. If the node is addressed by LID and no directed route from there is possible or answered (make_trial()), the link is
/// queried from the SA; if the SA does not know it either, the route gets one try more, of the usual time. With `from_sa` it is queried
/// from the SA at once. Throws Error if the SA contradicts itself.
async::Task<mad::Result<Peer>> find_peer(mad::Transactor& transactor, path::Path path, smp::NodeInfo node, unsigned port,
                                         smp::PortInfo info, bool from_sa = false);

/// Reads a peer by its LID or the LID of its switch, if it was found by a directed route from a LID. `like` is a path of SMPs by LID. Not
/// every fabric answers such routes, and LocalPortNum is the port through which the request came in: what is read by LID does not depend on
/// how the peer was found. Nothing if there is no LID, or no answer.
async::Task<std::optional<Peer>> peer_by_lid(mad::Transactor& transactor, Peer peer, path::IbPath like);

/// Not every fabric answers directed routes that start at a LID ("combined", IBA 14.2.2): makes a request on such a route one short try.
/// Without an answer, something else is tried first.
inline void make_trial(path::IbPath& path) {
  constexpr path::Duration trial_timeout = std::chrono::milliseconds(100);
  path.retries = 0;
  path.timeout = std::min(path.timeout.value_or(trial_timeout), trial_timeout);
}

/// Throws UsageError if SMPs to the node at `path` come in through its port `port`, or its answers leave through that port. `node` and
/// `info` are the NodeInfo and the PortInfo of `port` that came by `path`; port 0 is the port through which the SMP came in. The message
/// names the port at the other end of the link, from which the link can be disabled and enabled again, or says that the link is of this
/// host, so that there is no such port. `from_sa` is as in find_peer(). Throws the MadError of a request for the forwarding table.
async::Task<> check_carries_our_smps(mad::Transactor& transactor, path::Path path, smp::NodeInfo node, unsigned port, smp::PortInfo info,
                                     bool from_sa = false);

}  // namespace ib::subnet
