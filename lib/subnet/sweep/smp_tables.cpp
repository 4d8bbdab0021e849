// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One small task for each block. The window of the RPC engine limits the load on the fabric.
#include "subnet/sweep/smp_tables.hpp"

#include <algorithm>
#include <ranges>

#include "async/group.hpp"
#include "mad/rpc/responder.hpp"

namespace ib::subnet {
namespace {

constexpr std::size_t tasks_at_once = 16;  // for one node; more than the engine sends to one node (mad::Limits)

/// Reads the blocks of one table.
class BlockReader {
 public:
  BlockReader(mad::Transactor& transactor, path::Path path, const StructInfo& info, std::vector<std::uint32_t> modifiers)
      : transactor_(transactor), path_(std::move(path)), info_(info), modifiers_(std::move(modifiers)) {
    found.bytes.resize(modifiers_.size() * smp_block_bytes);
  }

  async::Task<> read(std::size_t at) {
    mad::Request request = mad::attribute_request(path_, info_, mad::method::get, modifiers_[at]);
    request.responder = &responder_;
    const mad::Result<mad::Reply> reply = co_await transactor_.try_call(request);
    if (reply) {
      const Bytes payload = reply->payload();
      std::copy_n(payload.begin(), std::min(payload.size(), smp_block_bytes),
                  found.bytes.begin() + static_cast<std::ptrdiff_t>(at * smp_block_bytes));
    } else {
      failed(at, reply.shared_error());
    }
  }
  std::size_t size() const { return modifiers_.size(); }

  SmpBlocks found;

 private:
  void failed(std::size_t at, std::shared_ptr<const mad::MadError> error) {
    found.unread.insert(std::ranges::upper_bound(found.unread, at), at);
    // The error of a request that was sent has more details than the error of a request that was not sent because the node was already
    // silent.
    const bool was_sent = mad::unanswered_tries(*error) != 0U;
    if (found.error && (was_sent < error_was_sent_ || (was_sent == error_was_sent_ && at > error_at_))) return;
    found.error = std::move(error);
    error_at_ = at;
    error_was_sent_ = was_sent;
  }

  mad::Transactor& transactor_;
  path::Path path_;
  const StructInfo& info_;
  std::vector<std::uint32_t> modifiers_;
  mad::Responder responder_;
  std::size_t error_at_{};  // the block of found.error
  bool error_was_sent_{};
};

}  // namespace

async::Task<SmpBlocks> try_read_smp_blocks(mad::Transactor& transactor, path::Path path, const StructInfo& info,
                                           std::vector<std::uint32_t> modifiers) {
  BlockReader reader(transactor, std::move(path), info, std::move(modifiers));
  const auto read = [&reader](std::size_t at) { return reader.read(at); };
  auto indexes = std::views::iota(std::size_t{0}, reader.size());
  co_await async::for_each(indexes, tasks_at_once, read);
  co_return std::move(reader.found);
}

std::size_t pkey_capacity(const smp::NodeInfo& node, const smp::SwitchInfo& switch_info, unsigned port) {
  return node.node_type == smp::NodeType::switch_ && port != 0 ? switch_info.partition_enforcement_cap : node.partition_cap;
}

}  // namespace ib::subnet
