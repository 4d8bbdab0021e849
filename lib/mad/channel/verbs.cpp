// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// MADs through verbs. A queue pair has only one P_Key, so there is a queue pair for each P_Key in use. A receive buffer is posted again as
// soon as its MAD has been handled. Sends wait in a queue while the device has no room for more.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <map>
#include <numeric>
#include <tuple>
#include <vector>

#include "base/error.hpp"
#include "mad/channel/open.hpp"
#include "verbs/objects.hpp"

namespace ib::mad {

namespace {

constexpr verbs::QueueSizes wanted_sizes{256, 1024};
constexpr std::size_t most_addresses = 256;
constexpr std::size_t grh_size = 40, slot_size = grh_size + packet_size;

constexpr std::size_t ipv4_offset = 20;  // of an IPv4 header without options; it ends where a GRH would end
constexpr std::uint8_t ipv4_start = 0x45, protocol_udp = 17;

/// Whether the 20 bytes at `ip` are the IPv4 header of a RoCEv2 packet. Checks everything that can be checked (RFC 791).
bool is_whole_ipv4(const std::uint8_t* ip) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < 20; i += 2) sum += load_be<std::uint16_t>(ip + i);
  while (sum > 0xffff) sum = (sum & 0xffffU) + (sum >> 16);
  return ip[0] == ipv4_start && ip[9] == protocol_udp && sum == 0xffff;
}

/// The IPv4 address as a GID: ::ffff:a.b.c.d.
Gid mapped(const std::uint8_t* address) {
  Gid gid;
  gid.bytes[10] = gid.bytes[11] = 0xff;
  std::copy_n(address, 4, gid.bytes.begin() + 12);
  return gid;
}

/// A UD queue pair with its buffers, which reports received MADs to the events of the channel.
class MadQueuePair final : private async::PollSource, private async::Timer {
 public:
  /// Opens a queue pair with the end port and the P_Key of `path`, and the Q_Key of QP1. Throws SysError: EPERM if this process may not use
  /// the Q_Key.
  MadQueuePair(const verbs::Context& context, const path::IbPath& path)
      : MadQueuePair(context, path, wanted_sizes.fitted(context.query_device())) {}

  /// The number of MADs that may arrive before the first of them is handled.
  std::size_t receive_buffers() const { return receive_slots_; }
  void attach(ChannelEvents& events, async::Loop& loop) {
    events_ = &events;
    loop_ = &loop;
    loop.watch(*this, queue_.fd(), POLLIN);
    loop.arm(*this, loop.now());  // requests the first event, and takes completions that came before
  }
  /// Sends `mad`, one packet, to the destination of `path`. Throws SysError as AddressHandle does.
  void send(Bytes mad, const path::IbPath& path);

 private:
  MadQueuePair(const verbs::Context& context, const path::IbPath& path, verbs::QueueSizes sizes);

  /// Identifies an address, in the order of ibv_ah_attr.
  using AddressKey = std::tuple<Gid, std::uint32_t, std::array<std::uint8_t, 3>, std::uint16_t, std::array<std::uint8_t, 4>>;
  struct Waiting {
    std::vector<std::uint8_t> payload;
    std::shared_ptr<verbs::AddressHandle> address;
    std::uint32_t qpn, qkey;
  };

  void ready(short /*revents*/) override { work(true); }
  void expired() override { work(false); }
  void work(bool event);
  bool drain();
  void completed(const ibv_wc& completion);
  void arrived(Bytes bytes, const ibv_wc& completion);
  void post_receive(std::size_t slot);
  void post_send(std::size_t slot, Waiting send);
  std::shared_ptr<verbs::AddressHandle> address_handle(const path::IbPath& path);
  std::uint8_t* slot(std::size_t index) { return memory_.data() + index * slot_size; }

  const verbs::Context& context_;
  sys::LinkLayer link_layer_;
  std::uint16_t pkey_index_;
  std::size_t receive_slots_;  // the first slots; the other slots are for sends
  verbs::CompletionQueue queue_;
  std::vector<std::uint8_t> memory_;
  verbs::MemoryRegion region_;
  verbs::QueuePair qp_;
  std::vector<std::size_t> free_slots_;                         // for sends
  std::vector<std::shared_ptr<verbs::AddressHandle>> sending_;  // by slot: must live as long as the send
  std::deque<Waiting> waiting_;
  std::map<AddressKey, std::shared_ptr<verbs::AddressHandle>> addresses_;  // recently used ones
  ChannelEvents* events_{};
  async::Loop* loop_{};
};

