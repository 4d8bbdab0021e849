// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/forwarding_tables/tables.hpp"

#include <fmt/format.h>

namespace ib::tools::tables {

void add_range(OptionSet& set, Wanted& wanted) {
  constexpr Range<std::uint32_t> lids{0, permissive_lid.value};
  set.optional_operands();
  set.integer("START_LID", wanted.first, lids);
  set.integer("END_LID", wanted.last, lids);
}

void check_range(const Wanted& wanted) {
  if (wanted.first && wanted.last && *wanted.first > *wanted.last)
    throw UsageError(fmt::format("START_LID {} is behind END_LID {}", *wanted.first, *wanted.last));
}

async::Task<> SwitchTable::read(mad::Transactor& transactor, path::Path to) {
  if (linear) {
    error = co_await subnet::read_table(transactor, std::move(to), *linear);
  } else {
    error = co_await subnet::read_table(transactor, std::move(to), *multicast);
  }
}

std::vector<std::uint32_t> SwitchTable::unknown_blocks() const {
  return linear ? linear->unknown_blocks() : multicast ? multicast->unknown_blocks() : std::vector<std::uint32_t>();
}

bool SwitchTable::any_read() const {
  if (!has_info || (!linear && !multicast)) return false;
  if (linear ? linear->complete() : multicast->complete()) return true;
  const unsigned begin = linear ? linear->first() : multicast->first(), end = linear ? linear->end() : multicast->end();
  for (unsigned value = begin; value < end; ++value) {
    const Lid entry{static_cast<std::uint16_t>(value)};
    if (linear ? linear->is_known(entry) : multicast->is_known(entry)) return true;
  }
  return false;
}

void make_table(SwitchTable& of, const Wanted& wanted) {
  const subnet::LidRange lids{Lid{static_cast<std::uint16_t>(wanted.first.value_or(0))},
                              Lid{static_cast<std::uint16_t>(wanted.last.value_or(permissive_lid.value))}};
  if (wanted.multicast) {
    of.multicast.emplace(of.info, of.node.num_ports, lids);
  } else {
    of.linear.emplace(of.info, lids);
  }
}

bool is_member(const subnet::MulticastTable& table, Lid mlid, unsigned port) {
  constexpr unsigned ports_per_mask = 16;
  return (table.mask(mlid, port / ports_per_mask) >> port % ports_per_mask & 1U) != 0;
}

}  // namespace ib::tools::tables
