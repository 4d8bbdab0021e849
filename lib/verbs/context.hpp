// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// RAII wrappers for libibverbs. The wrapper owns its object, and a failure is a SysError that names the call and the device.
// The wrappers cover only what this project needs; elsewhere the structures of libibverbs are used directly. A wrapper must be
// destroyed before the wrappers that it was made from: memory regions and queue pairs before the protection domain, queue pairs
// before their completion queue, everything before the context.
#pragma once

#include <infiniband/verbs.h>

#include <memory>

#include "base/bytes.hpp"
#include "sys/device.hpp"

namespace ib::verbs {

/// Deleter that releases an object of libibverbs with `destroy`.
template <class T, auto destroy>
struct Destroy {
  void operator()(T* object) const noexcept { destroy(object); }
};
template <class T, auto destroy>
using Handle = std::unique_ptr<T, Destroy<T, destroy>>;

/// An open device. It is opened once and passed to everything that uses the device.
class Context {
 public:
  /// Opens `device`, which must outlive the context. Throws Error if the device has no verbs, and SysError if it cannot be
  /// opened. A note of the SysError names the remedy.
  explicit Context(const sys::Device& device);
  Context(const Context&) = delete;  // other wrappers refer to it
  Context& operator=(const Context&) = delete;

  const sys::Device& device() const { return *device_; }
  ibv_context* get() const { return handle_.get(); }

  ibv_device_attr query_device() const;
  /// The attributes of port `number`, counted from 1.
  ibv_port_attr query_port(unsigned number) const;

 private:
  const sys::Device* device_;
  Handle<ibv_context, ibv_close_device> handle_;
};

/// A protection domain (IBA 10.2.3). Memory regions, queue pairs and address handles can be used together only within one
/// protection domain.
class ProtectionDomain {
 public:
  explicit ProtectionDomain(const Context& context);
  ProtectionDomain(const ProtectionDomain&) = delete;
  ProtectionDomain& operator=(const ProtectionDomain&) = delete;
  const Context& context() const { return *context_; }
  ibv_pd* get() const { return handle_.get(); }

 private:
  const Context* context_;
  Handle<ibv_pd, ibv_dealloc_pd> handle_;
};

/// Registered memory that the device may use. `access` is a set of ibv_access_flags.
class MemoryRegion {
 public:
  /// `memory` must outlive the region. Throws SysError: ENOMEM also if the limit for locked memory (ulimit -l) is too low.
  MemoryRegion(const ProtectionDomain& domain, MutableBytes memory, int access);

  std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(handle_->addr); }
  std::uint32_t remote_key() const { return handle_->rkey; }
  /// The scatter/gather element of `length` bytes from `offset` on, for work requests.
  ibv_sge piece(std::size_t offset, std::size_t length) const {
    return {address() + offset, static_cast<std::uint32_t>(length), handle_->lkey};
  }

 private:
  Handle<ibv_mr, ibv_dereg_mr> handle_;
};

}  // namespace ib::verbs
