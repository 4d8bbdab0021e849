// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reads SMP attributes that consist of blocks (P_Key, GUID, SL to VL and forwarding tables). Blocks are requested in parallel
// as far as the RPC window allows, and returned in order when all have come.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "async/task.hpp"
#include "iba-gen/smp.hpp"
#include "mad/transactor.hpp"
#include "path/path.hpp"

namespace ib::subnet {

inline constexpr std::size_t smp_block_bytes = 64;  ///< the data area of an SMP (IBA 14.2.1)

/// The blocks that were read.
struct SmpBlocks {
  std::vector<std::uint8_t> bytes;  ///< smp_block_bytes for each block in the requested order; zeros for a block that was not read
  std::vector<std::size_t> unread;  ///< ascending indexes of the blocks that were not read
  std::shared_ptr<const mad::MadError> error;  ///< the error of the first unread block in the requested order; null if all were read

  Bytes block(std::size_t index) const { return Bytes(bytes).subspan(index * smp_block_bytes, smp_block_bytes); }
};

/// SubnGet of the attribute that `info` describes, for each of `modifiers`. A node that falls silent costs only one chain of
/// tries.
async::Task<SmpBlocks> try_read_smp_blocks(mad::Transactor& transactor, path::Path path, const StructInfo& info,
                                           std::vector<std::uint32_t> modifiers);

/// The data areas of try_read_smp_blocks() in the requested order. Throws the MadError of the first block that was not read.
async::Task<std::vector<std::uint8_t>> read_smp_blocks(mad::Transactor& transactor, path::Path path, const StructInfo& info,
                                                       std::vector<std::uint32_t> modifiers);

/// Reads attribute T for each of `modifiers`. Throws as read_smp_blocks() does.
template <class T>
async::Task<std::vector<T>> read_smp_table(mad::Transactor& transactor, path::Path path, std::vector<std::uint32_t> modifiers) {
  const std::size_t count = modifiers.size();
  const std::vector<std::uint8_t> bytes = co_await read_smp_blocks(transactor, std::move(path), T::info(), std::move(modifiers));
  std::vector<T> blocks;
  for (std::size_t i = 0; i < count; ++i) blocks.push_back(T::unpack(Bytes(bytes).subspan(i * smp_block_bytes, smp_block_bytes)));
  co_return blocks;
}

/// Reads the blocks of attribute T for `count` entries, `per_block` in each block. The modifiers are first, first + step, ….
/// Throws as read_smp_blocks() does.
template <class T>
async::Task<std::vector<T>> read_smp_table(mad::Transactor& transactor, path::Path path, std::uint32_t first, std::size_t count,
                                           std::size_t per_block, std::uint32_t step = 1) {
  std::vector<std::uint32_t> modifiers;
  for (std::size_t i = 0; i * per_block < count; ++i) modifiers.push_back(first + static_cast<std::uint32_t>(i) * step);
  return read_smp_table<T>(transactor, std::move(path), std::move(modifiers));
}

/// The size of the P_Key table of port `port` of a node: PartitionCap for an end port (IBA 14.2.5.3), PartitionEnforcementCap
/// for an external port of a switch (IBA 14.2.5.4).
std::size_t pkey_capacity(const smp::NodeInfo& node, const smp::SwitchInfo& switch_info, unsigned port);

/// Reads the P_Key table of port `port` of a node, `capacity` entries (IBA 14.2.5.7). Throws as read_smp_blocks() does.
async::Task<std::vector<std::uint16_t>> read_pkey_table(mad::Transactor& transactor, path::Path path, unsigned port, std::size_t capacity);

/// Reads the SLtoVL mappings to output port `out_port` of a node, by input port from 0 (IBA 14.2.5.8). A switch has one for
/// each of its ports, another node has one. Throws as read_smp_blocks() does.
async::Task<std::vector<smp::SLToVLMappingTable>> read_sl_to_vl_tables(mad::Transactor& transactor, path::Path path,
                                                                       const smp::NodeInfo& node, unsigned out_port);

}  // namespace ib::subnet
