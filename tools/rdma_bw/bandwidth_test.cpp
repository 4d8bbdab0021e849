// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/rdma_bw/bandwidth_test.hpp"

#include <algorithm>

#include "async/group.hpp"
#include "sa/resolve.hpp"

namespace ib::tools {

using Kind = BandwidthMessage::Kind;

namespace {

constexpr std::uint8_t roce_life_time = 16;  // 0.27 s, what Linux's connection manager takes on RoCE

/// The path that the server found, as it stands in its answer.
path::IbPath path_of(const BandwidthMessage& answer, const sys::EndPort& end_port) {
  path::IbPath path;
  path.end_port = &end_port;
  path.pkey = answer.pkey;
  path.sl = answer.sl;
  path.rate = answer.rate;
  path.mtu = answer.mtu;
  path.packet_life_time = answer.packet_life_time;
  path.has_grh = answer.has_grh;
  path.hop_limit = answer.hop_limit;
  path.traffic_class = answer.traffic_class;
  path.flow_label = answer.flow_label;
  return path;
}

}  // namespace

BandwidthTest::BandwidthTest(Stack& stack, BandwidthRole role, const BandwidthPlan& plan, bool bidirectional)
    : stack_(stack), role_(role), plan_(plan), bidirectional_(bidirectional) {
  if (role_ == BandwidthRole::client) {
    end_.emplace(stack_.host().end_port(), plan_);
  } else {
    const verbs::Context probe(*stack_.host().end_port().device);
  }
}

async::Task<> BandwidthTest::run(async::TcpStream stream, std::function<void()> met) {
  Peer peer(std::move(stream));
  result_.peer = peer.peer();
  BandwidthMessage failure;
  failure.kind = Kind::failed;
  std::exception_ptr error;
  try {
    if (role_ == BandwidthRole::client) {
      co_await meet_server(peer);
    } else {
      co_await meet_client(peer);
    }
    met();
    co_await measure(peer);
  } catch (const Error& e) {
    failure.text = e.what();
    error = std::current_exception();
  }
  if (!error) co_return;
  try {
    co_await peer.send(failure);
  } catch (const Error&) {  // it has gone, which is what went wrong or does no further harm
  }
  std::rethrow_exception(error);
}

async::Task<> BandwidthTest::meet_server(Peer& peer) {
  BandwidthMessage offer = end_->describe();
  offer.kind = Kind::offer;
  offer.bidirectional = bidirectional_;
  co_await peer.send(offer);
  // The server may have to query the SA first.
  const BandwidthMessage answer = co_await peer.receive(Kind::answer, 2 * Peer::patience);
  path::IbPath path = path_of(answer, stack_.host().end_port());
  path.slid = answer.slid;
  path.dlid = answer.dlid;
  path.dgid = stack_.host().end_port().default_gid();
  path.sgid = answer.gid;
  path::Path reversed = path;
  path::reverse(reversed, false);
  stack_.apply_options(reversed);
  end_->connect(reversed.ib(), answer);
  co_await connected(peer, offer, answer);
}

async::Task<> BandwidthTest::meet_client(Peer& peer) {
  const BandwidthMessage offer = co_await peer.receive(Kind::offer);
  plan_.size = offer.size;
  plan_.iterations = offer.iterations;
  end_.emplace(stack_.host().end_port(), plan_);
  const path::IbPath path = co_await path_to(offer);
  BandwidthMessage answer = end_->describe();
  answer.kind = Kind::answer;
  answer.bidirectional = bidirectional_ || offer.bidirectional;
  answer.slid = path.slid;
  answer.dlid = path.dlid;
  answer.pkey = path.pkey;
  answer.sl = path.sl;
  answer.rate = path.rate;
  answer.mtu = std::min(answer.mtu, path.mtu);
  answer.packet_life_time = path::packet_life_time(path);
  answer.has_grh = path.has_grh;
  answer.hop_limit = path.hop_limit;
  answer.traffic_class = path.traffic_class;
  answer.flow_label = path.flow_label;
  end_->connect(path, offer);
  co_await peer.send(answer);
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
    path = co_await sa::resolve_path(stack_.transactor(), path);
  }
  co_return path.ib();
}

/// Both ends wait for each other: what is written to a queue pair before it is connected is lost.
async::Task<> BandwidthTest::connected(Peer& peer, const BandwidthMessage& mine, const BandwidthMessage& theirs) {
  co_await peer.send(Kind::ready);
  co_await peer.receive(Kind::ready);
  result_.plan = mine;
  result_.plan.bidirectional = mine.bidirectional || theirs.bidirectional;
  result_.remote = theirs;
  result_.path = end_->path();
}

async::Task<> BandwidthTest::measure(Peer& peer) {
  async::TaskGroup group(stack_.loop());
  group.spawn(own_part(peer));
  group.spawn(peers_part(peer));
  co_await group.join();
}

async::Task<> BandwidthTest::own_part(Peer& peer) {
  BandwidthMessage done;
  done.kind = Kind::done;
  if (role_ == BandwidthRole::client || result_.plan.bidirectional) {
    const std::function<void(std::uint32_t)> show = [this](std::uint32_t count) {
      stack_.progress().count(count, result_.plan.iterations, "iterations");
    };
    result_.sent = co_await end_->write(show);
    done.nanoseconds = static_cast<std::uint64_t>(result_.sent->count());
  }
  co_await peer.send(done);
}

/// Waits until the peer is done: until then it may use the memory and the queue pair of this end, and this end those of the peer.
async::Task<> BandwidthTest::peers_part(Peer& peer) {
  const BandwidthMessage done = co_await peer.receive(Kind::done, Peer::forever);
  if (done.nanoseconds > 0)
    result_.received = async::Duration(static_cast<std::int64_t>(std::min<std::uint64_t>(done.nanoseconds, INT64_MAX)));
}

}  // namespace ib::tools
