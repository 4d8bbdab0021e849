// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// RMPP transfers without a network: sender and receiver against each other over a link that loses, doubles and shuffles,
// and each alone against a peer that breaks the protocol.
#include <algorithm>
#include <random>

#include "mad/rmpp/sides.hpp"
#include "support/catch.hpp"

namespace mad_rmpp_tests {

using namespace ib;
using namespace ib::mad;

namespace {

constexpr std::size_t header_of_sa = 56, data_per_segment = 200;

std::vector<std::uint8_t> table(std::size_t data, std::uint8_t mgmt_class = mgmt_class::sa) {
  std::vector<std::uint8_t> mad(data_area(mgmt_class).offset + data);
  for (std::size_t i = 0; i < mad.size(); ++i) mad[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
  mad[0] = 1;
  mad[1] = mgmt_class;
  mad[2] = 2;
  mad[3] = method::get_table | method::response;
  return mad;
}

/// What must arrive: all but the RMPP header, which is of a segment.
std::vector<std::uint8_t> without_rmpp(std::vector<std::uint8_t> mad) {
  std::fill(mad.begin() + 24, mad.begin() + rmpp_header_size, std::uint8_t{0});
  return mad;
}

Packet data_segment(std::uint32_t number, std::uint8_t flags, std::uint32_t length) {
  Packet packet{};
  const auto header = table(0);
  std::copy(header.begin(), header.end(), packet.begin());
  set_rmpp(packet, rmpp::Type::data, flags, rmpp::Status::success, number, length);
  std::fill(packet.begin() + header_of_sa, packet.end(), static_cast<std::uint8_t>(number));
  return packet;
}

Packet control(rmpp::Type type, rmpp::Status status, std::uint32_t data1 = 0, std::uint32_t data2 = 0) {
  Packet packet{};
  const auto header = table(0);
  std::copy(header.begin(), header.end(), packet.begin());
  packet[3] = method::get_table;
  set_rmpp(packet, type, 0, status, data1, data2);
  return packet;
}

/// The one packet that a receiver or sender wants to send.
template <class Side>
Packet only_packet(Side& side) {
  Packet packet{}, more{};
  REQUIRE(side.next(packet));
  REQUIRE_FALSE(side.next(more));
  return packet;
}

struct Link {
  double loss = 0, twice = 0;
  bool shuffle = false;
  unsigned seed = 1;
};

/// Runs a transfer until both sides rest; returns the packets that it took.
std::size_t transfer(RmppSender& sender, RmppReceiver& receiver, Link link = {}) {
  std::mt19937 random(link.seed);
  const auto happens = [&](double chance) { return std::uniform_real_distribution<>(0, 1)(random) < chance; };
  std::size_t packets = 0;
  const auto cross = [&](auto& from, auto& to) {
    std::vector<Packet> flight;
    for (Packet packet{}; from.next(packet); ++packets) {
      if (happens(link.loss)) continue;
      flight.push_back(packet);
      if (happens(link.twice)) flight.push_back(packet);
    }
    if (link.shuffle) std::shuffle(flight.begin(), flight.end(), random);
    for (const Packet& packet : flight) to.take(packet);
    return !flight.empty();
  };
  for (int round = 0; round < 100000; ++round) {
    const bool there = cross(sender, receiver), back = cross(receiver, sender);
    if (sender.state() != RmppState::active && receiver.state() != RmppState::active && !there && !back) break;
    if (!there && !back) sender.timed_out();
  }
  return packets;
}

}  // namespace

TEST_CASE("tables of every length near the borders of segments come as they were") {
  for (const std::uint8_t mgmt_class : {std::uint8_t{mgmt_class::sa}, std::uint8_t{0x30}}) {
    for (const std::size_t data : {0U, 1U, 199U, 200U, 201U, 215U, 216U, 217U, 400U, 12800U, 13000U, 13001U, 1000000U}) {
      RmppSender sender(table(data, mgmt_class));
      RmppReceiver receiver(mgmt_class);
      transfer(sender, receiver);
      REQUIRE(sender.state() == RmppState::done);
      REQUIRE(receiver.state() == RmppState::done);
      const bool same = without_rmpp(receiver.release()) == without_rmpp(table(data, mgmt_class));
      REQUIRE(same);
    }
  }
}

TEST_CASE("segments carry what the IBA says") {
  RmppSender sender(table(450));
  REQUIRE(sender.segments() == 3);
  const Packet first = only_packet(sender);
  REQUIRE(RmppView(first).version() == 1);
  REQUIRE(RmppView(first).type() == rmpp::Type::data);
  REQUIRE(RmppView(first).flags() == (rmpp::flags::active | rmpp::flags::first));
  REQUIRE(RmppView(first).segment() == 1);
  REQUIRE(RmppView(first).length() == 450 + 3 * 20);
  // The window opens with the first ACK.
  sender.take(control(rmpp::Type::ack, rmpp::Status::success, 1, 65));
  Packet packet{};
  REQUIRE(sender.next(packet));
  REQUIRE(RmppView(packet).flags() == rmpp::flags::active);
  REQUIRE(RmppView(packet).length() == 0);
  const Packet last = only_packet(sender);
  REQUIRE(RmppView(last).flags() == (rmpp::flags::active | rmpp::flags::last));
  REQUIRE(RmppView(last).segment() == 3);
  REQUIRE(RmppView(last).length() == 50 + 20);
  REQUIRE(std::all_of(last.begin() + header_of_sa + 50, last.end(), [](auto byte) { return byte == 0; }));
}

TEST_CASE("ACKs go the other way and open the window") {
  RmppReceiver receiver(mgmt_class::sa);
  receiver.take(data_segment(1, rmpp::flags::first, 0));
  const Packet ack = only_packet(receiver);
  REQUIRE(ack[3] == method::get_table);
  REQUIRE(RmppView(ack).type() == rmpp::Type::ack);
  REQUIRE(RmppView::is_active(ack));
  REQUIRE(RmppView(ack).segment() == 1);
  REQUIRE(RmppView(ack).new_window_last() == 65);
  // No more of them before the window is full.
  Packet packet{};
  for (std::uint32_t i = 2; i < 65; ++i) receiver.take(data_segment(i, 0, 0));
  REQUIRE_FALSE(receiver.next(packet));
  receiver.take(data_segment(65, 0, 0));
  REQUIRE(RmppView(only_packet(receiver)).new_window_last() == 129);
  REQUIRE(receiver.segments() == 65);
}

TEST_CASE("a bad link costs packets, not data") {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    RmppSender sender(table(60000), {.retries = 50, .double_sided = false});
    RmppReceiver receiver(mgmt_class::sa);
    transfer(sender, receiver, {.loss = 0.1, .twice = 0.2, .shuffle = true, .seed = seed});
    REQUIRE(receiver.state() == RmppState::done);
    const bool same = without_rmpp(receiver.release()) == without_rmpp(table(60000));
    REQUIRE(same);
    REQUIRE(sender.state() == RmppState::done);
  }
}

TEST_CASE("a long table takes no more packets than it must") {
  RmppSender sender(table(std::size_t{64} * 1000 * data_per_segment));
  RmppReceiver receiver(mgmt_class::sa);
  REQUIRE(transfer(sender, receiver) == 64000 + 1001);
}

TEST_CASE("a sender without answers gives up and says so") {
  RmppSender sender(table(1000), {.retries = 2, .double_sided = false});
  Packet packet{};
  for (int i = 0; i < 3; ++i) {
    REQUIRE(sender.next(packet));
    REQUIRE(RmppView(packet).segment() == 1);
    REQUIRE_FALSE(sender.next(packet));
    sender.timed_out();
  }
  REQUIRE(sender.state() == RmppState::failed);
  REQUIRE(sender.failure().status == rmpp::Status::too_many_retries);
  const Packet abort = only_packet(sender);
  REQUIRE(RmppView(abort).type() == rmpp::Type::abort);
  REQUIRE(RmppView(abort).status() == rmpp::Status::too_many_retries);
}

TEST_CASE("a sender aborts on impossible ACKs") {
  const auto refused = [](Packet ack, rmpp::Status status) {
    RmppSender sender(table(10000));
    Packet packet{};
    REQUIRE(sender.next(packet));
    sender.take(ack);
    REQUIRE(sender.state() == RmppState::failed);
    REQUIRE(sender.failure().status == status);
    REQUIRE_FALSE(sender.failure().by_peer);
    REQUIRE(RmppView(only_packet(sender)).status() == status);
  };
  refused(control(rmpp::Type::ack, rmpp::Status::success, 1, 0), rmpp::Status::new_window_last_too_small);
  refused(control(rmpp::Type::ack, rmpp::Status::success, 2, 64), rmpp::Status::segment_number_too_big);
  refused(control(rmpp::Type::ack, rmpp::Status::success, 0xffffffff, 0xffffffff), rmpp::Status::segment_number_too_big);
  refused(control(rmpp::Type::ack, rmpp::Status::bad_type, 1, 64), rmpp::Status::illegal_status);
  refused(control(static_cast<rmpp::Type>(9), rmpp::Status::success), rmpp::Status::bad_type);
  Packet version = control(rmpp::Type::ack, rmpp::Status::success, 1, 64);
  version[24] = 2;
  refused(version, rmpp::Status::unsupported_version);
}

TEST_CASE("a sender heeds STOP and ABORT, and no ACK after them or older than the last") {
  for (const auto type : {rmpp::Type::stop, rmpp::Type::abort}) {
    RmppSender sender(table(10000));
    Packet packet{};
    REQUIRE(sender.next(packet));
    sender.take(control(rmpp::Type::ack, rmpp::Status::success, 1, 20));
    sender.take(control(rmpp::Type::ack, rmpp::Status::success, 0, 64));
    sender.take(control(rmpp::Type::ack, rmpp::Status::success, 1, 2));
    int sent = 0;
    while (sender.next(packet)) ++sent;
    REQUIRE(sent == 19);
    sender.take(control(type, rmpp::Status::resources_exhausted));
    REQUIRE(sender.state() == RmppState::failed);
    REQUIRE(sender.failure().by_peer);
    REQUIRE(sender.failure().text() == "the other side gave up: Resources exhausted(1)");
    sender.take(control(rmpp::Type::ack, rmpp::Status::success, 20, 64));
    sender.timed_out();
    REQUIRE_FALSE(sender.next(packet));
  }
}

TEST_CASE("a double-sided transfer is turned around by an ACK of segment 0") {
  RmppSender sender(table(10), {.retries = 3, .double_sided = true});
  RmppReceiver receiver(mgmt_class::sa);
  receiver.take(only_packet(sender));
  sender.take(only_packet(receiver));
  REQUIRE(sender.state() == RmppState::done);
  const Packet turn = only_packet(sender);
  REQUIRE(RmppView(turn).type() == rmpp::Type::ack);
  REQUIRE(RmppView(turn).segment() == 0);
  REQUIRE(RmppView(turn).new_window_last() == 1);
  // The turn was lost: the receiver says again that all has come.
  receiver.repeat_ack();
  sender.take(only_packet(receiver));
  REQUIRE(RmppView(only_packet(sender)).segment() == 0);
  receiver.take(turn);
  REQUIRE(receiver.state() == RmppState::done);
  REQUIRE(sender.state() == RmppState::done);
}

TEST_CASE("only MADs of classes with RMPP can be sent by it") {
  REQUIRE_THROWS_AS(RmppSender(std::vector<std::uint8_t>{}), std::invalid_argument);
  REQUIRE_THROWS_AS(RmppSender(std::vector<std::uint8_t>(30, std::uint8_t{3})), std::invalid_argument);
  REQUIRE_THROWS_AS(RmppSender(table(100, mgmt_class::smp)), std::invalid_argument);
}

TEST_CASE("a receiver aborts what breaks the protocol") {
  const auto refused = [](std::vector<Packet> segments, rmpp::Status status) {
    RmppReceiver receiver(mgmt_class::sa);
    Packet packet{};
    for (const Packet& segment : segments) {
      REQUIRE(receiver.state() == RmppState::active);
      while (receiver.next(packet)) {
      }
      receiver.take(segment);
    }
    REQUIRE(receiver.state() == RmppState::failed);
    REQUIRE(receiver.failure().status == status);
    const Packet abort = only_packet(receiver);
    REQUIRE(RmppView(abort).type() == (status == rmpp::Status::resources_exhausted ? rmpp::Type::stop : rmpp::Type::abort));
    REQUIRE(RmppView(abort).status() == status);
    REQUIRE(receiver.release().empty());
  };
  constexpr auto first = rmpp::flags::first, last = rmpp::flags::last;
  constexpr auto bad_first = rmpp::Status::inconsistent_first_and_segment, bad_last = rmpp::Status::inconsistent_last_and_payload;
  refused({data_segment(0, first, 0)}, bad_first);
  refused({data_segment(1, 0, 0)}, bad_first);
  refused({data_segment(1, first, 0), data_segment(2, first, 0)}, bad_first);
  refused({data_segment(1, first | last, 19)}, bad_last);
  refused({data_segment(1, first | last, 221)}, bad_last);
  refused({data_segment(1, first, 0), data_segment(3, 0, 0), data_segment(2, last, 30)}, bad_last);
  refused({data_segment(1, first, 0), data_segment(3, last, 30), data_segment(4, last, 30)}, bad_last);
  refused({data_segment(1, first, 0), data_segment(3, last, 30), data_segment(5, 0, 30)}, bad_last);
  // What was announced and what came.
  refused({data_segment(1, first, 10000), data_segment(2, last, 30)}, bad_last);
  refused({data_segment(1, first, 20), data_segment(2, 0, 0), data_segment(3, last, 30)}, bad_last);
  // More than is taken, announced: nothing was allocated for it.
  refused({data_segment(1, first, 0xffffffff)}, rmpp::Status::resources_exhausted);
  Packet other = data_segment(1, first, 0);
  other[24] = 9;
  refused({other}, rmpp::Status::unsupported_version);
  other = data_segment(1, first, 0);
  other[27] = 5;
  refused({other}, rmpp::Status::illegal_status);
  other = data_segment(1, first, 0);
  other[25] = 5;
  refused({other}, rmpp::Status::bad_type);
}

TEST_CASE("announced lengths are accepted whichever way the class header is counted") {
  for (const std::uint32_t announced : {0U, 250U, 270U, 290U}) {
    RmppReceiver receiver(mgmt_class::sa);
    receiver.take(data_segment(1, rmpp::flags::first, announced));
    receiver.take(data_segment(2, rmpp::flags::last, 70));
    REQUIRE(receiver.state() == RmppState::done);
    REQUIRE(receiver.release().size() == header_of_sa + 250);
  }
}

TEST_CASE("segments far ahead of the window cost nothing") {
  RmppReceiver receiver(mgmt_class::sa, {.window = 8, .longest = rmpp_longest});
  Packet packet{};
  receiver.take(data_segment(1, rmpp::flags::first, 0));
  REQUIRE(RmppView(only_packet(receiver)).new_window_last() == 9);
  for (const std::uint32_t number : {10U, 100U, 0x80000000U, 0xffffffffU}) receiver.take(data_segment(number, rmpp::flags::last, 100));
  REQUIRE_FALSE(receiver.next(packet));
  REQUIRE(receiver.segments() == 1);
  receiver.take(data_segment(2, rmpp::flags::last, 100));
  REQUIRE(receiver.state() == RmppState::done);
}

TEST_CASE("a transfer that never ends is stopped at the limit") {
  RmppReceiver receiver(mgmt_class::sa, {.window = 64, .longest = 100000});
  Packet packet{};
  std::uint32_t number = 1;
  for (; receiver.state() == RmppState::active; ++number) {
    receiver.take(data_segment(number, number == 1 ? rmpp::flags::first : 0, 0));
    if (receiver.state() == RmppState::active) receiver.next(packet);
  }
  REQUIRE(number == 502);
  REQUIRE(receiver.failure().text() == "the answer is longer than 100000 bytes - Resources exhausted(1)");
  REQUIRE(RmppView(only_packet(receiver)).type() == rmpp::Type::stop);
}

TEST_CASE("a segment that comes again is acknowledged again, also after the end") {
  RmppReceiver receiver(mgmt_class::sa);
  receiver.take(data_segment(1, rmpp::flags::first, 0));
  only_packet(receiver);
  receiver.take(data_segment(1, rmpp::flags::first, 0));
  REQUIRE(RmppView(only_packet(receiver)).segment() == 1);
  receiver.repeat_ack();
  REQUIRE(RmppView(only_packet(receiver)).new_window_last() == 65);
  receiver.take(data_segment(2, rmpp::flags::last, 120));
  only_packet(receiver);
  const auto mad = receiver.release();
  REQUIRE(mad.size() == header_of_sa + 300);
  REQUIRE(mad[header_of_sa] == 1);
  REQUIRE(mad[header_of_sa + data_per_segment] == 2);
  receiver.take(data_segment(2, rmpp::flags::last, 120));
  REQUIRE(RmppView(only_packet(receiver)).segment() == 2);
  REQUIRE(receiver.state() == RmppState::done);
}

TEST_CASE("the sender's ABORT ends a transfer, but not one that is complete") {
  RmppReceiver receiver(mgmt_class::sa);
  receiver.take(data_segment(1, rmpp::flags::first, 0));
  only_packet(receiver);
  receiver.take(control(rmpp::Type::abort, rmpp::Status::too_many_retries));
  REQUIRE(receiver.state() == RmppState::failed);
  REQUIRE(receiver.failure().text() == "the other side gave up: Too many retries(126)");
  Packet packet{};
  REQUIRE_FALSE(receiver.next(packet));
  RmppReceiver complete(mgmt_class::sa);
  complete.take(data_segment(1, rmpp::flags::first | rmpp::flags::last, 20));
  complete.take(control(rmpp::Type::abort, rmpp::Status::too_many_retries));
  REQUIRE(complete.state() == RmppState::done);
}

TEST_CASE("packets that are too short or too long for a segment are dropped") {
  RmppReceiver receiver(mgmt_class::sa);
  const Packet first = data_segment(1, rmpp::flags::first, 0);
  receiver.take(Bytes(first).first(55));
  receiver.take(Bytes(first).first(200));
  std::vector<std::uint8_t> longer(first.begin(), first.end());
  longer.push_back(0);
  receiver.take(longer);
  REQUIRE(receiver.segments() == 0);
  receiver.take(first);
  REQUIRE(receiver.segments() == 1);
}

TEST_CASE("transfers share what memory there is, and give it back") {
  RmppMemory memory{1000};
  {
    RmppReceiver one(mgmt_class::sa, {.memory = &memory}), two(mgmt_class::sa, {.memory = &memory});
    one.take(data_segment(1, rmpp::flags::first, 0));
    two.take(data_segment(1, rmpp::flags::first, 0));
    CHECK(memory.used == 2 * 256);
    two.take(data_segment(3, 0, 0));  // with room for what it overtook
    CHECK(memory.used == 256 + 656);
    one.take(data_segment(2, 0, 0));
    CHECK(one.state() == RmppState::failed);
    CHECK(one.failure().text() == "the answers that are on their way have more than 1000 bytes together - Resources exhausted(1)");
    CHECK(memory.used == 656);
    Packet stop{};
    REQUIRE(one.next(stop));
    CHECK(RmppView(stop).type() == rmpp::Type::stop);
    RmppReceiver three(mgmt_class::sa, {.memory = &memory});
    three.take(data_segment(1, rmpp::flags::first | rmpp::flags::last, 120));
    CHECK(memory.used == 656 + 156);
    CHECK(three.release().size() == 156);
    CHECK(memory.used == 656);
    const RmppReceiver moved(std::move(two));
    CHECK(memory.used == 656);
  }
  CHECK(memory.used == 0);
  RmppReceiver ended(mgmt_class::sa, {.memory = &memory});
  ended.take(data_segment(1, rmpp::flags::first, 0));
  ended.take(control(rmpp::Type::abort, rmpp::Status::too_many_retries));
  CHECK(memory.used == 0);
}

}  // namespace mad_rmpp_tests
