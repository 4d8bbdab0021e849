// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// libibverbs with ownership: an object lives as long as its wrapper, and what goes wrong is a SysError that names the call
// and the device. Only what this project needs of libibverbs is here; its own structures stand where they say it all.
// Wrappers must die before those that they were made from: memory regions and queue pairs before the protection domain,
// queue pairs before their completion queue, everything before the context.
#pragma once

#include <infiniband/verbs.h>

#include <memory>
#include <string>

#include "base/bytes.hpp"
#include "sys/device.hpp"

namespace ib::verbs {

/// Owns what libibverbs made, and gives it back by `destroy`.
template <class T, auto destroy>
struct Destroy {
  void operator()(T* object) const noexcept { destroy(object); }
};
template <class T, auto destroy>
using Handle = std::unique_ptr<T, Destroy<T, destroy>>;

/// An open device. Opened once, and passed to all that works on it.
class Context {
 public:
  /// Opens `device`, which must outlive it. Throws Error where it has no verbs, SysError where it may not be opened; a note
  /// says what to do about it.
  explicit Context(const sys::Device& device);
  Context(const Context&) = delete;  // the others refer to it
  Context& operator=(const Context&) = delete;

  const sys::Device& device() const { return *device_; }
  ibv_context* get() const { return handle_.get(); }

  ibv_device_attr query_device() const;
  /// Of port `number`, counted from 1.
  ibv_port_attr query_port(unsigned number) const;

 private:
  const sys::Device* device_;
  Handle<ibv_context, ibv_close_device> handle_;
};

/// What may be used together: memory, queue pairs and address handles of one protection domain (IBA 10.2.3).
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

/// Memory that the device may use; `access` is of ibv_access_flags.
class MemoryRegion {
 public:
  /// `memory` must outlive it. Throws SysError, ENOMEM also where the limit for locked memory (ulimit -l) is too low.
  MemoryRegion(const ProtectionDomain& domain, MutableBytes memory, int access);

  std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(handle_->addr); }
  std::uint32_t remote_key() const { return handle_->rkey; }
  /// `length` bytes from `offset` on, as work requests name them.
  ibv_sge piece(std::size_t offset, std::size_t length) const {
    return {address() + offset, static_cast<std::uint32_t>(length), handle_->lkey};
  }

 private:
  Handle<ibv_mr, ibv_dereg_mr> handle_;
};

}  // namespace ib::verbs
