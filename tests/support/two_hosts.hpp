// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A client and a server, each with an engine of its own, and between them a network that loses, doubles and shuffles as a test
// wants. It does no RMPP, and knows no kernel: transaction IDs are whole.
#pragma once

#include <memory>
#include <random>

#include "mad/server.hpp"
#include "support/fake_channel.hpp"
#include "support/fake_clock.hpp"

namespace ibtest {

struct TwoHosts {
  TwoHosts() {
    client = open(asking, serving_channel, client_channel, 1);
    serving = open(served, client_channel, serving_channel, 2);
    client->sa_path().ib().timeout = std::chrono::seconds(1);
    server = std::make_unique<ib::mad::Server>(*serving);
    ib::mad::Service sa;
    sa.mgmt_class = ib::mad::mgmt_class::sa;
    sa.class_version = 2;
    server->serve(sa);
  }
  TwoHosts(const TwoHosts&) = delete;
  TwoHosts& operator=(const TwoHosts&) = delete;

  FakeHost asking{1}, served{2};
  FakeClock clock;
  ib::async::Loop loop{clock};
  std::mt19937 random{1};
  double loss = 0, twice = 0;  ///< of packets, in both directions
  bool shuffle = false;        ///< packets overtake each other
  /// Which are lost for certain.
  std::function<bool(ib::Bytes mad)> lost;
  FakeChannel *client_channel{}, *serving_channel{};
  std::unique_ptr<ib::mad::Rpc> client, serving;
  std::unique_ptr<ib::mad::Server> server;

 private:
  bool happens(double chance) { return chance > 0 && std::uniform_real_distribution<>(0, 1)(random) < chance; }
  /// An engine whose MADs arrive at `*to`.
  std::unique_ptr<ib::mad::Rpc> open(const FakeHost& host, FakeChannel*& to, FakeChannel*& here, std::uint16_t lid) {
    const auto network = [this, &to](FakeChannel&, ib::Bytes mad, const ib::path::Path&, ib::async::Duration) {
      if (lost && lost(mad)) return;
      for (int copies = happens(twice) ? 2 : 1; copies > 0; --copies) {
        if (happens(loss)) continue;
        to->deliver({mad.begin(), mad.end()}, std::chrono::microseconds(10 + (shuffle ? random() % 50 : 0)));
      }
    };
    auto channel = std::make_unique<FakeChannel>(host.port, network);
    here = channel.get();
    channel->reports = false;
    channel->mask = ~std::uint64_t{0};
    channel->source.slid = ib::Lid{static_cast<std::uint16_t>(3 - lid)};
    channel->source.sqpn = 1;
    return std::make_unique<ib::mad::Rpc>(loop, std::move(channel));
  }
};

}  // namespace ibtest
