// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "support/rmpp_peer.hpp"

#include <algorithm>

namespace ibtest {

using namespace std::chrono_literals;
using ib::Bytes;
using ib::mad::HeaderView;
using ib::mad::RmppState;
using ib::mad::RmppView;
namespace rmpp = ib::rmpp;

void RmppPeer::take(FakeChannel& channel, Bytes mad) {
  if (happens(loss)) return;
  const std::uint64_t tid = HeaderView(mad).transaction_id();
  if (!RmppView::is_active(mad) || RmppView(mad).type() == rmpp::Type::data) {
    ++requests;
    std::vector<std::uint8_t> whole = answer(mad);
    if (whole.empty()) return;
    transfers_.erase(tid);
    transfers_.emplace(tid, Transfer{ib::mad::RmppSender(std::move(whole), options)});
    pump(channel, tid);
    return;
  }
  const RmppView packet(mad);
  if (packet.type() == rmpp::Type::ack) {
    ++acks;
    widest_window = std::max(widest_window, packet.new_window_last() - packet.segment());
  } else {
    ++aborts;
    aborted_with = packet.status();
  }
  const auto place = transfers_.find(tid);
  if (place == transfers_.end()) return;
  place->second.sender.take(mad);
  pump(channel, tid);
}

void RmppPeer::pump(FakeChannel& channel, std::uint64_t tid) {
  Transfer& transfer = transfers_.at(tid);
  auto when = delay;
  bool sent = false;
  for (ib::mad::Packet packet{}; transfer.sender.next(packet); when += between) {
    sent = true;
    if ((change && !change(packet)) || happens(loss)) continue;
    const auto jitter = std::chrono::microseconds(shuffle ? random_() % 20 : 0);
    channel.deliver({packet.begin(), packet.end()}, when + jitter);
    if (happens(twice)) channel.deliver({packet.begin(), packet.end()}, when + 5us);
  }
  if (transfer.sender.state() == RmppState::active) {
    if (!sent) return;  // the timer runs from the last segment on
    const unsigned turn = ++transfer.turn;
    channel.later(response_time, [this, &channel, tid, turn] {
      Transfer& late = transfers_.at(tid);
      if (late.turn != turn || late.sender.state() != RmppState::active) return;
      late.sender.timed_out();
      pump(channel, tid);
    });
  } else if (!transfer.ended) {
    transfer.ended = true;
    ++(transfer.sender.state() == RmppState::done ? done : failed);
  }
}

}  // namespace ibtest
