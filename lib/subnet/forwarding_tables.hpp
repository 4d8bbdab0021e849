// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The forwarding tables of one switch, linear (IBA 14.2.5.10) and multicast (IBA 14.2.5.12). A table is made from the SwitchInfo of the
// switch, which says how far it goes; read_table() then reads what is not known of it. What a switch says of its tables may be
// false: no table grows beyond what its format has room for.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "async/task.hpp"
#include "iba-gen/smp.hpp"
#include "mad/transactor.hpp"
#include "path/path.hpp"

namespace ib::subnet {

inline constexpr Lid first_multicast_lid{0xc000};
inline constexpr Lid last_multicast_lid{0xfffe};
inline constexpr std::uint8_t no_out_port = 255;  ///< the entry of a LID to which nothing is forwarded (IBA 14.2.5.10)

/// LIDs from `first` to `last`, both included.
struct LidRange {
  Lid first{0}, last{permissive_lid};
};

/// What can not be true of the forwarding tables in a SwitchInfo, as sentences; empty where nothing is wrong.
std::vector<std::string> false_table_claims(const smp::SwitchInfo& info);

/// Output ports by unicast LID.
class LinearTable {
 public:
  /// Of no entries.
  LinearTable() = default;
  /// Of the entries that `info` says there are, up to LinearFDBTop and within LinearFDBCap, as far as they are in `wanted`.
  /// None is known yet.
  explicit LinearTable(const smp::SwitchInfo& info, LidRange wanted = {});

  std::uint16_t capacity() const { return capacity_; }  ///< LinearFDBCap, as the switch says
  std::uint16_t top() const { return top_; }            ///< LinearFDBTop, as the switch says
  /// The LIDs that the table has entries of: from first() to before end().
  unsigned first() const { return first_; }
  unsigned end() const { return first_ + static_cast<unsigned>(ports_.size()); }
  bool covers(Lid lid) const { return lid.value >= first() && lid.value < end(); }
  /// Whether the entry of `lid` was read.
  bool is_known(Lid lid) const { return covers(lid) && known_[lid.value / per_block - first_ / per_block]; }
  /// The output port of `lid`; no_out_port where there is none, or it is not known. May be greater than the switch's last port.
  std::uint8_t out_port(Lid lid) const { return covers(lid) ? ports_[lid.value - first_] : no_out_port; }
  bool complete() const;

  static const StructInfo& info() { return smp::LinearForwardingTable::info(); }
  /// The attribute modifiers of the blocks that are not known.
  std::vector<std::uint32_t> unknown_blocks() const;
  /// Stores the block of that modifier, which must be one of unknown_blocks().
  void set_block(std::uint32_t modifier, Bytes block);

 private:
  static constexpr unsigned per_block = 64;
  std::uint16_t capacity_{}, top_{};
  unsigned first_{};
  std::vector<std::uint8_t> ports_;  // by LID − first_
  std::vector<bool> known_;          // by block, from that of first_
};

/// Output ports by multicast LID.
class MulticastTable {
 public:
  /// Of no entries.
  MulticastTable() = default;
  /// Of the entries that `info` says there are, up to MulticastFDBTop where it has one (IBA 14.2.5.4: 0 means that it has none) and
  /// within MulticastFDBCap, as far as they are in `wanted`; for `ports` ports beside port 0. None is known yet.
  MulticastTable(const smp::SwitchInfo& info, unsigned ports, LidRange wanted = {});

  std::uint16_t capacity() const { return capacity_; }  ///< MulticastFDBCap, as the switch says
  std::uint16_t top() const { return top_; }            ///< MulticastFDBTop, as the switch says
  /// The multicast LIDs that the table has entries of: from first() to before end().
  unsigned first() const { return first_; }
  unsigned end() const { return end_; }
  bool covers(Lid mlid) const { return mlid.value >= first_ && mlid.value < end_; }
  /// Whether the whole entry of `mlid` was read, for all positions of the port mask.
  bool is_known(Lid mlid) const;
  /// The output ports of `mlid`, ascending. Those that are not known are missing.
  std::vector<std::uint8_t> members(Lid mlid) const;
  /// The port mask of `mlid` at `position`: bit n stands for port 16 · position + n.
  std::uint16_t mask(Lid mlid, unsigned position) const;
  /// The number of port-mask positions, 16 ports each.
  unsigned positions() const { return positions_; }
  bool complete() const;

  static const StructInfo& info() { return smp::MulticastForwardingTable::info(); }
  /// As of LinearTable.
  std::vector<std::uint32_t> unknown_blocks() const;
  void set_block(std::uint32_t modifier, Bytes block);

 private:
  static constexpr unsigned per_block = 32;
  static constexpr unsigned ports_per_mask = 16;
  unsigned first_block() const { return (first_ - first_multicast_lid.value) / per_block; }
  unsigned blocks() const { return first_ == end_ ? 0 : (end_ - 1 - first_multicast_lid.value) / per_block + 1 - first_block(); }

  std::uint16_t capacity_{}, top_{};
  unsigned first_ = first_multicast_lid.value, end_ = first_multicast_lid.value, positions_{};
  std::map<std::uint32_t, std::array<std::uint16_t, per_block>> masks_;  // by modifier; blocks of zeros are not kept
  std::vector<bool> known_;                                              // by block, from first_block(), and position
};

/// Reads what is not known of `table`, which must live until the task ends, from the switch at the end of `path`. What comes is kept.
/// Null where the table is complete then, else the error of the first block that is not.
async::Task<std::shared_ptr<const mad::MadError>> read_table(mad::Transactor& transactor, path::Path path, LinearTable& table);
async::Task<std::shared_ptr<const mad::MadError>> read_table(mad::Transactor& transactor, path::Path path, MulticastTable& table);

}  // namespace ib::subnet
