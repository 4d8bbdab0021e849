// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The functions that libmicrohttpd calls let no exception pass: it is written in C.
#include "http/server.hpp"

#include <fmt/format.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <set>
#include <system_error>

#include "base/error.hpp"
#include "base/parse.hpp"
#include "base/split.hpp"

namespace ib::http {
namespace {

/// A function of libmicrohttpd, of the type of the pointer that is made of it.
struct Found {
  const char* name;
  template <class Function>
  operator Function*() const {
    return reinterpret_cast<Function*>(library_function(name));
  }
};

/// The functions of libmicrohttpd that this layer calls.
struct Microhttpd {
  decltype(&MHD_start_daemon) start_daemon = Found{"MHD_start_daemon"};
  decltype(&MHD_stop_daemon) stop_daemon = Found{"MHD_stop_daemon"};
  decltype(&MHD_run) run = Found{"MHD_run"};
  decltype(&MHD_get_timeout) get_timeout = Found{"MHD_get_timeout"};
  decltype(&MHD_get_daemon_info) get_daemon_info = Found{"MHD_get_daemon_info"};
  decltype(&MHD_get_connection_info) get_connection_info = Found{"MHD_get_connection_info"};
  decltype(&MHD_get_connection_values_n) get_connection_values_n = Found{"MHD_get_connection_values_n"};
  decltype(&MHD_create_response_from_callback) create_response_from_callback = Found{"MHD_create_response_from_callback"};
  decltype(&MHD_create_response_from_buffer) create_response_from_buffer = Found{"MHD_create_response_from_buffer"};
  decltype(&MHD_add_response_header) add_response_header = Found{"MHD_add_response_header"};
  decltype(&MHD_set_response_options) set_response_options = Found{"MHD_set_response_options"};
  decltype(&MHD_queue_response) queue_response = Found{"MHD_queue_response"};
  decltype(&MHD_destroy_response) destroy_response = Found{"MHD_destroy_response"};
};

/// Throws Error if the library cannot be loaded, or is too old.
const Microhttpd& microhttpd() {
  static const Microhttpd functions;
  return functions;
}

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

constexpr unsigned whole = 1000;

unsigned weight_in(std::string_view parameters) {
  for (const std::string_view parameter : split(parameters, ";")) {
    const std::size_t equals = parameter.find('=');
    if (equals == std::string_view::npos || to_lower(trim(parameter.substr(0, equals))) != "q") continue;
    const std::string_view digits = trim(parameter.substr(equals + 1));
    double value = 0;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return code == std::errc() && value >= 0 && value <= 1 ? static_cast<unsigned>(value * whole + 0.5) : whole;
  }
  return whole;
}

// Pages of metrics repeat themselves from line to line. A window of 4 KiB is enough for that; with it, a stream takes 40 KiB of memory in
// place of 270, of which a thousand clients would take a thousand.
constexpr int window_bits = 12, memory_level = 6, gzip_format = 16;

class GzipBody final : public Body {
 public:
  explicit GzipBody(std::unique_ptr<Body> body) : body_(std::move(body)) {
    const int code = deflateInit2(&stream_, Z_BEST_SPEED, Z_DEFLATED, window_bits + gzip_format, memory_level, Z_DEFAULT_STRATEGY);
    if (code != Z_OK) throw std::runtime_error(fmt::format("deflateInit2: {}", code));
  }
  ~GzipBody() override { deflateEnd(&stream_); }
  GzipBody(const GzipBody&) = delete;
  GzipBody& operator=(const GzipBody&) = delete;

  bool next(std::string& out, std::size_t size) override {
    out.clear();
    while (out.size() < size && !has_ended_) {
      if (stream_.avail_in == 0 && !is_last_) read(size);
      compress(out);
    }
    return !out.empty();
  }
  bool is_outdated() const override { return body_->is_outdated(); }

