// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One small task a block; the window of the RPC engine is what bounds the fabric's load.
#include "tools/shared/smp_tables.hpp"

#include <algorithm>
#include <ranges>

#include "async/group.hpp"

namespace ib::tools {
namespace {

constexpr std::size_t tasks_at_once = 64;

async::Task<> read_block(mad::Transactor& transactor, const path::Path& path, std::uint16_t attribute_id, std::uint32_t modifier,
                         MutableBytes out) {
  const mad::Request request{
      .path = path, .mgmt_class = mad::smp_class(path), .attribute_id = attribute_id, .attribute_modifier = modifier, .payload = {}};
  const mad::Reply reply = co_await transactor.call(request);
  const Bytes payload = reply.payload();
  std::copy_n(payload.begin(), std::min(payload.size(), out.size()), out.begin());
}

}  // namespace

async::Task<std::vector<std::uint8_t>> read_smp_blocks(mad::Transactor& transactor, const path::Path& path, std::uint16_t attribute_id,
                                                       const std::vector<std::uint32_t>& modifiers) {
  std::vector<std::uint8_t> bytes(modifiers.size() * smp_block_bytes);
  auto read = [&](std::size_t i) {
    return read_block(transactor, path, attribute_id, modifiers[i], MutableBytes(bytes).subspan(i * smp_block_bytes, smp_block_bytes));
  };
  auto indexes = std::views::iota(std::size_t{0}, modifiers.size());
  async::Task<> all = async::for_each(indexes, tasks_at_once, read);
  co_await all;
  co_return bytes;
}

}  // namespace ib::tools
