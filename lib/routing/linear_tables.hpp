// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The linear forwarding tables of all switches of a network in one array. A table that was not read, or a block of it, is not the same
// as one without entries.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/network.hpp"
#include "subnet/forwarding_tables.hpp"

namespace ib::routing {

class LinearTables {
 public:
  static constexpr std::uint8_t no_entry = subnet::no_out_port;
  static constexpr unsigned per_block = 64;

  /// Tables of which nothing is read yet, for `switches` switches and the LIDs up to `last`.
  LinearTables(std::size_t switches, Lid last)
      : blocks_(last.value / per_block + 1U), ports_(switches * blocks_ * per_block, no_entry), known_(switches * blocks_) {}

  /// The output port of `lid`; no_entry if the switch does not forward it. May exceed the switch's last port.
  std::uint8_t out_port(SwitchIndex at, Lid lid) const { return ports_[at * blocks_ * per_block + lid.value]; }
  /// Whether the entry of `lid` was read, or is known not to exist.
  bool is_known(SwitchIndex at, Lid lid) const { return (known_[at * blocks_ + lid.value / per_block] >> lid.value % per_block & 1) != 0; }

  /// Stores the table as it was read from the switch. Blocks that were not read stay so.
  void set(SwitchIndex at, const subnet::LinearTable& table);
  /// Declares the whole table known and without entries.
  void clear(SwitchIndex at);
  /// Stores one entry; LIDs beyond the last one are ignored.
  void set_entry(SwitchIndex at, Lid lid, std::uint8_t port);

 private:
  std::size_t blocks_;
  std::vector<std::uint8_t> ports_;
  std::vector<std::uint64_t> known_;  // by switch and block: a bit for each entry
};

}  // namespace ib::routing
