// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "async/tcp.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "async/group.hpp"
#include "base/error.hpp"
#include "support/catch.hpp"

namespace async_tcp_tests {

using namespace ib;
using namespace ib::async;
using namespace std::chrono_literals;

namespace {

/// A server at a port that the system chose, and what its one client is to do.
struct Pair {
  Loop loop;
  TcpListener listener{0, IpVersion::v4};

  using Talk = Task<> (*)(TcpStream stream);
  Task<> serve(Talk talk) {
    TcpStream stream = co_await listener.accept();
    co_await talk(std::move(stream));
  }
  Task<> call(Talk talk) {
    TcpStream stream = co_await connect_tcp("127.0.0.1", listener.port(), IpVersion::any, 5s);
    co_await talk(std::move(stream));
  }
  Task<> both(Talk server, Talk client) {
    TaskGroup group(loop);
    group.spawn(serve(server));
    group.spawn(call(client));
    co_await group.join();
  }
  void run(Talk server, Talk client) { loop.run(both(server, client)); }
};

std::string error_of(const std::function<void()>& action, int* code = nullptr) {
  try {
    action();
  } catch (const SysError& error) {
    if (code != nullptr) *code = error.code();
    return error.message();
  } catch (const Error& error) {
    return error.message();
  }
  return "nothing";
}

std::vector<std::uint8_t> pattern(std::size_t size) {
  std::vector<std::uint8_t> bytes(size);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  return bytes;
}

Task<> send_much(TcpStream stream) {
  const std::vector<std::uint8_t> bytes = pattern(5'000'000);
  co_await stream.write(bytes, 10s);
}
Task<> receive_much(TcpStream stream) {
  std::vector<std::uint8_t> bytes(5'000'000);
  co_await stream.read(bytes, 10s);
  if (bytes != pattern(bytes.size())) throw Error("not what was sent");
}
Task<> leave(TcpStream) { co_return; }
Task<> wait_in_vain(TcpStream stream) {
  std::array<std::uint8_t, 4> bytes{};
  co_await stream.read(bytes, 200ms);
}
Task<> stay_silent(TcpStream stream) {
  std::array<std::uint8_t, 4> bytes{};
  co_await stream.read(bytes, 5s);
}
/// Sends a byte now and then, but never what is waited for in time.
Task<> dawdle(TcpStream stream) {
  Loop& loop = co_await current_loop;
  const std::array<std::uint8_t, 1> byte{};
  for (int i = 0; i < 4; ++i) {
    co_await stream.write(byte, 1s);
    co_await loop.sleep_for(90ms);
  }
}

}  // namespace

TEST_CASE("TCP: what is sent arrives, more than the system buffers too") {
  Pair().run(send_much, receive_much);
  Pair().run(receive_much, send_much);
}

TEST_CASE("TCP: a peer that leaves, is silent or slow ends the wait by name") {
  CHECK(error_of([] { Pair().run(leave, wait_in_vain); }) == "127.0.0.1 closed the connection");
  CHECK(error_of([] { Pair().run(wait_in_vain, leave); }) == "127.0.0.1 closed the connection");
  CHECK(error_of([] { Pair().run(stay_silent, wait_in_vain); }) == "127.0.0.1 does not answer");
  CHECK(error_of([] { Pair().run(dawdle, wait_in_vain); }) == "127.0.0.1 does not answer");
}

TEST_CASE("TCP: a port without a listener, a port that is taken, and a name without address") {
  Loop loop;
  std::optional<TcpListener> listener(std::in_place, std::uint16_t{0}, IpVersion::v4);
  const std::uint16_t port = listener->port();
  int code = 0;
  CHECK(error_of([&] { TcpListener(port, IpVersion::v4); }, &code) == fmt::format("bind to port {}: Address already in use", port));
  CHECK(code == EADDRINUSE);
  listener.reset();
  CHECK_THAT(error_of([&] { loop.run(connect_tcp("127.0.0.1", port, IpVersion::any, 5s)); }), ibtest::ends_with("Connection refused"));
  CHECK_THAT(error_of([&] { loop.run(connect_tcp("no host", port, IpVersion::any, 5s)); }), ibtest::starts_with("No address of 'no host'"));
  CHECK_THAT(error_of([&] { loop.run(connect_tcp("127.0.0.1", port, IpVersion::v6, 5s)); }), ibtest::starts_with("No address of"));
}

}  // namespace async_tcp_tests
