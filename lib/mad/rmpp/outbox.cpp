// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "mad/rmpp/outbox.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.hpp"

namespace ib::mad {

namespace {
constexpr std::chrono::seconds response_time{2};  // as in Linux
}

struct RmppOutbox::Transfer final : async::Timer {
  Transfer(RmppOutbox& o, Bytes mad, path::Path p)
      : outbox(o), sender({mad.begin(), mad.end()}), path(std::move(p)), deadline(o.loop_.now() + rmpp_longest_time) {}
  void expired() override {
    if (outbox.loop_.now() < deadline) {
      sender.timed_out();
    } else {
      sender.abort(rmpp::Status::total_time_too_long);
    }
    outbox.pump(place);  // may destroy this object
  }
  RmppOutbox& outbox;
  RmppSender sender;
  path::Path path;
  async::Time deadline;
  Transfers::iterator place;
};

RmppOutbox::RmppOutbox(async::Loop& loop, Transmit transmit) : loop_(loop), transmit_(std::move(transmit)) {}
RmppOutbox::~RmppOutbox() = default;

void RmppOutbox::send(Bytes mad, const path::Path& path) {
  const RmppKey key(mad, path.ib());
  transfers_.erase(key);
  if (transfers_.size() >= most_transfers) throw Error("Too many RMPP transfers are on their way");
  if (mad.size() > most_bytes - bytes()) throw Error(fmt::format("RMPP transfers of more than {} bytes would be on their way", most_bytes));
  const auto place = transfers_.emplace(key, std::make_unique<Transfer>(*this, mad, path)).first;
  place->second->place = place;
  pump(place);
}

std::size_t RmppOutbox::bytes() const {
  return std::accumulate(transfers_.begin(), transfers_.end(), std::size_t{0},
                         [](std::size_t sum, const auto& entry) { return sum + entry.second->sender.mad().size(); });
}

bool RmppOutbox::take(Bytes mad, const Source& source) {
  if (!RmppView::is_control(mad)) return false;
  const auto place = transfers_.find(RmppKey(mad, source));
  if (place == transfers_.end()) return false;
  place->second->sender.take(mad);
  pump(place);
  return true;
}

/// Sends the packets that the window allows. The response timer runs from the last segment on, but not beyond the deadline,
/// which no ACK moves.
void RmppOutbox::pump(Transfers::iterator place) {
  Transfer& transfer = *place->second;
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

}  // namespace ib::mad
