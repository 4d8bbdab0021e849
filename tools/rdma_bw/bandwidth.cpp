// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/rdma_bw/bandwidth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>

#include "async/event.hpp"
#include "async/group.hpp"
#include "base/error.hpp"
#include "base/escape.hpp"
#include "sa/resolve.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/progress.hpp"

namespace ib::tools {
namespace {

using namespace std::chrono_literals;

/// The plan reduced to what the device supports. Throws UsageError for more pieces than the device supports.
BandwidthPlan fitted(BandwidthPlan plan, const verbs::Context& context) {
  const ibv_device_attr device = context.query_device();
  const auto most_pieces = static_cast<std::uint32_t>(std::max(device.max_sge, 1));
  if (plan.pieces > most_pieces)
    throw UsageError(
        fmt::format("{} takes at most {} pieces a write (--num-sge), not {}", context.device().name, most_pieces, plan.pieces));
  plan.pieces = static_cast<std::uint32_t>(std::min<std::uint64_t>(plan.pieces, plan.size));
  plan.depth = std::min({plan.depth, plan.iterations, static_cast<std::uint32_t>(std::clamp(device.max_qp_wr, 1, 16384))});
  return plan;
}

/// Work requests of `size` bytes gathered from `count` pieces that differ by a byte at most.
std::vector<ibv_sge> gather(const verbs::MemoryRegion& region, std::uint64_t size, std::uint32_t count) {
  std::vector<ibv_sge> pieces;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto begin = static_cast<std::size_t>(size * i / count), end = static_cast<std::size_t>(size * (i + 1) / count);
    pieces.push_back(region.piece(begin, end - begin));
  }
  return pieces;
}

constexpr std::uint8_t roce_life_time = 16;  // 0.27 s, what Linux's connection manager takes on RoCE

async::Task<> send_message(async::TcpStream& peer, BandwidthMessage message) {
  const BandwidthMessage::Wire wire = message.pack();
  co_await peer.write(wire, bandwidth_patience);
}

/// Receives the message `expected`. Throws an Error that names the peer if another message comes, or if the peer gives up.
async::Task<BandwidthMessage> receive_message(async::TcpStream& peer, BandwidthStage expected,
                                              async::Duration timeout = bandwidth_patience) {
  BandwidthMessage::Wire wire{};
  co_await peer.read(wire, timeout);
  BandwidthMessage message;
  try {
    message = BandwidthMessage::unpack(wire);
  } catch (const Error& error) {
    throw Error(fmt::format("{} {}", peer.peer(), error.message()));
  }
  if (message.stage == BandwidthStage::failed) throw Error(fmt::format("{} gave up: {}", peer.peer(), escaped(message.text)));
  if (message.stage != expected) throw Error(fmt::format("{} sent an rdma_bw message out of turn", peer.peer()));
  co_return message;
}

}  // namespace

