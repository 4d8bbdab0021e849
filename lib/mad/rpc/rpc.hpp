// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The RPC engine: requests and replies over one channel. It decides when to send (windows, retries, back-off), finds the call
// that a reply belongs to, and rejects a reply that contradicts its request.
//
// A Call lives in the frame of the coroutine that waits for it; destroying the frame cancels the call. A send cannot be
// recalled. A Sent, which the engine owns, represents the send and holds its place in the windows until its outcome is known.
#pragma once

#include <exception>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/list.hpp"
#include "mad/channel/channel.hpp"
#include "mad/redirect.hpp"
#include "mad/rmpp/inbox.hpp"
#include "mad/rmpp/memory.hpp"
#include "mad/rmpp/outbox.hpp"
#include "mad/rpc/tid_table.hpp"
#include "mad/rpc/window.hpp"
#include "mad/stats.hpp"
#include "mad/trace.hpp"
#include "mad/transactor.hpp"

namespace ib::mad {

/// The greatest numbers of requests in flight at once.
struct Limits {
  unsigned smps = 32;                        ///< from this port (VL15 has no flow control)
  unsigned smps_per_node = 4;                ///< to one SMA
  unsigned gmps = 128;                       ///< from this port
  std::size_t segment_bytes = rmpp_longest;  ///< of all answers in segments together
  /// The limits for the option -o N.
  static Limits outstanding(unsigned n) { return {.smps = n, .smps_per_node = n < 4 ? n : 4, .gmps = n}; }
};

/// Receives the requests that arrive at an Rpc's channel; see mad/server.hpp.
class RequestSink {
 public:
  /// A request came. `mad` has at least header_size bytes and no R bit, and is valid only during the call. A request that came
  /// in segments is complete.
  virtual void requested(Bytes mad, const Source& source) = 0;
  /// The channel has failed.
  virtual void broken(std::exception_ptr error) = 0;

 protected:
  ~RequestSink() = default;
};

/// The Transactor that sends MADs through a channel. It owns the channel.
class Rpc final : public Transactor, private ChannelEvents {
 public:
  Rpc(async::Loop& loop, std::unique_ptr<Channel> channel, Limits limits = {});
  ~Rpc() override;

  Task<Result<Reply>> try_call(const Request& request) override;
  const Stats* stats() const { return &stats_; }
  /// Sets the tracer; null for none. The tracer must live as long as the Rpc, or until another one is set.
  void set_tracer(Tracer* tracer) { tracer_ = tracer; }
  async::Loop& loop() { return loop_; }
  /// Sets the receiver of requests; null for none. It must live as long as the Rpc, or until another one is set.
  void set_request_sink(RequestSink* sink) { sink_ = sink; }
  /// Lets requests of `service` arrive. Throws as Channel::serve() does.
  void serve(const Service& service) { channel_->serve(service); }
  /// Sends a MAD that has no answer: an answer, or another part of a conversation that a request began. A MAD whose RMPP header says Active
  /// may have any length; its segments go on after the return. Throws SysError, or Error for too many transfers.
  void send_unanswered(Bytes mad, const path::Path& path);
  const Window& smp_window() const { return smps_.window; }
  const Window& gmp_window() const { return gmps_.window; }

 private:
  struct Queued;
  struct Live;
  struct Sent;
  struct SegmentedRequest;
  struct SegmentedAnswer;
  class Call;
  using Queue = List<Call, Queued>;
  /// The requests to one SMA that are in flight, and those that wait because there are too many.
  struct Node {
    unsigned in_flight{};
    Queue waiting;
  };
  using Nodes = std::unordered_map<std::uint64_t, Node>;
  /// Sends, from the loop, requests for which there is room again. A destructor posts it, because a destructor must not send.
  struct Pump final : async::ReadyNode {
    explicit Pump(Rpc& engine) : rpc(engine) {}
    void fire() override {
      rpc.pump(true);
      rpc.pump(false);
    }
    Rpc& rpc;
  };
  /// The window of SMPs or of GMPs. They have separate windows: other agents answer them, through other buffers, in other
  /// times.
  struct Lane {
    explicit Lane(unsigned ceiling) : window(ceiling) {}
    Window window;
    Queue queue;
    Duration rtt{};               ///< smoothed round-trip time, without the SA; zero before the first answer
    async::Time newest_answered;  ///< when the latest try that was answered had been sent
  };

