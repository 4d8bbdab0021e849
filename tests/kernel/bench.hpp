// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What the tests of both channels stand on: the guest's two ports, an engine on the first, requests to the vendor server
// behind the second, and a listener for those that use a channel without an engine.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "async/group.hpp"
#include "iba/text.hpp"
#include "kernel/vendor_server.hpp"
#include "mad/channel/open.hpp"
#include "mad/rpc/rpc.hpp"
#include "support/catch.hpp"

namespace ibtest {

using namespace ib;
using namespace std::chrono_literals;

/// Both ports of the guest, and an engine that asks on the first one.
struct Bench {
  using Open = std::unique_ptr<mad::Channel> (*)(const sys::EndPort&);

  explicit Bench(mad::RpcLimits limits = {}, Open open = mad::open_umad) : rpc(loop, open(here), limits) {}

  /// By GID alone: RoCE has no LIDs.
  path::Path path_to(const Gid& gid) const {
    path::IbPath path;
    path.end_port = &here;
    path.dqpn = path.sqpn = Qpn{1};
    path.has_grh = true;
    path.sgid = here.default_gid();
    path.dgid = gid;
    path.hop_limit = 64;
    path.timeout = 2s;
    path.retries = 0;
    return path;
  }
  path::Path path() const { return path_to(there.default_gid()); }

  sys::DeviceList devices = sys::DeviceList::read();
  const sys::EndPort& here = devices.find_end_port("rxe0/1");
  const sys::EndPort& there = devices.find_end_port("rxe1/1");
  async::Loop loop;
  mad::Rpc rpc;
};

inline mad::Request vendor_get(const path::Path& path, Bytes payload, std::uint16_t attribute = 0x10) {
  mad::Request request{.path = path, .payload = payload};
  request.mgmt_class = vendor_class;
  request.oui = vendor_oui;
  request.attribute_id = attribute;
  return request;
}

inline async::Task<mad::Result<mad::Reply>> ask(mad::Rpc& rpc, path::Path path, std::vector<std::uint8_t> payload) {
  const mad::Request request = vendor_get(path, payload);
  co_return co_await rpc.try_call(request);
}

/// Asks with a payload that says which request it is, and counts those that are answered in kind.
inline async::Task<> ask_numbered(mad::Rpc& rpc, path::Path path, std::uint32_t number, unsigned& right) {
  std::vector<std::uint8_t> payload(4);
  store_be(payload.data(), number);
  const mad::Request request = vendor_get(path, payload);
  const mad::Result<mad::Reply> reply = co_await rpc.try_call(request);
  if (reply && load_be<std::uint32_t>(reply->payload().data()) == number) ++right;
}

inline async::Task<> ask_many(mad::Rpc& rpc, path::Path path, std::uint32_t count, unsigned& right) {
  async::Loop& loop = co_await async::current_loop;
  async::TaskGroup group(loop);
  for (std::uint32_t i = 0; i < count; ++i) group.spawn(ask_numbered(rpc, path, i, right));
  co_await group.join();
}

/// The error code of what `action` throws, 0 if it throws nothing. `message` gets all of its text.
template <class Action>
int error_of(Action action, std::string* message = nullptr) {
  try {
    action();
  } catch (const SysError& error) {
    if (message != nullptr) {
      for (const std::string& line : error.lines(0)) *message += line + "\n";
    }
    return error.code();
  }
  return 0;
}

/// Notes what a channel reports. `bytes` is the last MAD that came, or the header of the last that could not be sent.
struct Notes final : mad::ChannelEvents {
  void received(Bytes mad, const mad::Source& from) override {
    bytes.assign(mad.begin(), mad.end());
    source = from;
    ++replies;
  }
  void send_failed(Bytes header, int code) override {
    bytes.assign(header.begin(), header.end());
    error = code;
    ++failures;
  }
  void broken(std::exception_ptr) override { ++failures; }
  int replies{}, failures{}, error{};
  mad::Source source;
  std::vector<std::uint8_t> bytes;
};

/// What cannot be sent says why and ends that request only. `open` opens the channel that refuses.
inline void check_what_can_not_be_sent(Bench::Open open) {
  Bench bench({}, open);
  VendorServer server(bench.loop, bench.there);
  const auto refusal = [&](const path::Path& path) {
    const mad::Result<mad::Reply> reply = bench.loop.run(ask(bench.rpc, path, {}));
    return reply ? std::string("answered") : reply.error().message();
  };
  path::Path no_grh = bench.path();
  no_grh.ib().has_grh = false;
  CHECK_THAT(refusal(no_grh), contains("could not be sent") && ends_with("Invalid argument"));
  CHECK_THAT(refusal(bench.path_to(*parse_gid("2001:db8::1"))), ends_with("Network is unreachable"));
  CHECK(server.requests == 0);
  CHECK(bench.loop.run(ask(bench.rpc, bench.path(), {})));
}

inline async::Task<> wait_until(const std::function<bool()>& done, async::Duration limit) {
  async::Loop& loop = co_await async::current_loop;
  const async::Time end = loop.now() + limit;
  while (!done() && loop.now() < end) co_await loop.sleep_for(20ms);
}

}  // namespace ibtest
