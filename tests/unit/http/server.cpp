// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The HTTP server on a loop in real time, talked to by clients in threads of their own: what it answers, and what clients do to it.
#include "http/server.hpp"

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <zlib.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "async/group.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "support/catch.hpp"

namespace http_server_tests {

using namespace ib;
using namespace std::chrono_literals;

namespace {

/// A body of so many lines. It counts those that live.
class Lines final : public http::Body {
 public:
  explicit Lines(std::size_t count) : left_(count) { ++alive; }
  ~Lines() override { --alive; }
  bool next(std::string& out, std::size_t size) override {
    out.clear();
    while (left_ != 0 && out.size() < size) out += "line " + std::to_string(left_--) + "\n";
    return !out.empty();
  }
  bool is_outdated() const override { return outdated; }

  static inline std::atomic<int> alive = 0;
  static inline std::atomic<bool> outdated = false;

 private:
  std::size_t left_;
};

/// A body that takes long to make.
class Toil final : public http::Body {
 public:
  bool next(std::string& out, std::size_t size) override {
    std::this_thread::sleep_for(5ms);
    out.assign(left_-- > 0 ? size : 0, 'x');
    return !out.empty();
  }

 private:
  int left_ = 10;
};

/// A body without an end. It counts the bytes that were made for all clients.
class Endless final : public http::Body {
 public:
  bool next(std::string& out, std::size_t size) override {
    out.assign(size, 'x');
    made += size;
    return true;
  }

  static inline std::atomic<std::size_t> made = 0;
};

std::string lines(std::size_t count) {
  std::string all, piece;
  Lines body(count);
  while (body.next(piece, 1000)) all += piece;
  return all;
}

http::Answer answer(const http::Request& request) {
  http::Answer answer;
  if (request.path == "/lines") {
    answer.body = std::make_unique<Lines>(std::stoul(std::string(request.value("count").value_or("10"))));
  } else if (request.path == "/accepts") {
    answer.text = request.accept + "\n";
  } else if (request.path == "/toil") {
    answer.body = std::make_unique<Toil>();
  } else if (request.path == "/endless") {
    answer.body = std::make_unique<Endless>();
  } else if (request.path == "/throws") {
    throw Error("no such luck");
  } else {
    answer.status = request.path == "/" ? 200 : 404;
    answer.text = "path " + request.path + "\n";
    for (const auto& [name, value] : request.query) answer.text += name + "=" + value + "\n";
  }
  return answer;
}

UniqueFd connect_to(std::uint16_t port, std::uint32_t host = INADDR_LOOPBACK) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(host);
  const timeval patience{10, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fd.reset();
  return fd;
}

std::string read_all(int fd) {
  std::string all;
  char buffer[65536];
  for (ssize_t count = 0; (count = ::recv(fd, buffer, sizeof buffer, 0)) > 0;) all.append(buffer, static_cast<std::size_t>(count));
  return all;
}

void send_all(int fd, const std::string& text) { ::send(fd, text.data(), text.size(), MSG_NOSIGNAL); }

struct Bench {
  explicit Bench(http::ConnectionLimits limits = {}) : server(loop, async::TcpListener::at("127.0.0.1", 0, SOMAXCONN), answer, limits) {
    Lines::outdated = false;
  }

  /// Runs the loop until `client`, in a thread of its own, has ended.
  void serve(const std::function<void()>& client) {
    std::atomic<bool> ended = false;
    std::thread thread([&] {
      client();
      ended = true;
    });
    loop.run(wait_for(loop, ended));
    thread.join();
  }
  void run_for(async::Duration time) { loop.run(sleep(loop, time)); }

  /// The answer to the text of one request, head and body.
  std::string ask(const std::string& request) {
    std::string reply;
    serve([&] {
      const UniqueFd fd = connect_to(server.port());
      send_all(fd.get(), request);
      reply = read_all(fd.get());
    });
    return reply;
  }
  /// That in HTTP/1.0, in which a body ends with the connection.
  std::string get(const std::string& target, const std::string& headers = {}, const std::string& method = "GET") {
    return ask(method + " " + target + " HTTP/1.0\r\n" + headers + "\r\n");
  }

