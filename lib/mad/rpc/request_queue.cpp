// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "mad/rpc/request_queue.hpp"

#include <utility>

#include "mad/rpc/call.hpp"

namespace ib::mad {

using namespace std::chrono_literals;

RequestQueue::RequestQueue(const RpcLimits& limits, unsigned most)
    : most_per_node_(limits.smps_per_node),
      has_buffers_(most != ~0U),
      lanes_{Lane{Window(std::min(limits.gmps, most))}, Lane{Window(std::min(limits.smps, most))}} {}

void RequestQueue::push(RpcCall& call, bool front) {
  Waiting& queue = lane(call.smp).queue;
  if (front) {
    queue.push_front(call);
  } else {
    queue.push_back(call);
  }
}

RpcCall* RequestQueue::next(bool smp) {
  Lane& lane = this->lane(smp);
  while (lane.window.open()) {
    RpcCall* call = lane.queue.pop_front();
    if (call == nullptr || may_send(*call)) return call;
  }
  return nullptr;
}

bool RequestQueue::may_send(RpcCall& call) {
  if (call.responder != nullptr && !call.responder->may_try(call)) return false;
  if (!call.smp) return true;
  Node& node = nodes_[call.node_key];
  if (node.in_flight < most_per_node_) return true;
  node.waiting.push_back(call);
  return false;
}

bool RequestQueue::remove(RpcCall& call) {
  ListHook<RequestQueue>& hook = call;
  if (!hook.linked()) return false;
  hook.unlink();
  const auto place = nodes_.find(call.node_key);
  if (!call.smp || place == nodes_.end()) return false;
  Node& node = place->second;
  if (node.in_flight >= most_per_node_) return false;
  RpcCall* const next = node.waiting.pop_front();
  if (next != nullptr) lane(true).queue.push_front(*next);
  if (next == nullptr && node.in_flight == 0) nodes_.erase(place);
  return next != nullptr;
}

void RequestQueue::enter(RpcTry& attempt) {
  attempt.in_window = true;
  lane(attempt.smp).window.enter();
  attempt.node = nullptr;
  if (!attempt.smp) return;
  attempt.node = &*nodes_.find(attempt.call->node_key);
  ++attempt.node->second.in_flight;
}

void RequestQueue::leave_window(RpcTry& attempt) {
  if (std::exchange(attempt.in_window, false)) lane(attempt.smp).window.leave();
}

void RequestQueue::leave(RpcTry& attempt) {
  leave_window(attempt);
  if (attempt.node == nullptr) return;
  auto& [key, node] = *std::exchange(attempt.node, nullptr);
  --node.in_flight;
  if (RpcCall* next = node.waiting.pop_front()) {
    lane(true).queue.push_front(*next);
  } else if (node.in_flight == 0) {
    nodes_.erase(key);
  }
}

void RequestQueue::answered(const RpcTry& attempt) {
  Lane& lane = this->lane(attempt.smp);
  lane.newest_answered = std::max(lane.newest_answered, attempt.sent_at);
  if (!attempt.is_lost) lane.window.answered();
}

void RequestQueue::lost(const RpcTry& attempt, async::Time now) { lane(attempt.smp).window.lost(attempt.sent_at, now); }

bool RequestQueue::may_be_in_buffers(const RpcTry& attempt, async::Time now) const {
  return has_buffers_ && now < attempt.sent_at + longest_stop && lanes_[attempt.smp ? 1 : 0].newest_answered <= attempt.sent_at;
}

Duration delay_after(unsigned tries, bool busy) {
  return std::min<Duration>((busy ? 50ms : 10ms) * (1 << std::min(tries - 1, 10U)), busy ? 2s : 1s);
}

Duration Patience::stale_after(std::uint8_t mgmt_class) const {
  const Duration rtt = round_trips_.at(agent_of(mgmt_class));
  return rtt == 0ns ? Duration(100ms) : std::max<Duration>(8 * rtt, 5ms);
}

Duration Patience::for_answer(const RpcCall& call) const {
  constexpr unsigned early_tries = 2;
  const HeaderView header(call.mad);
  const bool is_sa = header.mgmt_class() == mgmt_class::sa;
  const Duration rtt = round_trips_.at(agent_of(header.mgmt_class()));
  const bool is_early = header.method() == method::get && !call.path.ib().timeout && call.tries <= early_tries && call.tries_left > 0;
  if (!is_early || (is_sa ? rtt == 0ns : has_rmpp(header.mgmt_class()))) return call.timeout;
  const Duration least = is_sa ? 250ms : 50ms;
  const Duration of_node = call.responder != nullptr ? 4 * call.responder->rtt() : 0ns;  // most nodes are alike, this one may be slow
  const Duration first = std::max(rtt == 0ns ? 2 * least : std::max<Duration>(16 * rtt, least), of_node);
  return std::min(call.timeout, call.tries == 1 ? first : 4 * first);
}

Duration Patience::for_segment(unsigned repeats, Duration sure) const {
  // An ACK is lost like other MADs, and most senders wait seconds for it: it is repeated twice after some round trips.
  constexpr unsigned early_repeats = 2;
  const Duration rtt = acks_;
  if (rtt == 0ns) return sure * (1U << repeats);
  if (repeats >= early_repeats) return sure * (1U << (repeats - early_repeats));
  const Duration first = std::max<Duration>(16 * rtt, 20ms);
  return std::min(repeats == 0 ? first : 4 * first, sure);
}

}  // namespace ib::mad
