// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "verbs/objects.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "sys/sysfs.hpp"

namespace ib::verbs {

namespace {

SysError open_error(int code, const sys::Device& device) {
  const std::string path = "/dev/infiniband/" + device.uverbs;
  // After a failed open(), libibverbs tries another path, and its errno is for that path. A second open() finds the error of
  // the right path.
  if (!UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC))) code = errno;
  SysError error(code, "open", path);
  if (code == EACCES || code == EPERM)
    error.note(fmt::format("No permission to use {}: run as root, or let udev give the device to your group", path));
  if (code == ENOENT) error.note(fmt::format("There is no {}: is udev running?", path));
  return error;
}

constexpr std::uint8_t most_retries = 7;  // 3 bits (IBA 11.2.5.2)
constexpr std::uint8_t rnr_for_ever = 7;  // IBA 9.7.5.2.8

}  // namespace

Context::Context(const sys::Device& device) : device_(&device) {
  if (device.uverbs.empty()) {
    const bool is_loaded = sys::read_attribute(sys::sysfs_root() + "/class/infiniband_verbs/abi_version").has_value();
    throw Error(fmt::format("{} has no verbs device{}", device.name,
                            is_loaded
                                ? ", though the kernel module ib_uverbs is loaded: the kernel does not give it to this system, which may "
                                  "be a container"
                                : ": load the kernel module ib_uverbs (modprobe ib_uverbs)"));
  }
  int count = 0;
  const Handle<ibv_device*, ibv_free_device_list> list(ibv_get_device_list(&count));
  if (!list) throw SysError(errno, "ibv_get_device_list", device.name);
  for (int i = 0; i < count; ++i) {
    ibv_device* found = list.get()[i];
    if (device.name != ibv_get_device_name(found)) continue;
    handle_.reset(ibv_open_device(found));
    if (!handle_) throw open_error(errno, device);
    domain_.reset(ibv_alloc_pd(get()));
    if (!domain_) throw SysError(errno, "ibv_alloc_pd", device.name);
    return;
  }
  throw Error(fmt::format("libibverbs has no driver for {}: its package of providers is missing, or this one in it", device.name));
}

ibv_device_attr Context::query_device() const {
  ibv_device_attr attributes{};
  if (const int code = ibv_query_device(get(), &attributes); code != 0) throw SysError(code, "ibv_query_device", device_->name);
  return attributes;
}

ibv_port_attr Context::query_port(unsigned number) const {
  ibv_port_attr attributes{};
  if (const int code = ibv_query_port(get(), static_cast<std::uint8_t>(number), &attributes); code != 0)
    throw SysError(code, "ibv_query_port", fmt::format("{}/{}", device_->name, number));
  return attributes;
}

MemoryRegion::MemoryRegion(const Context& context, MutableBytes memory, int access)
    : handle_(ibv_reg_mr(context.domain(), memory.data(), memory.size(), access)) {
  if (handle_) return;
  SysError error(errno, "ibv_reg_mr", fmt::format("{}, {} bytes", context.device().name, memory.size()));
  if (error.code() == ENOMEM) error.note("Not enough memory for the device: does the limit for locked memory (ulimit -l) allow it?");
  throw error;
}

CompletionQueue::CompletionQueue(const Context& context, unsigned entries)
    : context_(&context), channel_(ibv_create_comp_channel(context.get())) {
  const std::string& name = context.device().name;
  if (!channel_) throw SysError(errno, "ibv_create_comp_channel", name);
  const int flags = ::fcntl(channel_->fd, F_GETFL);
  if (flags < 0 || ::fcntl(channel_->fd, F_SETFL, flags | O_NONBLOCK) < 0) throw SysError(errno, "fcntl", name);
  queue_.reset(ibv_create_cq(context.get(), static_cast<int>(entries), nullptr, channel_.get(), 0));
  if (!queue_) throw SysError(errno, "ibv_create_cq", name);
}

void CompletionQueue::request_event() {
  if (const int code = ibv_req_notify_cq(get(), 0); code != 0) throw SysError(code, "ibv_req_notify_cq", context_->device().name);
}

void CompletionQueue::take_events() {
  unsigned count = 0;
  ibv_cq* queue = nullptr;
  void* owner = nullptr;
  while (ibv_get_cq_event(channel_.get(), &queue, &owner) == 0) ++count;
  const int code = errno;
  if (count > 0) ibv_ack_cq_events(get(), count);
  if (code != EAGAIN && code != EWOULDBLOCK && code != EINTR) throw SysError(code, "ibv_get_cq_event", context_->device().name);
}

std::size_t CompletionQueue::poll(std::span<ibv_wc> completions) {
  const int count = ibv_poll_cq(get(), static_cast<int>(completions.size()), completions.data());
  if (count < 0) throw SysError(EIO, "ibv_poll_cq", context_->device().name);
  return static_cast<std::size_t>(count);
}