  static async::Task<> wait_for(async::Loop& on, const std::atomic<bool>& ended) {
    while (!ended) co_await on.sleep_for(1ms);
  }
  static async::Task<> sleep(async::Loop& on, async::Duration time) { co_await on.sleep_for(time); }

  async::Loop loop;
  http::Server server;
};

std::string head_of(const std::string& reply) { return reply.substr(0, reply.find("\r\n\r\n")); }
std::string body_of(const std::string& reply) { return reply.substr(reply.find("\r\n\r\n") + 4); }

std::string inflated(std::string packed) {
  z_stream stream{};
  REQUIRE(inflateInit2(&stream, 15 + 16) == Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string all;
  char buffer[65536];
  int code = Z_OK;
  while (code == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer);
    stream.avail_out = sizeof buffer;
    code = inflate(&stream, Z_NO_FLUSH);
    all.append(buffer, sizeof buffer - stream.avail_out);
  }
  inflateEnd(&stream);
  CHECK(code == Z_STREAM_END);
  return all;
}

}  // namespace

TEST_CASE("HTTP: paths, arguments, statuses") {
  Bench bench;
  CHECK(body_of(bench.get("/")) == "path /\n");
  CHECK(body_of(bench.get("/?a=1&collect%5B%5D=x%20y&b")) == "path /\na=1\ncollect[]=x y\nb=\n");
  CHECK_THAT(head_of(bench.get("/nothing")), ibtest::contains(" 404 "));
  const std::string thrown = bench.get("/throws");
  CHECK_THAT(head_of(thrown), ibtest::contains(" 500 "));
  CHECK(body_of(thrown) == "no such luck\n");
}

TEST_CASE("HTTP: HEAD has the head of GET and no body, other methods are refused") {
  Bench bench;
  const std::string head = bench.get("/lines", {}, "HEAD");
  CHECK_THAT(head, ibtest::contains(" 200 ") && ibtest::contains("Content-Type: text/plain"));
  CHECK(body_of(head).empty());
  for (const char* target : {"/lines", "/"}) {  // what follows the head is the next answer, or the end
    const std::string newer =
        bench.ask(std::string("HEAD ") + target + " HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    CHECK((body_of(newer).empty() || body_of(newer).starts_with("HTTP/1.1 200")));
  }
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS"}) {
    const std::string reply =
        bench.ask(std::string(method) + " / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc");
    INFO(method);
    CHECK_THAT(head_of(reply), ibtest::contains(" 405 ") && ibtest::contains("Allow: GET, HEAD"));
  }
}

TEST_CASE("HTTP: a long body arrives whole, in chunks too, and is gone afterwards") {
  Bench bench;
  const std::string whole = lines(200'000);
  CHECK((body_of(bench.get("/lines?count=200000")) == whole));
  const std::string chunked = bench.ask("GET /lines?count=200000 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  CHECK_THAT(head_of(chunked), ibtest::contains("chunked"));
  CHECK(chunked.size() > whole.size());
  CHECK(Lines::alive == 0);
}

TEST_CASE("HTTP: gzip where it is accepted") {
  Bench bench;
  const std::string reply = bench.get("/lines?count=100000", "Accept-Encoding: deflate, gzip;q=0.5\r\n");
  CHECK_THAT(head_of(reply), ibtest::contains("Content-Encoding: gzip"));
  CHECK(body_of(reply).size() < lines(100'000).size() / 3);
  CHECK((inflated(body_of(reply)) == lines(100'000)));
  CHECK(body_of(bench.get("/lines?count=3", "Accept-Encoding: gzip;q=0\r\n")) == lines(3));
  CHECK(body_of(bench.get("/", "Accept-Encoding: gzip\r\n")) == "path /\n");
}

TEST_CASE("HTTP: what Accept-Encoding allows") {
  for (const char* yes : {"gzip", "gzip, deflate", "deflate,gzip", "br;q=1.0, gzip;q=0.8", "x-gzip", "gzip;q=0.001", "GZIP", "Gzip ; Q=0.5",
                          "*", "identity;q=0.5, *", "br, gzip;q=1.000"}) {
    INFO(yes);
    CHECK(http::accepts_gzip(yes));
  }
  for (const char* no :
       {"", "identity", "gzip;q=0", "gzip; q=0.000", "deflate", "notgzip", "gzip;Q=0", "*;q=0", "gzip;q=0, *", "identity, gzip;q=0.5"}) {
    INFO(no);
    CHECK_FALSE(http::accepts_gzip(no));
  }
}

TEST_CASE("HTTP: fields that come several times count as one list, and a target may name the host") {
  Bench bench;
  CHECK_THAT(head_of(bench.get("/lines?count=9", "accept-encoding: br\r\nACCEPT-ENCODING: gzip\r\n")),
             ibtest::contains("Content-Encoding: gzip"));
  CHECK(body_of(bench.get("/accepts", "Accept: a/b;q=0.1\r\naccept: c/d\r\n")) == "a/b;q=0.1, c/d\n");
  CHECK(body_of(bench.get("http://fabric.example:9315/lines?count=3")) == lines(3));
  CHECK(body_of(bench.get("HTTP://[::1]:9315/?a=1")) == "path /\na=1\n");
  CHECK(body_of(bench.get("http://fabric.example")) == "path /\n");
  CHECK(body_of(bench.get("/http://x/")) == "path /http://x/\n");
}

TEST_CASE("HTTP: a name is served at each of its addresses, on one port") {
  async::Loop loop;
  std::vector<async::TcpListener> listeners = async::TcpListener::at("127.0.0.1", 0, SOMAXCONN);
  for (async::TcpListener& other : async::TcpListener::at("127.0.0.2", 0, SOMAXCONN)) listeners.push_back(std::move(other));
  const std::vector<std::uint16_t> ports{listeners[0].port(), listeners[1].port()};
  http::Server server(loop, std::move(listeners), answer);
  std::vector<std::string> replies;
  std::atomic<bool> ended = false;
  std::thread client([&] {
    for (std::size_t at = 0; at < ports.size(); ++at) {
      const UniqueFd fd = connect_to(ports[at], INADDR_LOOPBACK + static_cast<std::uint32_t>(at));
      send_all(fd.get(), "GET / HTTP/1.0\r\n\r\n");
      replies.push_back(body_of(read_all(fd.get())));
    }
    ended = true;
  });
  loop.run(Bench::wait_for(loop, ended));
  client.join();
  CHECK(replies == std::vector<std::string>(2, "path /\n"));
  const auto local = async::TcpListener::at("localhost", 0, SOMAXCONN);  // ::1 and 127.0.0.1, as far as the host has them
  REQUIRE(!local.empty());
  for (const async::TcpListener& one : local) CHECK(one.port() == local.front().port());
}

TEST_CASE("HTTP: few descriptors are shared with everything else; too few are an error at the start") {
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const auto limit_to = [&](rlim_t files) {
    rlimit limit = before;
    limit.rlim_cur = files;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
  };
  const auto open = static_cast<rlim_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
  limit_to(open + 20);
  CHECK_THROWS_WITH(Bench(), ibtest::contains("may open " + std::to_string(open + 20) + " files") && ibtest::contains("ulimit -n"));
  limit_to(open + 60);
  {
    Bench bench;
    limit_to(before.rlim_cur);  // for the clients
    std::vector<UniqueFd> idle;
    for (int i = 0; i < 60; ++i) idle.push_back(connect_to(bench.server.port()));
    CHECK(body_of(bench.get("/")) == "path /\n");
  }
}

TEST_CASE("HTTP: nonsense is answered or closed, and the next client is served") {
  Bench bench;
  for (const std::string& nonsense : {std::string("\r\n\r\n\r\n\r\n"), std::string(100'000, 'x'), std::string("GET / HTTP/9.9\r\n\r\n"),
                                      std::string("\x16\x03\x01\x02\x00", 5), "GET /" + std::string(60'000, 'a') + " HTTP/1.0\r\n\r\n",
                                      std::string("GET / HTTP/1.0\r\nContent-Length: -1\r\n\r\n")}) {
    bench.serve([&] {
      const UniqueFd fd = connect_to(bench.server.port());
      send_all(fd.get(), nonsense);
      ::shutdown(fd.get(), SHUT_WR);
      read_all(fd.get());
    });
    CHECK(body_of(bench.get("/")) == "path /\n");
  }
}

TEST_CASE("HTTP: a client that sends no request in time is closed, also one that sends byte by byte") {
  http::ConnectionLimits limits;
  limits.first_request = 1s;
  Bench bench(limits);
  for (const bool drips : {false, true}) {
    const auto begun = std::chrono::steady_clock::now();
    bench.serve([&] {
      const UniqueFd fd = connect_to(bench.server.port());
      for (int i = 0; drips && i < 30; ++i) {
        if (::send(fd.get(), "G", 1, MSG_NOSIGNAL) < 0) break;
        std::this_thread::sleep_for(100ms);
      }
      read_all(fd.get());
    });
    CHECK(std::chrono::steady_clock::now() - begun < 5s);
  }
}

TEST_CASE("HTTP: a connection serves several requests") {
  Bench bench;
  std::string reply;
  bench.serve([&] {
    const UniqueFd fd = connect_to(bench.server.port());
    send_all(fd.get(), "GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    reply = read_all(fd.get());
  });
  CHECK_THAT(reply, ibtest::contains("path /a\n") && ibtest::contains("path /b\n"));
}

TEST_CASE("HTTP: outdated bodies are dropped, whether their client reads or not") {
  Bench bench;
  const UniqueFd slow = connect_to(bench.server.port());
  send_all(slow.get(), "GET /lines?count=5000000 HTTP/1.0\r\n\r\n");
  bench.run_for(200ms);
  REQUIRE(Lines::alive == 1);
  bench.server.drop_outdated();
  REQUIRE(Lines::alive == 1);
  Lines::outdated = true;
  bench.server.drop_outdated();
  CHECK(Lines::alive == 0);
  bench.run_for(50ms);
  CHECK(read_all(slow.get()).size() < 5'000'000);  // what was on its way, and no more
}

TEST_CASE("HTTP: more clients than there is room for wait, and are served") {
  http::ConnectionLimits limits;
  limits.connections = 20;
  limits.first_request = 1s;
  Bench bench(limits);
  std::vector<UniqueFd> idle;
  for (int i = 0; i < 30; ++i) idle.push_back(connect_to(bench.server.port()));
  std::atomic<int> served = 0;
  bench.serve([&] {
    std::vector<std::thread> clients;
    for (int i = 0; i < 40; ++i) {
      clients.emplace_back([&] {
        const UniqueFd fd = connect_to(bench.server.port());
        send_all(fd.get(), "GET / HTTP/1.0\r\n\r\n");
        if (body_of(read_all(fd.get())) == "path /\n") ++served;
      });
    }
    for (std::thread& client : clients) client.join();
  });
  CHECK(served == 40);
}

TEST_CASE("HTTP: a crowd leaves half of the time to everything else on the loop") {
  Bench bench;
  async::TaskGroup group(bench.loop);
  std::chrono::steady_clock::duration worked{};
  const auto work = [](async::Loop& loop, std::chrono::steady_clock::duration& spent) -> async::Task<> {
    for (;;) {
      const auto begun = std::chrono::steady_clock::now();
      std::this_thread::sleep_for(1ms);  // more on a busy machine
      spent += std::chrono::steady_clock::now() - begun;
      co_await loop.sleep_for(1us);
    }
  };
  group.spawn(work(bench.loop, worked));
  std::vector<UniqueFd> crowd;
  for (int i = 0; i < 30; ++i) {
    crowd.push_back(connect_to(bench.server.port()));
    send_all(crowd.back().get(), "GET /toil HTTP/1.0\r\n\r\n");
  }
  const auto begun = std::chrono::steady_clock::now();
  bench.run_for(1s);
  const auto took = std::chrono::steady_clock::now() - begun;
  CHECK(worked > took / 5);
}

TEST_CASE("HTTP: little is made for a client that reads nothing") {
  Bench bench;
  Endless::made = 0;
  const UniqueFd fd = connect_to(bench.server.port());
  const int room = 16384;  // bytes
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
  send_all(fd.get(), "GET /endless HTTP/1.1\r\nHost: a\r\n\r\n");
  bench.run_for(300ms);
  CHECK(Endless::made > 0);
  CHECK(Endless::made < 150'000);  // what the client has room for, what the kernel holds beyond that, and what libmicrohttpd holds
}

TEST_CASE("HTTP: a port in use is an error that says so") {
  Bench bench;
  CHECK_THROWS_AS(async::TcpListener::at("127.0.0.1", bench.server.port(), 1), SysError);
}

}  // namespace http_server_tests