 private:
  void read(std::size_t size) {
    is_last_ = !body_->next(piece_, size);
    stream_.next_in = reinterpret_cast<Bytef*>(piece_.data());
    stream_.avail_in = static_cast<uInt>(piece_.size());
  }
  void compress(std::string& out) {
    std::array<char, 16384> room;
    stream_.next_out = reinterpret_cast<Bytef*>(room.data());
    stream_.avail_out = room.size();
    has_ended_ = deflate(&stream_, is_last_ ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_END;
    out.append(room.data(), room.size() - stream_.avail_out);
  }

  std::unique_ptr<Body> body_;
  std::string piece_;
  z_stream stream_{};
  bool is_last_{}, has_ended_{};
};

/// How many connections there may be of the `wanted` ones, so that descriptors are left for everything else. Where libmicrohttpd finds none
/// for a connection, it may accept no further one.
unsigned connection_limit(unsigned wanted) {
  constexpr rlim_t others = 32;  // what is opened from now on
  constexpr rlim_t least = 8;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return wanted;
  constexpr rlim_t usual = 32;  // descriptors that are open
  std::error_code failed;
  const std::filesystem::directory_iterator open("/proc/self/fd", failed);
  const rlim_t taken = others + (failed ? usual : static_cast<rlim_t>(std::distance(begin(open), end(open))));
  if (limit.rlim_cur < taken + least)
    throw Error(fmt::format("The process may open {} files, and needs {} to serve clients (ulimit -n)", limit.rlim_cur, taken + least));
  return static_cast<unsigned>(std::min<rlim_t>(wanted, limit.rlim_cur - taken));
}

/// So many connections, and those that are accepted before others are closed for them.
unsigned with_surplus(unsigned connections) { return connections + std::max(connections / 4, 1U); }

ConnectionLimits share(ConnectionLimits limits, std::size_t listeners) {
  const unsigned all = connection_limit(with_surplus(limits.connections));
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

/// A connection, and the body that is on its way to its client. It is closed if it does not send a request in time.
class Client final : public async::Timer {
 public:
  /// What a connection waits for. To make room, connections of the first kind are closed first.
  enum class Awaited : std::uint8_t {
    next_request,
    first_request,
    taking,  ///< that its client takes something of the answer
  };

  Client(async::Loop& loop, int fd) : loop_(loop), fd_(fd) {}

  void expect_request(Awaited request, std::chrono::seconds within) {
    wait(request);
    if (!is_closed_) loop_.arm(*this, loop_.now() + within);
  }
  void wait(Awaited awaited) { waits_ = {awaited, loop_.now()}; }
  /// What it waits for, and since when.
  const std::pair<Awaited, async::Time>& waits() const { return waits_; }
  bool is_closed() const { return is_closed_; }
  /// Shuts the socket down. libmicrohttpd sees the end of the connection and cleans up.
  void close() {
    is_closed_ = true;
    ::shutdown(fd_, SHUT_RDWR);
  }
  void expired() override { close(); }

  void send(std::unique_ptr<Body> body) {
    body_ = std::move(body);
    piece_ = std::string();
    taken_ = 0;
  }
  const Body* body() const { return body_.get(); }
  /// The next bytes of the body, for libmicrohttpd.
  ssize_t read(char* to, std::size_t size) {
    if (!body_) return MHD_CONTENT_READER_END_WITH_ERROR;
    wait(Awaited::taking);
    if (taken_ == piece_.size()) {
      taken_ = 0;
      if (!body_->next(piece_, piece)) return MHD_CONTENT_READER_END_OF_STREAM;
    }
    const std::size_t count = piece_.copy(to, size, taken_);
    taken_ += count;
    return static_cast<ssize_t>(count);
  }

 private:
  async::Loop& loop_;
  int fd_;
  std::pair<Awaited, async::Time> waits_{};
  bool is_closed_{};
  std::unique_ptr<Body> body_;  ///< null: there is none, or it was outdated
  std::string piece_;           ///< of the body
  std::size_t taken_{};         ///< of `piece_`
};

ssize_t read_body(void* client, std::uint64_t /*position*/, char* to, std::size_t size) {
  try {
    return static_cast<Client*>(client)->read(to, size);
  } catch (...) {
    return MHD_CONTENT_READER_END_WITH_ERROR;
  }
}

/// The fields of that name in the head of a request, as one list.
std::string header(MHD_Connection* connection, std::string_view name) {
  std::pair<std::string_view, std::string> fields{name, {}};
  const auto add = [](void* to, MHD_ValueKind /*kind*/, const char* key, std::size_t key_size, const char* value, std::size_t value_size) {
    auto& [wanted, values] = *static_cast<std::pair<std::string_view, std::string>*>(to);
    if (value != nullptr && equal_ignoring_case(std::string_view(key, key_size), wanted))
      values.append(values.empty() ? "" : ", ").append(value, value_size);
    return MHD_YES;
  };
  microhttpd().get_connection_values_n(connection, MHD_HEADER_KIND, add, &fields);
  return fields.second;
}

/// The arguments of a request. Names and values may have any bytes: "%00" is one of them.
std::vector<std::pair<std::string, std::string>> arguments(MHD_Connection* connection) {
  std::vector<std::pair<std::string, std::string>> all;
  const auto add = [](void* to, MHD_ValueKind /*kind*/, const char* key, std::size_t key_size, const char* value, std::size_t value_size) {
    static_cast<decltype(all)*>(to)->emplace_back(std::string(key, key_size), value != nullptr ? std::string(value, value_size) : "");
    return MHD_YES;
  };
  microhttpd().get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, add, &all);
  return all;
}

Client& client_of(MHD_Connection* connection) {
  return *static_cast<Client*>(microhttpd().get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context);
}

}  // namespace

std::vector<Acceptable> acceptable(std::string_view field) {
  std::vector<Acceptable> members;
  for (const std::string_view member : split(field)) {
    const std::size_t semicolon = std::min(member.find(';'), member.size());
    std::string name = to_lower(trim(member.substr(0, semicolon)));
    if (!name.empty()) members.push_back({std::move(name), weight_in(member.substr(semicolon))});
  }
  return members;
}

std::optional<unsigned> weight_of(const std::vector<Acceptable>& members, std::string_view name) {
  std::optional<unsigned> greatest;
  for (const Acceptable& member : members) {
    if (member.name == name) greatest = std::max(greatest.value_or(0), member.weight);
  }
  return greatest;
}

bool accepts_gzip(std::string_view accepted) {
  const std::vector<Acceptable> members = acceptable(accepted);
  std::optional<unsigned> gzip = weight_of(members, "gzip");
  if (!gzip) gzip = weight_of(members, "x-gzip");
  if (!gzip) gzip = weight_of(members, "*");
  return gzip.value_or(0) != 0 && *gzip >= weight_of(members, "identity").value_or(0);
}

std::unique_ptr<Body> gzip(std::unique_ptr<Body> body) { return std::make_unique<GzipBody>(std::move(body)); }

std::optional<std::string_view> Request::value(std::string_view name) const {
  const auto found = std::find_if(query.rbegin(), query.rend(), [name](const auto& argument) { return argument.first == name; });
  return found == query.rend() ? std::nullopt : std::optional<std::string_view>(found->second);
}

/// libmicrohttpd's server. It runs when its descriptor is ready, and when it wants to.
class Server::Daemon final : public async::PollSource, private async::Timer {
 public:
  Daemon(async::Loop& loop, UniqueFd socket, Handler handler, ConnectionLimits limits)
      : loop_(loop), handler_(std::move(handler)), limits_(limits) {
    const int size = send_buffer, unsent = most_unsent;  // accepted sockets inherit them from this one
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
    // "Options that expect two pointers": a function and its argument.
    std::array options{
        MHD_OptionItem{MHD_OPTION_LISTEN_SOCKET, socket.get(), nullptr},
        MHD_OptionItem{MHD_OPTION_CONNECTION_LIMIT, static_cast<intptr_t>(with_surplus(limits.connections)), nullptr},
        MHD_OptionItem{MHD_OPTION_CONNECTION_MEMORY_LIMIT, connection_memory, nullptr},
        MHD_OptionItem{MHD_OPTION_CONNECTION_TIMEOUT, static_cast<intptr_t>(limits.idle.count()), nullptr},
        MHD_OptionItem{MHD_OPTION_NOTIFY_CONNECTION, reinterpret_cast<intptr_t>(&connected), this},
        MHD_OptionItem{MHD_OPTION_NOTIFY_COMPLETED, reinterpret_cast<intptr_t>(&completed), this},
        MHD_OptionItem{MHD_OPTION_END, 0, nullptr},
    };
    daemon_ =
        microhttpd().start_daemon(MHD_USE_EPOLL, 0, nullptr, nullptr, &requested, this, MHD_OPTION_ARRAY, options.data(), MHD_OPTION_END);
    if (daemon_ == nullptr) throw SysError(errno, "MHD_start_daemon", "libmicrohttpd");
    socket.release();  // the daemon closes it
    watch();
  }
  ~Daemon() override {
    unwatch();
    microhttpd().stop_daemon(daemon_);
  }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  void drop_outdated() {
    for (Client* client : clients_) {
      if (client->body() == nullptr || !client->body()->is_outdated()) continue;
      client->send(nullptr);
      client->close();
    }
  }

