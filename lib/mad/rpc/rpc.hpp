// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The RPC engine: requests and replies over one channel. Rpc composes its parts, each of which keeps one thing:
//  - RpcCall, one request from its start to its end. It lives in the frame of the coroutine that waits for it; destroying the frame cancels
//    the call.
//  - RpcTry, one send of a request and what is known of its outcome, RMPP included. A send cannot be recalled: a try, which the engine
//    owns, holds its place in the windows until its outcome is known.
//  - TryTable, the tries by transaction ID; RequestQueue, which request may be sent; Patience, how long to wait; Tracer; Stats.
#pragma once

#include <exception>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "base/list.hpp"
#include "mad/rmpp/transfers.hpp"
#include "mad/rpc/request_queue.hpp"
#include "mad/trace.hpp"
#include "mad/transactor.hpp"

namespace ib::mad {

// Redirected class agents (IBA 13.5.2). An answer with the redirect status carries a ClassPortInfo, whose Redirect fields name
// another agent. The Rpc sends the request to that agent, and remembers the agent for later requests of the class to the same node. A
// change is not redirected, neither a Set nor a SubnAdmDelete: it was meant for the node that it was sent to.

/// The greatest number of redirects of one request. More are an error.
inline constexpr unsigned most_redirects = 4;

class Rpc;
class RpcTry;
class Server;

/// Owns the tries of an engine and gives them their transaction IDs, in sequence. The low halves of the IDs of open tries differ.
class TryTable {
 public:
  /// `channel`, which must outlive this object, decides which bits of an ID an answer returns.
  explicit TryTable(const Channel& channel);
  ~TryTable();
  TryTable(const TryTable&) = delete;
  TryTable& operator=(const TryTable&) = delete;

  /// A try with a new transaction ID. Its other members may have the values of an earlier try.
  RpcTry& add(Rpc& rpc);
  /// Takes `attempt` out. It stays valid, and add() may return it again.
  void remove(RpcTry& attempt);
  /// The try that `mad` answers or reports on, by class and transaction ID (IBA C13-19.1.1). Null if there is none.
  RpcTry* find(Bytes mad) const;
  /// Whether `mad`, which has a whole header, has the transaction ID of a try that was removed.
  bool is_late(Bytes mad) const;

 private:
  std::size_t slot(std::uint64_t tid) const { return static_cast<std::size_t>(tid) & (slots_.size() - 1); }

  const Channel& channel_;
  std::uint64_t first_tid_, tid_;
  std::vector<std::unique_ptr<RpcTry>> all_;  // in use or not
  std::vector<RpcTry*> free_;
  std::vector<RpcTry*> slots_;  // by the low bits of the ID; the size is a power of two
};

/// The Transactor that sends MADs through a channel. It owns the channel.
class Rpc final : public Transactor, private ChannelEvents, private async::ReadyNode {
 public:
  Rpc(async::Loop& loop, std::unique_ptr<Channel> channel, RpcLimits limits = {});
  ~Rpc() override;

  Task<Result<Reply>> try_call(const Request& request) override;
  const Stats* stats() const { return &stats_; }
  /// Sets the tracer; null for none. The tracer must live as long as the Rpc, or until another one is set.
  void set_tracer(Tracer* tracer) { tracer_ = tracer != nullptr ? tracer : &silent_; }
  async::Loop& loop() { return loop_; }
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
  friend class Server;
  /// Sends, from the loop, requests for which there is room again. A destructor posts the Rpc, because a destructor must not send.
  void fire() override {
    pump(true);
    pump(false);
  }
  void pump(bool smp);
  void send(RpcCall& call);
  void transmit(Bytes segment, const path::Path& path, Duration answer_time = Duration::zero());

  // Redirects (redirect.cpp)
  using RedirectKey = std::tuple<std::uint8_t, Lid, Gid>;  // class, DLID, DGID of the path that the request names
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
  std::map<RedirectKey, path::Path> redirects_;  // the path to use instead
  std::exception_ptr broken_;
  Stats stats_;
  Server* server_{};
  RmppOutbox outbox_{loop_, [this](Bytes packet, const path::Path& path) { transmit(packet, path); }};
  RmppInbox inbox_{loop_, end_port(), [this](Bytes packet, const path::Path& path) { transmit(packet, path); },
                   [this](Bytes mad, const Source& source) { requested(mad, source); }};
};

}  // namespace ib::mad
