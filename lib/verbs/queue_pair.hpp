// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A queue pair, unreliable datagram (UD) or reliable connected (RC), and its state transitions (IBA 10.3.1): INIT, RTR (ready
// to receive), RTS (ready to send). Each transition takes its parameters from an IbPath.
#pragma once

#include "path/path.hpp"
#include "verbs/completion.hpp"

namespace ib::verbs {

/// Sizes of a new queue pair. The device may give more room, but not less.
struct QueueSizes {
  unsigned sends{}, receives{};
  unsigned send_pieces = 1;  ///< pieces of memory in one send
};

/// A queue pair. The protection domain and the completion queue must outlive it.
class QueuePair {
 public:
  /// `type` is IBV_QPT_UD or IBV_QPT_RC. `completions` receives the completions of both work queues. Throws SysError.
  QueuePair(const ProtectionDomain& domain, const CompletionQueue& completions, ibv_qp_type type, QueueSizes sizes);

  const Context& context() const { return *context_; }
  Qpn number() const { return Qpn{handle_->qp_num}; }
  /// The sizes that the device gave.
  const QueueSizes& sizes() const { return sizes_; }

  /// The three transitions, to be called in this order. `access` (ibv_access_flags) is what the remote of an RC queue pair may
  /// do to this host's memory. They throw Error if the end port does not have the path's P_Key or SGID, and SysError if the
  /// device refuses: EPERM for a privileged Q_Key (upper bit set) without CAP_NET_RAW.
  void modify_to_init(const path::IbPath& path, int access = 0);
  void modify_to_rtr(const path::IbPath& path);
  void modify_to_rts(const path::IbPath& path);
  /// Makes all three transitions.
  void establish(const path::IbPath& path, int access = 0);

  /// Posts `work`. Throws SysError: ENOMEM if the queue is full.
  void post_send(ibv_send_wr& work);
  void post_receive(ibv_recv_wr& work);

 private:
  void modify(ibv_qp_attr& attributes, int mask, const char* state);

  const Context* context_;
  QueueSizes sizes_;
  Handle<ibv_qp, ibv_destroy_qp> handle_;
};

/// Sets the fields that `path` needs before `qp` can be connected over it: the QP number, the device's ack delay, the number of
/// outstanding RDMA reads and atomics in each direction (at most `max_rd_atomic`), and packet sequence numbers if they are
/// zero.
void fill_path(const QueuePair& qp, path::IbPath& path, std::uint8_t max_rd_atomic = 255);

}  // namespace ib::verbs