MadQueuePair::MadQueuePair(const verbs::Context& context, const path::IbPath& path, verbs::QueueSizes sizes)
    : context_(context),
      link_layer_(path.end_port->link_layer),
      pkey_index_(verbs::pkey_index_of(path)),
      receive_slots_(sizes.receives),
      queue_(context, sizes.receives + sizes.sends),
      memory_((sizes.receives + sizes.sends) * slot_size),
      region_(context, memory_, IBV_ACCESS_LOCAL_WRITE),
      qp_(context, queue_, IBV_QPT_UD, sizes),
      free_slots_(sizes.sends),
      sending_(sizes.sends) {
  std::iota(free_slots_.begin(), free_slots_.end(), receive_slots_);
  path::IbPath own = path;
  own.qkey = path::qp1_qkey;
  qp_.init(own);
  for (std::size_t i = 0; i < receive_slots_; ++i) post_receive(i);
  qp_.establish(own);
}

void MadQueuePair::post_receive(std::size_t index) {
  ibv_sge piece = region_.piece(index * slot_size, slot_size);
  ibv_recv_wr work{};
  work.wr_id = index;
  work.sg_list = &piece;
  work.num_sge = 1;
  qp_.post_receive(work);
}

std::shared_ptr<verbs::AddressHandle> MadQueuePair::address_handle(const path::IbPath& path) {
  const ibv_ah_attr a = verbs::address_of(path);
  Gid dgid;
  std::copy_n(a.grh.dgid.raw, dgid.bytes.size(), dgid.bytes.begin());
  const AddressKey key{dgid,
                       a.grh.flow_label,
                       {a.grh.sgid_index, a.grh.hop_limit, a.grh.traffic_class},
                       a.dlid,
                       {a.sl, a.src_path_bits, a.static_rate, a.is_global}};
  const auto known = addresses_.find(key);
  if (known != addresses_.end()) return known->second;
  auto made = std::make_shared<verbs::AddressHandle>(context_, path);
  if (addresses_.size() >= most_addresses) addresses_.clear();
  return addresses_[key] = made;
}

void MadQueuePair::send(Bytes mad, const path::IbPath& path) {
  const Bytes packet = mad.first(std::min(mad.size(), packet_size));
  Waiting send{{packet.begin(), packet.end()}, address_handle(path), path.dqpn.value_or(Qpn{1}).value, path.qkey.value_or(path::qp1_qkey)};
  if (free_slots_.empty()) {
    waiting_.push_back(std::move(send));
    return;
  }
  const std::size_t slot = free_slots_.back();
  free_slots_.pop_back();
  post_send(slot, std::move(send));
}

void MadQueuePair::post_send(std::size_t index, Waiting send) {
  std::ranges::copy(send.payload, slot(index));
  ibv_sge piece = region_.piece(index * slot_size, send.payload.size());
  ibv_send_wr work{};
  work.wr_id = index;
  work.sg_list = &piece;
  work.num_sge = 1;
  work.opcode = IBV_WR_SEND;
  work.send_flags = IBV_SEND_SIGNALED;
  work.wr.ud.ah = send.address->get();
  work.wr.ud.remote_qpn = send.qpn;
  work.wr.ud.remote_qkey = send.qkey;
  try {
    qp_.post_send(work);
  } catch (...) {
    free_slots_.push_back(index);
    throw;
  }
  sending_[index - receive_slots_] = std::move(send.address);
}

/// Takes completions and then requests the next event. Each turn takes a limited number, so that timers get their turn.
void MadQueuePair::work(bool event) {
  try {
    if (event) queue_.take_events();
    if (!drain()) {
      queue_.request_event();
      if (!drain()) return;
    }
    loop_->arm(*this, loop_->now());
  } catch (const SysError&) {
    // The device has gone, or its queue pair is broken. Further events would only repeat this error.
    unwatch();
    disarm();
    events_->broken(std::current_exception());
  }
}

/// Takes up to 64 completions. False if no completions are left.
bool MadQueuePair::drain() {
  std::array<ibv_wc, 64> completions{};
  const std::size_t count = queue_.poll(completions);
  for (std::size_t i = 0; i < count; ++i) completed(completions[i]);
  return count == completions.size();
}

void MadQueuePair::completed(const ibv_wc& completion) {
  const auto index = static_cast<std::size_t>(completion.wr_id);
  const bool receive = index < receive_slots_;
  if (completion.status != IBV_WC_SUCCESS) {
    throw SysError(EIO, receive ? "receive on" : "send on",
                   fmt::format("QP {} of {} ({})", qp_.number().value, context_.device().name, ibv_wc_status_str(completion.status)));
  }
  if (receive) {
    arrived(Bytes(slot(index), std::min<std::size_t>(completion.byte_len, slot_size)), completion);
    post_receive(index);
    return;
  }
  sending_[index - receive_slots_].reset();
  free_slots_.push_back(index);
  if (waiting_.empty()) return;
  Waiting next = std::move(waiting_.front());
  waiting_.pop_front();
  free_slots_.pop_back();
  post_send(index, std::move(next));
}

