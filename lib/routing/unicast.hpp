// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Counts the pairs of a sender and a destination LID that arrive, by the number of links, and finds the causes for those that do not. A
// cause is one wrong entry, one dead port, one loop, …: thousands of pairs may have the same cause.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "routing/ways.hpp"

namespace ib::routing {

struct Pair {
  Lid slid, dlid;
  bool operator==(const Pair&) const = default;
};

/// A reason why pairs are lost, or why it is not known whether they arrive (Fault::not_read).
struct Cause {
  Fault fault{};
  /// The output port; port 0 of the switch for no_entry, and for not_read where that is the entry; none for a loop.
  PlaceIndex place = none;
  std::vector<SwitchIndex> cycle;   ///< the switches of a loop in the order of packets, that with the lowest index first
  std::vector<std::uint16_t> lids;  ///< destinations, ascending
  std::uint64_t pairs{};
  Pair example;
};

class Unicast {
 public:
  /// All must outlive this.
  Unicast(const Network& network, std::span<const DestinationLid> destinations);

  /// Counts the pairs of one destination. Destinations come in ascending order.
  void add(const Ways& ways);

  std::uint64_t pairs() const { return pairs_; }
  std::uint64_t arrived() const { return arrived_; }
  /// Pairs that meet a table that was not read, so that it is not known whether they arrive.
  std::uint64_t unknown() const;
  /// Pairs that arrive by their number of links from port to port.
  std::span<const std::uint64_t> hops() const { return hops_; }
  /// Pairs that arrive over more links than the shortest way has.
  std::uint64_t longer() const { return longer_; }
  /// The causes without Fault::not_read; those with the most pairs first.
  std::vector<const Cause*> findings() const { return sorted(false); }
  /// The causes with Fault::not_read.
  std::vector<const Cause*> not_read() const { return sorted(true); }

 private:
  /// Loops beyond this number are counted as one cause for each switch where they are entered first: false tables must not fill the memory.
  static constexpr std::size_t most_loops = 4096;

  void count_arrived(const Ways& ways, SwitchIndex at, std::uint32_t hosts, std::uint32_t itself);
  void count_hops(std::size_t hops, std::uint16_t shortest, std::uint64_t pairs);
  void add_stray(const Ways& ways, HostIndex host);
  void lose(Cause& cause, const Ways& ways, Lid sender, std::uint64_t pairs);
  Lid first_sender(const Ways& ways, SwitchIndex at) const;
  Cause& cause_of(const Ways& ways, const Step& step);
  Cause& cause_at(Fault fault, PlaceIndex place);
  Cause& loop_of(const Ways& ways, SwitchIndex met);
  std::vector<const Cause*> sorted(bool not_read) const;

  const Network& network_;
  Distances distances_;
  std::uint64_t pairs_{}, arrived_{}, longer_{};
  std::vector<std::uint64_t> hops_;
  std::vector<Cause> causes_;
  std::array<std::vector<std::uint32_t>, 6> cause_at_;  // by fault, then by place; filled when the fault is first met
  std::map<std::vector<SwitchIndex>, std::uint32_t> loops_;
  std::vector<SwitchIndex> cycle_;
};

}  // namespace ib::routing
