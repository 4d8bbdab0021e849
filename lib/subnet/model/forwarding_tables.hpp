// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The forwarding tables of one switch: linear (IBA 14.2.5.10) and multicast (IBA 14.2.5.12). The SwitchInfo of the switch gives
// the size of a new table; read_table() then reads its unknown entries. The switch may report a false size: no table exceeds
// the limits of its format.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "async/task.hpp"
#include "iba-gen/smp.hpp"
#include "mad/transactor.hpp"
#include "path/path.hpp"

namespace ib::subnet {

inline constexpr Lid first_multicast_lid{0xc000};
inline constexpr Lid last_multicast_lid{0xfffe};
inline constexpr std::uint8_t no_out_port = 255;  ///< the entry of a LID that is not forwarded (IBA 14.2.5.10)

/// The LIDs from `first` to `last`, both included.
struct LidRange {
  Lid first{0}, last{permissive_lid};
};

/// The ports to which a switch with `ports` ports besides port 0 sends packets of a group that has no entry (IBA 14.2.5.4).
std::vector<std::uint8_t> default_multicast_ports(const smp::SwitchInfo& info, unsigned ports);

/// The output ports of unicast LIDs.
class LinearTable {
 public:
  /// A table without entries.
  LinearTable() = default;
  /// A table for the entries that `info` reports (up to LinearFDBTop and within LinearFDBCap) and that are in `wanted`. No
  /// entry is known yet.
  explicit LinearTable(const smp::SwitchInfo& info, LidRange wanted = {});

  std::uint16_t capacity() const { return capacity_; }  ///< LinearFDBCap as the switch reports it
  std::uint16_t top() const { return top_; }            ///< LinearFDBTop as the switch reports it
  /// The LIDs with an entry are first() … end() − 1.
  unsigned first() const { return first_; }
  unsigned end() const { return first_ + static_cast<unsigned>(ports_.size()); }
  bool covers(Lid lid) const { return lid.value >= first() && lid.value < end(); }
  /// Whether the switch has an entry for `lid`, be it in this table or outside of the range that is wanted.
  bool exists(Lid lid) const { return lid.value < count_; }
  /// Whether the entry of `lid` was read.
  bool is_known(Lid lid) const { return covers(lid) && known_[lid.value / per_block - first_ / per_block]; }
  /// The output port of `lid`; no_out_port if there is none or the entry is not known. May exceed the switch's last port.
  std::uint8_t out_port(Lid lid) const { return covers(lid) ? ports_[lid.value - first_] : no_out_port; }
  bool complete() const;

  static const StructInfo& info() { return smp::LinearForwardingTable::info(); }
  /// The attribute modifiers of the unknown blocks.
  std::vector<std::uint32_t> unknown_blocks() const;
  /// Stores a block. `modifier` must be one of unknown_blocks().
  void set_block(std::uint32_t modifier, Bytes block);

 private:
  static constexpr unsigned per_block = 64;
  std::uint16_t capacity_{}, top_{};
  unsigned count_{};  // of the entries of the switch
  unsigned first_{};
  std::vector<std::uint8_t> ports_;  // index: LID − first_
  std::vector<bool> known_;          // by block, from the block of first_ on
};

/// The output ports of multicast LIDs.
class MulticastTable {
 public:
  /// A table without entries.
  MulticastTable() = default;
  /// A table for the entries that `info` reports and that are in `wanted`: up to MulticastFDBTop, unless it is 0 (IBA 14.2.5.4:
  /// not supported), and within MulticastFDBCap. `ports` is the number of ports besides port 0. No entry is known yet.
  MulticastTable(const smp::SwitchInfo& info, unsigned ports, LidRange wanted = {});

  std::uint16_t capacity() const { return capacity_; }  ///< MulticastFDBCap as the switch reports it
  std::uint16_t top() const { return top_; }            ///< MulticastFDBTop as the switch reports it
  /// The multicast LIDs with an entry are first() … end() − 1.
  unsigned first() const { return first_; }
  unsigned end() const { return end_; }
  bool covers(Lid mlid) const { return mlid.value >= first_ && mlid.value < end_; }
  /// As in LinearTable.
  bool exists(Lid mlid) const { return mlid >= first_multicast_lid && mlid.value < all_; }
  /// Whether the entry of `mlid` was read for all positions of the port mask.
  bool is_known(Lid mlid) const;
  /// The output ports of `mlid` in ascending order. Unknown ones are missing.
  std::vector<std::uint8_t> members(Lid mlid) const;
  /// The port mask of `mlid` at `position`. Bit n is port 16 · position + n.
  std::uint16_t mask(Lid mlid, unsigned position) const;
  /// Calls use(mlid, position, mask) for each part of a port mask that has a port.
  template <class F>
  void each_mask(F&& use) const {
    for (const auto& [modifier, masks] : masks_) {
      for (unsigned i = 0; i < per_block; ++i) {
        const Lid mlid{static_cast<std::uint16_t>(first_multicast_lid.value + (modifier & 0x1ff) * per_block + i)};
        if (masks[i] != 0 && covers(mlid)) use(mlid, modifier >> 28, masks[i]);
      }
    }
  }
  /// The number of positions of the port mask. A position has 16 ports.
  unsigned positions() const { return positions_; }
  bool complete() const;

  static const StructInfo& info() { return smp::MulticastForwardingTable::info(); }
  /// As in LinearTable.
  std::vector<std::uint32_t> unknown_blocks() const;
  void set_block(std::uint32_t modifier, Bytes block);

 private:
  static constexpr unsigned per_block = 32;
  static constexpr unsigned ports_per_mask = 16;
  unsigned first_block() const { return (first_ - first_multicast_lid.value) / per_block; }
  unsigned blocks() const { return first_ == end_ ? 0 : (end_ - 1 - first_multicast_lid.value) / per_block + 1 - first_block(); }

  std::uint16_t capacity_{}, top_{};
  unsigned first_ = first_multicast_lid.value, end_ = first_multicast_lid.value, positions_{};
  unsigned all_ = first_multicast_lid.value;                             // the end of the entries of the switch
  std::map<std::uint32_t, std::array<std::uint16_t, per_block>> masks_;  // by modifier; blocks that are all zero are not stored
  std::vector<bool> known_;                                              // by block, from first_block() on, and position
};

/// Reads the unknown blocks of `table` from the switch at the end of `path`. `table` must live until the task ends. Blocks that
/// arrive are stored. Returns null if the table is then complete, else the error of the first unknown block.
async::Task<std::shared_ptr<const mad::MadError>> read_table(mad::Transactor& transactor, path::Path path, LinearTable& table);
async::Task<std::shared_ptr<const mad::MadError>> read_table(mad::Transactor& transactor, path::Path path, MulticastTable& table);

}  // namespace ib::subnet
