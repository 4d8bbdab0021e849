// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The routes of requests to a node. Directed routes always work. LID routing takes less work in the switches on the path, but
// forwarding tables may be outdated. Not every fabric supports a directed route that starts at a LID ("combined", IBA 14.2.2).
// The first such request is a trial. During the trial, and after it has failed, other requests use plain directed routes. If the sweep
// begins at a LID, there are no other routes: the requests beyond its ports are trials until one is answered.
#include <utility>

#include "subnet/model/port_paths.hpp"
#include "subnet/sweep/peer.hpp"
#include "subnet/sweep/sweep.hpp"

namespace ib::subnet {

namespace {

constexpr mad::Reason fallback = "routing by LID did not work";
constexpr unsigned max_combined_trials = 3, max_lid_refusals = 8;

constexpr unsigned max_twins = 8;  // limit of distinguished nodes with one GUID
constexpr mad::Reason looked_into = "contradiction checked";

}  // namespace

/// Like mad::unanswered_tries(); nothing if the request was answered.
std::optional<unsigned> Sweep::unanswered_tries(const Answer& answer) {
  return answer ? std::nullopt : mad::unanswered_tries(answer.error());
}

bool Sweep::has_usable_lid(NodeIndex at) const {
  if (options_.routing != Routing::lid || !lids_work_) return false;
  const Node& node = subnet_.node(at);
  const PortIndex end = node.kind() == NodeKind::sw ? node.first_port : subnet_.port_of(at, node.entry_port);
  const auto reading = readings_.find(at);
  const bool is_silent = reading != readings_.end() && reading->second.by_lid.is_silent();
  return !node.lid_refused && !is_silent && end != none && subnet_.find_lid(subnet_.lid(end)) == end &&
         at != subnet_.port(subnet_.start).node;
}

/// Makes the route to `moved` lead through the port `via`, and computes the hops to it and to the nodes beyond it again. A switch that is
/// now within the radius is read completely. `joined` is the port of `moved` on the new route, if it was not read before.
void Sweep::changes_way(NodeIndex moved, PortIndex via, PortIndex joined) {
  subnet_.node(moved).via = via;
  std::multimap<NodeIndex, NodeIndex> beyond;  // the nodes to which the way leads through a node
  for (NodeIndex at = 0; at < subnet_.nodes().size() && subnet_.node(moved).kind() == NodeKind::sw; ++at) {
    if (subnet_.node(at).via != none) beyond.emplace(subnet_.port(subnet_.node(at).via).node, at);
  }
  std::vector<NodeIndex> left(1, moved);
  while (!left.empty()) {
    const NodeIndex at = left.back();
    left.pop_back();
    Node& node = subnet_.node(at);
    const bool was_at_rim = is_at_rim(at);
    node.hops = static_cast<std::uint8_t>(subnet_.node_of(node.via).hops + 1U);
    if (was_at_rim && !is_at_rim(at) && node.kind() == NodeKind::sw) read_beyond_rim(at, at == moved ? joined : none);
    const auto [first, last] = beyond.equal_range(at);
    for (auto next = first; next != last; ++next) left.push_back(next->second);
  }
}

/// The path to a node for which has_usable_lid() is true.
path::Path Sweep::lid_path(NodeIndex at) const {
  return *subnet::lid_path(subnet_, subnet_.port_of(at, subnet_.node(at).entry_port), start_, Qpn{0});
}

std::optional<path::Path> Sweep::directed_beyond(PortIndex from) const {
  const auto longer = route_from(smp_path(subnet_, subnet_.port(from).node, start_)).advance(subnet_.port(from).number);
  return longer ? std::optional<path::Path>(*longer) : std::nullopt;
}

path::Path Sweep::combined_beyond(PortIndex from, bool trial) const {
  const path::Path to_node = lid_path(subnet_.port(from).node);
  path::IbDrPath path = route_from(to_node);
  path.route[++path.hops] = subnet_.port(from).number;
  if (trial) make_trial(path);  // without an answer, directed routes are used
  return path;
}

async::Task<Sweep::Answer> Sweep::call(path::Path path, std::uint16_t attribute, std::uint32_t modifier, mad::Reason reason,
                                       mad::Responder* responder) {
  // A read that was tried in vain before its node answered again proves nothing: the node may ignore this attribute.
  const bool tried_in_vain = reason == retried && attribute != smp::NodeInfo::attribute_id;
  const mad::Request request{.path = path,
                             .mgmt_class = mad::smp_class(path),
                             .attribute_id = attribute,
                             .attribute_modifier = modifier,
                             .payload = {},
                             .reason = reason,
                             .responder = responder,
                             .optional = tried_in_vain || attribute == smp::MlnxExtPortInfo::attribute_id};
  Answer answer = co_await transactor_.try_call(request);
  if (reason == mad::requested && unanswered_tries(answer) != 0U) ++stats_.requested;
  co_return answer;
}

async::Task<Sweep::Answer> Sweep::request_node(NodeIndex node, std::uint16_t attribute, std::uint32_t modifier, mad::Reason reason) {
  const ReadingInUse reading(*this, node);
  if (has_usable_lid(node)) {
    path::Path path = lid_path(node);
    path.ib().retries = tries_by_lid() - 1;
    const Answer at_lid = co_await call(std::move(path), attribute, modifier, reason, &reading->by_lid);
    if (at_lid || !unanswered_tries(at_lid)) co_return at_lid;
    const bool was_sent = *unanswered_tries(at_lid) > 0;
    if (reading->by_lid.is_silent()) reading->by_route.suspect();
    path = smp_path(subnet_, node, start_);
    path.ib().retries = tries_by_route() - 1;
    const Answer answer = co_await call(std::move(path), attribute, modifier, was_sent ? fallback : reason, &reading->by_route);
    if (was_sent && unanswered_tries(answer) == 0U) co_return at_lid;
    if (answer && reading->by_lid.is_silent() && !subnet_.node(node).lid_refused) {
      subnet_.node(node).lid_refused = true;
      if (++lid_refusals_ == max_lid_refusals && lids_work_) {
        lids_work_ = false;
        if (options_.notice) options_.notice("Requests by LID are not answered: going on by directed routes.");
      }
    }
    co_return answer;
  }
  path::Path path = smp_path(subnet_, node, start_);
  co_return co_await call(std::move(path), attribute, modifier, reason, &reading->by_route);
}

async::Task<Sweep::Answer> Sweep::request_beyond_by_lid(PortIndex from, bool trial, mad::Reason reason) {
  path::Path path = combined_beyond(from, trial);
  if (!trial) path.ib().retries = tries_by_lid() - 1;
  Answer answer = co_await call(std::move(path), smp::NodeInfo::attribute_id, 0, reason);
  const bool silent = unanswered_tries(answer).has_value();
  if (!silent) combined_ = Trust::works;
  std::optional<path::Path> directed = directed_beyond(from);
  if (!silent || !directed) co_return answer;
  if (!trial) directed->ib().retries = tries_by_route() - 1;
  answer = co_await call(std::move(*directed), smp::NodeInfo::attribute_id, 0, fallback);
  if (!trial) co_return answer;
  if (answer || ++combined_trials_ == max_combined_trials) {
    combined_ = Trust::fails;
    if (options_.notice) options_.notice("Directed routes that start at a LID are not answered: going on by directed routes from here.");
  } else {
    combined_ = Trust::untried;  // perhaps only that port is dead
  }
  co_return answer;
}

async::Task<Sweep::Answer> Sweep::request_beyond(PortIndex from, mad::Reason reason, bool trial) {
  const NodeIndex node = subnet_.port(from).node;
  if (has_usable_lid(node) && subnet_.node(node).kind() == NodeKind::sw && (combined_ == Trust::untried || combined_ == Trust::works)) {
    const bool is_first = combined_ == Trust::untried;
    if (is_first) combined_ = Trust::trying;
    co_return co_await request_beyond_by_lid(from, is_first, reason);
  }
  std::optional<path::Path> path = directed_beyond(from);
  if (trial) make_trial(path->ib());
  Answer answer = co_await call(std::move(*path), smp::NodeInfo::attribute_id, 0, reason);
  if (answer && begins_at_lid()) combined_ = Trust::works;
  co_return answer;
}

/// Looks once more beyond the ports beyond which a trial was not answered, if another one was. Else these routes are not answered here, or
/// there are no nodes.
async::Task<> Sweep::end_trials() {
  const std::vector<Unsure> unsure = std::exchange(unsure_, {});
  for (const Unsure& trial : unsure) {
    const Port& port = subnet_.port(trial.from);
    if (port.peer != none) continue;
    if (combined_ == Trust::works) {
      queue_beyond(trial.from, true);
    } else {
      fail(port.node, port.number, true, "NodeInfo", 0, trial.answer);
    }
  }
  pump();
  co_await group_.join();
}

// Contradictions: a node answers at a place that the model excludes. Either cables were moved during the sweep, or two nodes
// have the same GUID. Each case is decided by further requests, one case at a time: a request goes beyond the port in question from the
// node where the GUID was found first. Only a node that is provably at two places at once becomes two nodes of the model. A node that no
// longer answers at the place where it was found has moved: from then on its requests take the route to the new place.

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
    const Whereabouts place = co_await place_of(candidate, from, info);
    if (place == Whereabouts::elsewhere) continue;
    const PortIndex to = subnet_.port_of(candidate, info.local_port_num);
    if (place == Whereabouts::unknown) {
      if (subnet_.port(from).peer != none) subnet_.unlink(from);
      // Beyond `from` a node did answer.
      fail_beyond(Failure::Kind::no_answer, to,
                  "Without an answer it is not known whether its link leads to the port where it was found again.");
      co_return;
    }
    if (subnet_.port(to).peer != from) join(from, to);
    if (place == Whereabouts::moved_here) move(candidate, from);
    const bool is_read = subnet_.node(candidate).kind() == NodeKind::sw ? is_at_rim(candidate) : reads_end_port(to);
    if (is_read && !subnet_.port(to).has_info) queue(RequestKind::port_info, candidate, info.local_port_num);
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

async::Task<Sweep::Whereabouts> Sweep::place_of(NodeIndex candidate, PortIndex from, smp::NodeInfo info) {
  const PortIndex to = subnet_.port_of(candidate, info.local_port_num);
  if (to == none || !same_make(candidate, info)) co_return Whereabouts::elsewhere;
  if (subnet_.node(candidate).kind() != NodeKind::sw) {
    // Requests cannot pass through an end node. They therefore go to the place where the node was found.
    const PortIndex place = subnet_.port(to).peer;
    if (place == from || (place == none && subnet_.node(candidate).twin == none)) co_return Whereabouts::here;
    if (place == none || !directed_beyond(place)) co_return Whereabouts::elsewhere;
    if (is_silent(subnet_.port(place).node)) co_return Whereabouts::moved_here;
    Answer answer = co_await request_beyond(place, looked_into);
    if (!answer) co_return Whereabouts::moved_here;
    const smp::NodeInfo there = smp::NodeInfo::unpack(answer->payload());
    const bool is_there = there.node_guid == info.node_guid && there.local_port_num == info.local_port_num;
    co_return is_there ? Whereabouts::elsewhere : Whereabouts::moved_here;
  }
  if (subnet_.port(to).peer == from && subnet_.node(candidate).via == from) co_return Whereabouts::here;
  if (!directed_beyond(to)) co_return Whereabouts::elsewhere;
  if (!is_silent(candidate)) {
    Answer answer = co_await request_beyond(to, looked_into);
    if (answer) {
      const smp::NodeInfo there = smp::NodeInfo::unpack(answer->payload());
      const Port& requester = subnet_.port(from);
      const bool is_back = there.node_guid == subnet_.node(requester.node).guid() && there.local_port_num == requester.number;
      co_return is_back ? Whereabouts::here : Whereabouts::elsewhere;
    }
  }
  const bool left = co_await has_left(candidate);
  if (left) co_return Whereabouts::moved_here;
  // Where the link is up, its other end may be silent, or the replies were lost: this proves nothing.
  const bool is_elsewhere = co_await is_without_link(to);
  co_return is_elsewhere ? Whereabouts::elsewhere : Whereabouts::unknown;
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

/// Whether the node says of its port that its link is not up. Without an answer it does not.
async::Task<bool> Sweep::is_without_link(PortIndex port) {
  const Port& at = subnet_.port(port);
  const PortIndex via = subnet_.node(at.node).via;
  if (at.has_info || via == none || !directed_beyond(via)) co_return at.has_info && !at.is_link_up();
  Answer answer = co_await call(*directed_beyond(via), smp::PortInfo::attribute_id, at.number, looked_into);
  if (!answer) co_return false;
  co_return smp::PortInfo::unpack(answer->payload()).port_physical_state != smp::PortPhysicalState::link_up;
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
