// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The forwarding tables on the ways of requests that were not answered: a few blocks of a few switches, read as the ways go on.
#include <array>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "async/group.hpp"
#include "health/ways.hpp"
#include "iba-gen/smp.hpp"
#include "routing/tables.hpp"
#include "subnet/model/port_paths.hpp"
#include "tools/health/sources.hpp"

namespace ib::tools::health {
namespace {

constexpr std::size_t blocks_at_once = 32;

class BlockReader {
 public:
  BlockReader(Stack& stack, const routing::Network& network) : stack_(stack), network_(network) {}

  async::Task<> read(TableBlock wanted) {
    const subnet::NodeIndex node = network_.switches()[wanted.first].node;
    const path::Path path = subnet::smp_path(network_.subnet(), node, stack_.here());
    const mad::Result<smp::LinearForwardingTable> answer =
        co_await stack_.transactor().try_subn_get<smp::LinearForwardingTable>(path, wanted.second);
    if (answer) blocks_.emplace(wanted, answer->port_block);
  }

  std::optional<std::uint8_t> out_port(routing::SwitchIndex at, Lid lid) const {
    const subnet::Node& node = network_.subnet().node(network_.switches()[at].node);
    if (node.has_switch_info && lid.value > node.switch_info().linear_fdb_top) return subnet::no_out_port;
    constexpr unsigned per_block = routing::LinearTables::per_block;
    const auto block = blocks_.find({at, static_cast<std::uint16_t>(lid.value / per_block)});
    if (block == blocks_.end()) return std::nullopt;
    return block->second[lid.value % per_block];
  }

 private:
  Stack& stack_;
  const routing::Network& network_;
  std::map<TableBlock, decltype(smp::LinearForwardingTable::port_block)> blocks_;
};

}  // namespace

async::Task<> trace_lost_requests(Stack& stack, const Fabric& fabric, Input& input) {
  const std::vector<LostRequest> requests = lost_requests(input);
  if (requests.empty() || fabric.subnet.start == subnet::none) co_return;
  const routing::Network network(fabric.subnet);
  BlockReader reader(stack, network);
  const routing::FindOutPort find = [&reader](routing::SwitchIndex at, Lid lid) { return reader.out_port(at, lid); };
  WayJudge judge(network, find, input);
  const auto read = [&reader](const TableBlock& block) { return reader.read(block); };
  std::set<TableBlock> requested;
  while (true) {
    std::vector<TableBlock> blocks;
    for (const TableBlock& block : judge.missing(requests)) {
      if (requested.insert(block).second) blocks.push_back(block);
    }
    if (blocks.empty()) break;
    co_await async::for_each(blocks, blocks_at_once, read);
  }
  judge.judge(requests);
}

}  // namespace ib::tools::health
