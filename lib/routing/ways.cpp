// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "routing/ways.hpp"

namespace ib::routing {

std::string_view name(Fault fault) {
  switch (fault) {
    case Fault::arrives:
      return "arrives";
    case Fault::no_entry:
      return "no_entry";
    case Fault::dead_port:
      return "dead_port";
    case Fault::loop:
      return "loop";
    case Fault::wrong_node:
      return "wrong_node";
    case Fault::not_read:
      return "not_read";
  }
  return "";
}

Ways::Ways(const Network& network, const LinearTables& tables, bool with_switches)
    : network_(network), tables_(tables), with_switches_(with_switches), steps_(network.switches().size()), aggregation_(steps_.size()) {
  for (SwitchIndex at = 0; at < steps_.size(); ++at) {
    if (network.switches()[at].hosts > 0 || with_switches) starts_.push_back(at);
  }
  for (const Host& host : network.hosts()) {
    if (host.leaf != none && host.is_aggregation) ++aggregation_[host.leaf];
  }
  reached_.reserve(steps_.size());
  open_.reserve(steps_.size());
}

std::uint32_t Ways::senders_at(SwitchIndex at) const {
  std::uint32_t count = network_.switches()[at].hosts;
  const bool owner_is_here = to_.host != none && network_.hosts()[to_.host].leaf == at;
  if (skip_aggregation_) count -= aggregation_[at];
  if (owner_is_here && !(skip_aggregation_ && network_.hosts()[to_.host].is_aggregation)) --count;
  if (with_switches_ && to_.at != at && network_.lid_of(at).value != 0) ++count;
  return count;
}

void Ways::find(const DestinationLid& to, bool skip_aggregation) {
  to_ = to;
  skip_aggregation_ = skip_aggregation;
  ++pass_;
  reached_.clear();
  for (const SwitchIndex at : starts_) {
    const std::uint32_t senders = senders_at(at);
    if (senders == 0) continue;
    if (steps_[at].pass != pass_) follow(at);
    steps_[at].senders = senders;
  }
}

void Ways::follow(SwitchIndex at) {
  while (at != none && steps_[at].pass != pass_) {
    Step& step = steps_[at];
    step = {};
    step.pass = pass_;
    step.open = true;
    look_up(at, step);
    open_.push_back(at);
    at = step.next;
  }
  close(at);
}

void Ways::look_up(SwitchIndex at, Step& step) const {
  step.last = at;
  if (to_.at == at) return;
  const EntryKind kind = tables_.kind(at, to_.lid, network_.switches()[at].slots - 1U);
  if (kind == EntryKind::not_read || kind == EntryKind::no_entry) {
    step.fault = kind == EntryKind::no_entry ? Fault::no_entry : Fault::not_read;
    return;
  }
  step.out = network_.place(at, tables_.out_port(at, to_.lid));
  if (kind == EntryKind::own_port) {
    step.fault = Fault::wrong_node;
    return;
  }
  const Wire& wire = network_.wire(step.out);
  step.links = 1;
  if (!wire.carries()) {
    step.fault = wire.to == Wire::To::silent ? Fault::not_read : Fault::dead_port;
  } else if (wire.to == Wire::To::switch_port) {
    step.next = wire.index;
    step.in_port = wire.in_port;
  } else if (wire.to != Wire::To::host || wire.index != to_.host) {
    step.fault = Fault::wrong_node;
  }
}

/// Ends the paths that are being followed, from the last switch backwards. `met` is the switch at which they continue: a switch whose path
/// is known, or one of their own switches (its step is open), which closes a loop.
void Ways::close(SwitchIndex met) {
  const bool is_loop = met != none && steps_[met].open;
  bool in_cycle = is_loop;
  while (!open_.empty()) {
    const SwitchIndex at = open_.back();
    open_.pop_back();
    Step& step = steps_[at];
    step.open = false;
    if (in_cycle) {
      step.in_cycle = true;
      step.fault = Fault::loop;
      step.last = met;
      in_cycle = at != met;
    } else if (step.next != none) {
      const Step& next = steps_[step.next];
      step.fault = next.fault;
      step.last = next.last;
      step.links = static_cast<std::uint16_t>(next.links + 1);
    }
    reached_.push_back(at);
  }
}

Fault Ways::stray_fault(HostIndex host) const {
  const Wire& wire = network_.wire(network_.place_of_host(host));
  if (!wire.carries()) return Fault::dead_port;
  return wire.to == Wire::To::host && wire.index == to_.host ? Fault::arrives : Fault::wrong_node;
}

}  // namespace ib::routing
