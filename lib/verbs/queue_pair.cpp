// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "verbs/queue_pair.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <random>

#include "base/error.hpp"
#include "verbs/address.hpp"

namespace ib::verbs {

namespace {

constexpr std::uint8_t most_retries = 7;  // 3 bits (IBA 11.2.5.2)
constexpr std::uint8_t rnr_for_ever = 7;  // IBA 9.7.5.2.8

std::uint32_t random_psn() { return std::random_device{}() & 0xffffffU; }

/// The lesser of `value` and `limit`; devices give limits as int.
std::uint8_t clipped(std::uint8_t value, int limit) { return static_cast<std::uint8_t>(std::clamp<int>(limit, 0, value)); }

}  // namespace

QueuePair::QueuePair(const ProtectionDomain& domain, const CompletionQueue& completions, ibv_qp_type type, QueueSizes sizes)
    : context_(&domain.context()) {
  ibv_qp_init_attr wanted{};
  wanted.qp_type = type;
  wanted.send_cq = wanted.recv_cq = completions.get();
  wanted.cap.max_send_wr = sizes.sends;
  wanted.cap.max_recv_wr = sizes.receives;
  wanted.cap.max_send_sge = sizes.send_pieces;
  wanted.cap.max_recv_sge = 1;
  handle_.reset(ibv_create_qp(domain.get(), &wanted));
  if (!handle_) throw SysError(errno, "ibv_create_qp", context_->device().name);
  sizes_ = {wanted.cap.max_send_wr, wanted.cap.max_recv_wr, wanted.cap.max_send_sge};
}

void QueuePair::modify(ibv_qp_attr& attributes, int mask, const char* state) {
  if (const int code = ibv_modify_qp(handle_.get(), &attributes, mask); code != 0)
    throw SysError(code, "ibv_modify_qp", fmt::format("QP {} of {} to {}", handle_->qp_num, context_->device().name, state));
}

void QueuePair::modify_to_init(const path::IbPath& path, int access) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.pkey_index = pkey_index_of(path);
  attributes.port_num = static_cast<std::uint8_t>(path.end_port->number);
  int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
  if (handle_->qp_type == IBV_QPT_UD) {
    attributes.qkey = path.qkey.value_or(0);
    mask |= IBV_QP_QKEY;
  } else {
    attributes.qp_access_flags = static_cast<unsigned>(access);
    mask |= IBV_QP_ACCESS_FLAGS;
  }
  modify(attributes, mask, "INIT");
}

void QueuePair::modify_to_rtr(const path::IbPath& path) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  int mask = IBV_QP_STATE;
  if (handle_->qp_type != IBV_QPT_UD) {
    attributes.ah_attr = address_of(path);
    attributes.path_mtu = static_cast<ibv_mtu>(std::clamp<int>(path.mtu, IBV_MTU_256, IBV_MTU_4096));
    attributes.dest_qp_num = path.dqpn.value_or(Qpn{}).value;
    attributes.rq_psn = path.dqpsn;
    attributes.max_dest_rd_atomic = path.drdatomic;
    attributes.min_rnr_timer = path.min_rnr_timer;
    mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  }
  modify(attributes, mask, "RTR");
}

void QueuePair::modify_to_rts(const path::IbPath& path) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.sq_psn = path.sqpsn;
  int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  if (handle_->qp_type != IBV_QPT_UD) {
    attributes.timeout = time_code(path::qp_timeout(path));
    attributes.retry_cnt = static_cast<std::uint8_t>(std::min<unsigned>(path.retries, most_retries));
    attributes.rnr_retry = rnr_for_ever;
    attributes.max_rd_atomic = path.srdatomic;
    mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  }
  modify(attributes, mask, "RTS");
}

void QueuePair::establish(const path::IbPath& path, int access) {
  modify_to_init(path, access);
  modify_to_rtr(path);
  modify_to_rts(path);
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

void fill_path(const QueuePair& qp, path::IbPath& path, std::uint8_t max_rd_atomic) {
  const ibv_device_attr device = qp.context().query_device();
  path.sqpn = qp.number();
  path.sack_resp_time = device.local_ca_ack_delay;
  path.srdatomic = std::min({path.srdatomic, clipped(255, device.max_qp_init_rd_atom), max_rd_atomic});
  path.drdatomic = std::min({path.drdatomic, clipped(255, device.max_qp_rd_atom), max_rd_atomic});
  if (path.sqpsn == 0) path.sqpsn = random_psn();
  if (path.dqpsn == 0) path.dqpsn = random_psn();
}

}  // namespace ib::verbs
