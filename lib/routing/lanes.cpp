// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "routing/lanes.hpp"

#include <algorithm>
#include <bit>

namespace ib::routing {

std::vector<WantedLanes> wanted_lanes(const Channels& channels, std::span<const PlaceIndex> places, bool with_switches) {
  const Network& network = channels.network();
  std::vector<WantedLanes> wanted;
  for (const PlaceIndex place : places) {
    const SwitchIndex at = network.switch_at(place);
    const unsigned out = network.port_at(place);
    WantedLanes of{at, static_cast<std::uint8_t>(out), {}};
    if (with_switches) of.in.push_back(0);
    for (unsigned in = 1; in < network.switches()[at].slots; ++in) {
      const Wire& wire = network.wire(network.place(at, in));
      const bool from_switch = wire.to == Wire::To::switch_port && channels.has_edge(network.place(wire.index, wire.in_port), out);
      const bool from_host = wire.to == Wire::To::host && channels.host_wants(wire.index, place);
      if (from_switch || from_host) of.in.push_back(static_cast<std::uint8_t>(in));
    }
    wanted.push_back(std::move(of));
  }
  return wanted;
}

LaneGraph::LaneGraph(const Channels& channels, std::span<const PlaceIndex> places, const SlToVlTables& tables, const ServiceLevels& levels,
                     UnknownSl rest)
    : network_(channels.network()),
      tables_(tables),
      levels_(levels),
      rest_(rest),
      places_(places.begin(), places.end()),
      local_(network_.place_count(), none),
      vl_count_(tables.vl_count()),
      passing_(network_.switches().size()) {
  std::ranges::sort(places_);
  for (std::uint32_t i = 0; i < places_.size(); ++i) local_[places_[i]] = i;
  first_.push_back(0);
  for (const PlaceIndex place : places_) {
    const SwitchIndex next = network_.wire(place).index;
    for (unsigned out = 0; out < network_.switches()[next].slots; ++out) {
      const std::uint32_t wanted = local_[network_.place(next, out)];
      if (wanted != none && channels.has_edge(place, out)) wanted_.push_back(wanted);
    }
    first_.push_back(static_cast<std::uint32_t>(wanted_.size()));
  }
  pairs_.resize(wanted_.size() * vl_count_);
  from_hosts_.resize(places_.size());
  host_rows_.resize(places_.size());
}

std::size_t LaneGraph::edge(PlaceIndex held, PlaceIndex wanted) const {
  const auto begin = wanted_.begin() + first_[local_[held]], end = wanted_.begin() + first_[local_[held] + 1];
  return static_cast<std::size_t>(std::lower_bound(begin, end, local_[wanted]) - wanted_.begin());
}

void LaneGraph::add_edge(PlaceIndex held, unsigned held_vl, PlaceIndex wanted, unsigned wanted_vl) {
  pairs_[edge(held, wanted) * vl_count_ + held_vl] |= static_cast<std::uint16_t>(1U << wanted_vl);
}

const LaneRow* LaneGraph::row(PlaceIndex out, unsigned in) {
  const LaneRow* const found = tables_.find(network_.switch_at(out), in, network_.port_at(out));
  if (found == nullptr) lacks_tables_ = true;
  return found;
}

void LaneGraph::add(const Ways& ways, std::size_t destination) {
  const std::span<const SwitchIndex> reached = ways.reached();
  for (const SwitchIndex at : reached) passing_[at] = {};
  // A switch stands behind its successor. From the end on, everything that comes into a switch is known before what leaves it is computed.
  for (std::size_t i = reached.size(); i-- > 0;) {
    const SwitchIndex at = reached[i];
    const Step& step = ways.step(at);
    if (step.out == none || !network_.wire(step.out).carries()) continue;
    if (step.senders > 0) send_hosts(ways, at, destination);
    if (step.next != none && !step.in_cycle) send_on(ways, at);
  }
}

void LaneGraph::send(SwitchIndex at, PlaceIndex out, unsigned in, SlSet sls) {
  Passing& passing = passing_[at];
  if (local_[out] == none) {
    passing.sls |= sls;
    return;
  }
  const LaneRow* const vls = row(out, in);
  if (vls == nullptr) return;
  for (; sls != 0; sls &= sls - 1) {
    const auto sl = static_cast<unsigned>(std::countr_zero(sls));
    if ((*vls)[sl] >= dropped_vl) continue;
    passing.sls |= SlSet{1} << sl;
    passing.vls[sl] |= static_cast<std::uint16_t>(1U << (*vls)[sl]);
  }
}

void LaneGraph::send_hosts(const Ways& ways, SwitchIndex at, std::size_t destination) {
  const PlaceIndex out = ways.step(at).out;
  const HostIndex owner = ways.to().host;
  const bool owner_is_here = owner != none && network_.hosts()[owner].leaf == at;
  if (!levels_.is_by_pair() && !owner_is_here && !ways.skips_aggregation()) {
    send_all_hosts(at, out);
  } else {
    const std::span<const HostIndex> hosts = network_.attached(network_.switches()[at]);
    const bool one_by_one = local_[out] != none && !has_one_row(out, hosts);
    SlSet sls = 0;
    for (const HostIndex host : hosts) {
      if (!ways.sends(host)) continue;
      const SlSet of_host = levels_.of(host, destination, rest_);
      sls |= of_host;
      if (one_by_one) send(at, out, network_.hosts()[host].leaf_port, of_host);
    }
    if (!one_by_one && sls != 0) send(at, out, network_.hosts()[hosts.front()].leaf_port, sls);
  }
  if (!ways.with_switches() || ways.to().at == at || network_.lid_of(at).value == 0) return;
  send(at, out, 0, levels_.of(network_.hosts().size() + at, destination, rest_));
}

/// Whether all hosts of a switch meet the same SLtoVL mapping table on their way to its port `out`.
bool LaneGraph::has_one_row(PlaceIndex out, std::span<const HostIndex> hosts) {
  HostRows& known = host_rows_[local_[out]];
  if (known == HostRows::unknown) {
    const auto row_of = [&](HostIndex host) {
      return tables_.find(network_.switch_at(out), network_.hosts()[host].leaf_port, network_.port_at(out));
    };
    const bool is_one = std::ranges::all_of(hosts, [&](HostIndex host) { return row_of(host) == row_of(hosts.front()); });
    known = is_one ? HostRows::one : HostRows::several;
  }
  return known == HostRows::one;
}

/// Adds what all hosts of the switch send through `out`, if each pair may use the same SLs: it is the same for all destinations.
void LaneGraph::send_all_hosts(SwitchIndex at, PlaceIndex out) {
  const std::span<const HostIndex> hosts = network_.attached(network_.switches()[at]);
  const SlSet sls = levels_.of_rest(rest_);
  if (local_[out] == none) {
    if (!hosts.empty()) passing_[at].sls |= sls;
    return;
  }
  Passing& all = from_hosts_[local_[out]];
  if (all.sls == 0) {
    const Passing before = passing_[at];
    passing_[at] = {};
    for (const HostIndex host : hosts) send(at, out, network_.hosts()[host].leaf_port, sls);
    all = passing_[at];
    passing_[at] = before;
  }
  passing_[at].sls |= all.sls;
  for (unsigned sl = 0; sl < all.vls.size(); ++sl) passing_[at].vls[sl] |= all.vls[sl];
}

void LaneGraph::send_on(const Ways& ways, SwitchIndex at) {
  const Step& step = ways.step(at);
  const PlaceIndex wanted = ways.step(step.next).out;
  if (wanted == none || !network_.wire(wanted).carries()) return;
  const Passing& from = passing_[at];
  if (local_[step.out] != none && local_[wanted] != none) {
    const LaneRow* const vls = row(wanted, step.in_port);
    if (vls == nullptr) return;
    std::uint16_t* const pairs = pairs_.data() + edge(step.out, wanted) * vl_count_;
    for (SlSet sls = from.sls; sls != 0; sls &= sls - 1) {
      const auto sl = static_cast<unsigned>(std::countr_zero(sls));
      if ((*vls)[sl] >= dropped_vl) continue;
      for (std::uint16_t held = from.vls[sl]; held != 0; held &= static_cast<std::uint16_t>(held - 1)) {
        pairs[static_cast<unsigned>(std::countr_zero(held))] |= static_cast<std::uint16_t>(1U << (*vls)[sl]);
      }
    }
  }
  send(step.next, wanted, step.in_port, from.sls);
}

std::uint64_t LaneGraph::edge_count() const {
  std::uint64_t count = 0;
  for (const std::uint16_t wanted : pairs_) count += static_cast<std::uint64_t>(std::popcount(wanted));
  return count;
}

Digraph LaneGraph::graph() const {
  Digraph graph;
  graph.first.reserve(places_.size() * lanes + 1);
  graph.to.reserve(edge_count());
  for (std::size_t place = 0; place < places_.size(); ++place) {
    for (unsigned held = 0; held < lanes; ++held) {
      for (std::uint32_t i = first_[place]; i < first_[place + 1] && held < vl_count_; ++i) {
        for (std::uint32_t vls = pairs_[std::size_t{i} * vl_count_ + held]; vls != 0; vls &= vls - 1) {
          graph.to.push_back(wanted_[i] * lanes + static_cast<std::uint32_t>(std::countr_zero(vls)));
        }
      }
      graph.first.push_back(static_cast<std::uint32_t>(graph.to.size()));
    }
  }
  return graph;
}

}  // namespace ib::routing
