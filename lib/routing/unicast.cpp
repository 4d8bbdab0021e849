// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "routing/unicast.hpp"

#include <iterator>
#include <tuple>

namespace ib::routing {

namespace {

/// What becomes of a packet at a switch or behind a port.
struct Step {
  Fault fault{};  ///< if no switch follows
  PortId out = none;
  SwitchIndex next = none;
  std::uint8_t in_port{};  ///< of `next`
};

/// Packets leave by `out`. `is_target(host)`: they are for this host.
template <class IsTarget>
Step step_over(const Network& network, PortId out, IsTarget is_target) {
  const Wire& wire = network.wire(out);
  if (!wire.carries()) return {wire.to == Wire::To::silent ? Fault::not_read : Fault::dead_port, out};
  if (wire.to == Wire::To::switch_port) return {Fault::arrives, out, wire.index, wire.in_port};
  return {wire.to == Wire::To::host && is_target(wire.index) ? Fault::arrives : Fault::wrong_node, out};
}

/// Packets are at a switch whose entry for them is `port`.
template <class IsTarget>
Step step_from(const Network& network, SwitchIndex at, std::optional<std::uint8_t> port, IsTarget is_target) {
  const EntryKind kind = entry_kind(port, network.switches()[at].slots - 1U);
  if (kind == EntryKind::not_read) return {Fault::not_read};
  if (kind == EntryKind::no_entry) return {Fault::no_entry};
  const PortId out = network.port_id(at, *port);
  return kind == EntryKind::own_port ? Step{Fault::wrong_node, out} : step_over(network, out, is_target);
}

bool owns(const Network& network, HostIndex host, Lid lid) {
  const Host& at = network.hosts()[host];
  return lid.value >= at.base.value && lid.value < at.base.value + (1U << at.lmc);
}

Route follow_from(const Network& network, const FindOutPort& out_port, SwitchIndex at, Lid to) {
  for (std::size_t hops = 0; hops <= network.switches().size(); ++hops) {
    if (network.lid_of(at) == to) return {Fault::arrives, at, none};
    const Step step = step_from(network, at, out_port(at, to), [&](HostIndex host) { return owns(network, host, to); });
    if (step.next == none) return {step.fault, at, step.out};
    at = step.next;
  }
  return {Fault::loop, at, none};
}

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

/// Whether no port carries more than one LID more than another.
bool is_even(const std::vector<PortUse>& ports) {
  const auto [least, most] = std::ranges::minmax_element(ports, {}, &PortUse::lids);
  return ports.empty() || most->lids <= least->lids + 1;
}

/// The ports that carry at least two LIDs less than the port that carries the most. Without `unused`, only ports that carry LIDs.
std::vector<PortUse> lesser(const std::vector<PortUse>& ports, bool unused) {
  const unsigned most = std::ranges::max_element(ports, {}, &PortUse::lids)->lids;
  std::vector<PortUse> rest;
  std::ranges::copy_if(ports, std::back_inserter(rest), [&](const PortUse& of) { return of.lids + 1 < most && (unused || of.lids != 0); });
  return rest;
}

}  // namespace

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
  if (switch_sends(at)) ++count;
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
    hop.last = at;
    if (to_.at != at) {
      const auto port = tables_.is_known(at, to_.lid) ? std::optional(tables_.out_port(at, to_.lid)) : std::nullopt;
      const Step step = step_from(network_, at, port, [this](HostIndex host) { return host == to_.host; });
      hop.fault = step.fault;
      hop.out = step.out;
      hop.next = step.next;
      hop.in_port = step.in_port;
      hop.links = 1;
    }
    open_.push_back(at);
    at = hop.next;
  }
  close(at);
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
  return step_over(network_, network_.port_id_of_host(host), [this](HostIndex to) { return to == to_.host; }).fault;
}

