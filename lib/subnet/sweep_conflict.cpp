// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Contradictions: a node answers at a place that the model excludes. Either cables were moved during the sweep, or two nodes
// have the same GUID. Each case is decided by further requests, one case at a time: the node where the GUID was found first is
// asked what is beyond the port in question. Only a node that is provably at two places at once becomes two nodes of the model.
#include <utility>

#include "subnet/sweep.hpp"

namespace ib::subnet {
namespace {

constexpr unsigned max_twins = 8;  // limit of distinguished nodes with one GUID
constexpr mad::Reason looked_into = "contradiction looked into";

}  // namespace

/// Whether `info` can come from the node `at` through any of its ports.
bool Sweep::same_make(NodeIndex at, const smp::NodeInfo& info) const {
  const smp::NodeInfo& known = subnet_.node(at).info;
  const bool is_switch = subnet_.node(at).kind() == NodeKind::sw;
  return known.node_type == info.node_type && known.num_ports == info.num_ports && known.system_image_guid == info.system_image_guid &&
         known.device_id == info.device_id && known.vendor_id == info.vendor_id && known.revision == info.revision &&
         (!is_switch || known.port_guid == info.port_guid);
}

/// The node that answered beyond `from`, if nothing contradicts that; otherwise none.
NodeIndex Sweep::plain_match(PortIndex from, const smp::NodeInfo& info) const {
  const NodeIndex node = subnet_.find_node(info.node_guid);
  const PortIndex to = subnet_.port_of(node, info.local_port_num);
  if (to == none || !same_make(node, info)) return none;
  const Port& port = subnet_.port(to);
  if (port.peer == from) return node;
  const bool is_twin = subnet_.node(node).twin != none;
  const bool down = port.has_info && subnet_.node(node).kind() == NodeKind::sw && !port.is_link_up();
  return port.peer != none || is_twin || down ? none : node;
}

void Sweep::doubt(PortIndex from) {
  if (doubts_left_ == 0) {
    fail({Failure::Kind::duplicate_guid,
          subnet_.port(from).node,
          subnet_.port(from).number,
          true,
          "NodeInfo",
          0,
          "Too many nodes contradict each other; this one was not looked into.",
          {}});
    return;
  }
  --doubts_left_;
  group_.spawn(look_into(from));
}

/// Repeats the request beyond `from`, because cables may have been moved since; without an answer there is no contradiction to
/// settle. Many doubts may lead to a switch that has gone, so they are examined in parallel.
async::Task<> Sweep::look_into(PortIndex from) {
  if (!directed_beyond(from)) co_return;
  Answer answer = co_await ask_beyond(from, looked_into);
  if (!answer) {
    subnet_.unlink(from);
    fail(subnet_.port(from).node, subnet_.port(from).number, true, "NodeInfo", 0, answer);
  } else {
    doubts_.push_back({from, smp::NodeInfo::unpack(answer->payload())});
    co_await settle_doubts();
  }
  pump();
}

/// Settles the contradictions one at a time, because each result may change the next case.
async::Task<> Sweep::settle_doubts() {
  if (std::exchange(settling_, true)) co_return;
  while (!doubts_.empty()) {
    const Doubt doubt = doubts_.front();
    doubts_.pop_front();
    co_await settle(doubt.from, doubt.info);
    pump();
  }
  settling_ = false;
}

async::Task<> Sweep::settle(PortIndex from, smp::NodeInfo info) {
  unsigned twins = 0;
  for (NodeIndex candidate = subnet_.find_node(info.node_guid); candidate != none; candidate = subnet_.node(candidate).twin) {
    ++twins;
    const bool is_it = co_await is_node_beyond(candidate, from, info);
    if (!is_it) continue;
    const PortIndex to = subnet_.port_of(candidate, info.local_port_num);
    if (subnet_.port(to).peer != from) join(from, to);
    const bool is_read = subnet_.node(candidate).kind() == NodeKind::sw ? is_at_rim(candidate) : reads_end_port(to);
    if (is_read && !subnet_.port(to).has_info) {
      queue({What::port_info, info.local_port_num, false, level_beyond(candidate), candidate});
    }
    co_return;
  }
  if (subnet_.port(from).peer != none) subnet_.unlink(from);
  if (twins >= max_twins) {
    fail({Failure::Kind::duplicate_guid,
          subnet_.port(from).node,
          subnet_.port(from).number,
          true,
          "NodeInfo",
          0,
          "More than " + std::to_string(max_twins) + " nodes claim the GUID of the node there.",
          {}});
    co_return;
  }
  const NodeIndex node = new_node(info, from);
  if (node == none) co_return;
  join(from, subnet_.port_of(node, info.local_port_num));
  if (twins > 0) {
    fail({Failure::Kind::duplicate_guid, node, info.local_port_num, false, "NodeInfo", 0, "Another node claims the same GUID.", {}});
  }
  read_node(node, info.local_port_num);
}

async::Task<bool> Sweep::is_node_beyond(NodeIndex candidate, PortIndex from, smp::NodeInfo info) {
  const PortIndex to = subnet_.port_of(candidate, info.local_port_num);
  if (to == none || !same_make(candidate, info)) co_return false;
  if (subnet_.node(candidate).kind() != NodeKind::sw) {
    // Requests cannot pass through an end node, so the node is asked at the place where it was found.
    const PortIndex place = subnet_.port(to).peer;
    if (place == from || (place == none && subnet_.node(candidate).twin == none)) co_return true;
    if (place == none || !directed_beyond(place)) co_return false;
    if (is_silent(subnet_.port(place).node)) co_return true;
    Answer answer = co_await ask_beyond(place, looked_into);
    if (!answer) co_return true;  // the node has moved
    const smp::NodeInfo there = smp::NodeInfo::unpack(answer->payload());
    co_return there.node_guid != info.node_guid || there.local_port_num != info.local_port_num;
  }
  if (subnet_.port(to).peer == from && subnet_.node(candidate).via == from) co_return true;
  if (!directed_beyond(to) || is_silent(candidate)) co_return false;
  Answer answer = co_await ask_beyond(to, looked_into);
  if (!answer) co_return false;
  const smp::NodeInfo there = smp::NodeInfo::unpack(answer->payload());
  const Port& asker = subnet_.port(from);
  co_return there.node_guid == subnet_.node(asker.node).guid() && there.local_port_num == asker.number;
}

}  // namespace ib::subnet
