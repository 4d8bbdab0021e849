// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The RPC engine: requests and replies over one channel. Rpc composes its parts, each of which keeps one thing:
//  - RpcCall, one request from its start to its end. It lives in the frame of the coroutine that waits for it; destroying the frame cancels
//    the call.
//  - RpcTry, one send of a request and what is known of its outcome, RMPP included. A send cannot be recalled: a try, which the engine
//  owns,
//    holds its place in the windows until its outcome is known.
//  - TryTable, the tries by transaction ID; RequestQueue, which request may be sent; Patience, how long to wait; Tracer; Stats.
#pragma once

#include <array>
#include <exception>
#include <map>
#include <memory>
#include <tuple>

#include "base/list.hpp"
#include "mad/rmpp/transfers.hpp"
#include "mad/rpc/patience.hpp"
#include "mad/rpc/request_queue.hpp"
#include "mad/rpc/try_table.hpp"
#include "mad/trace.hpp"
#include "mad/transactor.hpp"

namespace ib::mad {

// Redirected class agents (IBA 13.5.2). An answer with the redirect status carries a ClassPortInfo, whose Redirect fields name
// another agent. The Rpc sends the request to that agent, and remembers the agent for later requests of the class to the same node. A
// change is not redirected, neither a Set nor a SubnAdmDelete: it was meant for the node that it was sent to.

/// The greatest number of redirects of one request. More are an error.
inline constexpr unsigned most_redirects = 4;

/// Whether the agent answered with a redirect and no other error.
bool is_redirect(const HeaderView& answer);
bool is_redirect(const Result<Reply>& result);

/// The path to the agent that a redirect names. `from` is the path of the request, and `answer` satisfies is_redirect(). A DLID of 0 in the
/// result means that the path to the DGID must be queried from the SA. Throws Error if the redirect makes no sense.
path::Path redirected(const path::Path& from, Bytes answer);

/// The error of a change (changes_something()) that was answered with `redirect`. It says where the change would have gone.
Result<Reply> not_followed(const Request& request, const MadError& redirect);

class Redirects {
 public:
  /// The path to use instead of `path`, or null.
  const path::Path* find(const path::Path& path, std::uint8_t mgmt_class) const;
  void remember(const path::Path& path, std::uint8_t mgmt_class, const path::Path& instead);
  void forget(const path::Path& path, std::uint8_t mgmt_class);

 private:
  using Key = std::tuple<std::uint8_t, std::uint16_t, std::array<std::uint8_t, 16>>;  // class, DLID, DGID
  static Key key_of(const path::Path& path, std::uint8_t mgmt_class);
  std::map<Key, path::Path> paths_;
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
class Rpc final : public Transactor, private ChannelEvents, private async::ReadyNode {
 public:
  Rpc(async::Loop& loop, std::unique_ptr<Channel> channel, Limits limits = {});
  ~Rpc() override;

  Task<Result<Reply>> try_call(const Request& request) override;
  const Stats* stats() const { return &stats_; }
  /// Sets the tracer; null for none. The tracer must live as long as the Rpc, or until another one is set.
  void set_tracer(Tracer* tracer) { tracer_ = tracer != nullptr ? tracer : &silent_; }
  async::Loop& loop() { return loop_; }
  /// Sets the receiver of requests; null for none. It must live as long as the Rpc, or until another one is set.
  void set_request_sink(RequestSink* sink) { sink_ = sink; }
  /// Lets requests of `service` arrive. Throws as Channel::serve() does.
  void serve(const Service& service) { channel_->serve(service); }
  /// Sends a MAD that has no answer: an answer, or another part of a conversation that a request began. A MAD whose RMPP header says Active
  /// may have any length; its segments go on after the return. Throws SysError, or Error for too many transfers.
  void send_unanswered(Bytes mad, const path::Path& path);
  const Window& smp_window() const { return queue_.window(true); }
  const Window& gmp_window() const { return queue_.window(false); }

 private:
  friend class RpcCall;
  friend class RpcTry;
  /// Sends, from the loop, requests for which there is room again. A destructor posts the Rpc, because a destructor must not send.
  void fire() override {
    pump(true);
    pump(false);
  }
  void pump(bool smp);
  void send(RpcCall& call);
  void transmit(Bytes segment, const path::Path& path, Duration answer_time = Duration::zero());

  // Redirects (redirect.cpp)
  Task<Result<Reply>> call_agent(const Request& request);
  Task<Result<Reply>> call_redirected(const Request& request, path::Path elsewhere);
  Task<Result<Reply>> call_elsewhere(const Request& request, path::Path path);
  Task<> follow(const Request& request, Result<Reply>& result);

  void received(Bytes mad, const Source& source) override;
  void send_failed(Bytes header, int error) override;
  void broken(std::exception_ptr error) override;
  bool take_request(Bytes mad, const Source& source);
  void requested(Bytes mad, const Source& source);
  void stray(Bytes mad, const Source& source);

  async::Loop& loop_;
  std::unique_ptr<Channel> channel_;
  Tracer silent_;
  Tracer* tracer_ = &silent_;
  RequestQueue queue_;
  Patience patience_;
  RmppMemory memory_;
  TryTable tries_{*channel_};
  List<RpcCall, Rpc> calls_;
  std::uint64_t tries_sent_{};
  Redirects redirects_;
  std::exception_ptr broken_;
  Stats stats_;
  RequestSink* sink_{};
  RmppOutbox outbox_{loop_, [this](Bytes packet, const path::Path& path) { transmit(packet, path); }};
  RmppInbox inbox_{loop_, end_port(), [this](Bytes packet, const path::Path& path) { transmit(packet, path); },
                   [this](Bytes mad, const Source& source) { requested(mad, source); }};
};

}  // namespace ib::mad
