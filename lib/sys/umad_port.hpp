// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// An open umad device (Linux, Documentation/infiniband/user_mad.rst, ABI 5). libibumad opens it where it can; it knows no
// more than 64 devices, none with a name of 20 characters, and forgets why it failed, so what it can not open is opened by
// its own name. Reading and writing are the same for both.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.hpp"
#include "base/unique_fd.hpp"
#include "sys/device.hpp"

namespace ib::sys {

/// What a program wants to send and receive through umad.
struct AgentRequest {
  std::uint8_t mgmt_class{};
  std::uint8_t class_version = 1;
  std::uint8_t rmpp_version{};             ///< 1: the kernel segments and reassembles
  std::array<std::uint8_t, 3> oui{};       ///< of vendor classes 0x30…0x4f
  std::array<std::uint64_t, 2> methods{};  ///< bit per method number of requests to be served; none for a client
};

class UmadPort {
 public:
  /// What stands before every MAD: struct ib_user_mad_hdr with a P_Key index.
  static constexpr std::size_t header_bytes = 64;

  /// Opens the device through which `port` sends SMPs or, without `smp`, GMPs: another port's on planarized HCAs. Throws Error
  /// if there is none, and SysError, whose note says what to do about a missing device file or missing permission.
  UmadPort(const EndPort& port, bool smp);

  /// The descriptor, non-blocking, for poll() with POLLIN.
  int fd() const { return fd_.get(); }
  /// /dev/infiniband/umad0
  const std::string& path() const { return path_; }

  /// Returns the agent's ID. Throws SysError: EPROTONOSUPPORT for SMPs on a device without QP0, EINVAL where another
  /// program serves one of `methods` of the class.
  std::uint32_t register_agent(const AgentRequest& request);
  void unregister_agent(std::uint32_t id);

  /// Sends `umad`, a header and a MAD. Throws SysError: EINVAL for a bad address or a TID that is still pending.
  void send(Bytes umad);

  enum class Read { message, nothing, too_long };
  struct Received {
    Read outcome;
    std::size_t bytes;  ///< header and MAD: read into the buffer, or, if too long, the size that the buffer must have
  };
  /// Reads one header and MAD into `buffer`, without waiting. What is too long for it stays, but for its beginning, and
  /// can be read again. Throws SysError, EIO when the device has gone: there is no use in reading on.
  Received receive(MutableBytes buffer);

 private:
  std::string path_;
  UniqueFd fd_;
};

/// Announces a subnet manager on `port` as long as the descriptor is open (the IsSM capability bit). Throws as UmadPort does.
UniqueFd open_issm(const EndPort& port);

/// The port whose umad device `port` uses for SMPs or, without `smp`, for GMPs. Throws Error that says why there is none.
const EndPort& umad_half(const EndPort& port, bool smp);

}  // namespace ib::sys
