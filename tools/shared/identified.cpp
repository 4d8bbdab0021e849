// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/identified.hpp"

#include <utility>

#include "subnet/set_target.hpp"

namespace ib::tools {

async::Task<Destination> identified(Session& session, Destination node) {
  if (!subnet::takes_smps(node.path)) co_return node;
  const bool as_diags = session.host().dialect() == Dialect::diags;
  // Below what prints the requests of libibmad with -d.
  mad::Transactor& transactor = as_diags ? session.lowest_transactor() : session.smp_transactor();
  mad::Result<smp::NodeInfo> found = co_await subnet::check_set_target(transactor, node.path);
  if (as_diags && !found) co_return node;
  node.path.ib().meant = std::move(found).take().node_guid;
  co_return node;
}

}  // namespace ib::tools
