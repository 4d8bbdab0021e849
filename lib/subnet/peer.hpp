// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The other end of one link, found without looking at the rest of the fabric.
#pragma once

#include "async/task.hpp"
#include "iba-gen/smp.hpp"
#include "mad/transactor.hpp"
#include "path/path.hpp"

namespace ib::subnet {

/// A port at the other end of a link.
struct Peer {
  path::Path path;  ///< to its node
  unsigned port{};
  smp::PortInfo info;
};

/// The peer of port `port` of the node at `path`, which said `node`, and whose port said `info`. It is asked by a directed
/// route that goes on through the port, or, of a node that forwards no SMPs, that ends one hop before it. Where the node
/// was named by its LID and a directed route from there is not answered, or no route leads there, the SA tells the link.
/// With `from_sa` the SA is asked at once. Throws Error where the SA contradicts itself.
async::Task<mad::Result<Peer>> find_peer(mad::Transactor& transactor, path::Path path, smp::NodeInfo node, unsigned port,
                                         smp::PortInfo info, bool from_sa = false);

}  // namespace ib::subnet
