// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A server on a fake channel whose answers are too long for one MAD: it sends them in segments, heeds ACKs and repeats
// what is not acknowledged, over a network with the faults that a test wants.
//
//   RmppPeer peer; peer.answer = [](Bytes request) { return whole_mad; };
//   fabric.network.gmp = [&](Bytes mad, const Path&) { peer.take(fabric.channel(), mad); return std::nullopt; };
//   fabric.channel().reports = false;
#pragma once

#include <functional>
#include <map>
#include <random>
#include <vector>

#include "mad/rmpp/sides.hpp"
#include "support/fake_channel.hpp"

namespace ibtest {

class RmppPeer {
 public:
  /// The whole answer to a request, its RMPP header zero; empty for none.
  std::function<std::vector<std::uint8_t>(ib::Bytes request)> answer;
  /// May change a packet before it goes; false loses it.
  std::function<bool(ib::mad::Packet& packet)> change;
  double loss = 0, twice = 0;  ///< of packets, in both directions
  bool shuffle = false;        ///< segments overtake each other
  ib::async::Duration delay = std::chrono::microseconds(10), response_time = std::chrono::seconds(2);
  ib::async::Duration between = std::chrono::microseconds(1);  ///< one segment and the next
  ib::mad::RmppSending options;

  /// A MAD that was sent to it.
  void take(FakeChannel& channel, ib::Bytes mad);

  /// What it saw.
  std::size_t requests = 0, acks = 0, aborts = 0;
  ib::rmpp::Status aborted_with{};
  unsigned widest_window = 0;  ///< segments that it was allowed to send beyond those acknowledged
  std::size_t done = 0, failed = 0;

 private:
  struct Transfer {
    ib::mad::RmppSender sender;
    unsigned turn = 0;  // distinguishes outdated timers from the last one
    bool ended = false;
  };
  void pump(FakeChannel& channel, std::uint64_t tid);
  bool happens(double chance) { return chance > 0 && std::uniform_real_distribution<>(0, 1)(random_) < chance; }

  std::map<std::uint64_t, Transfer> transfers_;
  std::mt19937 random_{1};
};

}  // namespace ibtest
