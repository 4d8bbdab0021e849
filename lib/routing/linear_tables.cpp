// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "routing/linear_tables.hpp"

#include <algorithm>

namespace ib::routing {

void LinearTables::set(SwitchIndex at, const subnet::LinearTable& table) {
  for (unsigned value = 0; value < blocks_ * per_block; ++value) {
    const Lid lid{static_cast<std::uint16_t>(value)};
    if (!table.exists(lid) || table.is_known(lid)) set_entry(at, lid, table.out_port(lid));
  }
}

void LinearTables::clear(SwitchIndex at) {
  const auto row = static_cast<std::ptrdiff_t>(at * blocks_);
  std::fill_n(known_.begin() + row, blocks_, ~std::uint64_t{0});
  std::fill_n(ports_.begin() + row * per_block, blocks_ * per_block, no_entry);
}

void LinearTables::clear(SwitchIndex at, Lid first, Lid last) {
  const std::size_t end = std::min<std::size_t>(std::size_t{last.value} + 1, blocks_ * per_block);
  if (first.value >= end) return;
  const auto begin_of_ports = ports_.begin() + static_cast<std::ptrdiff_t>(at * blocks_ * per_block);
  std::fill(begin_of_ports + first.value, begin_of_ports + static_cast<std::ptrdiff_t>(end), no_entry);
  for (std::size_t block = first.value / per_block; block * per_block < end; ++block) {
    std::uint64_t bits = ~std::uint64_t{0};
    if (block * per_block < first.value) bits &= ~std::uint64_t{0} << first.value % per_block;
    if (end - block * per_block < per_block) bits &= (std::uint64_t{1} << end % per_block) - 1;
    known_[at * blocks_ + block] |= bits;
  }
}

void LinearTables::set_entry(SwitchIndex at, Lid lid, std::uint8_t port) {
  if (lid.value / per_block >= blocks_) return;
  ports_[at * blocks_ * per_block + lid.value] = port;
  known_[at * blocks_ + lid.value / per_block] |= std::uint64_t{1} << lid.value % per_block;
}

bool LinearTables::is_known(SwitchIndex at) const {
  const auto row = known_.begin() + static_cast<std::ptrdiff_t>(at * blocks_);
  return std::all_of(row, row + static_cast<std::ptrdiff_t>(blocks_), [](std::uint64_t bits) { return ~bits == 0; });
}

std::vector<Entry> entries_of(const Network& network, const LinearTables& tables, SwitchIndex at) {
  std::vector<Entry> found;
  for (unsigned value = 1; value <= tables.last().value; ++value) {
    const Lid lid{static_cast<std::uint16_t>(value)};
    const subnet::PortIndex owner = network.subnet().find_lid(lid);
    const EntryKind kind = tables.kind(at, lid, network.switches()[at].slots - 1U);
    if (owner != subnet::none && (kind == EntryKind::own_port || kind == EntryKind::port))
      found.push_back({lid, owner, tables.out_port(at, lid)});
  }
  return found;
}

}  // namespace ib::routing
