// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "routing/load.hpp"

#include <algorithm>

namespace ib::routing {

void LoadSummary::add(PlaceIndex place, std::uint64_t routes) {
  if (directions == 0 || routes < least) least = routes;
  if (directions == 0 || routes > greatest) {
    greatest = routes;
    greatest_at = place;
  }
  ++directions;
  sum += routes;
  if (routes == 0) ++unused;
}

Load::Load(const Network& network)
    : network_(network),
      routes_(network.place_count()),
      lids_(network.place_count()),
      arriving_lids_(network.switches().size()),
      own_lids_(network.hosts().size()),
      weights_(network.switches().size()) {}

void Load::add(const Ways& ways) {
  const std::span<const SwitchIndex> reached = ways.reached();
  for (const SwitchIndex at : reached) weights_[at] = ways.step(at).senders;
  // A switch stands behind its successor. From the end on, all packets that come into a switch are counted before those that leave it.
  for (std::size_t i = reached.size(); i-- > 0;) {
    const SwitchIndex at = reached[i];
    const Step& step = ways.step(at);
    if (step.fault != Fault::arrives) continue;
    if (network_.switches()[at].hosts > 0) ++arriving_lids_[at];
    if (step.out == none) continue;
    routes_[step.out] += weights_[at];
    if (weights_[at] > 0) ++lids_[step.out];
    if (step.next != none) weights_[step.next] += weights_[at];
  }
  const HostIndex owner = ways.to().host;
  if (owner != none && network_.hosts()[owner].leaf != none) {
    const Step& own = ways.step(network_.hosts()[owner].leaf);
    if (ways.is_reached(network_.hosts()[owner].leaf) && own.fault == Fault::arrives) ++own_lids_[owner];
  }
  for (const HostIndex host : network_.stray()) {
    if (!ways.sends(host) || ways.stray_fault(host) != Fault::arrives) continue;
    ++routes_[network_.place_of_host(host)];
    ++lids_[network_.place_of_host(host)];
  }
}

void Load::finish() {
  for (HostIndex at = 0; at < network_.hosts().size(); ++at) {
    const SwitchIndex leaf = network_.hosts()[at].leaf;
    if (leaf == none) continue;
    const PlaceIndex place = network_.place_of_host(at);
    lids_[place] = arriving_lids_[leaf] - own_lids_[at];
    routes_[place] = lids_[place];
  }
}

LoadSummary Load::host_links() const {
  LoadSummary sum;
  for (HostIndex at = 0; at < network_.hosts().size(); ++at) {
    const Host& host = network_.hosts()[at];
    const PlaceIndex place = network_.place_of_host(at);
    if (!network_.wire(place).carries()) continue;
    sum.add(place, routes(place));
    if (host.leaf != none) sum.add(network_.place(host.leaf, host.leaf_port), routes(network_.place(host.leaf, host.leaf_port)));
  }
  return sum;
}

LoadSummary Load::switch_links() const {
  LoadSummary sum;
  for (PlaceIndex place = 0; !network_.is_host_place(place) && place < network_.place_count(); ++place) {
    if (network_.wire(place).to == Wire::To::switch_port) sum.add(place, routes(place));
  }
  return sum;
}

std::vector<LoadSummary> Load::tiers() const {
  std::vector<LoadSummary> sums;
  const auto tiers = tiers_of(network_);
  if (!tiers) return sums;
  for (PlaceIndex place = 0; place < network_.place_count() && !network_.is_host_place(place); ++place) {
    const Wire& wire = network_.wire(place);
    if (wire.to != Wire::To::switch_port) continue;
    const std::uint32_t from = (*tiers)[network_.switch_at(place)], to = (*tiers)[wire.index];
    const std::size_t row = 2 * std::size_t{std::min(from, to)} + (from < to ? 0 : 1);
    if (sums.size() <= row) sums.resize((row / 2 + 1) * 2);
    sums[row].add(place, routes(place));
  }
  return sums;
}

namespace {

/// The switches of tier 0; see tiers_of().
std::vector<bool> leaves_of(const Network& network) {
  std::vector<std::uint32_t> hosts(network.switches().size());
  for (const Host& host : network.hosts()) {
    if (host.leaf != none && !host.is_aggregation) ++hosts[host.leaf];
  }
  const std::uint32_t most = hosts.empty() ? 0 : *std::ranges::max_element(hosts);
  const auto is_full = [&](SwitchIndex at) { return 2 * hosts[at] > most; };
  const auto is_above = [&](SwitchIndex at) {
    for (unsigned port = 1; port < network.switches()[at].slots; ++port) {
      const Wire& wire = network.wire(network.place(at, port));
      if (wire.to == Wire::To::switch_port && is_full(wire.index)) return true;
    }
    return false;
  };
  std::vector<bool> leaves(hosts.size());
  for (SwitchIndex at = 0; at < hosts.size(); ++at) leaves[at] = is_full(at) || (hosts[at] > 0 && !is_above(at));
  return leaves;
}

}  // namespace

std::optional<std::vector<std::uint32_t>> tiers_of(const Network& network) {
  std::vector<std::uint32_t> tiers(network.switches().size(), none);
  std::vector<SwitchIndex> queue;
  const std::vector<bool> leaves = leaves_of(network);
  for (SwitchIndex at = 0; at < tiers.size(); ++at) {
    if (!leaves[at]) continue;
    tiers[at] = 0;
    queue.push_back(at);
  }
  bool levelled = true;
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const SwitchIndex at = queue[head];
    for (unsigned port = 1; port < network.switches()[at].slots; ++port) {
      const Wire& wire = network.wire(network.place(at, port));
      if (wire.to != Wire::To::switch_port) continue;
      if (tiers[wire.index] == none) {
        tiers[wire.index] = tiers[at] + 1;
        queue.push_back(wire.index);
      }
      levelled = levelled && tiers[wire.index] != tiers[at];
    }
  }
  if (!levelled || queue.size() != tiers.size()) return std::nullopt;
  return tiers;
}

}  // namespace ib::routing
