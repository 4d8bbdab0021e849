// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// RMPP against a peer that says anything: a receiver never holds or allows more than a window beyond what came, a sender
// never sends what the window forbids, both end once and for all; and over a link that loses, doubles and shuffles as the
// input says, a transfer that completes is the one that was sent. What takes strangers' requests holds no more than it may. A call
// ends in time, whatever its answer is made of, and the records of a table lie within it.
#include <algorithm>

#include "fuzz.hpp"
#include "iba-gen/sa.hpp"
#include "mad/rmpp/sides.hpp"
#include "mad/rmpp/transfers.hpp"
#include "mad/rpc/rpc.hpp"
#include "sa/subn_adm.hpp"
#include "support/fake_channel.hpp"
#include "support/fake_clock.hpp"

namespace ibtest::fuzz_rmpp {

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
  ibtest::FakeClock clock;
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
    if (turn == 0) receiver.repeat_ack();
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
    const auto mad = receiver.release();
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
  constexpr unsigned most_retries = 10'000;  // more than an input is long: each byte loses one packet at most
  const std::size_t size = input.number() % 30000;
  RmppSender sender(table(size), {.retries = most_retries, .double_sided = false});
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
  for (unsigned i = 0; i < 2 * most_retries && (sender.state() == RmppState::active || receiver.state() == RmppState::active); ++i) {
    if (cross(sender, receiver) + cross(receiver, sender) == 0) sender.timed_out();
  }
  must(sender.state() == RmppState::done && receiver.state() == RmppState::done, "a transfer that does not end");
  const auto got = receiver.release(), sent = table(size);
  must(got.size() == sent.size() && std::equal(got.begin() + header_of_sa, got.end(), sent.begin() + header_of_sa),
       "a table that is another");
}

Task<> ask(Rpc& rpc, bool& ended) {
  const sa::LinkRecord::Query query;
  try {
    const auto table = co_await sa::try_subn_adm_get_table(rpc, query);
    must(!table || table->records.size() <= 20000 * unit / 8, "records that did not come");
  } catch (const Error&) {
    // An answer that contradicts itself.
  }
  ended = true;
}

/// A client whose SA says what the input makes up, each packet some time after the one before: the call ends within its bound,
/// and nothing of it stays.
void attack_call(Input input) {
  using namespace std::chrono_literals;
  ibtest::FakeClock clock;
  async::Loop loop{clock};
  const ibtest::FakeHost host;
  const auto network = [&input](ibtest::FakeChannel& channel, Bytes sent, const path::Path&, async::Duration) {
    if (RmppView::is_active(sent)) return;  // an ACK
    async::Duration after = 10us;
    for (int packets = input.byte() % 64; packets > 0 && !input.empty(); --packets) {
      const std::uint8_t turn = input.byte();
      after += turn < 0x80 ? async::Duration(turn * 10us) : (turn - 0x80) * 100ms;
      std::vector<std::uint8_t> mad = packet_from(input);
      if (mad.size() >= header_of_sa) {
        std::copy_n(sent.begin(), header_size, mad.begin());
        mad[3] |= method::response;
        mad[45] = 1;  // AttributeOffset
      }
      channel.deliver(std::move(mad), after);
    }
  };
  auto channel = std::make_unique<ibtest::FakeChannel>(host.port, network);
  channel->reports = false;
  Rpc rpc(loop, std::move(channel), RpcLimits{.segment_bytes = 5000});
  rpc.sa_path().ib().timeout = 1s;
  bool ended = false;
  loop.run(ask(rpc, ended));
  must(ended, "a call that nobody ended");
  // All tries unanswered, what a call in segments may take, and pauses.
  must(clock.now() - async::Time{} <= 4s + rmpp_longest_time + 5s, "a call that lasts too long");
  loop.run(async::sleep_for(100s));
  must(rpc.gmp_window().in_flight() == 0, "a place in the window that nobody has");
}

