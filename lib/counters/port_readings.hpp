// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One attribute of counters, whole, of ports of one PMA. A CounterRow does not hold it: it has the selectors of one of twenty attributes,
// and its counters by VL, SL and lane.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "async/loop.hpp"
#include "async/task.hpp"
#include "counters/difference.hpp"
#include "counters/row.hpp"
#include "iba/struct_info.hpp"
#include "mad/error.hpp"
#include "mad/transactor.hpp"

namespace ib::counters {

/// The attribute of one port, or the sum of several (port 255).
struct PortReading {
  std::int32_t port{};                           ///< its lowest byte is the PortSelect of the request
  std::vector<std::uint8_t> bytes;               ///< as many as the structure has
  async::Time time{};                            ///< when they came; of several ports: the last of them
  std::shared_ptr<const mad::MadError> error{};  ///< of a request that failed: `bytes` are zeros then
};

/// Reads `attribute` of each of `ports` from the PMA at `pma`. Answers for another PortSelect are taken too.
async::Task<std::vector<PortReading>> read_ports(mad::Transactor& transactor, path::Path pma, const StructInfo& attribute,
                                                 std::vector<std::int32_t> ports);

/// One reading in the place of `ports`, of which there is one at least: each counter is the sum, or the greatest value of its field.
PortReading sum_of(const std::vector<PortReading>& ports, const StructInfo& attribute);

/// Calls `use(field, index)` for each counter of the attribute. The index is 0 for a field that is not an array.
template <class Use>
void each_counter(const StructInfo& attribute, Use use) {
  for (const FieldInfo& field : attribute.fields) {
    for (std::uint32_t index = 0; !is_selector(field) && index < std::max<std::uint32_t>(field.count, 1); ++index) use(field, index);
  }
}

/// The seconds between two readings; absent if there is no earlier one, or if they are not known.
std::optional<double> seconds_between(const std::optional<PortReading>& before, const PortReading& now);
/// What a counter has counted between two readings; without an earlier one, only what it holds now.
CounterChange change_of(const std::optional<PortReading>& before, const PortReading& now, const FieldInfo& counter, std::uint32_t index);

}  // namespace ib::counters
