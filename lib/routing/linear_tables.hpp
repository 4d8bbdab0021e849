// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The linear forwarding tables of all switches of a network in one array. A table that was not read, or a block of it, is not the same
// as one without entries.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "routing/network.hpp"
#include "subnet/model/forwarding_tables.hpp"

namespace ib::routing {

/// What an entry of a linear forwarding table says of packets to its LID.
enum class EntryKind : std::uint8_t {
  not_read,
  no_entry,  ///< dropped: the switch has no entry for the LID, or one that is 255 or a port that the switch does not have
  own_port,  ///< for the switch itself: port 0
  port,      ///< sent out by a port
};
/// Judges the output port of an entry of a switch with `num_ports` ports besides port 0. `port` is absent if the entry was not read, and
/// no_out_port if the switch has no entry for the LID.
constexpr EntryKind entry_kind(std::optional<std::uint8_t> port, unsigned num_ports) {
  if (!port) return EntryKind::not_read;
  if (*port == subnet::no_out_port || *port > num_ports) return EntryKind::no_entry;
  return *port == 0 ? EntryKind::own_port : EntryKind::port;
}

class LinearTables {
 public:
  static constexpr std::uint8_t no_entry = subnet::no_out_port;
  static constexpr unsigned per_block = 64;

  /// Tables of which nothing is read yet, for `switches` switches and the LIDs up to `last`.
  LinearTables(std::size_t switches, Lid last)
      : last_(last), blocks_(last.value / per_block + 1U), ports_(switches * blocks_ * per_block, no_entry), known_(switches * blocks_) {}

  Lid last() const { return last_; }
  /// The output port of `lid`; no_entry if the switch does not forward it. May exceed the switch's last port.
  std::uint8_t out_port(SwitchIndex at, Lid lid) const { return ports_[at * blocks_ * per_block + lid.value]; }
  /// Whether the entry of `lid` was read, or is known not to exist.
  bool is_known(SwitchIndex at, Lid lid) const { return (known_[at * blocks_ + lid.value / per_block] >> lid.value % per_block & 1) != 0; }

  EntryKind kind(SwitchIndex at, Lid lid, unsigned num_ports) const {
    return entry_kind(is_known(at, lid) ? std::optional(out_port(at, lid)) : std::nullopt, num_ports);
  }

  /// Whether all entries of the switch are known.
  bool is_known(SwitchIndex at) const;

  /// Stores the table as it was read from the switch. Blocks that were not read stay so.
  void set(SwitchIndex at, const subnet::LinearTable& table);
  /// Declares the whole table known and without entries.
  void clear(SwitchIndex at);
  /// Declares the entries from `first` to `last` known and empty. LIDs beyond the last one are ignored.
  void clear(SwitchIndex at, Lid first, Lid last);
  /// Stores one entry; LIDs beyond the last one are ignored.
  void set_entry(SwitchIndex at, Lid lid, std::uint8_t port);

 private:
  Lid last_;
  std::size_t blocks_;
  std::vector<std::uint8_t> ports_;
  std::vector<std::uint64_t> known_;  // by switch and block: a bit for each entry
};

/// An entry of a switch for a LID that a port of the model has.
struct Entry {
  Lid lid;
  subnet::PortIndex owner{};  ///< of the LID
  std::uint8_t port{};        ///< the output port
};
/// The entries of a switch that were read and name one of its ports, by ascending LID, whether packets come to them or not.
std::vector<Entry> entries_of(const Network& network, const LinearTables& tables, SwitchIndex at);

}  // namespace ib::routing