Route follow(const Network& network, const FindOutPort& out_port, subnet::PortIndex from, Lid to) {
  const subnet::NodeIndex node = from == subnet::none ? subnet::none : network.subnet().port(from).node;
  if (node == subnet::none) return {Fault::not_read, none, none};
  if (const SwitchIndex at = network.switch_of(node); at != none) return follow_from(network, out_port, at, to);
  const HostIndex host = network.host_of(from);
  if (host == none) return {Fault::not_read, none, none};
  if (owns(network, host, to)) return {Fault::arrives, none, none};
  const PortId out = network.port_id_of_host(host);
  const Step step = step_over(network, out, [&](HostIndex end) { return owns(network, end, to); });
  return step.next == none ? Route{step.fault, none, out} : follow_from(network, out_port, step.next, to);
}

void Unicast::add(const RouteTree& tree) {
  const DestinationLid& to = tree.to();
  for (const SwitchIndex at : tree.reached()) {
    const Hop& hop = tree.hop(at);
    if (hop.senders == 0) continue;
    pairs_ += hop.senders;
    if (hop.fault != Fault::arrives) {
      lose(cause_of(tree, hop), tree, first_sender(tree, at), hop.senders);
      continue;
    }
    const std::uint32_t itself = tree.switch_sends(at) ? 1 : 0;
    const std::uint16_t switches_between = distances_.between(at, to.is_switch() ? to.at : network_.hosts()[to.host].leaf);
    const auto shortest = static_cast<std::uint16_t>(switches_between + (to.is_switch() ? 0 : 1));
    count_hops(hop.links + 1U, static_cast<std::uint16_t>(shortest + 1), hop.senders - itself);
    count_hops(hop.links, shortest, itself);
  }
  for (const HostIndex host : network_.stray()) {
    if (!tree.sends(host)) continue;
    ++pairs_;
    const Fault fault = tree.stray_fault(host);
    if (fault == Fault::arrives) {
      count_hops(1, 1, 1);
    } else {
      lose(cause_at(fault, network_.port_id_of_host(host)), tree, network_.hosts()[host].base, 1);
    }
  }
}

void Unicast::count_hops(std::size_t hops, std::uint16_t shortest, std::uint64_t pairs) {
  if (pairs == 0) return;
  if (hops_.size() <= hops) hops_.resize(hops + 1);
  hops_[hops] += pairs;
  arrived_ += pairs;
  if (hops > shortest) longer_ += pairs;
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

std::optional<SwitchUse> switch_use(const Network& network, const LinearTables& tables, SwitchIndex at) {
  if (!tables.is_known(at)) return std::nullopt;
  const subnet::Subnet& subnet = network.subnet();
  const auto is_switch = [&subnet](subnet::PortIndex port) { return subnet.node_of(port).kind() == subnet::NodeKind::sw; };
  const subnet::Node& node = subnet.node(network.switches()[at].node);
  std::vector<unsigned> lids(node.slots);
  for (const ForwardingEntry& entry : entries_of(network, tables, at)) {
    if (!is_switch(entry.owner)) ++lids[entry.port];
  }
  SwitchUse found;
  for (unsigned number = 1; number < node.slots; ++number) {
    const subnet::PortIndex peer = subnet.port(node.first_port + number).peer;
    if (lids[number] == 0 && peer == subnet::none) continue;
    ++found.in_use;
    if (peer == subnet::none || is_switch(peer)) found.ports.push_back({number, lids[number]});
  }
  return found;
}

bool is_unbalanced(const SwitchUse& of, bool deeper) {
  constexpr unsigned few_ports = 12;
  if (is_even(of.ports)) return false;
  if (!deeper || of.in_use <= few_ports) return true;
  const std::vector<PortUse> used = lesser(of.ports, false), all = lesser(of.ports, true);
  const std::size_t half = of.in_use / 2;
  if (used.size() + 1 >= half && used.size() <= half + 1 && is_even(used)) return false;
  return !std::ranges::all_of(all, [](const PortUse& port) { return port.lids == 0; });
}

}  // namespace ib::routing
