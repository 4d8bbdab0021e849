// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reads SMP attributes that consist of blocks (P_Key, GUID, SL to VL and forwarding tables). Blocks are requested in parallel
// as far as the RPC window allows, and returned in order when all have come.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <ranges>
#include <vector>

#include "async/task.hpp"
#include "iba-gen/smp.hpp"
#include "mad/transactor.hpp"
#include "path/path.hpp"

namespace ib::subnet {

inline constexpr std::size_t smp_block_bytes = 64;  ///< the data area of an SMP (IBA 14.2.1)

struct SmpBlocks {
  std::vector<std::uint8_t> bytes;  ///< smp_block_bytes for each block in the requested order; zeros for a block that was not read
  std::vector<std::size_t> unread;  ///< ascending indexes of the blocks that were not read
  std::shared_ptr<const mad::MadError> error;  ///< the error of the first unread block in the requested order; null if all were read

  Bytes block(std::size_t index) const { return Bytes(bytes).subspan(index * smp_block_bytes, smp_block_bytes); }
  /// The number of blocks before the first one that was not read.
  std::size_t read_count() const { return unread.empty() ? bytes.size() / smp_block_bytes : unread.front(); }
  /// The elements of `member` of the blocks, attributes of the type T, before the first one that was not read.
  template <class T, class Array>
  auto entries(Array T::*member) const {
    std::vector<typename Array::value_type> all;
    for (std::size_t i = 0; i < read_count(); ++i) std::ranges::copy(T::unpack(block(i)).*member, std::back_inserter(all));
    return all;
  }
};

/// The number of entries of one block of a table: the elements of its array.
std::uint32_t entries_per_block(const StructInfo& table);
/// The attribute modifiers of the blocks of a table that hold its first `count` entries: first, first + step, ….
std::vector<std::uint32_t> block_modifiers(const StructInfo& table, std::size_t count, std::uint32_t first = 0, std::uint32_t step = 1);

/// SubnGet of the attribute that `info` describes, for each of `modifiers`. A node that falls silent costs only one chain of
/// tries.
async::Task<SmpBlocks> try_read_smp_blocks(mad::Transactor& transactor, path::Path path, const StructInfo& info,
                                           std::vector<std::uint32_t> modifiers);

/// The size of the P_Key table of port `port` of a node: PartitionCap for an end port (IBA 14.2.5.3), PartitionEnforcementCap
/// for an external port of a switch (IBA 14.2.5.4).
std::size_t pkey_capacity(const smp::NodeInfo& node, const smp::SwitchInfo& switch_info, unsigned port);

// The forwarding tables of one switch: linear (IBA 14.2.5.10) and multicast (IBA 14.2.5.12). The SwitchInfo of the switch gives
// the size of a new table; read_table() then reads its unknown entries. The switch may report a false size: no table exceeds
// the limits of its format.

inline constexpr Lid first_multicast_lid{0xc000};
inline constexpr Lid last_multicast_lid{0xfffe};
inline constexpr std::uint8_t no_out_port = 255;  ///< the entry of a LID that is not forwarded (IBA 14.2.5.10)

struct LidRange {
  Lid first{0}, last{permissive_lid};
};

/// The ports to which a switch with `ports` ports besides port 0 sends packets of a group that has no entry (IBA 14.2.5.4).
std::vector<std::uint8_t> default_multicast_ports(const smp::SwitchInfo& info, unsigned ports);

/// What the tables of both kinds have in common: the entries of the LIDs first() … end() − 1, which are read in blocks.
class ForwardingTable {
 public:
  std::uint16_t capacity() const { return capacity_; }  ///< LinearFDBCap or MulticastFDBCap as the switch reports it
  std::uint16_t top() const { return top_; }            ///< LinearFDBTop or MulticastFDBTop as the switch reports it
  unsigned first() const { return first_; }
  unsigned end() const { return end_; }
  auto lids() const {
    return std::views::iota(first_, end_) | std::views::transform([](unsigned lid) { return Lid{static_cast<std::uint16_t>(lid)}; });
  }
  bool covers(Lid lid) const { return lid.value >= first_ && lid.value < end_; }
  /// Whether the switch has an entry for `lid`, be it in this table or outside of the range that is wanted.
  bool exists(Lid lid) const { return lid.value >= lowest_ && lid.value < all_; }
  bool complete() const { return std::ranges::find(known_, false) == known_.end(); }
  /// Whether the entry of `lid` was read; of a multicast LID for all positions of the port mask.
  virtual bool is_known(Lid lid) const = 0;
  virtual const StructInfo& info() const = 0;
  /// The attribute modifiers of the unknown blocks.
  virtual std::vector<std::uint32_t> unknown_blocks() const = 0;
  /// Stores a block. `modifier` must be one of unknown_blocks().
  virtual void set_block(std::uint32_t modifier, Bytes block) = 0;

