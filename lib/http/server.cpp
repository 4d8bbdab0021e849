// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The functions that libmicrohttpd calls let no exception pass: it is written in C.
#include "http/server.hpp"

#include <fmt/format.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <list>
#include <set>
#include <system_error>

#include "async/timer.hpp"
#include "base/error.hpp"
#include "base/letter_case.hpp"
#include "http/accept.hpp"

namespace ib::http {
namespace {

constexpr std::size_t piece = 16384;              // bytes of a body that are made at a time
constexpr std::size_t connection_memory = 32768;  // bytes for heads, and for what is being sent

constexpr unsigned crowd_milliseconds = 100;  // between two searches for connections to close
constexpr int send_buffer = 131072;           // bytes on their way to a client; the kernel counts with twice as much

// Bytes that the kernel takes for a client beyond what the client has room for. Without this bound it takes all of the send buffer, for
// each of hundreds of clients that read nothing, before one of them has waited long enough to be closed.
constexpr int most_unsent = 16384;

constexpr async::Duration shortest_rest = std::chrono::milliseconds(1);

// A connection that has just begun, or whose client has just taken something, is not closed to make room: it may be about to continue.
constexpr async::Duration youngest_victim = std::chrono::seconds(1);

/// The descriptors that the process has open.
std::size_t open_descriptors() {
  constexpr std::size_t usual = 32;
  std::error_code failed;
  const std::filesystem::directory_iterator all("/proc/self/fd", failed);
  return failed ? usual : static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// How many connections there may be of the `wanted` ones, so that descriptors are left for everything else. Where libmicrohttpd finds none
/// for a connection, it may accept no further one.
unsigned connection_limit(unsigned wanted) {
  constexpr rlim_t others = 32;  // what is opened from now on
  constexpr rlim_t least = 8;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return wanted;
  const rlim_t taken = open_descriptors() + others;
  if (limit.rlim_cur < taken + least)
    throw Error(fmt::format("The process may open {} files, and needs {} to serve clients (ulimit -n)", limit.rlim_cur, taken + least));
  return static_cast<unsigned>(std::min<rlim_t>(wanted, limit.rlim_cur - taken));
}

/// The limits of one of `listeners` listeners.
Limits share(Limits limits, std::size_t listeners) {
  const unsigned all = connection_limit(limits.connections + std::max(limits.connections / 4, 1U));
  const unsigned most = std::max(all / static_cast<unsigned>(std::max<std::size_t>(listeners, 1)), 2U);
  limits.connections = std::max(std::min(limits.connections, most - std::max(most / 5, 1U)), 1U);
  return limits;
}

/// The path of a request's target: an absolute form names the host, too (RFC 9112, 3.2.2).
std::string path_of(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!equal_ignoring_case(target.substr(0, scheme.size()), scheme)) continue;
    const std::size_t slash = target.find('/', scheme.size());
    return slash == std::string_view::npos ? "/" : std::string(target.substr(slash));
  }
  return std::string(target);
}

class Client;
using Clients = std::list<Client*>;

/// The connections by what they wait for. The first one of each list has waited longest.
struct Waiting {
  Clients idle;   ///< for another request, after an answer
  Clients fresh;  ///< for the first request
  Clients taken;  ///< for their client to take something of the answer
};

/// A connection. It is closed if it does not send a request in time.
class Client final : public async::Timer {
 public:
  Client(async::Loop& loop, int fd) : loop_(loop), fd_(fd) {}
  ~Client() override { leave(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void expect_request(Clients& among, std::chrono::seconds within) {
    wait(among);
    loop_.arm(*this, loop_.now() + within);
  }
  /// Restarts the waiting of the connection, as the last of `among`.
  void wait(Clients& among) {
    if (is_closed_) return;
    leave();
    among_ = &among;
    place_ = among.insert(among.end(), this);
    since_ = loop_.now();
  }
  async::Time since() const { return since_; }
  void expired() override { close(); }
  /// Shuts the socket down. libmicrohttpd sees the end of the connection and cleans up.
  void close() {
    leave();
    is_closed_ = true;
    ::shutdown(fd_, SHUT_RDWR);
  }

 private:
  void leave() {
    if (among_ != nullptr) among_->erase(place_);
    among_ = nullptr;
  }

  async::Loop& loop_;
  int fd_;
  async::Time since_{};
  Clients* among_{};  ///< null once it is closed
  Clients::iterator place_{};
  bool is_closed_{};
};

/// A body on its way.
struct Stream {
  std::unique_ptr<Body> body;  ///< null: it was outdated
  Client* client{};
  std::set<Stream*>* registry{};
  Clients* waiting{};  ///< where `client` waits while it takes
  std::string rest{};  ///< what was made of the body and not handed over yet
  std::size_t taken{};

  ssize_t read(char* to, std::size_t size) {
    if (!body) return MHD_CONTENT_READER_END_WITH_ERROR;
    if (client != nullptr) client->wait(*waiting);
    if (taken == rest.size()) {
      taken = 0;
      if (!body->next(rest, piece)) return MHD_CONTENT_READER_END_OF_STREAM;
    }
    const std::size_t count = std::min(size, rest.size() - taken);
    std::memcpy(to, rest.data() + taken, count);
    taken += count;
    return static_cast<ssize_t>(count);
  }
};

ssize_t read_stream(void* stream, std::uint64_t /*position*/, char* to, std::size_t size) {
  try {
    return static_cast<Stream*>(stream)->read(to, size);
  } catch (...) {
    return MHD_CONTENT_READER_END_WITH_ERROR;
  }
}

void free_stream(void* closure) {
  const std::unique_ptr<Stream> stream(static_cast<Stream*>(closure));
  stream->registry->erase(stream.get());
}

/// The fields of one name in the head of a request.
struct Fields {
  std::string_view name;
  std::string values{};  ///< as one list
};

MHD_Result add_field(void* fields, MHD_ValueKind /*kind*/, const char* key, std::size_t key_size, const char* value,
                     std::size_t value_size) {
  auto& [name, values] = *static_cast<Fields*>(fields);
  if (value == nullptr || !equal_ignoring_case(std::string_view(key, key_size), name)) return MHD_YES;
  if (!values.empty()) values += ", ";
  values.append(value, value_size);
  return MHD_YES;
}

std::string header(MHD_Connection* connection, std::string_view name) {
  Fields fields{name};
  MHD_get_connection_values_n(connection, MHD_HEADER_KIND, add_field, &fields);
  return fields.values;
}

/// Names and values may have any bytes: "%00" is one of them.
MHD_Result add_argument(void* request, MHD_ValueKind /*kind*/, const char* key, std::size_t key_size, const char* value,
                        std::size_t value_size) {
  static_cast<Request*>(request)->query.emplace_back(std::string(key, key_size), value != nullptr ? std::string(value, value_size) : "");
  return MHD_YES;
}

Client* client_of(MHD_Connection* connection) {
  const MHD_ConnectionInfo* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info != nullptr ? static_cast<Client*>(info->socket_context) : nullptr;
}

struct DestroyResponse {
  void operator()(MHD_Response* response) const { MHD_destroy_response(response); }
};
using Response = std::unique_ptr<MHD_Response, DestroyResponse>;

}  // namespace

std::optional<std::string_view> Request::value(std::string_view name) const {
  const auto found = std::find_if(query.rbegin(), query.rend(), [name](const auto& argument) { return argument.first == name; });
  return found == query.rend() ? std::nullopt : std::optional<std::string_view>(found->second);
}

/// libmicrohttpd's server. It runs when its descriptor is ready, and when it wants to.
class Server::Daemon final : public async::PollSource, private async::Timer {
 public:
  Daemon(async::Loop& loop, UniqueFd socket, Handler handler, Limits limits)
      : loop_(loop),
        handler_(std::move(handler)),
        limits_(limits),
        room_(limits.connections),
        most_connections_(room_ + std::max(room_ / 4, 1U)) {
    const int size = send_buffer, unsent = most_unsent;  // accepted sockets inherit them from this one
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
    // "Options that expect two pointers": a function and its argument.
    std::array options{
        MHD_OptionItem{MHD_OPTION_LISTEN_SOCKET, socket.get(), nullptr},
        MHD_OptionItem{MHD_OPTION_CONNECTION_LIMIT, static_cast<intptr_t>(most_connections_), nullptr},
        MHD_OptionItem{MHD_OPTION_CONNECTION_MEMORY_LIMIT, connection_memory, nullptr},
        MHD_OptionItem{MHD_OPTION_CONNECTION_TIMEOUT, static_cast<intptr_t>(limits.idle.count()), nullptr},
        MHD_OptionItem{MHD_OPTION_NOTIFY_CONNECTION, reinterpret_cast<intptr_t>(&connected), this},
        MHD_OptionItem{MHD_OPTION_NOTIFY_COMPLETED, reinterpret_cast<intptr_t>(&completed), this},
        MHD_OptionItem{MHD_OPTION_END, 0, nullptr},
    };
    daemon_ = MHD_start_daemon(MHD_USE_EPOLL, 0, nullptr, nullptr, &requested, this, MHD_OPTION_ARRAY, options.data(), MHD_OPTION_END);
    if (daemon_ == nullptr) throw SysError(errno, "MHD_start_daemon", "libmicrohttpd");
    socket.release();  // the daemon closes it
    watch();
  }
  ~Daemon() override {
    unwatch();
    MHD_stop_daemon(daemon_);
  }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  void drop_outdated() {
    for (Stream* stream : streams_) {
      if (!stream->body || !stream->body->is_outdated()) continue;
      stream->body.reset();
      if (stream->client != nullptr) stream->client->close();
    }
  }

