// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "verbs/context.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>

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

ProtectionDomain::ProtectionDomain(const Context& context) : context_(&context), handle_(ibv_alloc_pd(context.get())) {
  if (!handle_) throw SysError(errno, "ibv_alloc_pd", context.device().name);
}

MemoryRegion::MemoryRegion(const ProtectionDomain& domain, MutableBytes memory, int access)
    : handle_(ibv_reg_mr(domain.get(), memory.data(), memory.size(), access)) {
  if (handle_) return;
  SysError error(errno, "ibv_reg_mr", fmt::format("{}, {} bytes", domain.context().device().name, memory.size()));
  if (error.code() == ENOMEM) error.note("Not enough memory for the device: does the limit for locked memory (ulimit -l) allow it?");
  throw error;
}

}  // namespace ib::verbs
