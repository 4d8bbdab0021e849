// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "routing/route_tree.hpp"

#include <array>

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

}  // namespace ib::routing
