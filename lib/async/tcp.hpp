// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// TCP for short conversations on the loop: everything has a time limit, and errors name the peer. Names are looked up by
// the C library, which blocks the loop meanwhile.
#pragma once

#include <cstdint>
#include <string>

#include "async/task.hpp"
#include "base/bytes.hpp"
#include "base/unique_fd.hpp"

namespace ib::async {

enum class IpVersion { any, v4, v6 };

/// A connection.
class TcpStream {
 public:
  TcpStream(UniqueFd fd, std::string peer) : fd_(std::move(fd)), peer_(std::move(peer)) {}

  /// "192.0.2.7" or "2001:db8::7".
  const std::string& peer() const { return peer_; }
  /// Fills `bytes`. Throws Error where the peer closes the connection before or `timeout` passes, SysError for what else fails,
  /// ETIMEDOUT also where the peer's host has gone silent for 25 s.
  Task<> read(MutableBytes bytes, Duration timeout);
  /// Sends `bytes`. Throws as read() does.
  Task<> write(Bytes bytes, Duration timeout);

 private:
  UniqueFd fd_;
  std::string peer_;
};

/// Connects to the first address of `host` that takes the connection within `timeout`. Throws Error or SysError that tells of
/// the last one that did not.
Task<TcpStream> connect_tcp(std::string host, std::uint16_t port, IpVersion version, Duration timeout);

/// A port that is listened on, at all addresses of this host.
class TcpListener {
 public:
  /// Throws SysError, EADDRINUSE where another program listens there.
  TcpListener(std::uint16_t port, IpVersion version);
  /// The port: that of the constructor, or what the system chose for 0.
  std::uint16_t port() const;
  /// Waits, without limit, for one to connect.
  Task<TcpStream> accept();

 private:
  UniqueFd fd_;
};

}  // namespace ib::async
