// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A queue pair, unreliable datagram (UD) or reliable connected (RC), and its way to work (IBA 10.3.1): INIT, RTR (ready to
// receive), RTS (ready to send), each with what an IbPath says.
#pragma once

#include "path/path.hpp"
#include "verbs/completion.hpp"

namespace ib::verbs {

/// What a queue pair is made with; the device may give more room, not less.
struct QueueSizes {
  unsigned sends{}, receives{};
  unsigned send_pieces = 1;  ///< of memory in a send
};

class QueuePair {
 public:
  /// `type` is IBV_QPT_UD or IBV_QPT_RC; `completions` gets those of both queues. Throws SysError.
  QueuePair(const ProtectionDomain& domain, const CompletionQueue& completions, ibv_qp_type type, QueueSizes sizes);

  const Context& context() const { return *context_; }
  Qpn number() const { return Qpn{handle_->qp_num}; }
  /// What the device gave.
  const QueueSizes& sizes() const { return sizes_; }

  /// The steps on the way, each for the state that the one before left. `access` (ibv_access_flags) is what the remote of an RC
  /// queue pair may do to this host's memory. Throw Error where the end port has not the path's P_Key or SGID, SysError where the
  /// device refuses: EPERM for a privileged Q_Key (one with the upper bit) without CAP_NET_RAW.
  void modify_to_init(const path::IbPath& path, int access = 0);
  void modify_to_rtr(const path::IbPath& path);
  void modify_to_rts(const path::IbPath& path);
  /// All three.
  void establish(const path::IbPath& path, int access = 0);

  /// Queues `work` or throws SysError: ENOMEM where the queue is full.
  void post_send(ibv_send_wr& work);
  void post_receive(ibv_recv_wr& work);

 private:
  void modify(ibv_qp_attr& attributes, int mask, const char* state);

  const Context* context_;
  QueueSizes sizes_;
  Handle<ibv_qp, ibv_destroy_qp> handle_;
};

/// Fills in what a path needs before `qp` is connected over it: its number, the device's ack delay, at most `max_rd_atomic`
/// outstanding RDMA reads and atomics each way, and packet sequence numbers where there are none.
void fill_path(const QueuePair& qp, path::IbPath& path, std::uint8_t max_rd_atomic = 255);

}  // namespace ib::verbs
