// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "sys/umad_port.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <infiniband/umad.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "sys/sysfs.hpp"

namespace ib::sys {

static_assert(sizeof(ib_user_mad_t) == UmadPort::header_bytes);

namespace {

std::string abi_file() { return sysfs_root() + "/class/infiniband_mad/abi_version"; }

Error no_device(const EndPort& port, std::string_view kind) {
  if (umad_abi_failure() != 0)
    return Error(fmt::format("{} has no {} device: load the kernel module ib_umad (modprobe ib_umad)", port.name(), kind));
  return Error(
      fmt::format("{} has no {} device, though the kernel module ib_umad is loaded: the kernel does not give it to this system, "
                  "which may be a container",
                  port.name(), kind));
}

UniqueFd open_device(const std::string& path, int flags) {
  UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC));
  if (fd) return fd;
  const int code = errno;
  SysError error(code, "open", path);
  if (code == EACCES || code == EPERM)
    error.note(fmt::format("No permission to use {}: run as root, or let udev give the device to your group", path));
  if (code == ENOENT)
    error.note(fmt::format("There is no {}{}", path,
                           umad_abi_failure() == 0 ? ", though the kernel module ib_umad is loaded: in a container, the file has to "
                                                     "be passed in (--device); else see udev"
                                                   : ": load the kernel module ib_umad (modprobe ib_umad)"));
  if (code == ENXIO || code == ENODEV) error.note(fmt::format("The device behind {} is gone", path));
  throw error;
}

/// Opens the device by libibumad, which also prepares that library for the kernel's header format. Empty on failure.
UniqueFd open_by_library(const EndPort& half) {
  UniqueFd fd(umad_open_port(half.device->name.c_str(), static_cast<int>(half.number)));
  if (fd && umad_size() != UmadPort::header_bytes) throw Error("The kernel is too old: its umad has no P_Key indexes");
  return fd;
}

}  // namespace

int umad_abi_failure() {
  // Uses open() and not access(): a preload library that simulates the device replaces open().
  const UniqueFd fd(::open(abi_file().c_str(), O_RDONLY | O_CLOEXEC));
  return fd ? 0 : errno;
}

UmadPort::UmadPort(const EndPort& port, bool smp) {
  const EndPort& half = umad_half(port, smp);
  path_ = "/dev/infiniband/" + half.umad;
  const auto abi = read_attribute(abi_file());
  if (abi && *abi != std::to_string(IB_UMAD_ABI_VERSION)) {
    throw Error(fmt::format("The kernel's umad has ABI version {}, this program knows {}", *abi, IB_UMAD_ABI_VERSION));
  }
  if (abi) fd_ = open_by_library(half);
  if (fd_) return;
  fd_ = open_device(path_, O_RDWR | O_NONBLOCK);
  if (::ioctl(fd_.get(), IB_USER_MAD_ENABLE_PKEY, nullptr) != 0) throw SysError(errno, "enable P_Key indexes on", path_);
}

std::uint32_t UmadPort::register_agent(const AgentRequest& request) {
  std::array<long, 16 / sizeof(long)> methods{};
  static_assert(sizeof(methods) == sizeof(request.methods));
  std::memcpy(methods.data(), request.methods.data(), sizeof(methods));
  std::array oui{static_cast<std::uint8_t>(request.oui >> 16), static_cast<std::uint8_t>(request.oui >> 8),
                 static_cast<std::uint8_t>(request.oui)};
  errno = 0;
  const int id = has_oui(request.mgmt_class)
                     ? umad_register_oui(fd_.get(), request.mgmt_class, request.rmpp_version, oui.data(), methods.data())
                     : umad_register(fd_.get(), request.mgmt_class, request.class_version, request.rmpp_version, methods.data());
  if (id >= 0) return static_cast<std::uint32_t>(id);
  throw SysError(errno != 0 ? errno : EPERM, fmt::format("register for management class 0x{:02x} on", request.mgmt_class), path_);
}

void UmadPort::send(Bytes umad) {
  errno = 0;
  ssize_t n = 0;
  do {
    n = ::write(fd_.get(), umad.data(), umad.size());
  } while (n < 0 && errno == EINTR);
  if (n != static_cast<ssize_t>(umad.size())) throw SysError(errno != 0 ? errno : EIO, "write", path_);
}

std::optional<std::size_t> UmadPort::receive(MutableBytes buffer) {
  for (;;) {
    errno = 0;
    const ssize_t n = ::read(fd_.get(), buffer.data(), buffer.size());
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno == EINTR) continue;
    // The read() of a preload library may return the negative error number itself.
    if (errno == EAGAIN || errno == EWOULDBLOCK || (errno == 0 && n == -EWOULDBLOCK)) return std::nullopt;
    if (errno == ENOSPC && buffer.size() >= header_bytes) {
      ib_user_mad_t header{};
      std::memcpy(&header, buffer.data(), header_bytes);
      return std::max<std::size_t>(header.length, buffer.size() + 1);
    }
    throw SysError(errno != 0 ? errno : EIO, "read", path_);
  }
}

UniqueFd open_issm(const EndPort& port) {
  if (port.issm.empty()) throw no_device(port, "issm");
  return open_device("/dev/infiniband/" + port.issm, O_RDWR | O_NONBLOCK);
}

const EndPort& umad_half(const EndPort& port, bool smp) {
  const EndPort* half = port.half(smp);
  if (half != nullptr && !half->umad.empty()) return *half;
  const std::string other = other_kind(port);
  if (smp && port.link_layer == LinkLayer::ethernet) {
    throw Error(fmt::format("{} is {}, which has no SMPs and so no subnet to look at; {}ibstat, ibstatus and ibv_devices show it",
                            port.name(), other, port.umad.empty() ? "" : "GMPs and verbs work there, and "));
  }
  if (!other.empty() && port.link_layer != LinkLayer::ethernet)
    throw Error(fmt::format("{} is {}: it has no MADs; ibstat, ibstatus and ibv_devices show it", port.name(), other));
  if (port.umad.empty()) throw no_device(port, "umad");
  throw Error(fmt::format("{} cannot send SMPs, and no other device of this host reaches the port's QP0", port.name()));
}

}  // namespace ib::sys
