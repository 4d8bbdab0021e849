// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// An HTTP server on the loop, for programs that can be monitored: GET and HEAD. libmicrohttpd does the protocol. It is loaded when the
// first Server is made, and runs in the loop's own thread: the loop watches its epoll descriptor. All other libraries are linked; this one
// needs gnutls, which takes more than a millisecond to load, and only the exporter serves.
//
// No client can block the program. A connection is closed if it sends no request in time, or if its client takes nothing of an answer. If
// more connections come than there is room for, older ones are closed: first the one that has waited longest after its last answer, else
// the one that has waited longest for a first request, else the one whose client has not taken a byte for the longest time. However many
// there are, half of the time is left to everything else on the loop.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/loop.hpp"
#include "async/tcp.hpp"

namespace ib::http {

/// Whether this program can load libmicrohttpd, and so be a server. A static one cannot.
extern const bool can_load;
/// The function `name` of libmicrohttpd. Throws Error if the library cannot be loaded, or has no such function.
void* library_function(const char* name);

/// One member of a field that says what a client accepts.
struct Acceptable {
  std::string name;        ///< "gzip" or "text/plain", in lower case
  unsigned weight = 1000;  ///< in thousandths; 0: not acceptable
};
/// The members of a field Accept or Accept-Encoding (RFC 9110, 12.4.2 and 12.5). An invalid weight is taken for none.
std::vector<Acceptable> acceptable(std::string_view field);
/// The greatest weight among the members with that name; nothing if there is none.
std::optional<unsigned> weight_of(const std::vector<Acceptable>& members, std::string_view name);
/// Whether the field Accept-Encoding `accepted` allows gzip, and does not prefer that nothing is compressed.
bool accepts_gzip(std::string_view accepted);

/// The body of an answer, made while it is sent.
class Body {
 public:
  virtual ~Body() = default;
  /// Puts the next part of the body in the place of what `out` holds, of about `size` bytes. False: the body has ended, and `out` is empty.
  virtual bool next(std::string& out, std::size_t size) = 0;
  /// Whether the body is too old to be sent further (Server::drop_outdated()).
  virtual bool is_outdated() const { return false; }
};
/// `body` compressed as gzip (RFC 1952).
std::unique_ptr<Body> gzip(std::unique_ptr<Body> body);

struct Request {
  std::string path;                                        ///< "/metrics"
  std::vector<std::pair<std::string, std::string>> query;  ///< decoded
  std::string accept;                                      ///< all fields Accept (RFC 9110, 5.3); empty without one
  /// The value of the last `name` in the query.
  std::optional<std::string_view> value(std::string_view name) const;
};

struct Answer {
  unsigned status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string text{};            ///< where there is no `body`
  std::unique_ptr<Body> body{};  ///< compressed if the client accepts that
};

/// Answers a request. What it throws is answered by status 500.
using Handler = std::function<Answer(const Request& request)>;

struct ConnectionLimits {
  unsigned connections = 512;              ///< that stay; less if the process may open no more files
  std::chrono::seconds first_request{10};  ///< from the connection to the end of a request's head
  std::chrono::seconds idle{30};  ///< from the end of an answer to the end of the next request's head; and without a byte sent or received
};

class Server {
 public:
  /// Serves the clients of all `listeners`, which share the limits. Throws Error if libmicrohttpd cannot be loaded or started, or if the
  /// process may open too few files.
  Server(async::Loop& loop, std::vector<async::TcpListener> listeners, const Handler& handler, const ConnectionLimits& limits = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// The port of the first listener.
  std::uint16_t port() const { return port_; }
  /// Ends the answers whose body is outdated: it is destroyed, and its connection closed.
  void drop_outdated();

 private:
  class Daemon;
  std::uint16_t port_;
  std::vector<std::unique_ptr<Daemon>> daemons_;
};

}  // namespace ib::http
