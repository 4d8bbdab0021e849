// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The multicast forwarding tables of a network by MLID: for each group in use the switches that have an entry, and their ports.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "routing/network.hpp"
#include "subnet/model/forwarding_tables.hpp"

namespace ib::routing {

/// A set of ports of a switch.
struct PortSet {
  std::array<std::uint64_t, 4> words{};
  bool has(unsigned port) const { return port < 256 && (words[port / 64] >> port % 64 & 1) != 0; }
  void add(unsigned port) { words[port / 64] |= std::uint64_t{1} << port % 64; }
  template <class F>
  void each(F&& use) const {
    for (unsigned word = 0; word < words.size(); ++word) {
      for (std::uint64_t bits = words[word]; bits != 0; bits &= bits - 1) use(word * 64 + static_cast<unsigned>(std::countr_zero(bits)));
    }
  }
};

struct MulticastEntry {
  Lid mlid;
  SwitchIndex at{};
  PortSet ports;
};

class MulticastTables {
 public:
  explicit MulticastTables(std::size_t switches) : known_(switches) {}

  /// Adds the table of a switch. Each switch once.
  void add(SwitchIndex at, const subnet::MulticastTable& table);
  /// Adds an entry from a file. It replaces an earlier entry of the same switch and group. The table of the switch counts as read.
  void add(SwitchIndex at, Lid mlid, const PortSet& ports);
  /// Declares whether the whole table of the switch was read, whatever was added.
  void set_known(SwitchIndex at, bool known = true) { known_[at] = known; }
  /// To be called after the last table.
  void finish();

  /// Whether the whole table of a switch was read.
  bool is_known(SwitchIndex at) const { return known_[at]; }
  /// The number of switches whose table was not read, or not wholly.
  std::size_t unread_count() const { return static_cast<std::size_t>(std::ranges::count(known_, false)); }
  /// The groups with an entry, in ascending order.
  std::vector<Lid> groups() const;
  /// The entries of a group by ascending switch; no empty ones.
  std::span<const MulticastEntry> entries(Lid mlid) const;

 private:
  std::vector<bool> known_;
  std::vector<MulticastEntry> entries_;
};

}  // namespace ib::routing