ibv_ah_attr address_of(const path::IbPath& path) {
  const bool roce = path.end_port->link_layer == sys::LinkLayer::ethernet;
  ibv_ah_attr address{};
  address.port_num = static_cast<std::uint8_t>(path.end_port->number);
  address.dlid = path.dlid.value;
  address.sl = path.sl;
  if (path.slid != permissive_lid) address.src_path_bits = path::slid_bits(path);
  // The rate codes are the same as in a PathRecord (IBA 15.2.5.16). On RoCE no SA gives a rate, so the rate stays unlimited.
  if (!roce) address.static_rate = path.rate;
  if (!path.has_grh) return address;
  address.is_global = 1;
  if (path.dgid) std::ranges::copy(path.dgid->bytes, address.grh.dgid.raw);
  address.grh.sgid_index = path::sgid_index(path);
  address.grh.hop_limit = path.hop_limit;
  address.grh.traffic_class = path.traffic_class;
  address.grh.flow_label = path.flow_label;
  return address;
}

std::uint16_t pkey_index_of(const path::IbPath& path) { return path.end_port->pkeys.empty() ? std::uint16_t{0} : path::pkey_index(path); }

std::uint8_t time_code(path::Duration time) {
  std::uint8_t code = 1;
  while (code < 31 && path::Duration(std::int64_t{4096} << code) < time) ++code;
  return code;
}

AddressHandle::AddressHandle(const Context& context, const path::IbPath& path) {
  ibv_ah_attr address = address_of(path);
  handle_.reset(ibv_create_ah(context.domain(), &address));
  if (!handle_) throw SysError(errno, "ibv_create_ah", fmt::format("{}, {}", path.end_port->name(), path::to_text(path::Path(path))));
}

QueueSizes QueueSizes::fitted(const ibv_device_attr& device) const {
  const int most = std::min(device.max_qp_wr, device.max_cqe / 2);
  const auto fit = [most](unsigned wanted) { return static_cast<unsigned>(std::clamp<int>(most, 1, static_cast<int>(wanted))); };
  return {fit(sends), fit(receives), send_pieces};
}

QueuePair::QueuePair(const Context& context, const CompletionQueue& completions, ibv_qp_type type, QueueSizes sizes) : context_(&context) {
  ibv_qp_init_attr wanted{};
  wanted.qp_type = type;
  wanted.send_cq = wanted.recv_cq = completions.get();
  wanted.cap.max_send_wr = sizes.sends;
  wanted.cap.max_recv_wr = sizes.receives;
  wanted.cap.max_send_sge = sizes.send_pieces;
  wanted.cap.max_recv_sge = 1;
  handle_.reset(ibv_create_qp(context.domain(), &wanted));
  if (!handle_) throw SysError(errno, "ibv_create_qp", context_->device().name);
}

void QueuePair::modify(ibv_qp_attr& attributes, int mask, const char* state) {
  if (const int code = ibv_modify_qp(handle_.get(), &attributes, IBV_QP_STATE | mask); code != 0)
    throw SysError(code, "ibv_modify_qp", fmt::format("QP {} of {} to {}", handle_->qp_num, context_->device().name, state));
}

void QueuePair::init(const path::IbPath& path, int access) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.pkey_index = pkey_index_of(path);
  attributes.port_num = static_cast<std::uint8_t>(path.end_port->number);
  attributes.qkey = path.qkey.value_or(0);
  attributes.qp_access_flags = static_cast<unsigned>(access);
  modify(attributes, IBV_QP_PKEY_INDEX | IBV_QP_PORT | (handle_->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS), "INIT");
}

void QueuePair::establish(const path::IbPath& path) {
  const bool is_datagram = handle_->qp_type == IBV_QPT_UD;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  if (!is_datagram) attributes.ah_attr = address_of(path);
  attributes.path_mtu = static_cast<ibv_mtu>(std::clamp<int>(path.mtu, IBV_MTU_256, IBV_MTU_4096));
  attributes.dest_qp_num = path.dqpn.value_or(Qpn{}).value;
  attributes.rq_psn = path.dqpsn;
  attributes.max_dest_rd_atomic = path.drdatomic;
  attributes.min_rnr_timer = path.min_rnr_timer;
  constexpr int connected_rtr =
      IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  modify(attributes, is_datagram ? 0 : connected_rtr, "RTR");

  attributes.qp_state = IBV_QPS_RTS;
  attributes.sq_psn = path.sqpsn;
  attributes.timeout = time_code(path::qp_timeout(path));
  attributes.retry_cnt = static_cast<std::uint8_t>(std::min<unsigned>(path.retries, most_retries));
  attributes.rnr_retry = rnr_for_ever;
  attributes.max_rd_atomic = path.srdatomic;
  constexpr int connected_rts = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  modify(attributes, IBV_QP_SQ_PSN | (is_datagram ? 0 : connected_rts), "RTS");
}

void QueuePair::post_send(ibv_send_wr& work) {
  ibv_send_wr* bad = nullptr;
  if (const int code = ibv_post_send(handle_.get(), &work, &bad); code != 0)
    throw SysError(code, "ibv_post_send", fmt::format("QP {} of {}", handle_->qp_num, context_->device().name));
}

void QueuePair::post_receive(ibv_recv_wr& work) {
  ibv_recv_wr* bad = nullptr;
  if (const int code = ibv_post_recv(handle_.get(), &work, &bad); code != 0)
    throw SysError(code, "ibv_post_recv", fmt::format("QP {} of {}", handle_->qp_num, context_->device().name));
}

}  // namespace ib::verbs