 private:
  void ready(short /*revents*/) override { run(); }
  void expired() override {
    watch();
    run();
  }
  void watch() { loop_.watch(*this, MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, POLLIN); }

  /// Lets libmicrohttpd work. With many clients that takes long: the rest of the loop then gets as much time.
  void run() {
    const std::size_t before = clients_;
    const async::Time begun = loop_.now();
    MHD_run(daemon_);
    const async::Duration took = loop_.now() - begun;
    const bool is_crowded = make_room();
    if (took > shortest_rest) {
      unwatch();
      loop_.arm(*this, loop_.now() + took);
    } else if (clients_ < before) {
      // After a connection has ended, another one may have waited for room. libmicrohttpd looks for it when it begins to run.
      loop_.arm(*this, loop_.now());
    } else {
      arm_timeout(is_crowded);
    }
  }
  void arm_timeout(bool is_crowded) {
    MHD_UNSIGNED_LONG_LONG milliseconds = 0;
    const bool has_timeout = MHD_get_timeout(daemon_, &milliseconds) == MHD_YES;
    if (is_crowded) milliseconds = std::min<MHD_UNSIGNED_LONG_LONG>(has_timeout ? milliseconds : crowd_milliseconds, crowd_milliseconds);
    if (has_timeout || is_crowded) {
      loop_.arm(*this, loop_.now() + std::chrono::milliseconds(milliseconds));
    } else {
      disarm();
    }
  }

