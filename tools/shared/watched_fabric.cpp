// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/watched_fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "subnet/model/failures.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/session.hpp"
#include "tools/frame/stack.hpp"

namespace ib::tools {

WatchedFabric::WatchedFabric(Session& session, DiscoveryOptions discovery, const RoundFabric& first, ChooseNodes choose)
    : session_(session), discovery_(std::move(discovery)), first_(first), choose_(std::move(choose)) {
  discovery_.load_cache.reset();  // what is stored there is as old as before
  discovery_.cache.reset();
  discovery_.has_cache = false;
}

async::Task<counters::PmaReadings> WatchedFabric::read(counters::ReadingPlan plan) {
  const RoundFabric& of = now();
  plan.pmas = &pmas_;
  counters::PmaReadings readings = co_await counters::read_pmas(session_.stack().transactor(), of.fabric.subnet, of.nodes, std::move(plan),
                                                                gmp_survey(session_.stack(), *of.paths));
  std::set<Guid> unread;
  for (const subnet::Failure& failure : readings.failures) {
    if (failure.node != subnet::none && failure.kind != subnet::Failure::Kind::refused)
      unread.insert(of.fabric.subnet.node(failure.node).guid());
  }
  is_due_ = is_due_ || !readings.moved.empty() || !std::ranges::includes(unread_, unread);
  unread_ = std::move(unread);
  co_return readings;
}

async::Task<> WatchedFabric::renew() {
  if (!std::exchange(is_due_, false)) co_return;
  std::unique_ptr<RoundFabric> swept = co_await sweep();
  is_due_ = swept == nullptr;
  if (!swept) co_return;
  const subnet::Subnet &before = now().fabric.subnet, &after = swept->fabric.subnet;
  std::vector<std::string> gone;
  for (const subnet::NodeIndex node : now().nodes) {
    if (after.find_node(before.node(node).guid()) == subnet::none) gone.push_back(node_text(before, node));
  }
  if (!gone.empty())
    session_.host().log().warning(fmt::format("No longer in the fabric, and not read: {}", subnet::some_of(gone, "node", "nodes")));
  swept_ = std::move(swept);
  pmas_ = {};
  history_.keep_nodes_of(now().fabric.subnet);
}

async::Task<std::unique_ptr<RoundFabric>> WatchedFabric::sweep() {
  auto swept = std::make_unique<RoundFabric>();
  std::string why;
  try {
    swept->fabric = co_await discover(session_, discovery_);
    const subnet::Subnet& subnet = swept->fabric.subnet;
    if (now().fabric.subnet.nodes().size() > 1 && subnet.nodes().size() <= 1) why = "nothing answers beyond the end port";
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {
    why = error.message();
  }
  if (!why.empty()) {
    session_.host().log().warning(fmt::format("The fabric is not swept again: {}", why));
    co_return nullptr;
  }
  swept->paths.emplace(swept->fabric.subnet, session_.stack().here());
  co_await session_.stack().read_service_levels(*swept->paths);
  swept->nodes = choose_(swept->fabric);
  co_return swept;
}

}  // namespace ib::tools
