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

/// The size of the P_Key table of port `port` of a node: PartitionCap for an end port (IBA 14.2.5.3), PartitionEnforcementCap
/// for an external port of a switch (IBA 14.2.5.4).
std::size_t pkey_capacity(const smp::NodeInfo& node, const smp::SwitchInfo& switch_info, unsigned port);

}  // namespace ib::subnet
