// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/export/stored_view.hpp"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "metrics/counter_round.hpp"
#include "snapshot/stored_fabric.hpp"
#include "snapshot/transactor.hpp"

namespace ib::tools::history {
namespace {

/// The fabric of a file, with the lists of its devices.
std::shared_ptr<metrics::SweptFabric> swept_fabric(snapshot::StoredFabric& stored, const sys::EndPort& port, subnet::NodeNameMap names) {
  subnet::SweptSubnet swept = stored.read_fabric(&port);
  auto fabric = std::make_shared<metrics::SweptFabric>();
  fabric->subnet = std::move(swept.subnet);
  fabric->failures = std::move(swept.failures);
  fabric->names = std::move(names);
  fabric->list_devices();
  return fabric;
}

}  // namespace

async::Task<StoredView> read_snapshot(async::Loop& loop, std::string file, const metrics::Exported& exported, subnet::NodeNameMap names) {
  const std::unique_ptr<snapshot::StoredFabric> stored = snapshot::open_fabric(file);
  if (const std::string why = stored->why_without("counters", "counters"); !why.empty()) throw UsageError(why);
  const std::optional<std::int64_t> ended = stored->ended();
  if (!ended) throw UsageError(fmt::format("{} does not say when it was taken", in_quotes(file)));
  const sys::DeviceList devices = stored->devices();
  const sys::EndPort& port = devices.select({}, std::to_string(stored->port_number()));
  snapshot::SnapshotTransactor transactor(*stored, port, Keys::hidden);
  std::shared_ptr<metrics::SweptFabric> fabric = swept_fabric(*stored, port, std::move(names));
  auto states = std::make_shared<const metrics::PortStates>(fabric->subnet);
  counters::KnownPmas pmas;
  metrics::CounterRound round(loop, fabric, states, exported.hcas, exported.details, pmas);
  const path::Path start = path::IbDrPath(&port);
  subnet::SurveyOptions options(start);
  counters::ReadingPlan plan = round.plan();
  std::vector<subnet::NodeIndex> nodes = round.nodes();
  co_await counters::read_pmas(transactor, fabric->subnet, std::move(nodes), std::move(plan), std::move(options));
  std::shared_ptr<metrics::Reading> reading = round.take();
  reading->time = fabric->time = metrics::WallTime{std::chrono::milliseconds(*ended)};
  StoredView result;
  result.file = std::move(file);
  result.view.reading = std::move(reading);
  result.view.states = std::move(states);
  co_return result;
}

}  // namespace ib::tools::history
