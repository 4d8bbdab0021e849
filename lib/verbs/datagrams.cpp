// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "verbs/datagrams.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.hpp"

namespace ib::verbs {

namespace {

constexpr std::size_t most_addresses = 256;

constexpr std::size_t ipv4_offset = 20;  // of an IPv4 header without options; it ends where a GRH would end
constexpr std::uint8_t ipv4_start = 0x45, protocol_udp = 17;

unsigned fitted(unsigned wanted, int most) { return static_cast<unsigned>(std::clamp<int>(most, 1, static_cast<int>(wanted))); }

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

ReceivedGrh from_ipv4(const std::uint8_t* ip) {
  ReceivedGrh grh;
  grh.traffic_class = ip[1];
  grh.hop_limit = ip[8];
  grh.sgid = mapped(ip + 12);
  grh.dgid = mapped(ip + 16);
  return grh;
}

ReceivedGrh from_ipv6(Bytes bytes) {
  ReceivedGrh grh;
  const auto first = load_be<std::uint32_t>(bytes.data());
  grh.traffic_class = static_cast<std::uint8_t>(first >> 20);
  grh.flow_label = first & 0xfffffU;
  grh.hop_limit = bytes[7];
  std::copy_n(bytes.begin() + 8, 16, grh.sgid.bytes.begin());
  std::copy_n(bytes.begin() + 24, 16, grh.dgid.bytes.begin());
  return grh;
}

}  // namespace

std::optional<ReceivedGrh> parse_grh(Bytes bytes, sys::LinkLayer link_layer) {
  if (bytes.size() < 40) return std::nullopt;
  const bool ipv6 = bytes[0] >> 4 == 6;
  const std::uint8_t* ip = &bytes[ipv4_offset];
  // The 20 bytes before an IPv4 header are undefined and often hold the rest of an earlier IPv6 header. In an IPv6 header, the bytes at
  // `ip` are the middle of the SGID, which may begin like an IPv4 header but very probably does not have a valid checksum.
  const bool ipv4 = link_layer != sys::LinkLayer::infiniband && (ipv6 ? is_whole_ipv4(ip) : *ip == ipv4_start);
  if (ipv4) return from_ipv4(ip);
  return ipv6 ? std::optional(from_ipv6(bytes)) : std::nullopt;
}

QueueSizes datagram_queue_sizes(const ibv_device_attr& device) {
  const int most = std::min(device.max_qp_wr, device.max_cqe / 2);
  return {fitted(DatagramPort::sends, most), fitted(DatagramPort::receives, most)};
}

DatagramPort::DatagramPort(const ProtectionDomain& domain, const path::IbPath& path)
    : DatagramPort(domain, path, datagram_queue_sizes(domain.context().query_device())) {}

DatagramPort::DatagramPort(const ProtectionDomain& domain, const path::IbPath& path, QueueSizes sizes)
    : domain_(domain),
      link_layer_(path.end_port->link_layer),
      pkey_index_(pkey_index_of(path)),
      receive_slots_(sizes.receives),
      queue_(domain.context(), sizes.receives + sizes.sends),
      memory_((sizes.receives + sizes.sends) * slot_size),
      region_(domain, memory_, IBV_ACCESS_LOCAL_WRITE),
      qp_(domain, queue_, IBV_QPT_UD, sizes),
      free_slots_(sizes.sends),
      sending_(sizes.sends) {
  std::iota(free_slots_.begin(), free_slots_.end(), receive_slots_);
  qp_.modify_to_init(path);
  for (std::size_t i = 0; i < receive_slots_; ++i) post_receive(i);
  qp_.modify_to_rtr(path);
  qp_.modify_to_rts(path);
}

void DatagramPort::attach(DatagramEvents& events, async::Loop& loop) {
  events_ = &events;
  loop_ = &loop;
  loop.watch(*this, queue_.fd(), POLLIN);
  loop.arm(*this, loop.now());  // requests the first event, and takes completions that came before
}

void DatagramPort::detach() {
  unwatch();
  disarm();
  events_ = nullptr;
}

void DatagramPort::post_receive(std::size_t index) {
  ibv_sge piece = region_.piece(index * slot_size, slot_size);
  ibv_recv_wr work{};
  work.wr_id = index;
  work.sg_list = &piece;
  work.num_sge = 1;
  qp_.post_receive(work);
}

std::shared_ptr<AddressHandle> DatagramPort::address_handle(const path::IbPath& path) {
  const ibv_ah_attr a = address_of(path);
  Gid dgid;
  std::copy_n(a.grh.dgid.raw, dgid.bytes.size(), dgid.bytes.begin());
  const AddressKey key{dgid,
                       a.grh.flow_label,
                       {a.grh.sgid_index, a.grh.hop_limit, a.grh.traffic_class},
                       a.dlid,
                       {a.sl, a.src_path_bits, a.static_rate, a.is_global}};
  const auto known = addresses_.find(key);
  if (known != addresses_.end()) return known->second;
  auto made = std::make_shared<AddressHandle>(domain_, path);
  if (addresses_.size() >= most_addresses) addresses_.clear();
  return addresses_[key] = made;
}

void DatagramPort::send(Bytes payload, const path::IbPath& path) {
  Waiting send{{payload.begin(), payload.begin() + static_cast<std::ptrdiff_t>(std::min(payload.size(), longest))},
               address_handle(path),
               path.dqpn.value_or(Qpn{1}).value,
               path.qkey.value_or(path::qp1_qkey)};
  if (free_slots_.empty()) {
    waiting_.push_back(std::move(send));
    return;
  }
  const std::size_t slot = free_slots_.back();
  free_slots_.pop_back();
  post_send(slot, std::move(send));
}

void DatagramPort::post_send(std::size_t index, Waiting send) {
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
void DatagramPort::work(bool event) {
  try {
    if (event) queue_.take_events();
    if (!drain()) {
      queue_.request_event();
      if (!drain()) return;
    }
    if (events_ != nullptr) loop_->arm(*this, loop_->now());
  } catch (const SysError&) {
    // The device has gone, or its queue pair is broken. Further events would only repeat this error.
    unwatch();
    disarm();
    if (events_ != nullptr) events_->broken(std::current_exception());
  }
}

/// Takes up to 64 completions. False if no completions are left.
bool DatagramPort::drain() {
  std::array<ibv_wc, 64> completions{};
  const std::size_t count = queue_.poll(completions);
  for (std::size_t i = 0; i < count && events_ != nullptr; ++i) completed(completions[i]);
  return count == completions.size() && events_ != nullptr;
}

void DatagramPort::completed(const ibv_wc& completion) {
  const auto index = static_cast<std::size_t>(completion.wr_id);
  const bool receive = index < receive_slots_;
  if (completion.status != IBV_WC_SUCCESS) {
    throw SysError(
        EIO, receive ? "receive on" : "send on",
        fmt::format("QP {} of {} ({})", qp_.number().value, domain_.context().device().name, ibv_wc_status_str(completion.status)));
  }
  if (!receive) {
    sending_[index - receive_slots_].reset();
    free_slots_.push_back(index);
    if (waiting_.empty()) return;
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    free_slots_.pop_back();
    post_send(index, std::move(next));
    return;
  }
  const std::size_t length = std::min<std::size_t>(completion.byte_len, slot_size);
  const Bytes bytes(slot(index), length);
  if (length >= grh_size) {
    const auto grh = (completion.wc_flags & IBV_WC_GRH) != 0 ? parse_grh(bytes.first(grh_size), link_layer_) : std::nullopt;
    events_->arrived(*this, bytes.subspan(grh_size), grh, completion);
  }
  post_receive(index);
}

}  // namespace ib::verbs
