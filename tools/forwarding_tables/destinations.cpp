// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/forwarding_tables/destinations.hpp"

#include <algorithm>

#include "async/group.hpp"
#include "base/escape.hpp"

namespace ib::tools::tables {
namespace {

constexpr std::size_t lids_at_once = 64;
constexpr unsigned largest_lmc = 7;

}  // namespace

async::Task<> Destinations::ask(Lid lid) {
  path::IbPath to = like_;
  to.dlid = lid;
  const path::Path path = to;
  const mad::Result<smp::NodeDescription> description = co_await transactor_.try_subn_get<smp::NodeDescription>(path);
  if (!description) {
    silent_[lid] = description.shared_error();
    co_return;
  }
  const mad::Result<smp::PortInfo> port = co_await transactor_.try_subn_get<smp::PortInfo>(path);
  if (!port) {
    silent_[lid] = port.shared_error();
    co_return;
  }
  const mad::Result<smp::NodeInfo> node = co_await transactor_.try_subn_get<smp::NodeInfo>(path);
  if (!node) {
    silent_[lid] = node.shared_error();
    co_return;
  }
  const auto found = std::make_shared<Found>(Found{*node, std::string(fixed_text(description->node_string)), port->lid, port->lmc});
  found_[lid] = found;
  const unsigned base = port->lid.value;
  if (lid.value >= base && lid.value < base + (1U << port->lmc)) keep(found);
}

/// Keeps a port for all its LIDs.
void Destinations::keep(std::shared_ptr<const Found> found) {
  const unsigned base = found->base.value;
  for (unsigned lid = base; lid < base + (1U << found->lmc) && lid <= last_unicast_lid; ++lid) {
    found_.emplace(Lid{static_cast<std::uint16_t>(lid)}, found);
  }
}

void Destinations::know(const smp::NodeInfo& node, std::string description, const smp::PortInfo& port) {
  keep(std::make_shared<Found>(Found{node, std::move(description), port.lid, port.lmc}));
}

async::Task<> Destinations::read(std::vector<Lid> lids) {
  if (in_order) {
    for (const Lid lid : lids) {
      if (!found_.contains(lid) && !silent_.contains(lid)) co_await ask(lid);
    }
    co_return;
  }
  for (unsigned lmc = largest_lmc + 1; lmc-- > 0;) {
    std::vector<Lid> now;
    std::ranges::copy_if(lids, std::back_inserter(now),
                         [&](Lid lid) { return lid.value % (1U << lmc) == 0 && !found_.contains(lid) && !silent_.contains(lid); });
    const auto ask_one = [this](Lid lid) { return ask(lid); };
    async::Task<> all = async::for_each(now, lids_at_once, ask_one);
    co_await std::move(all);
  }
}

std::optional<Destination> Destinations::find(Lid lid) const {
  const auto found = found_.find(lid);
  if (found == found_.end()) return std::nullopt;
  const Found& port = *found->second;
  return Destination{port.node.node_guid, port.node.port_guid, port.node.node_type, port.description, port.base, port.lmc};
}

}  // namespace ib::tools::tables
