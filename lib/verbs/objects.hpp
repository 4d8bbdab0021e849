// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// RAII wrappers for libibverbs. The wrapper owns its object, and a failure is a SysError that names the call and the device.
// The wrappers cover only what this project needs; elsewhere the structures of libibverbs are used directly. A wrapper must be
// destroyed before the wrappers that it was made from: queue pairs before their completion queue, everything before the context.
#pragma once

#include <infiniband/verbs.h>

#include <memory>
#include <span>

#include "base/bytes.hpp"
#include "path/path.hpp"
#include "sys/device.hpp"

namespace ib::verbs {

/// Deleter that releases an object of libibverbs with `destroy`.
template <class T, auto destroy>
struct Destroy {
  void operator()(T* object) const noexcept { destroy(object); }
};
template <class T, auto destroy>
using Handle = std::unique_ptr<T, Destroy<T, destroy>>;

/// An open device with the one protection domain (IBA 10.2.3) of its memory regions, queue pairs and address handles. It is opened once and
/// passed to everything that uses the device.
class Context {
 public:
  /// Opens `device`, which must outlive the context. Throws Error if the device has no verbs, and SysError if it cannot be
  /// opened. A note of the SysError names the remedy.
  explicit Context(const sys::Device& device);
  Context(const Context&) = delete;  // other wrappers refer to it
  Context& operator=(const Context&) = delete;

  const sys::Device& device() const { return *device_; }
  ibv_context* get() const { return handle_.get(); }
  ibv_pd* domain() const { return domain_.get(); }

  ibv_device_attr query_device() const;
  /// The attributes of port `number`, counted from 1.
  ibv_port_attr query_port(unsigned number) const;

 private:
  const sys::Device* device_;
  Handle<ibv_context, ibv_close_device> handle_;
  Handle<ibv_pd, ibv_dealloc_pd> domain_;
};

/// Registered memory that the device may use. `access` is a set of ibv_access_flags.
class MemoryRegion {
 public:
  /// `memory` must outlive the region. Throws SysError: ENOMEM also if the limit for locked memory (ulimit -l) is too low.
  MemoryRegion(const Context& context, MutableBytes memory, int access);

  std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(handle_->addr); }
  std::uint32_t remote_key() const { return handle_->rkey; }
  /// The scatter/gather element of `length` bytes from `offset` on, for work requests.
  ibv_sge piece(std::size_t offset, std::size_t length) const {
    return {address() + offset, static_cast<std::uint32_t>(length), handle_->lkey};
  }

 private:
  Handle<ibv_mr, ibv_dereg_mr> handle_;
};

/// A completion queue with a completion channel, whose descriptor a loop can watch. Only the first completion after request_event() makes
/// an event. A user therefore calls request_event(), polls once more, and waits only if poll() found nothing.
class CompletionQueue {
 public:
  /// Makes a queue for at least `entries` completions. Throws SysError.
  CompletionQueue(const Context& context, unsigned entries);

  ibv_cq* get() const { return queue_.get(); }
  /// The descriptor of the channel, non-blocking. It is readable when there is an event.
  int fd() const { return channel_->fd; }
  void request_event();
  /// Removes all pending events. Throws SysError: EIO if the device has gone.
  void take_events();
  /// Fills `completions` with as many completions as there are, and returns their number. Throws SysError.
  std::size_t poll(std::span<ibv_wc> completions);

 private:
  const Context* context_;
  Handle<ibv_comp_channel, ibv_destroy_comp_channel> channel_;
  Handle<ibv_cq, ibv_destroy_cq> queue_;
};

/// The address vector (IBA 11.2.2.1) of `path`, which needs an end port. Throws Error as path::sgid_index() does.
ibv_ah_attr address_of(const path::IbPath& path);

/// The index of the path's P_Key, or 0 if the end port lists no P_Keys. Throws Error if the end port lists only other P_Keys.
std::uint16_t pkey_index_of(const path::IbPath& path);

/// The smallest code with 4.096 µs · 2^code ≥ `time`, in 1…31. The code 0 is not used, because it means no timeout.
std::uint8_t time_code(path::Duration time);

/// An address handle: the destination of UD packets.
class AddressHandle {
 public:
  /// Throws SysError: EINVAL for an address without the GRH that RoCE needs; ENETUNREACH or ETIMEDOUT, after some time, for a
  /// GID that no host has.
  AddressHandle(const Context& context, const path::IbPath& path);
  ibv_ah* get() const { return handle_.get(); }

 private:
  Handle<ibv_ah, ibv_destroy_ah> handle_;
};

/// Sizes of a new queue pair. The device may give more room, but not less.
struct QueueSizes {
  unsigned sends{}, receives{};
  unsigned send_pieces = 1;  ///< pieces of memory in one send
  /// These sizes, or the limits of `device` for queues that share a completion queue, if those are smaller.
  QueueSizes fitted(const ibv_device_attr& device) const;
};

/// A queue pair, unreliable datagram (UD) or reliable connected (RC). The context and the completion queue must outlive it.
class QueuePair {
 public:
  /// `type` is IBV_QPT_UD or IBV_QPT_RC. `completions` receives the completions of both work queues. Throws SysError.
  QueuePair(const Context& context, const CompletionQueue& completions, ibv_qp_type type, QueueSizes sizes);

  Qpn number() const { return Qpn{handle_->qp_num}; }

  /// Makes the transition (IBA 10.3.1) to INIT, where receives are posted, with parameters from `path`. `access` (ibv_access_flags) is what
  /// the remote of an RC queue pair may do to this host's memory. Throws Error if the end port does not have the path's P_Key or SGID, and
  /// SysError if the device refuses: EPERM for a privileged Q_Key (upper bit set) without CAP_NET_RAW.
  void init(const path::IbPath& path, int access = 0);
  /// Makes the transitions to RTR (ready to receive) and RTS (ready to send). Throws as init() does.
  void establish(const path::IbPath& path);

  /// Posts `work`. Throws SysError: ENOMEM if the queue is full.
  void post_send(ibv_send_wr& work);
  void post_receive(ibv_recv_wr& work);

 private:
  void modify(ibv_qp_attr& attributes, int mask, const char* state);

  const Context* context_;
  Handle<ibv_qp, ibv_destroy_qp> handle_;
};

}  // namespace ib::verbs
