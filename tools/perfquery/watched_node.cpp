// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/perfquery/watched_node.hpp"

#include <fmt/format.h>

#include "base/log.hpp"
#include "counters/owner.hpp"
#include "sa/resolve.hpp"
#include "subnet/set/set_target.hpp"
#include "tools/shared/survey.hpp"

namespace ib::tools::perfquery {

async::Task<std::shared_ptr<const Error>> check_owner(Stack& stack, Destination node, WatchedNode& watched) {
  mad::Transactor* smps = owner_transactor(stack);
  if (smps == nullptr || !subnet::takes_smps(node.path)) co_return nullptr;
  std::shared_ptr<const mad::MadError> error;
  if (watched.node) {
    error = co_await counters::check_owner(*smps, node.path, counters::owner_of(*watched.node));
  } else {
    const mad::Result<smp::NodeInfo> found = co_await subnet::check_set_target(*smps, node.path);
    if (found) watched.node = *found;
    if (!found) error = found.shared_error();
  }
  watched.is_lost = error != nullptr;
  if (!error) co_return nullptr;
  const bool was_known = watched.node.has_value();
  const std::string why =
      was_known ? counters::why_not_read(*error) : "the node at the end of the path is not known to be the one of TARGET";
  co_return std::make_shared<Error>(fmt::format("{}: the counters are not read", why));
}

async::Task<Destination> find_again(Stack& stack, const Target& target, Destination last, const WatchedNode& watched) {
  stack.resolver().clear();
  try {
    if (!watched.node) {
      Destination found = co_await stack.manners().gmp_node(target);
      co_return found;
    }
    path::IbPath to;
    to.dgid = Gid::from(stack.host().end_port().default_gid().prefix(), watched.node->port_guid);
    const path::Path wanted = to;
    const path::Path found = co_await stack.gmp_path(&wanted);
    co_return Destination{found, to_text(found)};
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {
    stack.host().log().warning(fmt::format("The node is not found again: {}", error.message()));
  }
  co_return last;
}

}  // namespace ib::tools::perfquery
