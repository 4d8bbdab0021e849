// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Nodes that fall silent while they are read. The engine detects silence (mad/rpc/responder.hpp). This file limits the open
// requests of a node, so that a thousand silent nodes time out in parallel, and stores the reads that a silent node did not
// answer. Before the sweep ends, the NodeInfo of each silent node is requested once more by one try. If the node answers, its reading
// continues. Otherwise its silence is one failure.
#include <fmt/format.h>

#include <set>

#include "iba-gen/smp.hpp"
#include "mad/error.hpp"
#include "mad/packet.hpp"
#include "subnet/model/port_paths.hpp"
#include "subnet/sweep/sweep.hpp"

namespace ib::subnet {

namespace {
constexpr std::size_t most_names_at_once = 256;
constexpr unsigned most_open_reads = 4;  // for one node: as many SMPs as the engine sends to one node (mad::RpcLimits)

constexpr std::size_t most_at_once = 1024;
constexpr mad::Reason requested_again = "silent nodes of a stored fabric tried again";

/// A request that was not answered, by the route of the model.
struct SilentPlace {
  const Failure* failure;
  path::Path path;
};

/// Nothing if the model does not have the route.
std::optional<SilentPlace> place_of(const Subnet& subnet, const Failure& failure, const path::Path& start) {
  if (failure.node == none) return std::nullopt;
  SilentPlace place{&failure, smp_path(subnet, failure.node, start)};
  if (failure.beyond) {
    const auto longer = route_from(place.path).advance(static_cast<std::uint8_t>(failure.port));
    if (failure.port < 0 || !longer) return std::nullopt;
    place.path = *longer;
  }
  place.path.ib().retries = 0;
  return place;
}

async::Task<> request_again(mad::Transactor& transactor, const SilentPlace& place, bool& silent) {
  mad::Request request = mad::attribute_request(place.path, smp::NodeInfo::info(), mad::method::get);
  if (const auto* error = dynamic_cast<const mad::MadError*>(place.failure->error.get()); error != nullptr && !place.failure->beyond) {
    const mad::HeaderView header(error->request());
    request.attribute_id = header.attribute_id();
    request.attribute_modifier = header.attribute_modifier();
  }
  request.reason = requested_again;
  const mad::Result<mad::Reply> answer = co_await transactor.try_call(request);
  silent = silent && !answer && mad::is_timeout(answer.error());
}

}  // namespace

void Sweep::queue_read(const Work& work) {
  Reading& reading = readings_[work.at];
  if (reading.open < most_open_reads) {
    ++reading.open;
    ready_.push_back(work);
  } else {
    reading.waiting.push_back(work);
  }
}

void Sweep::read_ended(NodeIndex node) {
  Reading& reading = readings_[node];
  --reading.open;
  if (reading.waiting.empty()) return forget_if_idle(node);
  const Work next = reading.waiting.front();
  reading.waiting.erase(reading.waiting.begin());
  if (reading.waiting.empty()) reading.waiting.shrink_to_fit();
  queue_read(next);
}

/// Frees the Reading of a node that answers and has no open reads. Few nodes are read at any time; the Readings of 5,000 nodes would take 1
/// MB.
void Sweep::forget_if_idle(NodeIndex node) {
  const auto at = readings_.find(node);
  const Reading& reading = at->second;
  const bool is_idle = reading.open == 0 && reading.requests == 0 && reading.waiting.empty();
  if (is_idle && !reading.by_route.is_silent() && !reading.by_lid.is_silent()) readings_.erase(at);
}

bool Sweep::is_silent(NodeIndex node) const {
  const auto at = readings_.find(node);
  return at != readings_.end() && at->second.by_route.is_silent();
}

/// Stores a read that was not answered because its node is silent. False if the read failed for another reason, or if the node
/// has answered again and still does not answer this read.
bool Sweep::fell_silent(const Work& work, const Answer& answer) {
  const std::optional<unsigned> tries = unanswered_tries(answer);
  if (!tries || !is_silent(work.at)) return false;
  Silence& silence = silences_[work.at];
  if (silence.recovered) return false;
  if (!silence.error || *tries > 0) silence.error = answer.shared_error();
  silence.unread.push_back(work);
  silence.unread.back().again = work.again || *tries > 0;
  return true;
}

async::Task<> Sweep::retry_silent_nodes() {
  for (bool all_retried = false; !all_retried;) {
    all_retried = true;
    for (auto& [node, silence] : silences_) {
      if (std::exchange(silence.retried, true)) continue;
      group_.spawn(retry_silent_node(node, silence));
      all_retried = false;
    }
    co_await group_.join();
    const std::vector<NodeIndex> moved = std::exchange(moved_, {});
    if (moved.empty() || looks_again_left_ == 0) continue;
    --looks_again_left_;
    look_beyond_again(moved);
    co_await group_.join();
    all_retried = false;
  }
  for (const auto& [node, silence] : silences_) report_silence(node, silence);
}

async::Task<> Sweep::retry_silent_node(NodeIndex node, Silence& silence) {
  const ReadingInUse reading(*this, node);
  reading->by_route.give_another_chance();
  path::Path path = smp_path(subnet_, node, start_);
  path.ib().retries = 0;
  const Answer answer = co_await call(std::move(path), smp::NodeInfo::attribute_id, 0, retried, &reading->by_route);
  if (!answer) {
    const bool found = co_await find_moved(node);
    if (!found) co_return;
  }
  silence.recovered = true;
  const std::vector<Work> unread = std::exchange(silence.unread, {});
  for (const Work& work : unread) queue(work);
  pump();
}

/// Repeats the unanswered requests beyond ports if their route leads through a node that has moved: the first request may have taken the
/// old route.
void Sweep::look_beyond_again(const std::vector<NodeIndex>& moved) {
  std::erase_if(failures_, [&](const Failure& failure) {
    if (!failure.beyond || failure.kind != Failure::Kind::no_answer || failure.node == none || failure.port < 0) return false;
    const PortIndex port = subnet_.port_of(failure.node, static_cast<unsigned>(failure.port));
    if (std::ranges::none_of(moved, [&](NodeIndex node) { return leads_through(node, port); })) return false;
    queue_beyond(port, true);
    return true;
  });
  pump();
}

/// Sends a request to a silent node through the link beyond which it answered last, if that is not on its route. True if it answers there:
/// it has moved.
async::Task<bool> Sweep::find_moved(NodeIndex node) {
  const PortIndex from = readings_[node].seen_beyond;
  if (from == none || leads_through(node, from)) co_return false;
  std::optional<path::Path> path = directed_beyond(from);
  if (!path) co_return false;
  path->ib().retries = 0;
  const Answer answer = co_await call(std::move(*path), smp::NodeInfo::attribute_id, 0, retried);
  if (!answer || smp::NodeInfo::unpack(answer->payload()).node_guid != subnet_.node(node).guid()) co_return false;
  co_return move(node, from);
}

/// Reads the NodeDescriptions of the nodes that failures name, if NodeDescriptions are not wanted otherwise. A node that does not answer
/// stays without one.
async::Task<> Sweep::name_failed_nodes() {
  std::set<NodeIndex> nodes;
  for (const Failure& failure : failures_) {
    if (failure.node != none && !options_.needs.descriptions.has(subnet_.node(failure.node).kind())) nodes.insert(failure.node);
  }
  const auto read = [this](NodeIndex node) { return read_name(node); };
  co_await async::for_each(nodes, most_names_at_once, read);
}

async::Task<> Sweep::read_name(NodeIndex node) {
  if (is_silent(node)) co_return;
  const Answer answer = co_await request_node(node, smp::NodeDescription::attribute_id, 0, named);
  if (answer) take({RequestKind::description, 0, false, 0, node}, answer->payload());
}

void Sweep::report_silence(NodeIndex node, const Silence& silence) {
  if (silence.unread.empty()) return;
  for (const Work& work : silence.unread) {
    if (!work.again && question_of(work.what).reason == mad::requested) ++not_sent_;
  }
  fail({Failure::Kind::no_answer, node, -1, false, "NodeInfo", 0,
        fmt::format("It answered at first and then stopped answering; {} of its attributes {} not known.", silence.unread.size(),
                    silence.unread.size() == 1 ? "is" : "are"),
        silence.error});
}

async::Task<bool> are_still_silent(mad::Transactor& transactor, const Subnet& subnet, std::vector<Failure> failures, path::Path start) {
  std::vector<SilentPlace> places;
  for (const Failure& failure : failures) {
    if (failure.kind != Failure::Kind::no_answer) continue;
    std::optional<SilentPlace> place = place_of(subnet, failure, start);
    if (!place) co_return false;
    places.push_back(std::move(*place));
  }
  bool silent = true;
  const auto request_one = [&](const SilentPlace& place) { return request_again(transactor, place, silent); };
  co_await async::for_each(places, most_at_once, request_one);
  co_return silent;
}

}  // namespace ib::subnet
