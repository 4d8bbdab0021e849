// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// RMPP against a peer that says anything: a receiver never holds or allows more than a window beyond what came, a sender
// never sends what the window forbids, both end once and for all; and over a link that loses, doubles and shuffles as the
// input says, a transfer that completes is the one that was sent. What takes strangers' requests holds no more than it may.
#include <algorithm>

#include "fuzz.hpp"
#include "mad/rmpp_inbox.hpp"
#include "mad/rmpp_receiver.hpp"
#include "mad/rmpp_sender.hpp"

using namespace ib;
using namespace ib::mad;
using ibtest::must;

namespace {

/// The input, piece by piece; zeros at its end.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool empty() const { return size_ == 0; }
  std::uint8_t byte() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  /// Mostly small, at times anything.
  std::uint32_t number() {
    const std::uint32_t low = byte();
    if (low < 0xf0) return low;
    return low << 24 | static_cast<std::uint32_t>(byte()) << 16 | static_cast<std::uint32_t>(byte()) << 8 | byte();
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

constexpr std::size_t header_of_sa = 56, unit = packet_size - header_of_sa;

std::vector<std::uint8_t> table(std::size_t data) {
  std::vector<std::uint8_t> mad(header_of_sa + data);
  for (std::size_t i = header_of_sa; i < mad.size(); ++i) mad[i] = static_cast<std::uint8_t>(i * 11 + i / 256);
  mad[0] = 1;
  mad[1] = mgmt_class::sa;
  mad[3] = method::get_table | method::response;
  return mad;
}

/// A packet of the protocol that the input makes up.
std::vector<std::uint8_t> packet_from(Input& input) {
  Packet packet{};
  const auto header = table(0);
  std::copy(header.begin(), header.end(), packet.begin());
  const std::uint8_t what = input.byte();
  const auto type = static_cast<rmpp::Type>((what & 0x80) != 0 ? input.byte() : what & 3U);
  const auto status = static_cast<rmpp::Status>((what & 0x40) != 0 ? input.byte() : 0);
  const std::uint32_t data1 = input.number(), data2 = input.number();
  set_rmpp(packet, type, what >> 3 & 6U, status, data1, data2);
  if ((what & 4) != 0 && data1 == 1) packet[26] |= rmpp::flags::first;
  std::vector<std::uint8_t> mad(packet.begin(), packet.end());
  if (what == 0xff) mad.resize(input.byte() + std::size_t{10});
  return mad;
}

/// A server's side of requests in segments: from any ports it holds no more than it may, delivers nothing that was not whole, and
/// forgets all when nothing more comes.
void attack_inbox(Input input) {
  async::FakeClock clock;
  async::Loop loop{clock};
  sys::EndPort port;
  std::size_t packets = 0;
  const auto sent = [&](Bytes packet, const path::Path&) {
    ++packets;
    must(packet.size() == packet_size && RmppView::is_control(packet) && HeaderView(packet).is_response(), "an ACK that is none");
  };
  const auto delivered = [&](Bytes mad, const Source&) {
    must(mad.size() >= header_of_sa && mad.size() <= header_of_sa + RmppInbox::longest, "a request of a length that did not come");
  };
  RmppInbox inbox(loop, port, sent, delivered);
  while (!input.empty()) {
    const std::uint8_t turn = input.byte();
    if (turn == 0xff) loop.run(async::sleep_for(std::chrono::seconds(input.byte() % 20)));
    std::vector<std::uint8_t> mad = packet_from(input);
    if (mad.size() >= header_size) {
      mad[3] = method::get_multi;
      mad[15] = turn & 7;  // the transaction
    }
    Source source;
    source.slid = Lid{static_cast<std::uint16_t>(turn >> 3 & 7)};
    packets = 0;
    inbox.take(mad, source);
    must(packets <= 2, "an inbox that talks without end");
    must(inbox.transfers() <= RmppInbox::most_transfers, "too many transfers");
  }
  loop.run(async::sleep_for(std::chrono::seconds(100)));
  must(inbox.transfers() == 0, "a transfer that is never forgotten");
}

void attack_receiver(Input input) {
  RmppReceiver receiver(mgmt_class::sa, {.window = input.byte(), .longest = 20000});
  std::uint32_t acknowledged = 0;
  while (!input.empty()) {
    const RmppState before = receiver.state();
    const std::uint8_t turn = input.byte();
    if (turn == 0) receiver.ask_again();
    if (turn == 1 && input.byte() == 1) receiver.abort(rmpp::Status::unspecified);
    receiver.take(packet_from(input));
    must(before == RmppState::active || receiver.state() == before, "a transfer that goes on after its end");
    Packet packet{};
    for (int i = 0; receiver.next(packet); ++i) {
      must(i < 2, "a receiver that talks without end");
      const RmppView view(packet);
      if (view.type() != rmpp::Type::ack) continue;
      must(view.segment() == receiver.segments() && view.segment() >= acknowledged, "an ACK of what has not come");
      must(view.new_window_last() >= view.segment() && view.new_window_last() - view.segment() <= rmpp_window_ceiling, "a window too wide");
      acknowledged = view.segment();
    }
    must(receiver.segments() <= 20000 / unit + 1, "a transfer longer than the limit");
  }
  if (receiver.state() == RmppState::done) {
    const auto mad = receiver.take_mad();
    must(mad.size() >= header_of_sa && mad.size() <= header_of_sa + receiver.segments() * unit, "a length that did not come");
  }
}

void attack_sender(Input input) {
  const std::size_t size = input.byte() * std::size_t{64};
  RmppSender sender(table(size), {.retries = input.byte() % 8U, .double_sided = false});
  std::uint32_t allowed = 1;
  while (!input.empty()) {
    const RmppState before = sender.state();
    Packet packet{};
    while (sender.next(packet)) {
      const RmppView view(packet);
      if (view.type() != rmpp::Type::data) continue;
      must(view.segment() >= 1 && view.segment() <= std::min(sender.segments(), allowed), "a segment beyond the window");
    }
    if (input.byte() == 0) sender.timed_out();
    const auto answer = packet_from(input);
    if (answer.size() >= rmpp_header_size && RmppView(answer).type() == rmpp::Type::ack)
      allowed = std::max(allowed, RmppView(answer).new_window_last());
    sender.take(answer);
    must(before == RmppState::active || sender.state() == before, "a sender that goes on after its end");
    must(sender.acknowledged() <= sender.segments(), "more acknowledged than there is");
  }
}

void carry(Input input) {
  const std::size_t size = input.number() % 30000;
  RmppSender sender(table(size), {.retries = 100, .double_sided = false});
  RmppReceiver receiver(mgmt_class::sa, {.window = input.byte(), .longest = rmpp_longest});
  std::vector<Packet> held;
  const auto cross = [&](auto& from, auto& to) {
    Packet packet{};
    std::size_t moved = 0;
    for (; from.next(packet); ++moved) {
      const std::uint8_t fate = input.byte();
      if (fate == 1) continue;
      if (fate == 2) held.push_back(packet);  // arrives when others have overtaken it, perhaps on the other side too
      if (fate != 2) to.take(packet);
      if (fate == 3) to.take(packet);
    }
    while (!held.empty() && RmppView(held.back()).type() == rmpp::Type::data) {
      receiver.take(held.back());
      held.pop_back();
    }
    held.clear();
    return moved;
  };
  for (int i = 0; i < 2000 && (sender.state() == RmppState::active || receiver.state() == RmppState::active); ++i) {
    if (cross(sender, receiver) + cross(receiver, sender) == 0) sender.timed_out();
  }
  must(sender.state() == RmppState::done && receiver.state() == RmppState::done, "a transfer that does not end");
  const auto got = receiver.take_mad(), sent = table(size);
  must(got.size() == sent.size() && std::equal(got.begin() + header_of_sa, got.end(), sent.begin() + header_of_sa),
       "a table that is another");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Input input(data + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      attack_receiver(input);
      break;
    case 1:
      attack_sender(input);
      break;
    case 2:
      carry(input);
      break;
    default:
      attack_inbox(input);
      break;
  }
  return 0;
}

std::vector<std::string> ibtest::seeds() {
  const auto bytes = [](std::initializer_list<int> list) { return std::string(list.begin(), list.end()); };
  // A turn, then what, data1, data2: for the receiver DATA 1 first, DATA 2, DATA 3 last; for the sender ACKs.
  std::string receiver = bytes({0, 64, 2, 5, 1, 0, 2, 1, 2, 0, 2, 0x21, 3, 100});
  std::string sender = bytes({1, 60, 3, 2, 2, 1, 40, 2, 2, 20, 60, 0, 2, 20, 60});
  std::string link = bytes({2, 0xf3, 9, 9, 9, 64});
  for (int i = 0; i < 200; ++i) link.push_back(static_cast<char>(i * 7 % 11));
  // Turns of two ports, each with DATA 1 first.
  const std::string inbox = bytes({3, 8, 6, 1, 0, 16, 6, 1, 0, 8, 2, 2, 0, 8, 0x22, 3, 100, 255, 30, 2, 2, 0});
  return {receiver, sender, link, inbox, receiver + receiver.substr(2), sender + sender.substr(3)};
}