/// The records of an answer of any length, AttributeOffset and RMPP header.
void attack_table(Input input) {
  Reply reply;
  reply.bytes = table(input.number() % 5000);
  const std::size_t least = 1 + input.byte();
  reply.bytes[25] = input.byte();
  reply.bytes[26] = static_cast<std::uint8_t>(input.byte() | rmpp::flags::active);
  reply.bytes[44] = input.byte();
  reply.bytes[45] = input.byte();
  store_be(&reply.bytes[32], input.number());
  for (std::size_t i = input.byte(); i > 0 && reply.bytes.size() > header_of_sa + i; --i)
    reply.bytes[reply.bytes.size() - i] = input.byte();
  const Bytes mad = reply.bytes;
  try {
    const sa::TableRows rows = sa::table_rows(reply, least);
    must(rows.records.size() <= mad.size() / std::max<std::size_t>(least, 8) + 1, "more records than there is room for");
    for (const Bytes row : rows.records)
      must(row.size() >= least && row.data() >= mad.data() + header_of_sa && row.data() + row.size() <= mad.data() + mad.size(),
           "a record that did not come");
    const sa::RecordBuffer kept(std::move(reply.bytes), rows.records.first(least));
    must(std::ranges::distance(kept) == static_cast<std::ptrdiff_t>(rows.records.size()), "records that were lost");
  } catch (const Error&) {
    // It contradicts itself.
  }
}

}  // namespace

int try_input(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Input input(data + 1, size - 1);
  switch (data[0] % 6) {
    case 0:
      attack_receiver(input);
      break;
    case 1:
      attack_sender(input);
      break;
    case 2:
      carry(input);
      break;
    case 4:
      attack_call(input);
      break;
    case 5:
      attack_table(input);
      break;
    default:
      attack_inbox(input);
      break;
  }
  return 0;
}

std::vector<std::string> seeds() {
  const auto bytes = [](std::initializer_list<int> list) { return std::string(list.begin(), list.end()); };
  // A turn, then what, data1, data2: for the receiver DATA 1 first, DATA 2, DATA 3 last; for the sender ACKs.
  std::string receiver = bytes({0, 64, 2, 5, 1, 0, 2, 1, 2, 0, 2, 0x21, 3, 100});
  std::string sender = bytes({1, 60, 3, 2, 2, 1, 40, 2, 2, 20, 60, 0, 2, 20, 60});
  std::string link = bytes({2, 0xf3, 9, 9, 9, 64});
  for (int i = 0; i < 200; ++i) link.push_back(static_cast<char>(i * 7 % 11));
  // Turns of two ports, each with DATA 1 first.
  const std::string inbox = bytes({3, 8, 6, 1, 0, 16, 6, 1, 0, 8, 2, 2, 0, 8, 0x22, 3, 100, 255, 30, 2, 2, 0});
  std::vector<std::string> all{receiver, sender, link, inbox, receiver + receiver.substr(2), sender + sender.substr(3)};
  // A stranger's request that trickles: a segment every 14 s.
  std::string trickle = bytes({3, 8, 6, 1, 0});
  for (int segment = 2; segment < 8; ++segment) trickle += bytes({255, 14, 2, 2, 0, 8, 2, segment, 0});
  all.push_back(trickle);
  // Answers: two segments, then silence; a segment every 4 s; ABORTs; one after the other without an end.
  const std::string silent = bytes({2, 0, 6, 1, 0, 0, 2, 2, 0});
  std::string slow = bytes({63, 0, 6, 1, 0}), endless = bytes({63, 0, 6, 1, 0});
  for (int segment = 2; segment < 63; ++segment) {
    slow += bytes({0x80 + 40, 2, segment, 0});
    endless += bytes({0, 2, segment, 0});
  }
  for (const std::string& answer :
       {silent + silent + silent + silent, slow + slow, bytes({2, 0, 6, 1, 0, 0x80 + 40, 0x43, 0, 126}), endless})
    all.push_back('\4' + answer);
  // Tables: 112 bytes apart, AttributeOffset 1, trailing bytes, one segment.
  all.push_back(bytes({5, 0xf0, 0, 1, 24, 107, 1, 1, 0, 14, 0, 0}));
  all.push_back(bytes({5, 0xf0, 0, 10, 0, 5, 1, 1, 0, 1, 0, 0}));
  all.push_back(bytes({5, 0xf0, 0, 10, 0, 107, 1, 1, 0, 1, 0, 0}));
  all.push_back(bytes({5, 117, 107, 1, 1, 0, 14, 0, 3, 0, 0, 9}));
  all.push_back(bytes({5, 200, 63, 1, 7, 0, 8, 20 + 128, 0}));
  return all;
}

}  // namespace ibtest::fuzz_rmpp
