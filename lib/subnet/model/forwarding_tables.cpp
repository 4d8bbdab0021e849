// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/model/forwarding_tables.hpp"

#include <algorithm>

#include "subnet/model/model.hpp"
#include "subnet/sweep/smp_tables.hpp"

namespace ib::subnet {
namespace {

/// This value of MulticastFDBTop means that there are no entries (IBA 14.2.5.4).
constexpr unsigned no_multicast_entries = first_multicast_lid.value - 1U;
constexpr unsigned multicast_lids = last_multicast_lid.value - first_multicast_lid.value + 1U;
constexpr unsigned position_shift = 28;  // in the attribute modifier of a MulticastForwardingTable

bool has_multicast_top(const smp::SwitchInfo& info) { return info.multicast_fdb_top >= no_multicast_entries; }

template <class Table>
async::Task<std::shared_ptr<const mad::MadError>> read_unknown(mad::Transactor& transactor, path::Path path, Table& table) {
  const std::vector<std::uint32_t> modifiers = table.unknown_blocks();
  const SmpBlocks blocks = co_await try_read_smp_blocks(transactor, std::move(path), Table::info(), modifiers);
  auto unread = blocks.unread.begin();
  for (std::size_t i = 0; i < modifiers.size(); ++i) {
    if (unread != blocks.unread.end() && *unread == i) {
      ++unread;
    } else {
      table.set_block(modifiers[i], blocks.block(i));
    }
  }
  co_return blocks.error;
}

}  // namespace

std::vector<std::uint8_t> default_multicast_ports(const smp::SwitchInfo& info, unsigned ports) {
  const auto is_port = [&](unsigned port) { return port != 0 && port <= ports; };
  if (!is_port(info.default_multicast_primary_port)) return {};
  if (!is_port(info.default_multicast_not_primary_port)) return {info.default_multicast_primary_port};
  return {info.default_multicast_primary_port, info.default_multicast_not_primary_port};
}

LinearTable::LinearTable(const smp::SwitchInfo& info, LidRange wanted) : capacity_(info.linear_fdb_cap), top_(info.linear_fdb_top) {
  count_ = std::min({unsigned{capacity_}, top_ + 1U, last_unicast_lid + 1U});
  first_ = std::min<unsigned>(wanted.first.value, count_);
  const unsigned end = std::max(first_, std::min(count_, wanted.last.value + 1U));
  if (first_ == end) return;
  ports_.assign(end - first_, no_out_port);
  known_.assign((end - 1) / per_block - first_ / per_block + 1, false);
}

bool LinearTable::complete() const { return std::ranges::find(known_, false) == known_.end(); }

std::vector<std::uint32_t> LinearTable::unknown_blocks() const {
  std::vector<std::uint32_t> blocks;
  for (std::size_t i = 0; i < known_.size(); ++i) {
    if (!known_[i]) blocks.push_back(static_cast<std::uint32_t>(first_ / per_block + i));
  }
  return blocks;
}

void LinearTable::set_block(std::uint32_t modifier, Bytes block) {
  known_[modifier - first_ / per_block] = true;
  for (unsigned i = 0; i < per_block && i < block.size(); ++i) {
    const unsigned lid = modifier * per_block + i;
    if (lid >= first_ && lid < end()) ports_[lid - first_] = block[i];
  }
}

MulticastTable::MulticastTable(const smp::SwitchInfo& info, unsigned ports, LidRange wanted)
    : capacity_(info.multicast_fdb_cap), top_(info.multicast_fdb_top), positions_(std::min(ports, last_switch_port) / ports_per_mask + 1) {
  unsigned count = std::min(unsigned{capacity_}, multicast_lids);
  if (has_multicast_top(info)) count = std::min(count, top_ - no_multicast_entries);
  all_ = first_multicast_lid.value + count;
  first_ = std::clamp<unsigned>(wanted.first.value, first_multicast_lid.value, all_);
  end_ = std::max(first_, std::min(all_, wanted.last.value + 1U));
  known_.assign(std::size_t{blocks()} * positions_, false);
}

bool MulticastTable::is_known(Lid mlid) const {
  if (!covers(mlid)) return false;
  const unsigned block = (mlid.value - first_multicast_lid.value) / per_block - first_block();
  for (unsigned position = 0; position < positions_; ++position) {
    if (!known_[std::size_t{block} * positions_ + position]) return false;
  }
  return true;
}

std::uint16_t MulticastTable::mask(Lid mlid, unsigned position) const {
  if (!covers(mlid)) return 0;
  const unsigned entry = mlid.value - first_multicast_lid.value;
  const auto block = masks_.find(position << position_shift | entry / per_block);
  return block == masks_.end() ? std::uint16_t{0} : block->second[entry % per_block];
}

std::vector<std::uint8_t> MulticastTable::members(Lid mlid) const {
  std::vector<std::uint8_t> ports;
  for (unsigned position = 0; position < positions_; ++position) {
    const std::uint16_t bits = mask(mlid, position);
    for (unsigned bit = 0; bit < ports_per_mask; ++bit) {
      if ((bits >> bit & 1U) != 0) ports.push_back(static_cast<std::uint8_t>(position * ports_per_mask + bit));
    }
  }
  return ports;
}

bool MulticastTable::complete() const { return std::ranges::find(known_, false) == known_.end(); }

std::vector<std::uint32_t> MulticastTable::unknown_blocks() const {
  std::vector<std::uint32_t> modifiers;
  for (unsigned block = 0; block < blocks(); ++block) {
    for (unsigned position = 0; position < positions_; ++position) {
      if (!known_[std::size_t{block} * positions_ + position]) modifiers.push_back(position << position_shift | (first_block() + block));
    }
  }
  return modifiers;
}

void MulticastTable::set_block(std::uint32_t modifier, Bytes bytes) {
  const unsigned position = modifier >> position_shift, block = modifier & 0x1ffU;
  known_[std::size_t{block - first_block()} * positions_ + position] = true;
  const auto masks = smp::MulticastForwardingTable::unpack(bytes).port_mask_block;
  if (std::ranges::any_of(masks, [](std::uint16_t bits) { return bits != 0; })) masks_[modifier] = masks;
}

async::Task<std::shared_ptr<const mad::MadError>> read_table(mad::Transactor& transactor, path::Path path, LinearTable& table) {
  return read_unknown(transactor, std::move(path), table);
}

async::Task<std::shared_ptr<const mad::MadError>> read_table(mad::Transactor& transactor, path::Path path, MulticastTable& table) {
  return read_unknown(transactor, std::move(path), table);
}

}  // namespace ib::subnet