  /// Closes the connections that have waited longest until there is room. Returns whether more are to be closed once they have waited long
  /// enough.
  bool make_room() {
    const async::Time latest = loop_.now() - youngest_victim;
    for (std::size_t open = waiting_.idle.size() + waiting_.fresh.size() + waiting_.taken.size(); open > room_; --open) {
      Client* victim = nullptr;
      for (const Clients* clients : {&waiting_.idle, &waiting_.fresh, &waiting_.taken}) {
        if (victim == nullptr && !clients->empty() && clients->front()->since() <= latest) victim = clients->front();
      }
      if (victim == nullptr) return true;
      victim->close();
    }
    return false;
  }

  static void connected(void* self, MHD_Connection* connection, void** context, MHD_ConnectionNotificationCode code) {
    auto& daemon = *static_cast<Daemon*>(self);
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
      --daemon.clients_;
      delete static_cast<Client*>(*context);
      *context = nullptr;
      return;
    }
    const MHD_ConnectionInfo* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    auto* const client = new Client(daemon.loop_, info->connect_fd);
    client->expect_request(daemon.waiting_.fresh, daemon.limits_.first_request);
    ++daemon.clients_;
    *context = client;
  }

  static void completed(void* self, MHD_Connection* connection, void** /*request*/, MHD_RequestTerminationCode code) {
    auto& daemon = *static_cast<Daemon*>(self);
    if (code != MHD_REQUEST_TERMINATED_COMPLETED_OK) return;
    if (Client* const client = client_of(connection)) client->expect_request(daemon.waiting_.idle, daemon.limits_.idle);
  }