 private:
  void ready(short /*revents*/) override { run(); }
  void expired() override {
    watch();
    run();
  }
  void watch() { loop_.watch(*this, microhttpd().get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, POLLIN); }

  /// Lets libmicrohttpd work. With many clients that takes long: the rest of the loop then gets as much time.
  void run() {
    const std::size_t before = clients_.size();
    const async::Time begun = loop_.now();
    microhttpd().run(daemon_);
    const async::Duration took = loop_.now() - begun;
    const bool is_crowded = make_room();
    if (took > shortest_rest) {
      unwatch();
      loop_.arm(*this, loop_.now() + took);
    } else if (clients_.size() < before) {
      // After a connection has ended, another one may have waited for room. libmicrohttpd looks for it when it begins to run.
      loop_.arm(*this, loop_.now());
    } else {
      arm_timeout(is_crowded);
    }
  }
  void arm_timeout(bool is_crowded) {
    MHD_UNSIGNED_LONG_LONG milliseconds = 0;
    const bool has_timeout = microhttpd().get_timeout(daemon_, &milliseconds) == MHD_YES;
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
    for (auto open = std::ranges::count(clients_, false, &Client::is_closed); std::cmp_greater(open, limits_.connections); --open) {
      Client* victim = nullptr;
      for (Client* client : clients_) {
        const bool may_close = !client->is_closed() && client->waits().second <= latest;
        if (may_close && (victim == nullptr || client->waits() < victim->waits())) victim = client;
      }
      if (victim == nullptr) return true;
      victim->close();
    }
    return false;
  }

