// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// TCP for short conversations on the loop. Every operation has a time limit, and errors name the peer. The C library looks up
// names, which blocks the loop meanwhile.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "async/task.hpp"
#include "base/bytes.hpp"
#include "base/unique_fd.hpp"

namespace ib::async {

/// The IP versions that a connection may use.
enum class IpVersion { any, v4, v6 };

/// A connection.
class TcpStream {
 public:
  TcpStream(UniqueFd fd, std::string peer) : fd_(std::move(fd)), peer_(std::move(peer)) {}

  /// The address of the peer: "192.0.2.7" or "2001:db8::7".
  const std::string& peer() const { return peer_; }
  /// Fills `bytes`. Throws Error if the peer closes the connection before that or if `timeout` passes. Throws SysError for all
  /// other failures: ETIMEDOUT also if the peer's host has been silent for 25 s.
  Task<> read(MutableBytes bytes, Duration timeout);
  /// Sends `bytes`. Throws as read() does.
  Task<> write(Bytes bytes, Duration timeout);

 private:
  UniqueFd fd_;
  std::string peer_;
};

/// Connects to the first address of `host` that accepts the connection within `timeout`. Throws Error or SysError for the last
/// address that failed.
Task<TcpStream> connect_tcp(std::string host, std::uint16_t port, IpVersion version, Duration timeout);

/// A TCP port that listens.
class TcpListener {
 public:
  /// Listens at all addresses of this host; `backlog` connections may wait to be accepted. Throws SysError: EADDRINUSE if another program
  /// listens on the port.
  TcpListener(std::uint16_t port, IpVersion version, int backlog = 1);
  /// Listeners at all addresses of `host`, on one port. An address that this host does not have is left out, unless it has none of them.
  /// Throws as the constructor does, and Error if `host` has no address.
  static std::vector<TcpListener> at(const std::string& host, std::uint16_t port, int backlog);
  /// The port of the constructor, or the port that the system chose for 0.
  std::uint16_t port() const;
  /// Waits, without a time limit, for a connection.
  Task<TcpStream> accept();
  /// The socket, for code that accepts connections in another way.
  const UniqueFd& fd() const { return fd_; }
  UniqueFd take_fd() { return std::move(fd_); }

 private:
  TcpListener() = default;
  void listen_at(const sockaddr* address, socklen_t length, const std::string& where, int backlog);

  UniqueFd fd_;
};

}  // namespace ib::async
