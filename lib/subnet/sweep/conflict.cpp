// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Contradictions: a node answers at a place that the model excludes. Either cables were moved during the sweep, or two nodes
// have the same GUID. Each case is decided by further requests, one case at a time: a request goes beyond the port in question from the
// node where the GUID was found first. Only a node that is provably at two places at once becomes two nodes of the model. A node that no
// longer answers at the place where it was found has moved: from then on its requests take the route to the new place.
#include <utility>

#include "subnet/sweep/sweep.hpp"

namespace ib::subnet {
namespace {

constexpr unsigned max_twins = 8;  // limit of distinguished nodes with one GUID
constexpr mad::Reason looked_into = "contradiction checked";

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
  changed_ = true;
  if (doubts_left_ == 0) {
    fail_beyond(Failure::Kind::duplicate_guid, from, "Too many nodes contradict each other; this one was not checked.");
    return;
  }
  --doubts_left_;
  group_.spawn(look_into(from));
}

/// Repeats the request beyond `from`, because cables may have been moved since; without an answer there is no contradiction to
/// settle. Many doubts may lead to a switch that has gone, so they are examined in parallel.
async::Task<> Sweep::look_into(PortIndex from) {
  if (!directed_beyond(from)) co_return;
  Answer answer = co_await request_beyond(from, looked_into);
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
    const Place place = co_await place_of(candidate, from, info);
    if (place == Place::elsewhere) continue;
    const PortIndex to = subnet_.port_of(candidate, info.local_port_num);
    if (subnet_.port(to).peer != from) join(from, to);
    if (place == Place::moved_here) move(candidate, from);
    const bool is_read = subnet_.node(candidate).kind() == NodeKind::sw ? is_at_rim(candidate) : reads_end_port(to);
    if (is_read && !subnet_.port(to).has_info) {
      queue({What::port_info, info.local_port_num, false, level_beyond(candidate), candidate});
    }
    co_return;
  }
  if (subnet_.port(from).peer != none) subnet_.unlink(from);
  if (twins >= max_twins) {
    fail_beyond(Failure::Kind::duplicate_guid, from, "More than " + std::to_string(max_twins) + " nodes claim the GUID of the node there.");
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

async::Task<Sweep::Place> Sweep::place_of(NodeIndex candidate, PortIndex from, smp::NodeInfo info) {
  const PortIndex to = subnet_.port_of(candidate, info.local_port_num);
  if (to == none || !same_make(candidate, info)) co_return Place::elsewhere;
  if (subnet_.node(candidate).kind() != NodeKind::sw) {
    // Requests cannot pass through an end node. They therefore go to the place where the node was found.
    const PortIndex place = subnet_.port(to).peer;
    if (place == from || (place == none && subnet_.node(candidate).twin == none)) co_return Place::here;
    if (place == none || !directed_beyond(place)) co_return Place::elsewhere;
    if (is_silent(subnet_.port(place).node)) co_return Place::moved_here;
    Answer answer = co_await request_beyond(place, looked_into);
    if (!answer) co_return Place::moved_here;
    const smp::NodeInfo there = smp::NodeInfo::unpack(answer->payload());
    const bool is_there = there.node_guid == info.node_guid && there.local_port_num == info.local_port_num;
    co_return is_there ? Place::elsewhere : Place::moved_here;
  }
  if (subnet_.port(to).peer == from && subnet_.node(candidate).via == from) co_return Place::here;
  if (!directed_beyond(to)) co_return Place::elsewhere;
  if (!is_silent(candidate)) {
    Answer answer = co_await request_beyond(to, looked_into);
    if (answer) {
      const smp::NodeInfo there = smp::NodeInfo::unpack(answer->payload());
      const Port& requester = subnet_.port(from);
      const bool is_back = there.node_guid == subnet_.node(requester.node).guid() && there.local_port_num == requester.number;
      co_return is_back ? Place::here : Place::elsewhere;
    }
  }
  const bool left = co_await has_left(candidate);
  co_return left ? Place::moved_here : Place::elsewhere;
}

/// Whether a node does not answer any more at the place where it was found.
async::Task<bool> Sweep::has_left(NodeIndex node) {
  const PortIndex via = subnet_.node(node).via;
  if (via == none || !directed_beyond(via) || is_silent(subnet_.port(via).node)) co_return false;
  Answer answer = co_await call(*directed_beyond(via), smp::NodeInfo::attribute_id, 0, looked_into);
  if (!answer) co_return true;
  const smp::NodeInfo there = smp::NodeInfo::unpack(answer->payload());
  co_return there.node_guid != subnet_.node(node).guid();
}

/// Whether the way to the node of `port` leads through `node`.
bool Sweep::leads_through(NodeIndex node, PortIndex port) const {
  std::size_t left = subnet_.nodes().size();
  for (NodeIndex at = subnet_.port(port).node; left-- > 0;) {
    if (at == node) return true;
    if (subnet_.node(at).via == none) return false;
    at = subnet_.port(subnet_.node(at).via).node;
  }
  return true;
}

/// Makes the route to `at` lead through the port `from` of another node. The link of the earlier route is examined. False if the route
/// would lead through the node itself.
bool Sweep::move(NodeIndex at, PortIndex from) {
  Node& node = subnet_.node(at);
  const PortIndex before = node.via;
  if (before == none || before == from || leads_through(at, from)) return false;
  const PortIndex old_end = subnet_.port(before).peer;
  changed_ = true;
  changes_way(at, from, none);
  readings_[at].seen_beyond = none;
  readings_[at].by_route.give_another_chance();
  moved_.push_back(at);
  if (old_end != none && subnet_.port(old_end).node == at) doubt(before);
  return true;
}

}  // namespace ib::subnet
