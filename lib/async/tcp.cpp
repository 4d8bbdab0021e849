// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "async/tcp.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <optional>

#include "async/event.hpp"
#include "base/error.hpp"

namespace ib::async {

namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const noexcept { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Addresses addresses_of(const std::string& host, std::uint16_t port, IpVersion version) {
  addrinfo hints{};
  hints.ai_family = version == IpVersion::v4 ? AF_INET : version == IpVersion::v6 ? AF_INET6 : AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (code == EAI_SYSTEM) throw SysError(errno, "getaddrinfo", host);
  if (code != 0) throw Error(fmt::format("No address of '{}' is known: {}", host, ::gai_strerror(code)));
  return Addresses(list);
}

std::string address_text(const sockaddr* address, socklen_t length) {
  std::array<char, 64> text{};
  const int code = ::getnameinfo(address, length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return code == 0 ? text.data() : "an unknown address";
}

void set_option(int fd, int level, int name, int value) { ::setsockopt(fd, level, name, &value, sizeof(value)); }

/// Enables keep-alive probes, which detect a vanished host: after 10 s of silence three probes are sent, 5 s apart.
void watch_peer(int fd) {
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
}

/// A new socket. Empty, with errno set, if the host does not support the address family `af`.
UniqueFd new_socket(int af) { return UniqueFd(::socket(af, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)); }

/// The port of an address of IPv4 or IPv6, in network order.
in_port_t& port_of(sockaddr& address) {
  return address.sa_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                       : reinterpret_cast<sockaddr_in&>(address).sin_port;
}

bool would_block(int code) { return code == EAGAIN || code == EWOULDBLOCK || code == EINTR; }

/// The rest of `timeout` since `began`; `forever` stays `forever`.
Duration left(const Loop& loop, Time began, Duration timeout) {
  return timeout == FdEvents::forever ? timeout : timeout - (loop.now() - began);
}

Task<> wait_for(Loop& loop, int fd, short events, Duration timeout, const std::string& peer) {
  short reported = 0;
  if (timeout > Duration::zero()) reported = co_await FdEvents(loop, fd, events, timeout);
  if (reported == 0) throw Error(fmt::format("{} does not answer", peer));
}

/// Waits until the connection is made. Returns its error, or 0 for success.
Task<int> connect_error(Loop& loop, int fd, const addrinfo& address, Duration timeout) {
  if (::connect(fd, address.ai_addr, address.ai_addrlen) == 0) co_return 0;
  if (errno != EINPROGRESS) co_return errno;
  const short reported = co_await FdEvents(loop, fd, POLLOUT, timeout);
  if (reported == 0) co_return ETIMEDOUT;
  int code = 0;
  socklen_t length = sizeof(code);
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &length) != 0) co_return errno;
  co_return code;
}

}  // namespace

Task<> TcpStream::read(MutableBytes bytes, Duration timeout) {
  Loop& loop = co_await current_loop;
  const Time began = loop.now();
  while (!bytes.empty()) {
    const ssize_t count = ::recv(fd_.get(), bytes.data(), bytes.size(), 0);
    if (count == 0) throw Error(fmt::format("{} closed the connection", peer_));
    if (count > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(count));
      continue;
    }
    if (!would_block(errno)) throw SysError(errno, "read from", peer_);
    co_await wait_for(loop, fd_.get(), POLLIN, left(loop, began, timeout), peer_);
  }
}

Task<> TcpStream::write(Bytes bytes, Duration timeout) {
  Loop& loop = co_await current_loop;
  const Time began = loop.now();
  while (!bytes.empty()) {
    const ssize_t count = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(count));
      continue;
    }
    if (!would_block(errno)) throw SysError(errno, "write to", peer_);
    co_await wait_for(loop, fd_.get(), POLLOUT, left(loop, began, timeout), peer_);
  }
}

Task<TcpStream> connect_tcp(std::string host, std::uint16_t port, IpVersion version, Duration timeout) {
  Loop& loop = co_await current_loop;
  const Addresses list = addresses_of(host, port, version);
  int code = 0;
  std::string tried;
  for (const addrinfo* address = list.get(); address != nullptr; address = address->ai_next) {
    tried = address_text(address->ai_addr, address->ai_addrlen);
    UniqueFd fd = new_socket(address->ai_family);
    code = errno;
    if (fd) code = co_await connect_error(loop, fd.get(), *address, timeout);
    if (!fd || code != 0) continue;
    watch_peer(fd.get());
    co_return TcpStream(std::move(fd), std::move(tried));
  }
  throw SysError(code, "connect to", fmt::format("{} port {}", tried, port));
}