  static void connected(void* self, MHD_Connection* connection, void** context, MHD_ConnectionNotificationCode code) {
    auto& daemon = *static_cast<Daemon*>(self);
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
      daemon.clients_.erase(static_cast<Client*>(*context));
      delete static_cast<Client*>(*context);
      return;
    }
    const MHD_ConnectionInfo* info = microhttpd().get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    auto* const client = new Client(daemon.loop_, info->connect_fd);
    client->expect_request(Client::Awaited::first_request, daemon.limits_.first_request);
    daemon.clients_.insert(client);
    *context = client;
  }

  static void completed(void* self, MHD_Connection* connection, void** /*request*/, MHD_RequestTerminationCode code) {
    Client& client = client_of(connection);
    client.send(nullptr);
    if (code == MHD_REQUEST_TERMINATED_COMPLETED_OK)
      client.expect_request(Client::Awaited::next_request, static_cast<Daemon*>(self)->limits_.idle);
  }

  /// Called when the head of a request has come, and again when all of it has.
  static MHD_Result requested(void* self, MHD_Connection* connection, const char* url, const char* method, const char* /*version*/,
                              const char* /*upload*/, std::size_t* upload_size, void** request) {
    const std::string_view verb = method;
    const bool is_known = verb == "GET" || verb == "HEAD";
    if (is_known && (*request == nullptr || *upload_size != 0)) {
      *request = self;
      *upload_size = 0;  // what comes with it is not read
      return MHD_YES;
    }
    try {
      client_of(connection).disarm();
      client_of(connection).wait(Client::Awaited::taking);
      return queue(connection, static_cast<Daemon*>(self)->answer(connection, url, is_known), verb == "HEAD");
    } catch (...) {
      return MHD_NO;  // closes the connection
    }
  }

