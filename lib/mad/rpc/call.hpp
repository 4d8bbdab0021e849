// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The data structures of the RPC engine; see rpc.hpp. Only files of the engine include this.
#pragma once

#include <optional>

#include "mad/rmpp/receiver.hpp"
#include "mad/rmpp/sender.hpp"
#include "mad/rpc/responder.hpp"
#include "mad/rpc/rpc.hpp"

namespace ib::mad {

/// Whether `request` may be answered by RMPP. Subnet administration defines few such methods (IBA 15.3.1); vendor classes may
/// use any.
inline bool may_answer_in_segments(const HeaderView& request) {
  return has_oui(request.mgmt_class()) || (request.mgmt_class() == mgmt_class::sa && is_list_method(request.method()));
}

/// An answer that comes in segments. It is kept for a while after its end, because its sender may have missed the last ACK.
struct Rpc::SegmentedAnswer {
  SegmentedAnswer(const Call& call, RmppReceiver::Limits limits, const Source& from);
  RmppReceiver receiver;
  path::Path path;  // path of the ACKs; a copy, because the call and its path may end earlier
  Source source;
  Duration sure_patience;    // time without progress after which the last ACK is repeated, however slow the sender may be
  Duration longest_silence;  // time without progress before the transfer fails
  async::Time last_progress;
  std::optional<async::Time> acked;  // when the last ACK was sent, as long as nothing has come after it
  unsigned repeats{};                // of the last ACK
};

/// A request that goes in segments. It exists until its answer begins to come.
struct Rpc::SegmentedRequest {
  RmppSender sender;
  path::Path path;  // a copy, because the call and its path may end earlier
};

/// One try that is in flight, or that is lost but may still be answered. The timer has two stages. In the first stage it fires
/// when the request cannot be in the network's buffers any more, answered or not. In the second stage it fires when the try is
/// lost. While the request goes in segments, or once segments of an answer come, it fires when no more segments or ACKs have
/// come.
struct Rpc::Sent final : async::Timer, ListHook<Rpc::Sent> {
  explicit Sent(Rpc& engine) : rpc(engine) {}
  void expired() override { rpc.sent_expired(*this); }

  Rpc& rpc;
  Call* call{};  // null if the call was cancelled or has ended
  std::uint64_t tid{};
  std::uint64_t number{};     // number among all tries, from 1
  Nodes::value_type* node{};  // null for GMPs, and once the try has left the node
  std::uint8_t mgmt_class{};
  bool smp{};
  bool in_window{};
  bool lost{};
  async::Time sent_at, deadline;
  std::unique_ptr<SegmentedRequest> segmented_request;  // until the answer begins to come
  std::unique_ptr<SegmentedAnswer> segmented_answer;    // set when the first segment of an answer has come
};

/// One request from its start to its end: queued, in flight, or waiting for its next try. Awaitable.
class Rpc::Call final : public async::Timer, public ListHook<Queued>, public ListHook<Live>, public Responder::Requester {
 public:
  Call(Rpc& engine, const Request& request);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() override;

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> handle) {
    waiter = &handle.promise();
    enqueue(false);
  }
  void await_resume() const noexcept {}
  /// What came of it, once the coroutine has resumed. Throws what broke the engine meanwhile.
  Result<Reply> take_result();

  /// Puts the call into the queue: at the front for a retry, because the call has waited for its turn before.
  void enqueue(bool front);
  void leave_queue();
  /// Whether a try is in flight, or another try will follow.
  bool expects_more() const { return current != nullptr || armed() || ListHook<Queued>::linked(); }
  /// Waits for `delay` before the next try.
  void back_off(Duration delay);
  void expired() override;
  void resume() override;
  void give_up() override;
  /// Ends the call. The outcome is in reply, failure or exception.
  void finish();
  /// The request or the answer goes in segments. The first call of this function limits the time of the whole call.
  void begin_segments();
  bool has_time_for_segments() const;
  /// Gives up all tries but `kept`. Tries in flight continue without a call.
  void drop_tries(const Sent* kept = nullptr);

  Rpc& rpc;
  const path::Path& path;
  std::vector<std::uint8_t> mad;
  Reason reason;
  Responder* responder;
  bool optional;
  bool smp;
  std::uint64_t node_key{};
  Duration timeout;
  unsigned tries_left;
  unsigned tries = 0;
  // Limits for all tries of a call in segments together, and the silence so far; see begin_segments().
  Duration longest_time{}, longest_silence{}, silence{};
  std::optional<async::Time> segments_end;
  bool busy = false;      // why it waits for its next try
  bool reported = false;  // the channel reported the last try as unanswered
  bool done = false;
  std::uint64_t first_try{}, last_try{};  // numbers of tries as in Sent
  async::Time first_sent_at;              // of the first try
  Sent* current{};                        // the last try, while it may be answered in time
  List<Sent, Sent> sents;
  Reply reply;
  std::shared_ptr<MadError> failure;
  std::exception_ptr exception;
  async::ReadyNode* waiter{};
};

}  // namespace ib::mad