TcpListener::TcpListener(std::uint16_t port, IpVersion version, int backlog) {
  // An IPv6 socket also takes IPv4 connections, unless IPV6_V6ONLY is set. A host without IPv6 has only IPv4 sockets.
  if (version != IpVersion::v4) fd_ = new_socket(AF_INET6);
  const bool is_v6{fd_};
  if (version != IpVersion::v6 && !is_v6) fd_ = new_socket(AF_INET);
  if (!fd_) throw SysError(errno, "socket", version == IpVersion::v6 ? "IPv6" : "IPv4");
  if (is_v6) set_option(fd_.get(), IPPROTO_IPV6, IPV6_V6ONLY, version == IpVersion::v6 ? 1 : 0);
  sockaddr_storage storage{};
  auto& address = reinterpret_cast<sockaddr&>(storage);
  address.sa_family = is_v6 ? AF_INET6 : AF_INET;
  port_of(address) = htons(port);
  listen_at(&address, is_v6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in), fmt::format("port {}", port), backlog);
}

std::vector<TcpListener> TcpListener::at(const std::string& host, std::uint16_t port, int backlog) {
  const Addresses list = addresses_of(host, port, IpVersion::any);
  const std::string where = fmt::format("{} port {}", host, port);
  std::vector<TcpListener> listeners;
  std::vector<Bytes> taken;  // a file of hosts may have an address twice
  std::optional<SysError> missing;
  for (addrinfo* address = list.get(); address != nullptr; address = address->ai_next) {
    const Bytes bytes(reinterpret_cast<const std::uint8_t*>(address->ai_addr), address->ai_addrlen);
    if (std::ranges::any_of(taken, [&](Bytes other) { return std::ranges::equal(other, bytes); })) continue;
    if (!listeners.empty()) port_of(*address->ai_addr) = htons(listeners.front().port());
    try {
      TcpListener listener;
      listener.fd_ = new_socket(address->ai_family);
      if (!listener.fd_) throw SysError(errno, "socket", where);
      const bool is_alone = list->ai_next == nullptr;  // else IPv4 has a listener of its own
      if (address->ai_family == AF_INET6 && !is_alone) set_option(listener.fd_.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
      listener.listen_at(address->ai_addr, address->ai_addrlen, where, backlog);
      listeners.push_back(std::move(listener));
      taken.push_back(bytes);
    } catch (const SysError& error) {
      if (error.code() != EADDRNOTAVAIL && error.code() != EAFNOSUPPORT) throw;
      missing = error;
    }
  }
  if (listeners.empty()) throw SysError(*missing);
  return listeners;
}

void TcpListener::listen_at(const sockaddr* address, socklen_t length, const std::string& where, int backlog) {
  set_option(fd_.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (::bind(fd_.get(), address, length) != 0) throw SysError(errno, "bind to", where);
  if (::listen(fd_.get(), backlog) != 0) throw SysError(errno, "listen on", where);
}

std::uint16_t TcpListener::port() const {
  sockaddr_storage storage{};
  auto& address = reinterpret_cast<sockaddr&>(storage);
  socklen_t length = sizeof(storage);
  if (::getsockname(fd_.get(), &address, &length) != 0) throw SysError(errno, "getsockname", "the listener");
  return ntohs(port_of(address));
}

Task<TcpStream> TcpListener::accept() {
  Loop& loop = co_await current_loop;
  for (;;) {
    sockaddr_storage address{};
    socklen_t length = sizeof(address);
    UniqueFd fd(::accept4(fd_.get(), reinterpret_cast<sockaddr*>(&address), &length, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd) {
      watch_peer(fd.get());
      co_return TcpStream(std::move(fd), address_text(reinterpret_cast<const sockaddr*>(&address), length));
    }
    if (!would_block(errno) && errno != ECONNABORTED) throw SysError(errno, "accept", "a connection");
    co_await FdEvents(loop, fd_.get(), POLLIN, FdEvents::forever);
  }
}

}  // namespace ib::async
