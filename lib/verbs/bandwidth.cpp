// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "verbs/bandwidth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string_view>
#include <type_traits>

#include "async/event.hpp"
#include "async/group.hpp"
#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/escape.hpp"

namespace ib::verbs {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view magic = "IBTRDMBW";
constexpr std::size_t version_at = 8, stage_at = 10, flags_at = 11, nanoseconds_at = 16, text_at = 16;
constexpr std::uint8_t flag_bidirectional = 1, flag_grh = 2;

[[noreturn]] void bad(std::string_view what) { throw Error(fmt::format("sent an rdma_bw message with {}", what)); }

void check_end(const BandwidthMessage& m) {
  if (m.qpn < 2 || m.qpn >= 1U << 24) bad("an impossible queue pair number");
  if (m.psn >= 1U << 24) bad("an impossible packet sequence number");
  if (m.size < 1 || m.size > BandwidthMessage::most_bytes) bad(fmt::format("a size of {} bytes: 1 to 1073741824 are possible", m.size));
  if (m.iterations < 1) bad("no iterations");
  if (m.mtu < 1 || m.mtu > 5) bad("an unknown MTU");
  if (m.ack_delay > 31 || m.path.packet_life_time > 63) bad("an impossible time");
  if (m.gid == Gid{}) bad("no GID");
  if (m.path.sl > 15 || m.path.rate > 63 || m.path.flow_label >= 1U << 20) bad("an impossible path");
}

/// Reads the members of an offer or answer from the message at `p`, or writes them there if its bytes are not const.
template <class Byte>
void transfer(BandwidthMessage& m, Byte* p) {
  constexpr bool reads = std::is_const_v<Byte>;
  const auto number = [p]<class T>(std::size_t at, T& value) {
    if constexpr (reads) {
      value = load_be<T>(p + at);
    } else {
      store_be(p + at, value);
    }
  };
  auto flags = static_cast<std::uint8_t>((m.bidirectional ? flag_bidirectional : 0) | (m.path.has_grh ? flag_grh : 0));
  number(flags_at, flags);
  m.bidirectional = (flags & flag_bidirectional) != 0;
  m.path.has_grh = (flags & flag_grh) != 0;
  number(12, m.qpn);
  number(16, m.psn);
  number(20, m.remote_key);
  number(24, m.address);
  number(32, m.size);
  number(40, m.iterations);
  for (std::size_t at = 0; at < m.gid.bytes.size(); ++at) number(48 + at, m.gid.bytes[at]);
  number(64, m.mtu);
  number(65, m.ack_delay);
  number(66, m.path.slid.value);
  number(68, m.path.dlid.value);
  number(70, m.path.pkey.value);
  number(72, m.path.sl);
  number(73, m.path.rate);
  std::uint8_t life_time = m.path.packet_life_time.value_or(0);
  number(74, life_time);
  m.path.packet_life_time = life_time;
  number(75, m.path.hop_limit);
  number(76, m.path.traffic_class);
  number(80, m.path.flow_label);
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

BandwidthMessage::Wire BandwidthMessage::pack() const {
  Wire wire{};
  std::ranges::copy(magic, wire.begin());
  store_be(&wire[version_at], protocol);
  wire[stage_at] = static_cast<std::uint8_t>(stage);
  if (stage == BandwidthStage::offer || stage == BandwidthStage::answer) {
    BandwidthMessage copy = *this;
    transfer(copy, wire.data());
  }
  if (stage == BandwidthStage::done) store_be(&wire[nanoseconds_at], nanoseconds);
  if (stage == BandwidthStage::failed) std::ranges::copy(std::string_view(text).substr(0, wire_size - text_at), &wire[text_at]);
  return wire;
}

BandwidthMessage BandwidthMessage::unpack(const Wire& wire) {
  if (!std::equal(magic.begin(), magic.end(), wire.begin())) throw Error("sent something that is not a message of rdma_bw");
  if (const auto version = load_be<std::uint16_t>(&wire[version_at]); version != protocol)
    throw Error(fmt::format("speaks version {} of rdma_bw's protocol, this program version {}", version, protocol));
  BandwidthMessage message;
  message.stage = static_cast<BandwidthStage>(wire[stage_at]);
  switch (message.stage) {
    case BandwidthStage::offer:
    case BandwidthStage::answer:
      transfer(message, wire.data());
      check_end(message);
      break;
    case BandwidthStage::ready:
      break;
    case BandwidthStage::done:
      message.nanoseconds = load_be<std::uint64_t>(&wire[nanoseconds_at]);
      break;
    case BandwidthStage::failed:
      message.text.assign(wire.begin() + text_at, std::find(wire.begin() + text_at, wire.end(), 0));
      break;
    default:
      bad(fmt::format("the unknown kind {}", wire[stage_at]));
  }
  return message;
}

BandwidthTest::BandwidthTest(const path::IbPath& from, const BandwidthPlan& plan, FindPath find_path)
    : end_port_(*from.end_port), find_path_(std::move(find_path)), context_(*end_port_.device) {
  result_.path = from;
  result_.path.srdatomic = result_.path.drdatomic = 0;  // RDMA writes only
  result_.plan = plan;
  if (!find_path_) prepare();
}

BandwidthTest::End::End(const Context& context, const BandwidthPlan& plan)
    : memory(static_cast<std::size_t>(plan.size)),
      queue(context, plan.depth + 1),
      region(context, memory, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
      qp(context, queue, IBV_QPT_RC, {plan.depth, 1, plan.pieces}) {}

/// Reduces the plan to what the device supports, and makes this end of the connection.
void BandwidthTest::prepare() {
  BandwidthPlan& plan = result_.plan;
  const ibv_device_attr device = context_.query_device();
  const auto most_pieces = static_cast<std::uint32_t>(std::max(device.max_sge, 1));
  if (plan.pieces > most_pieces)
    throw UsageError(fmt::format("{} takes at most {} pieces a write, not {}", context_.device().name, most_pieces, plan.pieces));
  plan.pieces = static_cast<std::uint32_t>(std::min<std::uint64_t>(plan.pieces, plan.size));
  plan.depth = std::min({plan.depth, plan.iterations, static_cast<std::uint32_t>(std::clamp(device.max_qp_wr, 1, 16384))});
  end_.emplace(context_, plan);
  result_.path.sqpn = end_->qp.number();
  result_.path.sqpsn = std::random_device{}() & 0xffffffU;
  result_.path.sack_resp_time = device.local_ca_ack_delay;
  mtu_ = static_cast<std::uint8_t>(std::clamp<int>(context_.query_port(end_port_.number).active_mtu, IBV_MTU_256, IBV_MTU_4096));
}

/// A message that describes this end. The members that depend on the path to the peer are not set.
BandwidthMessage BandwidthTest::describe(BandwidthStage stage) const {
  BandwidthMessage message;
  message.stage = stage;
  message.bidirectional = result_.plan.bidirectional;
  message.qpn = end_->qp.number().value;
  message.psn = result_.path.sqpsn;
  message.remote_key = end_->region.remote_key();
  message.address = end_->region.address();
  message.size = result_.plan.size;
  message.iterations = result_.plan.iterations;
  message.gid = end_port_.default_gid();
  message.mtu = mtu_;
  message.ack_delay = result_.path.sack_resp_time;
  message.path.slid = end_port_.lid;
  message.path.pkey = result_.path.pkey;
  return message;
}

/// Completes `path`, which leads to `peer` but names neither queue pair, and connects over it.
void BandwidthTest::connect(path::IbPath path, const BandwidthMessage& peer) {
  const path::IbPath& own = result_.path;
  path.sqpn = own.sqpn;
  path.sqpsn = own.sqpsn;
  path.sack_resp_time = own.sack_resp_time;
  path.srdatomic = own.srdatomic;
  path.drdatomic = own.drdatomic;
  path.dqpn = Qpn{peer.qpn};
  path.dqpsn = peer.psn;
  path.dack_resp_time = peer.ack_delay;
  path.mtu = std::min({path.mtu, mtu_, peer.mtu});
  path.retries = own.retries;
  path.timeout = own.timeout;
  result_.path = path;
  result_.remote = peer;
  result_.plan.bidirectional |= peer.bidirectional;
  end_->qp.init(path, IBV_ACCESS_REMOTE_WRITE);
  end_->qp.establish(path);
}

/// At least one completion, for which it waits.
async::Task<std::size_t> BandwidthTest::completions(std::span<ibv_wc> into) {
  // A connection ends its tries by an error; silence beyond them means that the device itself does not answer.
  const async::Duration limit = std::max<async::Duration>(10s, 4 * (result_.path.retries + 1) * path::qp_timeout(result_.path));
  async::Loop& loop = co_await async::current_loop;
  for (;;) {
    if (const std::size_t count = end_->queue.poll(into); count > 0) co_return count;
    end_->queue.request_event();
    if (const std::size_t count = end_->queue.poll(into); count > 0) co_return count;
    const short reported = co_await async::FdEvents(loop, end_->queue.fd(), POLLIN, limit);
    if (reported == 0) throw Error(fmt::format("{} reports no completion of an RDMA write", end_port_.name()));
    end_->queue.take_events();
  }
}

/// Writes to the memory of the peer, and measures the time from the first write until the last has arrived.
async::Task<> BandwidthTest::write(std::function<void(std::uint32_t)> progress) {
  const BandwidthPlan& plan = result_.plan;
  std::vector<ibv_sge> pieces;  // which differ by a byte at most
  for (std::uint32_t i = 0; i < plan.pieces; ++i) {
    const auto begin = static_cast<std::size_t>(plan.size * i / plan.pieces);
    pieces.push_back(end_->region.piece(begin, static_cast<std::size_t>(plan.size * (i + 1) / plan.pieces) - begin));
  }
  std::array<ibv_wc, 64> done{};
  async::Loop& loop = co_await async::current_loop;
  const async::Time began = loop.now();
  std::uint32_t posted = 0, written = 0;
  ibv_send_wr work{};
  work.sg_list = pieces.data();
  work.num_sge = static_cast<int>(pieces.size());
  work.opcode = IBV_WR_RDMA_WRITE;
  work.send_flags = IBV_SEND_SIGNALED;
  work.wr.rdma.remote_addr = result_.remote.address;
  work.wr.rdma.rkey = result_.remote.remote_key;
  while (written < plan.iterations) {
    for (; posted < plan.iterations && posted - written < plan.depth; ++posted) end_->qp.post_send(work);
    const std::size_t count = co_await completions(done);
    for (const ibv_wc& completion : std::span(done).first(count)) {
      if (completion.status != IBV_WC_SUCCESS)
        throw Error(fmt::format("RDMA write from {} to QP {} failed: {} (vendor code 0x{:x})", end_port_.name(), result_.remote.qpn,
                                ibv_wc_status_str(completion.status), completion.vendor_err));
    }
    written += static_cast<std::uint32_t>(count);
    progress(written);
  }
  result_.sent = loop.now() - began;
}

async::Task<> BandwidthTest::run(async::TcpStream peer, std::function<void()> met, std::function<void(std::uint32_t)> progress) {
  result_.peer = peer.peer();
  BandwidthMessage message;
  std::exception_ptr error;
  try {
    if (find_path_) {
      co_await meet_client(peer);
    } else {
      co_await meet_server(peer);
    }
    // Both ends wait for each other: what is written to a queue pair before it is connected is lost.
    message.stage = BandwidthStage::ready;
    co_await send_message(peer, message);
    co_await receive_message(peer, BandwidthStage::ready);
    met();
    async::Loop& loop = co_await async::current_loop;
    async::TaskGroup measuring(loop);
    measuring.spawn(own_part(peer, std::move(progress)));
    measuring.spawn(peers_part(peer));
    co_await measuring.join();
  } catch (const Error& e) {
    message.stage = BandwidthStage::failed;
    message.text = e.what();
    error = std::current_exception();
  }
  if (!error) co_return;
  try {
    co_await send_message(peer, message);
  } catch (const Error&) {  // it has gone, which is what went wrong or does no further harm
  }
  std::rethrow_exception(error);
}

async::Task<> BandwidthTest::meet_server(async::TcpStream& peer) {
  co_await send_message(peer, describe(BandwidthStage::offer));
  // The server may have to query the SA first.
  const BandwidthMessage answer = co_await receive_message(peer, BandwidthStage::answer, 2 * bandwidth_patience);
  path::IbPath path = answer.path;
  path.end_port = &end_port_;
  path.mtu = answer.mtu;
  path.dgid = end_port_.default_gid();
  path.sgid = answer.gid;
  path::Path reversed = path;
  path::reverse(reversed, false);
  connect(reversed.ib(), answer);
}

async::Task<> BandwidthTest::meet_client(async::TcpStream& peer) {
  const BandwidthMessage offer = co_await receive_message(peer, BandwidthStage::offer);
  result_.plan.size = offer.size;
  result_.plan.iterations = offer.iterations;
  prepare();
  path::Path to = path::IbPath(result_.path);
  to.ib().sqpn.reset();
  to.ib().sgid = end_port_.default_gid();
  to.ib().dgid = offer.gid;
  to = co_await find_path_(std::move(to));
  if (end_port_.link_layer == sys::LinkLayer::ethernet) {
    to.ib().mtu = offer.mtu;
    to.ib().packet_life_time = roce_life_time;
  }
  BandwidthMessage answer = describe(BandwidthStage::answer);
  answer.bidirectional |= offer.bidirectional;
  answer.path = to.ib();
  answer.path.packet_life_time = path::packet_life_time(to.ib());
  answer.mtu = std::min(answer.mtu, to.ib().mtu);
  connect(to.ib(), offer);
  co_await send_message(peer, answer);
}

async::Task<> BandwidthTest::own_part(async::TcpStream& peer, std::function<void(std::uint32_t)> progress) {
  BandwidthMessage done;
  done.stage = BandwidthStage::done;
  if (!find_path_ || result_.plan.bidirectional) {
    co_await write(std::move(progress));
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

}  // namespace ib::verbs
