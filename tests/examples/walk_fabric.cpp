// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Walks the whole subnet by directed routes, many requests at a time: each node and each port is a task of its own. A node
// that does not answer is left out. (subnet/sweep/discovery.hpp does this for use: with links, by LID, for hostile fabrics.)
#include <fmt/core.h>

#include <map>

#include "async/group.hpp"
#include "iba-gen/smp.hpp"
#include "iba/text.hpp"
#include "mad/channel/open.hpp"
#include "mad/rpc/rpc.hpp"

using namespace ib;

class Walk {
 public:
  Walk(async::Loop& loop, mad::Transactor& mads) : mads_(mads), tasks_(loop) {}

  async::Task<> from(path::IbDrPath start) {
    tasks_.spawn(visit(start));
    co_await tasks_.join();
  }

  std::map<Guid, smp::NodeInfo> nodes;

 private:
  async::Task<> visit(path::Path path) {
    const auto node = co_await mads_.try_subn_get<smp::NodeInfo>(path);
    if (!node || !nodes.emplace(node->node_guid, *node).second) co_return;  // silent, or found before
    const bool is_switch = node->node_type == smp::NodeType::switch_;
    if (!is_switch && path.directed()->hops > 0) co_return;  // routes do not go through end nodes
    const unsigned first = is_switch ? 1 : node->local_port_num, last = is_switch ? node->num_ports : node->local_port_num;
    for (unsigned port = first; port <= last; ++port) tasks_.spawn(follow(path, static_cast<std::uint8_t>(port)));
  }

  async::Task<> follow(path::Path path, std::uint8_t port) {
    const auto info = co_await mads_.try_subn_get<smp::PortInfo>(path, port);
    if (!info || info->port_state == smp::PortState::down) co_return;
    if (const auto next = path.directed()->advance(port)) tasks_.spawn(visit(*next));
  }

  mad::Transactor& mads_;
  async::TaskGroup tasks_;
};

int main() {
  const sys::DeviceList devices = sys::DeviceList::read();
  const sys::EndPort& here = devices.default_end_port();
  async::Loop loop;
  mad::Rpc mads(loop, mad::open_umad(here));
  Walk walk(loop, mads);
  loop.run(walk.from(path::IbDrPath(&here)));
  for (const auto& [guid, node] : walk.nodes) fmt::print("{} {} with {} ports\n", to_text(guid), to_text(node.node_type), node.num_ports);
}