 protected:
  ~ForwardingTable() = default;
  explicit ForwardingTable(unsigned lowest, std::uint16_t capacity = 0, std::uint16_t top = 0, unsigned count = 0, LidRange wanted = {})
      : capacity_(capacity),
        top_(top),
        lowest_(lowest),
        all_(lowest + count),
        first_(std::clamp<unsigned>(wanted.first.value, lowest, all_)),
        end_(std::max(first_, std::min(all_, wanted.last.value + 1U))) {}

  std::uint16_t capacity_, top_;
  unsigned lowest_, all_;    // the LIDs of the entries of the switch
  unsigned first_, end_;     // of the wanted ones
  std::vector<bool> known_;  // by block, from the block of first_ on; of multicast tables also by position
};

class LinearTable final : public ForwardingTable {
 public:
  LinearTable() : ForwardingTable(0) {}
  /// A table for the entries that `info` reports (up to LinearFDBTop and within LinearFDBCap) and that are in `wanted`. No
  /// entry is known yet.
  explicit LinearTable(const smp::SwitchInfo& info, LidRange wanted = {});

  bool is_known(Lid lid) const override { return covers(lid) && known_[lid.value / per_block - first_ / per_block]; }
  /// The output port of `lid`; no_out_port if there is none or the entry is not known. May exceed the switch's last port.
  std::uint8_t out_port(Lid lid) const { return covers(lid) ? ports_[lid.value - first_] : no_out_port; }

  const StructInfo& info() const override { return smp::LinearForwardingTable::info(); }
  std::vector<std::uint32_t> unknown_blocks() const override;
  void set_block(std::uint32_t modifier, Bytes block) override;

 private:
  static constexpr unsigned per_block = 64;

  std::vector<std::uint8_t> ports_;  // index: LID − first_
};

class MulticastTable final : public ForwardingTable {
 public:
  MulticastTable() : ForwardingTable(first_multicast_lid.value) {}
  /// A table for the entries that `info` reports and that are in `wanted`: up to MulticastFDBTop, unless it is 0 (IBA 14.2.5.4:
  /// not supported), and within MulticastFDBCap. `ports` is the number of ports besides port 0. No entry is known yet.
  MulticastTable(const smp::SwitchInfo& info, unsigned ports, LidRange wanted = {});

  bool is_known(Lid mlid) const override;
  /// The output ports of `mlid` in ascending order. Unknown ones are missing.
  std::vector<std::uint8_t> members(Lid mlid) const;
  /// The port mask of `mlid` at `position`. Bit n is port 16 · position + n.
  std::uint16_t mask(Lid mlid, unsigned position) const;
  bool is_member(Lid mlid, unsigned port) const { return (mask(mlid, port / ports_per_mask) >> port % ports_per_mask & 1U) != 0; }
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

  const StructInfo& info() const override { return smp::MulticastForwardingTable::info(); }
  std::vector<std::uint32_t> unknown_blocks() const override;
  void set_block(std::uint32_t modifier, Bytes block) override;

 private:
  static constexpr unsigned per_block = 32;
  static constexpr unsigned ports_per_mask = 16;
  unsigned first_block() const { return (first_ - first_multicast_lid.value) / per_block; }
  unsigned blocks() const { return first_ == end_ ? 0 : (end_ - 1 - first_multicast_lid.value) / per_block + 1 - first_block(); }

  unsigned positions_{};
  std::map<std::uint32_t, std::array<std::uint16_t, per_block>> masks_;  // by modifier; blocks that are all zero are not stored
};

/// Reads the unknown blocks of `table` from the switch at the end of `path`. `table` must live until the task ends. Blocks that
/// arrive are stored. Returns null if the table is then complete, else the error of the first unknown block.
async::Task<std::shared_ptr<const mad::MadError>> read_table(mad::Transactor& transactor, path::Path path, ForwardingTable& table);

}  // namespace ib::subnet
