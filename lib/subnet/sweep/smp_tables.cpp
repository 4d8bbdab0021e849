// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One small task for each block. The window of the RPC engine limits the load on the fabric.
#include "subnet/sweep/smp_tables.hpp"

#include "async/group.hpp"
#include "mad/rpc/responder.hpp"
#include "subnet/model/model.hpp"

namespace ib::subnet {

namespace {

constexpr std::size_t tasks_at_once = 16;  // for one node; more than the engine sends to one node (mad::RpcLimits)

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

/// This value of MulticastFDBTop means that there are no entries (IBA 14.2.5.4).
constexpr unsigned no_multicast_entries = first_multicast_lid.value - 1U;
constexpr unsigned multicast_lids = last_multicast_lid.value - first_multicast_lid.value + 1U;
constexpr unsigned position_shift = 28;  // in the attribute modifier of a MulticastForwardingTable

unsigned entry_count(const smp::SwitchInfo& info) {
  const unsigned count = std::min(unsigned{info.multicast_fdb_cap}, multicast_lids);
  return info.multicast_fdb_top >= no_multicast_entries ? std::min(count, info.multicast_fdb_top - no_multicast_entries) : count;
}

}  // namespace

std::uint32_t entries_per_block(const StructInfo& table) { return std::ranges::max(table.fields, {}, &FieldInfo::count).count; }

std::vector<std::uint32_t> block_modifiers(const StructInfo& table, std::size_t count, std::uint32_t first, std::uint32_t step) {
  std::vector<std::uint32_t> modifiers;
  for (std::uint32_t i = 0; std::size_t{i} * entries_per_block(table) < count; ++i) modifiers.push_back(first + i * step);
  return modifiers;
}

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

std::vector<std::uint8_t> default_multicast_ports(const smp::SwitchInfo& info, unsigned ports) {
  const auto is_port = [&](unsigned port) { return port != 0 && port <= ports; };
  if (!is_port(info.default_multicast_primary_port)) return {};
  if (!is_port(info.default_multicast_not_primary_port)) return {info.default_multicast_primary_port};
  return {info.default_multicast_primary_port, info.default_multicast_not_primary_port};
}

LinearTable::LinearTable(const smp::SwitchInfo& info, LidRange wanted)
    : ForwardingTable(0, info.linear_fdb_cap, info.linear_fdb_top,
                      std::min({unsigned{info.linear_fdb_cap}, info.linear_fdb_top + 1U, last_unicast_lid + 1U}), wanted) {
  if (first_ == end_) return;
  ports_.assign(end_ - first_, no_out_port);
  known_.assign((end_ - 1) / per_block - first_ / per_block + 1, false);
}

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
    if (lid >= first_ && lid < end_) ports_[lid - first_] = block[i];
  }
}

MulticastTable::MulticastTable(const smp::SwitchInfo& info, unsigned ports, LidRange wanted)
    : ForwardingTable(first_multicast_lid.value, info.multicast_fdb_cap, info.multicast_fdb_top, entry_count(info), wanted),
      positions_(std::min(ports, last_switch_port) / ports_per_mask + 1) {
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

async::Task<std::shared_ptr<const mad::MadError>> read_table(mad::Transactor& transactor, path::Path path, ForwardingTable& table) {
  const std::vector<std::uint32_t> modifiers = table.unknown_blocks();
  const SmpBlocks blocks = co_await try_read_smp_blocks(transactor, std::move(path), table.info(), modifiers);
  for (std::size_t i = 0; i < modifiers.size(); ++i) {
    if (!std::ranges::binary_search(blocks.unread, i)) table.set_block(modifiers[i], blocks.block(i));
  }
  co_return blocks.error;
}

}  // namespace ib::subnet
