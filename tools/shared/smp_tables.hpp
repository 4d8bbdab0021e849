// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reading SMP attributes that come in blocks (P_Key, GUID and forwarding tables): all blocks are asked for at once,
// as far as the RPC window lets them, and stand in order when the last has come.
#pragma once

#include <cstdint>
#include <vector>

#include "async/task.hpp"
#include "mad/transactor.hpp"
#include "path/path.hpp"

namespace ib::tools {

inline constexpr std::size_t smp_block_bytes = 64;  ///< the data area of an SMP (IBA 14.2.1)

/// SubnGet of one attribute for each of `modifiers`: their data areas one after another. Throws the first MadError.
/// The references must live until the task ends.
async::Task<std::vector<std::uint8_t>> read_smp_blocks(mad::Transactor& transactor, const path::Path& path, std::uint16_t attribute_id,
                                                       const std::vector<std::uint32_t>& modifiers);

/// The blocks of attribute T that hold `count` entries of `per_block` each, unpacked; their modifiers are first,
/// first + step, ….
template <class T>
async::Task<std::vector<T>> read_smp_table(mad::Transactor& transactor, const path::Path& path, std::uint32_t first, std::size_t count,
                                           std::size_t per_block, std::uint32_t step = 1) {
  std::vector<std::uint32_t> modifiers;
  for (std::size_t i = 0; i * per_block < count; ++i) modifiers.push_back(first + static_cast<std::uint32_t>(i) * step);
  const std::vector<std::uint8_t> bytes = co_await read_smp_blocks(transactor, path, T::attribute_id, modifiers);
  std::vector<T> blocks;
  for (std::size_t i = 0; i < modifiers.size(); ++i)
    blocks.push_back(T::unpack(Bytes(bytes).subspan(i * smp_block_bytes, smp_block_bytes)));
  co_return blocks;
}

}  // namespace ib::tools
