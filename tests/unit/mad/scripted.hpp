// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// An RPC engine on a scripted channel, with a clock that nobody waits for.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "async/loop.hpp"
#include "iba-gen/smp.hpp"
#include "mad/rpc/rpc.hpp"
#include "support/end.hpp"
#include "support/fake_channel.hpp"
#include "support/fake_clock.hpp"

namespace ibtest {

struct Bench {
  explicit Bench(FakeChannel::Network network, ib::mad::RpcLimits limits = {}) : channel(new FakeChannel(host.port, std::move(network))) {
    rpc = std::make_unique<ib::mad::Rpc>(loop, std::unique_ptr<ib::mad::Channel>(channel), limits);
  }
  ib::async::Duration elapsed() const { return clock.now() - ib::async::Time{}; }

  FakeHost host;
  FakeClock clock;
  ib::async::Loop loop{clock};
  FakeChannel* channel;
  std::unique_ptr<ib::mad::Rpc> rpc;
};

inline ib::path::Path to_lid(const Bench& bench, std::uint16_t lid, std::optional<ib::async::Duration> timeout = std::chrono::seconds(1),
                             unsigned retries = 3) {
  return bench.host.to_lid(lid, 0, timeout, retries);
}

inline ib::async::Task<ib::mad::Result<ib::smp::NodeInfo>> ask(ib::mad::Rpc& rpc, ib::path::Path path) {
  co_return co_await rpc.try_subn_get<ib::smp::NodeInfo>(path);
}

/// Answers each request after `delay`.
inline FakeChannel::Network echo(ib::async::Duration delay) {
  return
      [delay](FakeChannel& channel, ib::Bytes mad, const ib::path::Path&, ib::async::Duration) { channel.deliver(answer_to(mad), delay); };
}
/// Answers only the try number `which` (from 1), after `delay`.
inline FakeChannel::Network only(int which, ib::async::Duration delay) {
  return [which, delay, tries = 0](FakeChannel& channel, ib::Bytes mad, const ib::path::Path&, ib::async::Duration) mutable {
    if (++tries == which) channel.deliver(answer_to(mad), delay);
  };
}

}  // namespace ibtest
