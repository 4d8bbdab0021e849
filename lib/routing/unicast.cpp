// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "routing/unicast.hpp"

#include <algorithm>
#include <tuple>

namespace ib::routing {

Unicast::Unicast(const Network& network, std::span<const DestinationLid> destinations)
    : network_(network), distances_(network, destinations) {}

void Unicast::add(const Ways& ways) {
  for (const SwitchIndex at : ways.reached()) {
    const Step& step = ways.step(at);
    if (step.senders == 0) continue;
    pairs_ += step.senders;
    if (step.fault != Fault::arrives) {
      lose(cause_of(ways, step), ways, first_sender(ways, at), step.senders);
      continue;
    }
    const bool sends_itself = ways.with_switches() && ways.to().at != at && network_.lid_of(at).value != 0;
    count_arrived(ways, at, step.senders - (sends_itself ? 1 : 0), sends_itself ? 1 : 0);
  }
  for (const HostIndex host : network_.stray()) {
    if (ways.sends(host)) add_stray(ways, host);
  }
}

void Unicast::count_arrived(const Ways& ways, SwitchIndex at, std::uint32_t hosts, std::uint32_t itself) {
  const DestinationLid& to = ways.to();
  const std::uint16_t links = ways.step(at).links;
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

void Unicast::add_stray(const Ways& ways, HostIndex host) {
  ++pairs_;
  const Fault fault = ways.stray_fault(host);
  if (fault == Fault::arrives) {
    count_hops(1, 1, 1);
  } else {
    lose(cause_at(fault, network_.place_of_host(host)), ways, network_.hosts()[host].base, 1);
  }
}

void Unicast::lose(Cause& cause, const Ways& ways, Lid sender, std::uint64_t pairs) {
  const Lid lid = ways.to().lid;
  if (cause.pairs == 0) cause.example = {sender, lid};
  cause.pairs += pairs;
  if (cause.lids.empty() || cause.lids.back() != lid.value) cause.lids.push_back(lid.value);
}

Lid Unicast::first_sender(const Ways& ways, SwitchIndex at) const {
  for (const HostIndex host : network_.attached(network_.switches()[at])) {
    if (ways.sends(host)) return network_.hosts()[host].base;
  }
  return network_.lid_of(at);
}

Cause& Unicast::cause_of(const Ways& ways, const Step& step) {
  if (step.fault == Fault::loop) return loop_of(ways, step.last);
  const PlaceIndex out = ways.step(step.last).out;
  return cause_at(step.fault, out == none ? network_.place(step.last, 0) : out);
}

Cause& Unicast::cause_at(Fault fault, PlaceIndex place) {
  std::vector<std::uint32_t>& at = cause_at_.at(static_cast<std::size_t>(fault));
  if (at.empty()) at.resize(network_.place_count(), none);
  if (at[place] == none) {
    at[place] = static_cast<std::uint32_t>(causes_.size());
    causes_.push_back({fault, place, {}, {}, 0, {}});
  }
  return causes_[at[place]];
}

Cause& Unicast::loop_of(const Ways& ways, SwitchIndex met) {
  cycle_.clear();
  SwitchIndex at = met;
  do {
    cycle_.push_back(at);
    at = ways.step(at).next;
  } while (at != met);
  std::ranges::rotate(cycle_, std::ranges::min_element(cycle_));
  const auto known = loops_.find(cycle_);
  if (known != loops_.end()) return causes_[known->second];
  if (loops_.size() >= most_loops) {
    Cause& cause = cause_at(Fault::loop, network_.place(cycle_.front(), 0));
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
    return std::tuple(b->pairs, a->fault, a->place, a->cycle) < std::tuple(a->pairs, b->fault, b->place, b->cycle);
  });
  return found;
}

}  // namespace ib::routing