  // Sending (rpc/requests.cpp)
  Lane& lane(bool smp) { return smp ? smps_ : gmps_; }
  Duration& rtt(std::uint8_t mgmt_class) { return mgmt_class == mgmt_class::sa ? sa_rtt_ : lane(is_smp(mgmt_class)).rtt; }
  void pump(bool smp);
  void left_queue(const Call& call);
  bool may_send(Call& call);
  void send(Call& call);
  void send_refused(Call& call, int code);
  std::uint64_t next_tid();
  Sent& new_sent(Call& call, std::uint64_t tid);
  void leave_window(Sent& sent);
  void leave_node(Sent& sent);
  void erase(Sent& sent);
  void sent_expired(Sent& sent);
  void try_lost(Sent& sent, int error);
  void retry_or_fail(Call& call);
  void ran_out(Call& call);
  Duration stale_after(const Sent& sent);
  bool may_be_in_buffers(const Sent& sent);
  Duration patience(const Call& call);

  // Redirects (redirect.cpp)
  Task<Result<Reply>> call_agent(const Request& request);
  Task<Result<Reply>> call_redirected(const Request& request, path::Path elsewhere);
  Task<Result<Reply>> call_elsewhere(const Request& request, path::Path path);
  Task<> follow(const Request& request, Result<Reply>& result);

  // Receiving (rpc/receive.cpp)
  void received(Bytes mad, const Source& source) override;
  void send_failed(Bytes header, int error) override;
  void broken(std::exception_ptr error) override;
  Sent* find_sent(Bytes mad);
  void answered(Sent& sent);
  void measure(const Sent& sent);
  void take_answer(Call& call, Reply reply);
  bool take_request(Bytes mad, const Source& source);
  void requested(Bytes mad, const Source& source);
  void stray(Bytes mad, const Source& source);
  void transmit(Bytes segment, const path::Path& path, Duration answer_time = Duration::zero());

  // Requests in segments, if the channel does no RMPP (rpc/segmented_requests.cpp)
  bool goes_in_segments(const Call& call) const;
  void begin_segmented_request(Sent& sent);
  void take_control(Sent& sent, Bytes mad);
  void send_segments(Sent& sent);
  void segmented_request_expired(Sent& sent);

  // Answers in segments, if the channel does no RMPP (rpc/segmented_answers.cpp)
  bool is_segment(const Sent& sent, Bytes mad) const;
  void take_segment(Sent& sent, Bytes mad, const Source& source);
  void begin_segmented_answer(Sent& sent, const Source& source);
  void arm_segmented_answer(Sent& sent);
  Duration patience(const SegmentedAnswer& answer) const;
  void measure(SegmentedAnswer& answer);
  void send_acks(Sent& sent);
  void segmented_answer_ended(Sent& sent);
  void segments_failed(Call& call, const RmppFailure& failure);
  void segmented_answer_expired(Sent& sent);
  void abandon(Sent& sent);

  async::Loop& loop_;
  std::unique_ptr<Channel> channel_;
  Limits limits_;
  Lane smps_, gmps_;
  Duration sa_rtt_{};   // smoothed, of the SA, which is one program for all; zero before its first answer
  Duration ack_rtt_{};  // smoothed: from an ACK to the next segment; zero before the first one
  Nodes nodes_;
  Pump pump_{*this};
  RmppMemory memory_{limits_.segment_bytes};
  TidTable<Sent> open_;
  std::vector<std::unique_ptr<Sent>> sents_;  // all of them, in use or not
  std::vector<Sent*> free_sents_;
  List<Call, Live> calls_;
  std::uint64_t first_tid_, tid_;
  std::uint64_t tries_{};  // number of tries that were sent
  Redirects redirects_;
  std::exception_ptr broken_;
  Stats stats_;
  Tracer* tracer_{};
  RequestSink* sink_{};
  RmppOutbox outbox_{loop_, [this](Bytes packet, const path::Path& path) { transmit(packet, path); }};
  RmppInbox inbox_{loop_, end_port(), [this](Bytes packet, const path::Path& path) { transmit(packet, path); },
                   [this](Bytes mad, const Source& source) { requested(mad, source); }};
};

}  // namespace ib::mad