/// Reports a MAD. `bytes` begin with room for a GRH.
void MadQueuePair::arrived(Bytes bytes, const ibv_wc& completion) {
  if (bytes.size() < grh_size) return;
  Source source;
  source.slid = Lid{completion.slid};
  source.sl = completion.sl;
  source.dlid_bits = completion.dlid_path_bits;
  source.pkey_index = pkey_index_;
  source.sqpn = completion.src_qp;
  source.qkey = path::qp1_qkey;
  if ((completion.wc_flags & IBV_WC_GRH) != 0) parse_grh(bytes.first(grh_size), link_layer_, source);
  events_->received(bytes.subspan(grh_size), source);
}

class VerbsChannel final : public Channel {
 public:
  explicit VerbsChannel(const sys::EndPort& end_port) : Channel(end_port), gsi_(end_port.carrier(false)), context_(*gsi_.device) {
    // A missing permission is found early.
    path::IbPath path;
    path.end_port = &gsi_;
    if (!gsi_.pkeys.empty() && std::ranges::find(gsi_.pkeys, path.pkey) == gsi_.pkeys.end()) path.pkey = gsi_.pkeys.first();
    queue_pair(path);
  }

  void send(Bytes mad, const path::Path& path, Duration /*timeout*/) override {
    if (is_smp(mad[1])) throw Error(fmt::format("SMPs do not travel over verbs: {} sends them by umad only", end_port().name()));
    path::IbPath ib = path.ib();
    ib.end_port = &gsi_;
    queue_pair(ib).send(mad, ib);
  }
  /// Nothing to do: every MAD to the number of a queue pair is delivered.
  void serve(const Service& /*service*/) override {}
  std::uint64_t tid_mask() const override { return ~std::uint64_t{0}; }
  /// Half of the receive buffers of a queue pair, because answers may come twice, and in segments.
  unsigned max_in_flight() const override {
    std::size_t least = wanted_sizes.receives;
    for (const auto& [index, qp] : queue_pairs_) least = std::min(least, qp->receive_buffers());
    return std::max(1U, static_cast<unsigned>(least) / 2);
  }

 private:
  void attached() override {
    for (const auto& [index, qp] : queue_pairs_) qp->attach(*events_, *loop_);
  }
  MadQueuePair& queue_pair(const path::IbPath& path) {
    const std::uint16_t index = verbs::pkey_index_of(path);
    if (const auto known = queue_pairs_.find(index); known != queue_pairs_.end()) return *known->second;
    std::unique_ptr<MadQueuePair> made;
    try {
      made = std::make_unique<MadQueuePair>(context_, path);
    } catch (const SysError& error) {
      if (error.code() != EPERM) throw;
      throw Error(
          fmt::format("{} cannot send GMPs by verbs: the kernel grants the Q_Key of QP1 only to programs with CAP_NET_RAW, such as "
                      "those of root",
                      gsi_.name()));
    }
    if (events_ != nullptr) made->attach(*events_, *loop_);
    return *(queue_pairs_[index] = std::move(made));
  }

  const sys::EndPort& gsi_;  ///< the port that carries GMPs of the end port; another port only on planarized HCAs
  verbs::Context context_;
  std::map<std::uint16_t, std::unique_ptr<MadQueuePair>> queue_pairs_;  // by P_Key index
};

}  // namespace

void parse_grh(Bytes bytes, sys::LinkLayer link_layer, Source& source) {
  if (bytes.size() < grh_size) return;
  const bool ipv6 = bytes[0] >> 4 == 6;
  const std::uint8_t* ip = &bytes[ipv4_offset];
  // The 20 bytes before an IPv4 header are undefined and often hold the rest of an earlier IPv6 header. In an IPv6 header, the bytes at
  // `ip` are the middle of the SGID, which may begin like an IPv4 header but very probably does not have a valid checksum.
  const bool ipv4 = link_layer != sys::LinkLayer::infiniband && (ipv6 ? is_whole_ipv4(ip) : *ip == ipv4_start);
  if (!ipv4 && !ipv6) return;
  source.has_grh = true;
  if (ipv4) {
    source.traffic_class = ip[1];
    source.hop_limit = ip[8];
    source.sgid = mapped(ip + 12);
    source.dgid = mapped(ip + 16);
    return;
  }
  const auto first = load_be<std::uint32_t>(bytes.data());
  source.traffic_class = static_cast<std::uint8_t>(first >> 20);
  source.flow_label = first & 0xfffffU;
  source.hop_limit = bytes[7];
  std::copy_n(bytes.begin() + 8, 16, source.sgid.bytes.begin());
  std::copy_n(bytes.begin() + 24, 16, source.dgid.emplace().bytes.begin());
}

std::unique_ptr<Channel> open_verbs(const sys::EndPort& end_port) { return std::make_unique<VerbsChannel>(end_port); }

}  // namespace ib::mad
