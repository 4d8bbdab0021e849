// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "routing/sl_to_vl.hpp"

#include <algorithm>

namespace ib::routing {

void SlToVlTables::set(SwitchIndex at, unsigned slots, unsigned in, unsigned out, const std::array<std::uint8_t, sl_count>& vls) {
  OfSwitch& of = rows_of_[at];
  if (of.rows.empty()) {
    of.slots = slots;
    of.rows.resize(std::size_t{slots} * slots);
  }
  if (in >= of.slots || out >= of.slots) return;
  const auto [known, is_new] = known_.try_emplace(vls, static_cast<std::uint32_t>(rows_.size()));
  if (is_new) {
    LaneRow row{};
    std::ranges::copy(vls, row.begin());
    row[any_sl] = std::ranges::count(vls, vls[0]) == sl_count ? vls[0] : dropped_vl;
    rows_.push_back(row);
  }
  of.rows[std::size_t{in} * of.slots + out] = known->second + 1;
}

const LaneRow* SlToVlTables::find(SwitchIndex at, unsigned in, unsigned out) const {
  const OfSwitch& of = rows_of_[at];
  if (in >= of.slots || out >= of.slots) return nullptr;
  const std::uint32_t row = of.rows[std::size_t{in} * of.slots + out];
  return row == 0 ? nullptr : &rows_[row - 1];
}

}  // namespace ib::routing