BandwidthEnd::BandwidthEnd(const sys::EndPort& end_port, const BandwidthPlan& plan)
    : end_port_(end_port),
      context_(*end_port.device),
      plan_(fitted(plan, context_)),
      memory_(static_cast<std::size_t>(plan_.size)),
      queue_(context_, plan_.depth + 1),
      region_(context_, memory_, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
      qp_(context_, queue_, IBV_QPT_RC, {plan_.depth, 1, plan_.pieces}),
      pieces_(gather(region_, plan_.size, plan_.pieces)) {
  path_.end_port = &end_port_;
  path_.sqpn = qp_.number();
  path_.sqpsn = std::random_device{}() & 0xffffffU;
  path_.sack_resp_time = context_.query_device().local_ca_ack_delay;
  path_.srdatomic = path_.drdatomic = 0;  // RDMA writes only
  const ibv_port_attr port = context_.query_port(end_port.number);
  mtu_ = static_cast<std::uint8_t>(std::clamp<int>(port.active_mtu, IBV_MTU_256, IBV_MTU_4096));
}

BandwidthMessage BandwidthEnd::describe() const {
  BandwidthMessage message;
  message.qpn = qp_.number().value;
  message.psn = path_.sqpsn;
  message.remote_key = region_.remote_key();
  message.address = region_.address();
  message.size = plan_.size;
  message.iterations = plan_.iterations;
  message.gid = end_port_.default_gid();
  message.mtu = mtu_;
  message.ack_delay = path_.sack_resp_time;
  message.path.slid = end_port_.lid;
  message.path.pkey = path_.pkey;
  return message;
}

void BandwidthEnd::connect(path::IbPath path, const BandwidthMessage& peer) {
  path.sqpn = path_.sqpn;
  path.sqpsn = path_.sqpsn;
  path.sack_resp_time = path_.sack_resp_time;
  path.srdatomic = path_.srdatomic;
  path.drdatomic = path_.drdatomic;
  path.dqpn = Qpn{peer.qpn};
  path.dqpsn = peer.psn;
  path.dack_resp_time = peer.ack_delay;
  path.mtu = std::min({path.mtu, mtu_, peer.mtu});
  peer_address_ = peer.address;
  peer_key_ = peer.remote_key;
  path_ = path;
  qp_.init(path_, IBV_ACCESS_REMOTE_WRITE);
  qp_.establish(path_);
}

/// At least one completion, for which it waits.
async::Task<std::size_t> BandwidthEnd::completions(std::span<ibv_wc> into) {
  // A connection ends its tries by an error; silence beyond them means that the device itself does not answer.
  const async::Duration limit = std::max<async::Duration>(10s, 4 * (path_.retries + 1) * path::qp_timeout(path_));
  async::Loop& loop = co_await async::current_loop;
  for (;;) {
    if (const std::size_t count = queue_.poll(into); count > 0) co_return count;
    queue_.request_event();
    if (const std::size_t count = queue_.poll(into); count > 0) co_return count;
    const short reported = co_await async::FdEvents(loop, queue_.fd(), POLLIN, limit);
    if (reported == 0) throw Error(fmt::format("{} reports no completion of an RDMA write", end_port_.name()));
    queue_.take_events();
  }
}

async::Task<async::Duration> BandwidthEnd::write(std::function<void(std::uint32_t)> progress) {
  std::array<ibv_wc, 64> done{};
  async::Loop& loop = co_await async::current_loop;
  const async::Time began = loop.now();
  std::uint32_t posted = 0, written = 0;
  ibv_send_wr work{};
  work.sg_list = pieces_.data();
  work.num_sge = static_cast<int>(pieces_.size());
  work.opcode = IBV_WR_RDMA_WRITE;
  work.send_flags = IBV_SEND_SIGNALED;
  work.wr.rdma.remote_addr = peer_address_;
  work.wr.rdma.rkey = peer_key_;
  while (written < plan_.iterations) {
    for (; posted < plan_.iterations && posted - written < plan_.depth; ++posted) qp_.post_send(work);
    const std::size_t count = co_await completions(done);
    for (const ibv_wc& completion : std::span(done).first(count)) {
      if (completion.status != IBV_WC_SUCCESS)
        throw Error(fmt::format("RDMA write from {} to QP {} failed: {} (vendor code 0x{:x})", end_port_.name(), path_.dqpn->value,
                                ibv_wc_status_str(completion.status), completion.vendor_err));
    }
    written += static_cast<std::uint32_t>(count);
    progress(written);
  }
  co_return loop.now() - began;
}

BandwidthTest::BandwidthTest(Stack& stack, bool is_client, const BandwidthPlan& plan, bool bidirectional)
    : stack_(stack), is_client_(is_client), plan_(plan), bidirectional_(bidirectional) {
  if (is_client_) {
    end_.emplace(stack_.host().end_port(), plan_);
  } else {
    const verbs::Context probe(*stack_.host().end_port().device);
  }
}

async::Task<> BandwidthTest::run(async::TcpStream peer, std::function<void()> met) {
  result_.peer = peer.peer();
  BandwidthMessage failure;
  failure.stage = BandwidthStage::failed;
  std::exception_ptr error;
  try {
    if (is_client_) {
      co_await meet_server(peer);
    } else {
      co_await meet_client(peer);
    }
    met();
    async::TaskGroup measuring(stack_.loop());
    measuring.spawn(own_part(peer));
    measuring.spawn(peers_part(peer));
    co_await measuring.join();
  } catch (const Error& e) {
    failure.text = e.what();
    error = std::current_exception();
  }
  if (!error) co_return;
  try {
    co_await send_message(peer, failure);
  } catch (const Error&) {  // it has gone, which is what went wrong or does no further harm
  }
  std::rethrow_exception(error);
}

async::Task<> BandwidthTest::meet_server(async::TcpStream& peer) {
  BandwidthMessage offer = end_->describe();
  offer.stage = BandwidthStage::offer;
  offer.bidirectional = bidirectional_;
  co_await send_message(peer, offer);
  // The server may have to query the SA first.
  const BandwidthMessage answer = co_await receive_message(peer, BandwidthStage::answer, 2 * bandwidth_patience);
  path::IbPath path = answer.path;
  path.end_port = &stack_.host().end_port();
  path.mtu = answer.mtu;
  path.dgid = stack_.host().end_port().default_gid();
  path.sgid = answer.gid;
  path::Path reversed = path;
  path::reverse(reversed, false);
  stack_.apply_options(reversed);
  end_->connect(reversed.ib(), answer);
  co_await connected(peer, offer, answer);
}

async::Task<> BandwidthTest::meet_client(async::TcpStream& peer) {
  const BandwidthMessage offer = co_await receive_message(peer, BandwidthStage::offer);
  plan_.size = offer.size;
  plan_.iterations = offer.iterations;
  end_.emplace(stack_.host().end_port(), plan_);
  const path::IbPath path = co_await path_to(offer);
  BandwidthMessage answer = end_->describe();
  answer.stage = BandwidthStage::answer;
  answer.bidirectional = bidirectional_ || offer.bidirectional;
  answer.path = path;
  answer.path.packet_life_time = path::packet_life_time(path);
  answer.mtu = std::min(answer.mtu, path.mtu);
  end_->connect(path, offer);
  co_await send_message(peer, answer);
  co_await connected(peer, answer, offer);
}

async::Task<path::IbPath> BandwidthTest::path_to(const BandwidthMessage& offer) {
  path::IbPath ib;
  ib.end_port = &stack_.host().end_port();
  ib.sgid = stack_.host().end_port().default_gid();
  ib.dgid = offer.gid;
  path::Path path = ib;
  stack_.apply_options(path);
  if (stack_.host().end_port().link_layer == sys::LinkLayer::ethernet) {
    sa::complete_roce(path.ib());
    path.ib().mtu = offer.mtu;
    path.ib().packet_life_time = roce_life_time;
  } else {
    sa::PathResolver resolver(stack_.transactor(), 0);
    path = co_await resolver.resolve(path);
  }
  co_return path.ib();
}

/// Both ends wait for each other: what is written to a queue pair before it is connected is lost.
async::Task<> BandwidthTest::connected(async::TcpStream& peer, const BandwidthMessage& mine, const BandwidthMessage& theirs) {
  BandwidthMessage ready;
  ready.stage = BandwidthStage::ready;
  co_await send_message(peer, ready);
  co_await receive_message(peer, BandwidthStage::ready);
  result_.plan = mine;
  result_.plan.bidirectional = mine.bidirectional || theirs.bidirectional;
  result_.remote = theirs;
  result_.path = end_->path();
}

async::Task<> BandwidthTest::own_part(async::TcpStream& peer) {
  BandwidthMessage done;
  done.stage = BandwidthStage::done;
  if (is_client_ || result_.plan.bidirectional) {
    const std::function<void(std::uint32_t)> show = [this](std::uint32_t count) {
      stack_.progress().count(count, result_.plan.iterations, "iterations");
    };
    result_.sent = co_await end_->write(show);
    done.nanoseconds = static_cast<std::uint64_t>(result_.sent->count());
  }
  co_await send_message(peer, done);
}

/// Waits until the peer is done: until then it may use the memory and the queue pair of this end, and this end may use the peer's memory
/// and queue pair.
async::Task<> BandwidthTest::peers_part(async::TcpStream& peer) {
  const BandwidthMessage done = co_await receive_message(peer, BandwidthStage::done, async::FdEvents::forever);
  if (done.nanoseconds > 0)
    result_.received = async::Duration(static_cast<std::int64_t>(std::min<std::uint64_t>(done.nanoseconds, INT64_MAX)));
}

}  // namespace ib::tools