  /// Called when the head of a request has come, and again when all of it has.
  static MHD_Result requested(void* self, MHD_Connection* connection, const char* url, const char* method, const char* /*version*/,
                              const char* /*upload*/, std::size_t* upload_size, void** request) {
    auto& daemon = *static_cast<Daemon*>(self);
    const std::string_view verb = method;
    const bool is_known = verb == "GET" || verb == "HEAD";
    if (is_known && (*request == nullptr || *upload_size != 0)) {
      *request = self;
      *upload_size = 0;  // what comes with it is not read
      return MHD_YES;
    }
    try {
      if (Client* const client = client_of(connection)) {
        client->disarm();
        client->wait(daemon.waiting_.taken);
      }
      return daemon.answer(connection, url, verb, is_known);
    } catch (...) {
      return MHD_NO;  // closes the connection
    }
  }

  /// `is_known`: `verb` is GET or HEAD.
  MHD_Result answer(MHD_Connection* connection, const char* url, std::string_view verb, bool is_known) {
    Answer answer;
    if (is_known) {
      Request request{path_of(url), {}, header(connection, "Accept")};
      MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, add_argument, &request);
      answer = handled(request);
    } else {
      answer.status = MHD_HTTP_METHOD_NOT_ALLOWED;
      answer.text = "Only GET and HEAD are answered.\n";
    }
    const unsigned status = answer.status;
    const Response response = response_of(connection, std::move(answer), verb == "HEAD");
    if (!response) return MHD_NO;
    if (!is_known) MHD_add_response_header(response.get(), "Allow", "GET, HEAD");
    return MHD_queue_response(connection, status, response.get());
  }

  Answer handled(const Request& request) {
    try {
      return handler_(request);
    } catch (const std::exception& error) {
      Answer answer;
      answer.status = MHD_HTTP_INTERNAL_SERVER_ERROR;
      answer.text = std::string(error.what()) + "\n";
      return answer;
    }
  }

  Response response_of(MHD_Connection* connection, Answer answer, bool is_head) {
    if (!answer.body) {
      Response response(MHD_create_response_from_buffer(answer.text.size(), answer.text.data(), MHD_RESPMEM_MUST_COPY));
      return with_headers(std::move(response), answer);
    }
    const bool zips = accepts_gzip(header(connection, "Accept-Encoding"));
    auto stream = std::make_unique<Stream>();
    stream->body = zips ? gzip(std::move(answer.body)) : std::move(answer.body);
    stream->client = client_of(connection);
    stream->registry = &streams_;
    stream->waiting = &waiting_.taken;
    Response response(MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, piece, read_stream, stream.get(), free_stream));
    if (!response) return nullptr;
    streams_.insert(stream.release());
    MHD_add_response_header(response.get(), "Vary", "Accept, Accept-Encoding");
    if (zips) MHD_add_response_header(response.get(), "Content-Encoding", "gzip");
    // libmicrohttpd 0.9.75 ends the chunks even of an answer that has none.
    if (is_head) MHD_set_response_options(response.get(), MHD_RF_HTTP_VERSION_1_0_ONLY, MHD_RO_END);
    return with_headers(std::move(response), answer);
  }

  static Response with_headers(Response response, const Answer& answer) {
    if (!response) return response;
    MHD_add_response_header(response.get(), "Content-Type", answer.content_type.c_str());
    MHD_add_response_header(response.get(), "X-Content-Type-Options", "nosniff");
    return response;
  }

  async::Loop& loop_;
  Handler handler_;
  Limits limits_;
  unsigned room_, most_connections_;
  Waiting waiting_;            ///< must outlive the daemon's connections
  std::set<Stream*> streams_;  ///< owned by their responses
  MHD_Daemon* daemon_{};
  std::size_t clients_{};
};

Server::Server(async::Loop& loop, std::vector<async::TcpListener> listeners, const Handler& handler, const Limits& limits)
    : port_(listeners.at(0).port()) {
  const Limits each = share(limits, listeners.size());
  for (async::TcpListener& listener : listeners) daemons_.push_back(std::make_unique<Daemon>(loop, listener.take_fd(), handler, each));
}

Server::~Server() = default;

void Server::drop_outdated() {
  for (const std::unique_ptr<Daemon>& daemon : daemons_) daemon->drop_outdated();
}

}  // namespace ib::http
