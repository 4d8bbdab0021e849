// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "routing/unicast.hpp"

#include <algorithm>
#include <tuple>

#include "routing/tables.hpp"

namespace ib::routing {

std::string_view name(Fault fault) {
  constexpr std::array<std::string_view, 7> names{"arrives", "not_reached", "no_entry", "dead_port", "loop", "wrong_node", "not_read"};
  return names.at(static_cast<std::size_t>(fault));
}

RouteTree::RouteTree(const Network& network, const LinearTables& tables, bool with_switches)
    : network_(network), tables_(tables), with_switches_(with_switches), hops_(network.switches().size()), aggregation_(hops_.size()) {
  for (SwitchIndex at = 0; at < hops_.size(); ++at) {
    if (network.switches()[at].hosts > 0 || with_switches) starts_.push_back(at);
  }
  for (const Host& host : network.hosts()) {
    if (host.leaf != none && host.is_aggregation) ++aggregation_[host.leaf];
  }
  reached_.reserve(hops_.size());
  open_.reserve(hops_.size());
}

std::uint32_t RouteTree::senders_at(SwitchIndex at) const {
  std::uint32_t count = network_.switches()[at].hosts;
  const bool owner_is_here = to_.host != none && network_.hosts()[to_.host].leaf == at;
  if (skip_aggregation_) count -= aggregation_[at];
  if (owner_is_here && !(skip_aggregation_ && network_.hosts()[to_.host].is_aggregation)) --count;
  if (with_switches_ && to_.at != at && network_.lid_of(at).value != 0) ++count;
  return count;
}

void RouteTree::find(const DestinationLid& to, bool skip_aggregation) {
  to_ = to;
  skip_aggregation_ = skip_aggregation;
  ++pass_;
  reached_.clear();
  for (const SwitchIndex at : starts_) {
    const std::uint32_t senders = senders_at(at);
    if (senders == 0) continue;
    if (hops_[at].pass != pass_) follow(at);
    hops_[at].senders = senders;
  }
}

void RouteTree::follow(SwitchIndex at) {
  while (at != none && hops_[at].pass != pass_) {
    Hop& hop = hops_[at];
    hop = {};
    hop.pass = pass_;
    hop.open = true;
    look_up(at, hop);
    open_.push_back(at);
    at = hop.next;
  }
  close(at);
}

void RouteTree::look_up(SwitchIndex at, Hop& hop) const {
  hop.last = at;
  if (to_.at == at) return;
  const EntryKind kind = tables_.kind(at, to_.lid, network_.switches()[at].slots - 1U);
  if (kind == EntryKind::not_read || kind == EntryKind::no_entry) {
    hop.fault = kind == EntryKind::no_entry ? Fault::no_entry : Fault::not_read;
    return;
  }
  hop.out = network_.port_id(at, tables_.out_port(at, to_.lid));
  if (kind == EntryKind::own_port) {
    hop.fault = Fault::wrong_node;
    return;
  }
  const Wire& wire = network_.wire(hop.out);
  hop.links = 1;
  if (!wire.carries()) {
    hop.fault = wire.to == Wire::To::silent ? Fault::not_read : Fault::dead_port;
  } else if (wire.to == Wire::To::switch_port) {
    hop.next = wire.index;
    hop.in_port = wire.in_port;
  } else if (wire.to != Wire::To::host || wire.index != to_.host) {
    hop.fault = Fault::wrong_node;
  }
}

/// Ends the paths that are being followed, from the last switch backwards. `met` is the switch at which they continue: a switch whose path
/// is known, or one of their own switches (its hop is open), which closes a loop.
void RouteTree::close(SwitchIndex met) {
  const bool is_loop = met != none && hops_[met].open;
  bool in_cycle = is_loop;
  while (!open_.empty()) {
    const SwitchIndex at = open_.back();
    open_.pop_back();
    Hop& hop = hops_[at];
    hop.open = false;
    if (in_cycle) {
      hop.in_cycle = true;
      hop.fault = Fault::loop;
      hop.last = met;
      in_cycle = at != met;
    } else if (hop.next != none) {
      const Hop& next = hops_[hop.next];
      hop.fault = next.fault;
      hop.last = next.last;
      hop.links = static_cast<std::uint16_t>(next.links + 1);
    }
    reached_.push_back(at);
  }
}

Fault RouteTree::stray_fault(HostIndex host) const {
  const Wire& wire = network_.wire(network_.port_id_of_host(host));
  if (!wire.carries()) return Fault::dead_port;
  return wire.to == Wire::To::host && wire.index == to_.host ? Fault::arrives : Fault::wrong_node;
}

namespace {

bool owns(const Network& network, HostIndex host, Lid lid) {
  const Host& at = network.hosts()[host];
  return lid.value >= at.base.value && lid.value < at.base.value + (1U << at.lmc);
}

/// The end of a route that leaves by `out` to something that is not a switch.
Route end_at(const Network& network, SwitchIndex at, PortId out, Lid to) {
  const Wire& wire = network.wire(out);
  if (wire.to == Wire::To::silent) return {Fault::not_read, at, out};
  if (!wire.carries()) return {Fault::dead_port, at, out};
  const bool is_there = wire.to == Wire::To::host && owns(network, wire.index, to);
  return {is_there ? Fault::arrives : Fault::wrong_node, at, out};
}

Route follow_from(const Network& network, const FindOutPort& out_port, SwitchIndex at, Lid to) {
  for (std::size_t hops = 0; hops <= network.switches().size(); ++hops) {
    if (network.lid_of(at) == to) return {Fault::arrives, at, none};
    const std::optional<std::uint8_t> port = out_port(at, to);
    const EntryKind kind = entry_kind(port, network.switches()[at].slots - 1U);
    if (kind == EntryKind::not_read) return {Fault::not_read, at, none};
    if (kind == EntryKind::no_entry) return {Fault::no_entry, at, none};
    const PortId out = network.port_id(at, *port);
    if (kind == EntryKind::own_port) return {Fault::wrong_node, at, out};
    const Wire& wire = network.wire(out);
    if (wire.to != Wire::To::switch_port) return end_at(network, at, out, to);
    at = wire.index;
  }
  return {Fault::loop, at, none};
}

}  // namespace

Route follow(const Network& network, const FindOutPort& out_port, subnet::PortIndex from, Lid to) {
  const subnet::NodeIndex node = from == subnet::none ? subnet::none : network.subnet().port(from).node;
  if (node == subnet::none) return {Fault::not_read, none, none};
  if (const SwitchIndex at = network.switch_of(node); at != none) return follow_from(network, out_port, at, to);
  const HostIndex host = network.host_of(from);
  if (host == none) return {Fault::not_read, none, none};
  if (owns(network, host, to)) return {Fault::arrives, none, none};
  const PortId out = network.port_id_of_host(host);
  const Wire& wire = network.wire(out);
  return wire.to == Wire::To::switch_port ? follow_from(network, out_port, wire.index, to) : end_at(network, none, out, to);
}

void Unicast::add(const RouteTree& tree) {
  for (const SwitchIndex at : tree.reached()) {
    const Hop& hop = tree.hop(at);
    if (hop.senders == 0) continue;
    pairs_ += hop.senders;
    if (hop.fault != Fault::arrives) {
      lose(cause_of(tree, hop), tree, first_sender(tree, at), hop.senders);
      continue;
    }
    const bool sends_itself = tree.with_switches() && tree.to().at != at && network_.lid_of(at).value != 0;
    count_arrived(tree, at, hop.senders - (sends_itself ? 1 : 0), sends_itself ? 1 : 0);
  }
  for (const HostIndex host : network_.stray()) {
    if (tree.sends(host)) add_stray(tree, host);
  }
}

void Unicast::count_arrived(const RouteTree& tree, SwitchIndex at, std::uint32_t hosts, std::uint32_t itself) {
  const DestinationLid& to = tree.to();
  const std::uint16_t links = tree.hop(at).links;
  const std::uint16_t switches_between = distances_.between(at, to.is_switch() ? to.at : network_.hosts()[to.host].leaf);
  const auto shortest = static_cast<std::uint16_t>(switches_between + (to.is_switch() ? 0 : 1));
  count_hops(links + 1U, static_cast<std::uint16_t>(shortest + 1), hosts);
  count_hops(links, shortest, itself);
}

void Unicast::count_hops(std::size_t hops, std::uint16_t shortest, std::uint64_t pairs) {
  if (pairs == 0) return;
  if (hops_.size() <= hops) hops_.resize(hops + 1);
  hops_[hops] += pairs;
  arrived_ += pairs;
  if (hops > shortest) longer_ += pairs;
}

void Unicast::add_stray(const RouteTree& tree, HostIndex host) {
  ++pairs_;
  const Fault fault = tree.stray_fault(host);
  if (fault == Fault::arrives) {
    count_hops(1, 1, 1);
  } else {
    lose(cause_at(fault, network_.port_id_of_host(host)), tree, network_.hosts()[host].base, 1);
  }
}

void Unicast::lose(Cause& cause, const RouteTree& tree, Lid sender, std::uint64_t pairs) {
  const Lid lid = tree.to().lid;
  if (cause.pairs == 0) cause.example = {sender, lid};
  cause.pairs += pairs;
  if (cause.lids.empty() || cause.lids.back() != lid.value) cause.lids.push_back(lid.value);
}

Lid Unicast::first_sender(const RouteTree& tree, SwitchIndex at) const {
  for (const HostIndex host : network_.attached(network_.switches()[at])) {
    if (tree.sends(host)) return network_.hosts()[host].base;
  }
  return network_.lid_of(at);
}

Cause& Unicast::cause_of(const RouteTree& tree, const Hop& hop) {
  if (hop.fault == Fault::loop) return loop_of(tree, hop.last);
  const PortId out = tree.hop(hop.last).out;
  return cause_at(hop.fault, out == none ? network_.port_id(hop.last, 0) : out);
}

Cause& Unicast::cause_at(Fault fault, PortId port_id) {
  std::vector<std::uint32_t>& at = cause_at_.at(static_cast<std::size_t>(fault));
  if (at.empty()) at.resize(network_.port_id_count(), none);
  if (at[port_id] == none) {
    at[port_id] = static_cast<std::uint32_t>(causes_.size());
    causes_.push_back({fault, port_id, {}, {}, 0, {}});
  }
  return causes_[at[port_id]];
}

Cause& Unicast::loop_of(const RouteTree& tree, SwitchIndex met) {
  cycle_.clear();
  SwitchIndex at = met;
  do {
    cycle_.push_back(at);
    at = tree.hop(at).next;
  } while (at != met);
  std::ranges::rotate(cycle_, std::ranges::min_element(cycle_));
  const auto known = loops_.find(cycle_);
  if (known != loops_.end()) return causes_[known->second];
  if (loops_.size() >= most_loops) {
    Cause& cause = cause_at(Fault::loop, network_.port_id(cycle_.front(), 0));
    if (cause.cycle.empty()) cause.cycle = cycle_;
    return cause;
  }
  loops_.emplace(cycle_, static_cast<std::uint32_t>(causes_.size()));
  causes_.push_back({Fault::loop, none, cycle_, {}, 0, {}});
  return causes_.back();
}

std::uint64_t Unicast::unknown() const {
  std::uint64_t sum = 0;
  for (const Cause& cause : causes_) sum += cause.fault == Fault::not_read ? cause.pairs : 0;
  return sum;
}

std::vector<const Cause*> Unicast::sorted(bool not_read) const {
  std::vector<const Cause*> found;
  for (const Cause& cause : causes_) {
    if ((cause.fault == Fault::not_read) == not_read) found.push_back(&cause);
  }
  std::ranges::stable_sort(found, [](const Cause* a, const Cause* b) {
    return std::tuple(b->pairs, a->fault, a->port_id, a->cycle) < std::tuple(a->pairs, b->fault, b->port_id, b->cycle);
  });
  return found;
}

void LoadSummary::add(PortId port_id, std::uint64_t routes) {
  if (directions == 0 || routes < least) least = routes;
  if (directions == 0 || routes > greatest) {
    greatest = routes;
    greatest_at = port_id;
  }
  ++directions;
  sum += routes;
  if (routes == 0) ++unused;
}

void Load::add(const RouteTree& tree) {
  const std::span<const SwitchIndex> reached = tree.reached();
  for (const SwitchIndex at : reached) weights_[at] = tree.hop(at).senders;
  // A switch stands behind its successor. From the end on, all packets that come into a switch are counted before those that leave it.
  for (std::size_t i = reached.size(); i-- > 0;) {
    const SwitchIndex at = reached[i];
    const Hop& hop = tree.hop(at);
    if (hop.fault != Fault::arrives) continue;
    if (network_.switches()[at].hosts > 0) ++arriving_lids_[at];
    if (hop.out == none) continue;
    routes_[hop.out] += weights_[at];
    if (weights_[at] > 0) ++lids_[hop.out];
    if (hop.next != none) weights_[hop.next] += weights_[at];
  }
  const HostIndex owner = tree.to().host;
  if (owner != none && network_.hosts()[owner].leaf != none) {
    const Hop& own = tree.hop(network_.hosts()[owner].leaf);
    if (tree.is_reached(network_.hosts()[owner].leaf) && own.fault == Fault::arrives) ++own_lids_[owner];
  }
  for (const HostIndex host : network_.stray()) {
    if (!tree.sends(host) || tree.stray_fault(host) != Fault::arrives) continue;
    ++routes_[network_.port_id_of_host(host)];
    ++lids_[network_.port_id_of_host(host)];
  }
}

void Load::finish() {
  for (HostIndex at = 0; at < network_.hosts().size(); ++at) {
    const SwitchIndex leaf = network_.hosts()[at].leaf;
    if (leaf == none) continue;
    const PortId port_id = network_.port_id_of_host(at);
    lids_[port_id] = arriving_lids_[leaf] - own_lids_[at];
    routes_[port_id] = lids_[port_id];
  }
}

LoadSummary Load::host_links() const {
  LoadSummary sum;
  for (HostIndex at = 0; at < network_.hosts().size(); ++at) {
    const Host& host = network_.hosts()[at];
    const PortId port_id = network_.port_id_of_host(at);
    if (!network_.wire(port_id).carries()) continue;
    sum.add(port_id, routes(port_id));
    if (host.leaf != none) sum.add(network_.port_id(host.leaf, host.leaf_port), routes(network_.port_id(host.leaf, host.leaf_port)));
  }
  return sum;
}

LoadSummary Load::switch_links() const {
  LoadSummary sum;
  for (PortId port_id = 0; !network_.is_host_port(port_id) && port_id < network_.port_id_count(); ++port_id) {
    if (network_.wire(port_id).to == Wire::To::switch_port) sum.add(port_id, routes(port_id));
  }
  return sum;
}

std::vector<LoadSummary> Load::tiers() const {
  std::vector<LoadSummary> sums;
  const auto tiers = tiers_of(network_);
  if (!tiers) return sums;
  for (PortId port_id = 0; port_id < network_.port_id_count() && !network_.is_host_port(port_id); ++port_id) {
    const Wire& wire = network_.wire(port_id);
    if (wire.to != Wire::To::switch_port) continue;
    const std::uint32_t from = (*tiers)[network_.switch_at(port_id)], to = (*tiers)[wire.index];
    const std::size_t row = 2 * std::size_t{std::min(from, to)} + (from < to ? 0 : 1);
    if (sums.size() <= row) sums.resize((row / 2 + 1) * 2);
    sums[row].add(port_id, routes(port_id));
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
    bool found = false;
    network.each_neighbour(at, [&](const Wire& wire) { found = found || is_full(wire.index); });
    return found;
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
    network.each_neighbour(at, [&](const Wire& wire) {
      if (tiers[wire.index] == none) {
        tiers[wire.index] = tiers[at] + 1;
        queue.push_back(wire.index);
      }
      levelled = levelled && tiers[wire.index] != tiers[at];
    });
  }
  if (!levelled || queue.size() != tiers.size()) return std::nullopt;
  return tiers;
}

}  // namespace ib::routing
