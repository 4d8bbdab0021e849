// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A call and its tries: the parts of an Rpc with a life of their own. Only files of the engine include this.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "mad/rmpp/sides.hpp"
#include "mad/rpc/responder.hpp"
#include "mad/rpc/rpc.hpp"

namespace ib::mad {

/// Whether `request` may be answered by RMPP. Subnet administration defines few such methods (IBA 15.3.1); vendor classes may use any.
inline bool may_answer_in_segments(const HeaderView& request) {
  return has_oui(request.mgmt_class()) || (request.mgmt_class() == mgmt_class::sa && is_list_method(request.method()));
}

/// Whether the agent answered with a redirect and no other error.
bool is_redirect(const HeaderView& answer);

/// An answer that comes in segments. It is kept for a while after its end, because its sender may have missed the last ACK.
struct SegmentedAnswer {
  /// The silence after which a transfer fails: the timeout of one try, but at least this time. Linux repeats segments after 2 s
  /// of silence, so a segment may be lost three times. All tries of a call together may be silent for as long as an unanswered
  /// call would wait, but at least for this time.
  static constexpr Duration least_silence = std::chrono::seconds(7);
  SegmentedAnswer(const RpcCall& call, RmppLimits limits, const Source& from, async::Time now);
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
struct SegmentedRequest {
  RmppSender sender;
  path::Path path;  // a copy, because the call and its path may end earlier
};

/// One try that is in flight, or that is lost but may still be answered. A TryTable owns it. The timer has two stages. In the first stage
/// it fires when the request cannot be in the network's buffers any more, answered or not. In the second stage it fires when the try is
/// lost. While the request goes in segments, or once segments of an answer come, it fires when no more segments or ACKs have come.
class RpcTry final : public async::Timer, public ListHook<RpcTry> {
 public:
  explicit RpcTry(Rpc& engine) : rpc(engine) {}
  void expired() override;

  /// Takes its place among the tries of `of` and in the windows.
  void begin(RpcCall& of);
  /// Sends the request of the call. Throws as Channel::send() does.
  void send();
  /// Sets the timer, after the request was sent.
  void await_answer();
  /// Takes a MAD that has the transaction ID of this try. Returns false if the MAD belongs to no call or transfer.
  bool take(Bytes mad, const Source& source);
  /// The try will not be answered in time. It is kept for a late answer while its call exists.
  void lose(int error);
  /// The call is gone: stops the transfer of the other side.
  void abandon();
  /// Ends the try. The object may then serve another try.
  void erase();
  bool has_segments() const { return segmented_request != nullptr || segmented_answer != nullptr; }

  Rpc& rpc;
  RpcCall* call{};  // null if the call was cancelled or has ended
  std::uint64_t tid{};
  std::uint64_t number{};                   // number among all tries, from 1
  RequestQueue::Nodes::value_type* node{};  // null for GMPs, and once the try has left the node
  std::uint8_t mgmt_class{};
  bool smp{}, in_window{}, is_lost{};
  async::Time sent_at, deadline;
  std::unique_ptr<SegmentedRequest> segmented_request;  // until the answer begins to come
  std::unique_ptr<SegmentedAnswer> segmented_answer;    // set when the first segment of an answer has come

 private:
  void measure() const;
  void take_control(Bytes mad);
  void send_segments();
  void segmented_request_expired();
  bool is_segment(Bytes mad) const;
  void take_segment(Bytes mad, const Source& source);
  void begin_answer(const Source& source);
  void arm_answer();
  void send_acks();
  void answer_ended();
  void segmented_answer_expired();
};

/// One request from its start to its end: queued, in flight, or waiting for its next try. Awaitable.
class RpcCall final : public async::Timer, public ListHook<RequestQueue>, public ListHook<Rpc>, public ListHook<Responder> {
 public:
  RpcCall(Rpc& engine, const Request& request);
  RpcCall(const RpcCall&) = delete;
  RpcCall& operator=(const RpcCall&) = delete;
  ~RpcCall() override;

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> handle) {
    waiter = &handle.promise();
    enqueue(false);
  }
  void await_resume() const noexcept {}
  /// What came of it, once the coroutine has resumed. Throws what broke the engine meanwhile.
  Result<Reply> take_result();

  /// Puts the call into the queue: at the front for a retry.
  void enqueue(bool front);
  void leave_queue();
  /// Gives up all tries but `kept`. Tries in flight continue without a call.
  void drop_tries(const RpcTry* kept = nullptr);
  void expired() override { enqueue(true); }
  /// The responder held the call, which may go on.
  void resume();
  /// The node is silent.
  void give_up();

  /// Takes an answer, or a MAD that claims to be one.
  void take_answer(Reply answer);
  void retry_or_fail();
  /// The segments of the request or of the answer broke off. A call whose segments were lost may try again while there is time. A violation
  /// of the protocol is not retried, because it would happen again.
  void segments_failed(const RmppFailure& why);
  /// The channel has refused the request with this errno.
  void refused(int code);
  /// This host could not send the request.
  void unsendable(int code);
  void fail(std::exception_ptr error) { exception = std::move(error), finish(); }
  /// The request or the answer goes in segments. The first call of this function limits the time of the whole call, for its request and its
  /// answers.
  void begin_segments();

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
  // RmppLimits for all tries of a call in segments together, and the silence so far; see begin_segments().
  Duration longest_time{}, longest_silence{}, silence{};
  std::optional<async::Time> segments_end;
  bool busy = false;      // why it waits for its next try
  bool reported = false;  // the channel reported the last try as unanswered
  bool done = false;
  std::uint64_t first_try{}, last_try{};  // numbers of tries as in RpcTry
  async::Time first_sent_at;              // of the first try
  RpcTry* current{};                      // the last try, while it may be answered in time
  List<RpcTry, RpcTry> attempts;

 private:
  /// Whether a try is in flight, or another try will follow.
  bool expects_more() const { return current != nullptr || armed() || ListHook<RequestQueue>::linked(); }
  void ran_out();
  void fail_with(std::shared_ptr<MadError> error) { failure = std::move(error), finish(); }
  /// Ends the call. The outcome is in reply, failure or exception.
  void finish();

  Reply reply;
  std::shared_ptr<MadError> failure;
  std::exception_ptr exception;
  async::ReadyNode* waiter{};
};

}  // namespace ib::mad