  Answer answer(MHD_Connection* connection, const char* url, bool is_known) const {
    if (!is_known) return {.status = MHD_HTTP_METHOD_NOT_ALLOWED, .text = "Only GET and HEAD are answered.\n"};
    try {
      return handler_({path_of(url), arguments(connection), header(connection, "Accept")});
    } catch (const std::exception& error) {
      return {.status = MHD_HTTP_INTERNAL_SERVER_ERROR, .text = std::string(error.what()) + "\n"};
    }
  }

  static MHD_Result queue(MHD_Connection* connection, Answer answer, bool is_head) {
    const bool has_body = answer.body != nullptr, zips = has_body && accepts_gzip(header(connection, "Accept-Encoding"));
    Client& client = client_of(connection);
    client.send(zips ? gzip(std::move(answer.body)) : std::move(answer.body));
    const std::unique_ptr<MHD_Response, decltype(&MHD_destroy_response)> response(
        has_body ? microhttpd().create_response_from_callback(MHD_SIZE_UNKNOWN, piece, read_body, &client, nullptr)
                 : microhttpd().create_response_from_buffer(answer.text.size(), answer.text.data(), MHD_RESPMEM_MUST_COPY),
        microhttpd().destroy_response);
    if (!response) return MHD_NO;
    const auto add = [&response](const char* name, const char* value) { microhttpd().add_response_header(response.get(), name, value); };
    add("Content-Type", answer.content_type.c_str());
    add("X-Content-Type-Options", "nosniff");
    if (has_body) add("Vary", "Accept, Accept-Encoding");
    if (zips) add("Content-Encoding", "gzip");
    if (answer.status == MHD_HTTP_METHOD_NOT_ALLOWED) add("Allow", "GET, HEAD");
    // libmicrohttpd 0.9.75 ends the chunks even of an answer that has none.
    if (has_body && is_head) microhttpd().set_response_options(response.get(), MHD_RF_HTTP_VERSION_1_0_ONLY, MHD_RO_END);
    return microhttpd().queue_response(connection, answer.status, response.get());
  }

  async::Loop& loop_;
  Handler handler_;
  ConnectionLimits limits_;
  std::set<Client*> clients_;  ///< owned by their connections
  MHD_Daemon* daemon_{};
};

Server::Server(async::Loop& loop, std::vector<async::TcpListener> listeners, const Handler& handler, const ConnectionLimits& limits)
    : port_(listeners.at(0).port()) {
  const ConnectionLimits each = share(limits, listeners.size());
  for (async::TcpListener& listener : listeners) daemons_.push_back(std::make_unique<Daemon>(loop, listener.take_fd(), handler, each));
}

Server::~Server() = default;

void Server::drop_outdated() {
  for (const std::unique_ptr<Daemon>& daemon : daemons_) daemon->drop_outdated();
}

}  // namespace ib::http
