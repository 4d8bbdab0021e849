// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The records of the RPC engine; see rpc.hpp. For its own files only.
#pragma once

#include <optional>

#include "mad/responder.hpp"
#include "mad/rmpp_receiver.hpp"
#include "mad/rmpp_sender.hpp"
#include "mad/rpc.hpp"

namespace ib::mad {

/// Whether RMPP may answer `request`. Subnet administration has few such methods (IBA 15.3.1), vendors choose theirs.
inline bool may_answer_in_segments(const HeaderView& request) {
  return has_oui(request.mgmt_class()) || (request.mgmt_class() == mgmt_class::sa && is_list_method(request.method()));
}

/// An answer that comes in segments. It is kept for a while after its end, for its sender may have missed the last ACK.
struct Rpc::SegmentedAnswer {
  SegmentedAnswer(const Call& call, RmppReceiver::Limits limits, const Source& from);
  RmppReceiver receiver;
  path::Path path;  // of the ACKs: the call may end, and its path with it
  Source source;
  Duration first_patience;   // without progress, before the last ACK is repeated
  Duration patience;         // the current one
  Duration longest_silence;  // without progress, before the transfer is given up
  async::Time last_progress;
};

/// A request that goes in segments, until its answer begins to come.
struct Rpc::SegmentedRequest {
  RmppSender sender;
  path::Path path;  // the call may end, and its path with it
};

/// One try on its way, or lost but perhaps still to be answered. Its timer has two stages: at first it tells that the
/// request, answered or not, cannot be in the network's buffers any more, then that the try is lost. While it
/// goes in segments, and once segments of an answer come, it tells that no more did.
struct Rpc::Sent final : async::Timer, ListHook<Rpc::Sent> {
  explicit Sent(Rpc& engine) : rpc(engine) {}
  void expired() override { rpc.sent_expired(*this); }

  Rpc& rpc;
  Call* call{};  // null when that was cancelled or has ended
  std::uint64_t tid{};
  std::uint64_t number{};     // of all tries, from 1
  Nodes::value_type* node{};  // null for GMPs and once it has left it
  std::uint8_t mgmt_class{};
  bool smp{};
  bool in_window{};
  bool lost{};
  async::Time sent_at, deadline;
  std::unique_ptr<SegmentedRequest> segmented_request;  // while it goes
  std::unique_ptr<SegmentedAnswer> segmented_answer;    // once the first segment of an answer came
};

/// One request from its start to its end: queued, on its way, or waiting for its next try. Awaitable.
class Rpc::Call final : public async::Timer, public ListHook<Queued>, public ListHook<Live>, public Responder::Asker {
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
  Result<Reply> await_resume();

  /// Puts the call in line, at the front for a retry: its turn has come once already.
  void enqueue(bool front);
  void leave_queue();
  /// Whether a try is on its way, or another one will be.
  bool expects_more() const { return current != nullptr || armed() || ListHook<Queued>::linked(); }
  /// Waits before the next try.
  void back_off(Duration delay);
  void expired() override;
  void resume() override;
  void give_up() override;
  /// Ends the call; the reason stands in reply, failure or exception.
  void finish();
  /// Its request or its answer goes in segments: from the first time on the time of the whole call is limited.
  void begin_segments();
  bool has_time_for_segments() const;
  /// Gives up its tries, but for `kept`: those on their way stay as nobody's.
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
  // Of a call in segments, all its tries together: what it may take, and what it took; see begin_segments().
  Duration longest_time{}, longest_silence{}, silence{};
  std::optional<async::Time> segments_end;
  bool busy = false;      // why it waits for its next try
  bool reported = false;  // the channel said that the last try is not answered
  bool done = false;
  std::uint64_t first_try{}, last_try{};  // by number, as Sent has it
  async::Time first_sent_at;              // of the first try
  Sent* current{};                        // the last try, while it may be answered in time
  List<Sent, Sent> sents;
  Reply reply;
  std::shared_ptr<MadError> failure;
  std::exception_ptr exception;
  async::ReadyNode* waiter{};
};

}  // namespace ib::mad
