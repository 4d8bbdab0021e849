// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/identified.hpp"

#include <utility>

#include "subnet/set_target.hpp"

namespace ib::tools {

async::Task<Destination> identified(Session& session, Destination node) {
  if (session.host().dialect() == Dialect::diags || !subnet::takes_smps(node.path)) co_return node;
  mad::Result<smp::NodeInfo> found = co_await subnet::check_set_target(session.smp_transactor(), node.path);
  node.path.ib().meant = std::move(found).take().node_guid;
  co_return node;
}

}  // namespace ib::tools
