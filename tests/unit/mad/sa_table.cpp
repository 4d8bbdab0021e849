// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Which bytes of an answer are records, and when the answer was cut.
#include <algorithm>

#include "mad/rmpp.hpp"
#include "mad/transactor.hpp"
#include "support/catch.hpp"

using namespace ib;
using namespace ib::mad;

namespace {

constexpr std::size_t header_of_sa = 56;

/// An answer of `size` bytes with records `step` bytes apart; the bytes of each record say which it is.
Reply answer(std::size_t size, std::size_t step, rmpp::Type type, std::uint8_t flags, std::uint32_t length = 0) {
  Packet header{};
  header[0] = 1;
  header[1] = mgmt_class::sa;
  header[2] = 2;
  header[3] = method::get_table | method::response;
  set_rmpp(header, type, flags, rmpp::Status::success, type == rmpp::Type::data ? 1 : 0, length);
  header[45] = static_cast<std::uint8_t>(step / 8);
  Reply reply;
  reply.bytes.assign(header.begin(), header.begin() + header_of_sa);
  for (std::size_t i = 0; reply.bytes.size() < size; ++i) reply.bytes.push_back(static_cast<std::uint8_t>(step == 0 ? 0 : 1 + i / step));
  return reply;
}

void is_table(const Reply& reply, std::size_t record_size, std::size_t count, bool cut) {
  const auto table = sa_records(reply, record_size);
  REQUIRE(table.records.size() == count);
  REQUIRE(table.cut == cut);
  for (std::size_t i = 0; i < count; ++i) {
    REQUIRE(table.records[i].size() >= record_size);
    const auto number = static_cast<std::uint8_t>(i + 1);
    REQUIRE(std::all_of(table.records[i].begin(), table.records[i].end(), [number](auto byte) { return byte == number; }));
  }
}

constexpr auto first = rmpp::flags::first, last = rmpp::flags::last;

}  // namespace

TEST_CASE("a table that nobody segmented is cut behind the bytes that the simulator hands over") {
  is_table(answer(header_of_sa, 0, rmpp::Type::none, 0), 108, 0, false);
  is_table(answer(header_of_sa + 112, 112, rmpp::Type::none, 0), 108, 1, false);
  is_table(answer(256, 112, rmpp::Type::none, 0), 108, 1, true);
  is_table(answer(header_of_sa + 21 * 8, 8, rmpp::Type::none, 0), 6, 21, false);
  is_table(answer(256, 8, rmpp::Type::none, 0), 6, 21, true);
}

TEST_CASE("a table of one segment ends where its length says, or with the reassembled MAD") {
  is_table(answer(256, 64, rmpp::Type::data, first | last, 20 + 2 * 64), 64, 2, false);
  is_table(answer(256, 8, rmpp::Type::data, first | last, 220), 6, 25, false);
  is_table(answer(256, 64, rmpp::Type::data, first | last, 20), 64, 0, false);
  is_table(answer(header_of_sa + 64, 64, rmpp::Type::data, first, 84), 64, 1, false);
  is_table(answer(header_of_sa + 500 * 64, 64, rmpp::Type::data, first), 64, 500, false);
  // The last record needs no padding.
  is_table(answer(header_of_sa + 112 + 108, 112, rmpp::Type::data, first), 108, 2, false);
  // A first segment alone.
  is_table(answer(256, 64, rmpp::Type::data, first, 1000), 64, 3, true);
}

TEST_CASE("answers that contradict themselves are errors") {
  REQUIRE_THROWS_AS(sa_records(answer(256, 64, rmpp::Type::data, first | last, 19), 64), Error);
  REQUIRE_THROWS_AS(sa_records(answer(256, 64, rmpp::Type::data, first | last, 221), 64), Error);
  REQUIRE_THROWS_AS(sa_records(answer(256, 56, rmpp::Type::data, first | last, 84), 64), Error);
  Reply shorter = answer(header_of_sa, 64, rmpp::Type::none, 0);
  shorter.bytes.resize(40);
  REQUIRE_THROWS_AS(sa_records(shorter, 64), Error);
}

TEST_CASE("the answer to a SubnAdmGet is one record") {
  Reply reply = answer(256, 64, rmpp::Type::none, 0);
  reply.bytes[26] = 0;
  const auto table = sa_records(reply, 64);
  REQUIRE(table.records.size() == 1);
  REQUIRE_FALSE(table.cut);
  REQUIRE(table.records[0].size() == 200);
  reply.bytes.resize(header_of_sa + 63);
  REQUIRE_THROWS_AS(sa_records(reply, 64), Error);
}
