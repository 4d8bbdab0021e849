// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// An open umad device (Linux, Documentation/infiniband/user_mad.rst, ABI 5). libibumad opens the device if it can. libibumad
// knows at most 64 devices, none with a name of 20 characters, and loses the reason of a failure. A device that libibumad
// cannot open is therefore opened by its path. Reading and writing are the same in both cases.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.hpp"
#include "base/unique_fd.hpp"
#include "sys/device.hpp"

namespace ib::sys {

/// The errno with which reading the ABI version of the kernel's umad fails: ENOENT if ib_umad is not loaded. 0 if it can be read.
int umad_abi_failure();

/// The MADs that a program wants to send and receive through umad.
struct AgentRequest {
  std::uint8_t mgmt_class{};
  std::uint8_t class_version = 1;
  std::uint8_t rmpp_version{};             ///< 1: the kernel segments and reassembles
  std::uint32_t oui{};                     ///< of vendor classes 0x30…0x4f; other classes have none
  std::array<std::uint64_t, 2> methods{};  ///< one bit for each method number of requests to serve; none for a client
};

/// An open umad device. Owns its descriptor.
class UmadPort {
 public:
  /// The size of the header before every MAD: struct ib_user_mad_hdr with a P_Key index.
  static constexpr std::size_t header_bytes = 64;

  /// Opens the device through which `port` sends SMPs (`smp` true) or GMPs. On planarized HCAs this may be the device of another port.
  /// Throws Error if there is none. Throws SysError with a note on the remedy for a missing device file or a missing permission.
  UmadPort(const EndPort& port, bool smp);

  /// The descriptor, non-blocking, for poll() with POLLIN.
  int fd() const { return fd_.get(); }
  /// The path of the device file: /dev/infiniband/umad0.
  const std::string& path() const { return path_; }

  /// Registers an agent and returns its ID. Throws SysError: EPROTONOSUPPORT for SMPs on a device without QP0, EINVAL if
  /// another program serves one of `methods` of the class.
  std::uint32_t register_agent(const AgentRequest& request);

  /// Sends `umad`, a header and a MAD. Throws SysError: EINVAL for a bad address or for a TID that is still pending.
  void send(Bytes umad);

  /// Reads one header and MAD into `buffer` without waiting, and returns their size. Nothing if no MAD is waiting. If the size exceeds the
  /// buffer, only the beginning is read; the MAD stays in the queue and can be read again. Throws SysError: after EIO the device has gone,
  /// and further reads are useless.
  std::optional<std::size_t> receive(MutableBytes buffer);

 private:
  std::string path_;
  UniqueFd fd_;
};

/// Announces a subnet manager on `port` (the IsSM capability bit) while the descriptor is open. Throws like UmadPort().
UniqueFd open_issm(const EndPort& port);

/// The port whose umad device `port` uses for SMPs (`smp` true) or GMPs. Throws Error with the reason if there is none.
const EndPort& umad_half(const EndPort& port, bool smp);

}  // namespace ib::sys
