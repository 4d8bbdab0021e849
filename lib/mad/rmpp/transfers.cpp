// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "mad/rmpp/transfers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.hpp"

namespace ib::mad {

namespace {

using namespace std::chrono_literals;

constexpr Duration response_time = 2s;  // as in Linux
/// `patience` is the silence after which the last ACK is repeated. Senders repeat their segments after a second or two of silence.
constexpr Duration patience = 2s, longest_silence = 15s, longest_time = 60s;

}  // namespace

void RmppOutbox::Transfer::expired() {
  if (outbox.loop_.now() < deadline) {
    sender.timed_out();
  } else {
    sender.abort(rmpp::Status::total_time_too_long);
  }
  outbox.pump(place);  // may destroy this object
}

void RmppOutbox::send(Bytes mad, const path::Path& path) {
  const RmppKey key(mad, path.ib());
  transfers_.erase(key);
  if (transfers_.size() >= most_transfers) throw Error("Too many RMPP transfers are on their way");
  if (mad.size() > most_bytes - bytes()) throw Error(fmt::format("RMPP transfers of more than {} bytes would be on their way", most_bytes));
  const auto place = transfers_.try_emplace(key, *this, mad, path).first;
  place->second.place = place;
  pump(place);
}

std::size_t RmppOutbox::bytes() const {
  return std::accumulate(transfers_.begin(), transfers_.end(), std::size_t{0},
                         [](std::size_t sum, const auto& entry) { return sum + entry.second.sender.mad().size(); });
}

bool RmppOutbox::take(Bytes mad, const Source& source) {
  if (!RmppView::is_control(mad)) return false;
  const auto place = transfers_.find(RmppKey(mad, source));
  if (place == transfers_.end()) return false;
  place->second.sender.take(mad);
  pump(place);
  return true;
}

/// Sends the packets that the window allows. The response timer runs from the last segment on, but not beyond the deadline,
/// which no ACK moves.
void RmppOutbox::pump(Transfers::iterator place) {
  Transfer& transfer = place->second;
  bool sent = !transfer.armed();
  for (Packet packet{}; transfer.sender.next(packet); sent = true) {
    try {
      transmit_(packet, transfer.path);
    } catch (const Error&) {
      break;  // this packet and the rest of the window are sent when the timer fires
    }
  }
  if (transfer.sender.state() != RmppState::active) {
    transfers_.erase(place);
  } else if (sent) {
    loop_.arm(transfer, std::min(loop_.now() + response_time, transfer.deadline));
  }
}

bool RmppInbox::take(Bytes mad, const Source& source) {
  if (!RmppView::is_active(mad)) return false;
  const RmppKey key(mad, source);
  auto place = transfers_.find(key);
  if (place == transfers_.end()) {
    // A sender may not send another segment before the first one is acknowledged (IBA 13.6.6.3).
    if (RmppView(mad).type() != rmpp::Type::data || RmppView(mad).segment() != 1) return false;
    place = begin(key, mad, source);
    if (place == transfers_.end()) return true;
  }
  Transfer& transfer = place->second;
  const RmppState before = transfer.receiver.state();
  const std::uint32_t segments = transfer.receiver.segments();
  transfer.receiver.take(mad);
  send_acks(transfer);
  if (transfer.receiver.state() == RmppState::failed) {
    transfers_.erase(place);
  } else if (before == RmppState::active && transfer.receiver.state() == RmppState::done) {
    loop_.arm(transfer, loop_.now() + rmpp_linger);
    deliver_(transfer.receiver.release(), source);
  } else if (transfer.receiver.segments() != segments) {
    transfer.last_progress = loop_.now();
    loop_.arm(transfer, std::min(loop_.now() + patience, transfer.deadline));
  }
  return true;
}

/// Begins a transfer. If there are too many transfers, sends an ABORT or STOP and returns end().
RmppInbox::Transfers::iterator RmppInbox::begin(const RmppKey& key, Bytes mad, const Source& source) {
  path::Path path = source.path(end_port_, mad[1]);
  path::reverse(path);
  if (!make_room(key)) {
    Transfer refused(*this, mad[1], path);
    refused.receiver.take(mad);
    refused.receiver.abort(rmpp::Status::resources_exhausted);
    send_acks(refused);
    return transfers_.end();
  }
  const auto place = transfers_.try_emplace(key, *this, mad[1], path).first;
  Transfer& transfer = place->second;
  transfer.place = place;
  transfer.last_progress = loop_.now();
  transfer.deadline = loop_.now() + longest_time;
  loop_.arm(transfer, loop_.now() + patience);
  return place;
}

/// Makes room for another transfer; may forget a complete one. False if there is no room because all transfers are still active.
bool RmppInbox::make_room(const RmppKey& key) {
  const auto is_open = [](const auto& entry) { return entry.second.receiver.state() == RmppState::active; };
  const auto of_sender = std::ranges::count_if(transfers_, [&](const auto& t) { return is_open(t) && t.first.same_port(key); });
  if (static_cast<std::size_t>(of_sender) >= most_of_one_sender) return false;
  if (transfers_.size() < most_transfers) return true;
  const auto complete = std::ranges::find_if_not(transfers_, is_open);
  if (complete == transfers_.end()) return false;
  transfers_.erase(complete);
  return true;
}

void RmppInbox::send_acks(Transfer& transfer) {
  for (Packet packet{}; transfer.receiver.next(packet);) {
    try {
      transmit_(packet, transfer.path);
    } catch (const Error&) {
      continue;  // the sender will repeat its segments
    }
  }
}

/// No segment came within `patience`.
void RmppInbox::expired(Transfers::iterator place) {
  Transfer& transfer = place->second;
  if (transfer.receiver.state() == RmppState::active) {
    const async::Time now = loop_.now();
    if (now - transfer.last_progress < longest_silence && now < transfer.deadline) {
      transfer.receiver.repeat_ack();
      send_acks(transfer);
      loop_.arm(transfer, std::min(now + patience, transfer.deadline));
      return;
    }
    transfer.receiver.abort(rmpp::Status::total_time_too_long);
    send_acks(transfer);
  }
  transfers_.erase(place);
}

}  // namespace ib::mad
