// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The SLtoVL mapping tables of switches (IBA 14.2.5.8), as far as they were read: one for each input and output port. Equal ones are kept
// once.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "routing/network.hpp"

namespace ib::routing {

inline constexpr unsigned sl_count = 16;
/// Stands for "whatever the SL": its VL is that to which all SLs are mapped.
inline constexpr unsigned any_sl = sl_count;
/// A packet on this VL is not sent: VL 15 is for SMPs only.
inline constexpr std::uint8_t dropped_vl = 15;

/// The VLs by SL. At any_sl: the VL of all SLs, dropped_vl if they differ.
using LaneRow = std::array<std::uint8_t, sl_count + 1>;

class SlToVlTables {
 public:
  explicit SlToVlTables(std::size_t switches) : rows_of_(switches) {}

  /// `slots` is the number of ports of the switch, port 0 included.
  void set(SwitchIndex at, unsigned slots, unsigned in, unsigned out, const std::array<std::uint8_t, sl_count>& vls);
  /// Null if the table was not read. Valid until the next set().
  const LaneRow* find(SwitchIndex at, unsigned in, unsigned out) const;

 private:
  struct OfSwitch {
    unsigned slots{};
    std::vector<std::uint32_t> rows;  // index: input · slots + output; one more than that of rows_; 0: not read
  };
  std::vector<OfSwitch> rows_of_;
  std::vector<LaneRow> rows_;
  std::map<std::array<std::uint8_t, sl_count>, std::uint32_t> known_;
};

}  // namespace ib::routing
