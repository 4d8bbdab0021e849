// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "routing/channels.hpp"

#include <algorithm>
#include <bit>

namespace ib::routing {
namespace {

constexpr HostIndex everybody = none - 1;
constexpr unsigned word_bits = 64;

}  // namespace

Channels::Channels(const Network& network) : network_(network), used_(network.place_count()) {
  const std::size_t switch_places = network.place_count() - network.hosts().size();
  first_hop_.resize(switch_places, none);
  first_word_.resize(switch_places + 1);
  for (PlaceIndex place = 0; place < switch_places; ++place) {
    const Wire& wire = network.wire(place);
    const unsigned slots = wire.to == Wire::To::switch_port ? network.switches()[wire.index].slots : 0U;
    first_word_[place + 1] = first_word_[place] + (slots + word_bits - 1) / word_bits;
  }
  bits_.resize(first_word_[switch_places]);
}

void Channels::add(const Ways& ways) {
  for (const SwitchIndex at : ways.reached()) {
    const Step& step = ways.step(at);
    if (step.out == none || !network_.wire(step.out).carries()) continue;
    used_[step.out] = true;
    if (step.senders > 0) add_first_hop(ways, at);
    if (step.next == none || step.in_cycle) continue;
    const PlaceIndex wanted = ways.step(step.next).out;
    if (wanted == none || !network_.wire(wanted).carries()) continue;
    const unsigned port = wanted - network_.switches()[step.next].first_place;
    bits_[first_word_[step.out] + port / word_bits] |= std::uint64_t{1} << port % word_bits;
  }
  for (const HostIndex host : network_.stray()) {
    if (ways.sends(host) && network_.wire(network_.place_of_host(host)).carries()) used_[network_.place_of_host(host)] = true;
  }
}

void Channels::add_first_hop(const Ways& ways, SwitchIndex at) {
  const HostIndex owner = ways.to().host;
  const bool owner_is_here = owner != none && network_.hosts()[owner].leaf == at;
  HostIndex& senders = first_hop_[ways.step(at).out];
  if (!owner_is_here) {
    senders = everybody;
  } else if (senders == none) {
    senders = owner;
  } else if (senders != owner) {
    senders = everybody;
  }
}

void Channels::add_edge(PlaceIndex held, PlaceIndex wanted) {
  used_[held] = used_[wanted] = true;
  if (network_.is_host_place(held)) {
    const HostIndex host = network_.host_at(held);
    if (!host_wants(host, wanted)) more_first_hops_.emplace(host, wanted);
    return;
  }
  const unsigned port = wanted - network_.switches()[network_.switch_at(wanted)].first_place;
  bits_[first_word_[held] + port / word_bits] |= std::uint64_t{1} << port % word_bits;
}

std::uint64_t Channels::channel_count() const {
  std::vector<bool> used = used_;
  for (HostIndex at = 0; at < network_.hosts().size(); ++at) {
    const SwitchIndex leaf = network_.hosts()[at].leaf;
    if (leaf == none) continue;
    const Switch& to = network_.switches()[leaf];
    for (unsigned port = 1; port < to.slots && !used[network_.place_of_host(at)]; ++port) {
      if (host_wants(at, to.first_place + port)) used[network_.place_of_host(at)] = true;
    }
  }
  return static_cast<std::uint64_t>(std::ranges::count(used, true));
}

std::uint64_t Channels::edge_count() const {
  std::uint64_t count = more_first_hops_.size();
  for (const std::uint64_t word : bits_) count += static_cast<std::uint64_t>(std::popcount(word));
  for (PlaceIndex place = 0; place < first_hop_.size(); ++place) {
    if (first_hop_[place] == none) continue;
    const std::uint32_t hosts = network_.switches()[network_.switch_at(place)].hosts;
    count += first_hop_[place] == everybody || hosts == 0 ? hosts : hosts - 1;
  }
  return count;
}

Digraph Channels::graph() const {
  Digraph graph;
  graph.first.reserve(first_word_.size());
  for (PlaceIndex place = 0; place + 1 < first_word_.size(); ++place) {
    for (std::uint32_t word = first_word_[place]; word < first_word_[place + 1]; ++word) {
      const PlaceIndex base = network_.switches()[network_.wire(place).index].first_place + (word - first_word_[place]) * word_bits;
      for (std::uint64_t bits = bits_[word]; bits != 0; bits &= bits - 1)
        graph.to.push_back(base + static_cast<unsigned>(std::countr_zero(bits)));
    }
    graph.first.push_back(static_cast<std::uint32_t>(graph.to.size()));
  }
  return graph;
}

}  // namespace ib::routing
