// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reading SMP attributes that come in blocks (P_Key, GUID, SL to VL and forwarding tables): blocks are asked for side by side, as far
// as the RPC window lets them, and stand in order when the last has come.
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

/// Blocks as they came.
struct SmpBlocks {
  std::vector<std::uint8_t> bytes;             ///< smp_block_bytes for each block, in the order asked for; zeros where it was not read
  std::vector<std::size_t> unread;             ///< indexes of blocks that were not read, ascending
  std::shared_ptr<const mad::MadError> error;  ///< why the first of them that was asked for was not; null where all were read

  Bytes block(std::size_t index) const { return Bytes(bytes).subspan(index * smp_block_bytes, smp_block_bytes); }
};

/// SubnGet of the attribute that `info` describes for each of `modifiers`. A node that falls silent costs one chain of tries.
async::Task<SmpBlocks> try_read_smp_blocks(mad::Transactor& transactor, path::Path path, const StructInfo& info,
                                           std::vector<std::uint32_t> modifiers);

/// The data areas of try_read_smp_blocks(), one after another. Throws the MadError of the first block that was not read.
async::Task<std::vector<std::uint8_t>> read_smp_blocks(mad::Transactor& transactor, path::Path path, const StructInfo& info,
                                                       std::vector<std::uint32_t> modifiers);

/// Attribute T for each of `modifiers`. Throws as read_smp_blocks().
template <class T>
async::Task<std::vector<T>> read_smp_table(mad::Transactor& transactor, path::Path path, std::vector<std::uint32_t> modifiers) {
  const std::size_t count = modifiers.size();
  const std::vector<std::uint8_t> bytes = co_await read_smp_blocks(transactor, std::move(path), T::info(), std::move(modifiers));
  std::vector<T> blocks;
  for (std::size_t i = 0; i < count; ++i) blocks.push_back(T::unpack(Bytes(bytes).subspan(i * smp_block_bytes, smp_block_bytes)));
  co_return blocks;
}

/// The blocks of attribute T that hold `count` entries of `per_block` each; their modifiers are first, first + step, ….
/// Throws as read_smp_blocks().
template <class T>
async::Task<std::vector<T>> read_smp_table(mad::Transactor& transactor, path::Path path, std::uint32_t first, std::size_t count,
                                           std::size_t per_block, std::uint32_t step = 1) {
  std::vector<std::uint32_t> modifiers;
  for (std::size_t i = 0; i * per_block < count; ++i) modifiers.push_back(first + static_cast<std::uint32_t>(i) * step);
  return read_smp_table<T>(transactor, std::move(path), std::move(modifiers));
}

/// The number of P_Keys that port `port` of a node has room for: PartitionCap of an end port (IBA 14.2.5.3), PartitionEnforcementCap
/// of a switch's external port (IBA 14.2.5.4).
std::size_t pkey_capacity(const smp::NodeInfo& node, const smp::SwitchInfo& switch_info, unsigned port);

/// The P_Key table of port `port` of a node, `capacity` entries (IBA 14.2.5.7). Throws as read_smp_blocks().
async::Task<std::vector<std::uint16_t>> read_pkey_table(mad::Transactor& transactor, path::Path path, unsigned port, std::size_t capacity);

/// The SLtoVL mappings to `out_port` of a node, by input port from 0: of a switch one for each of its ports, of another node one
/// (IBA 14.2.5.8). Throws as read_smp_blocks().
async::Task<std::vector<smp::SLToVLMappingTable>> read_sl_to_vl_tables(mad::Transactor& transactor, path::Path path,
                                                                       const smp::NodeInfo& node, unsigned out_port);

}  // namespace ib::subnet
