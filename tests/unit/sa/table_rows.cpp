// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Which bytes of an answer are records, and when the answer has lost its end.
#include <algorithm>

#include "mad/rmpp/rmpp.hpp"
#include "sa/subn_adm.hpp"
#include "support/catch.hpp"

namespace sa_table_rows_tests {

using namespace ib;
using namespace ib::mad;
using namespace ib::sa;

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

void is_table(const Reply& reply, std::size_t record_size, std::size_t count, bool torn) {
  const auto table = table_rows(reply, record_size);
  REQUIRE(table.records.size() == count);
  REQUIRE(table.torn == torn);
  for (std::size_t i = 0; i < count; ++i) {
    REQUIRE(table.records[i].size() >= record_size);
    const auto number = static_cast<std::uint8_t>(i + 1);
    REQUIRE(std::all_of(table.records[i].begin(), table.records[i].end(), [number](auto byte) { return byte == number; }));
  }
}

constexpr auto first = rmpp::flags::first, last = rmpp::flags::last;

}  // namespace

TEST_CASE("a table without segments is complete if it is shorter than a packet") {
  is_table(answer(header_of_sa, 0, rmpp::Type::none, 0), 108, 0, false);
  is_table(answer(header_of_sa + 112, 112, rmpp::Type::none, 0), 108, 1, false);
  is_table(answer(header_of_sa + 21 * 8, 8, rmpp::Type::none, 0), 6, 21, false);
  REQUIRE_THROWS_AS(table_rows(answer(256, 112, rmpp::Type::none, 0), 108), Error);
}

TEST_CASE("a table without segments is incomplete if its flags mark a first segment, even if it ends with a record") {
  is_table(answer(header_of_sa + 21 * 8, 8, rmpp::Type::none, first), 6, 21, true);
  is_table(answer(header_of_sa + 21 * 8, 8, rmpp::Type::none, first | last), 6, 21, false);
  is_table(answer(header_of_sa + 168, 112, rmpp::Type::none, first), 108, 1, true);
  is_table(answer(256, 112, rmpp::Type::none, first), 108, 1, true);
  is_table(answer(header_of_sa + 168, 176, rmpp::Type::none, first), 176, 0, true);
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

namespace {

Reply with_end(Reply reply, std::vector<std::uint8_t> end) {
  reply.bytes.insert(reply.bytes.end(), end.begin(), end.end());
  return reply;
}

}  // namespace

TEST_CASE("a table that ends within a record is torn, but padding is not a record") {
  const auto is_torn = [](const Reply& reply, std::size_t record_size, std::size_t count) {
    const TableRows table = table_rows(reply, record_size);
    CHECK(table.records.size() == count);
    return table.torn;
  };
  const Reply whole = answer(header_of_sa + 5 * 112, 112, rmpp::Type::data, first);
  CHECK_FALSE(is_torn(whole, 108, 5));
  // The rest of the last segment, counted by a sender that fills it.
  CHECK_FALSE(is_torn(with_end(whole, std::vector<std::uint8_t>(40)), 108, 5));
  CHECK(is_torn(with_end(whole, {0, 0, 7}), 108, 5));
  CHECK(is_torn(with_end(whole, std::vector<std::uint8_t>(107, 1)), 108, 5));
  CHECK_FALSE(is_torn(with_end(whole, std::vector<std::uint8_t>(108, 6)), 108, 6));
  // The beginning of the only record.
  CHECK(is_torn(answer(header_of_sa + 60, 64, rmpp::Type::data, first), 64, 0));
  // In one segment what PayloadLength does not count does not matter.
  CHECK_FALSE(is_torn(answer(256, 64, rmpp::Type::data, first | last, 20 + 3 * 64), 64, 3));
  CHECK(is_torn(answer(256, 64, rmpp::Type::data, first | last, 20 + 3 * 64 + 4), 64, 3));
  // Several segments of no records.
  CHECK(is_torn(answer(header_of_sa + 1000, 0, rmpp::Type::data, first), 64, 0));
  CHECK_FALSE(is_torn(answer(256, 0, rmpp::Type::data, first | last, 20), 64, 0));
}

TEST_CASE("the typed records of a torn table are as incomplete as their bytes") {
  Reply reply = with_end(answer(header_of_sa + 3 * 112, 112, rmpp::Type::data, first), {1, 2, 3});
  const sa::Table<sa::NodeRecord> table = sa::detail::unpacked_table<sa::NodeRecord>(reply);
  CHECK(table.records.size() == 3);
  CHECK(table.torn);
}

TEST_CASE("millions of short records cost their bytes once") {
  Reply reply = answer(header_of_sa + 4000000, 8, rmpp::Type::data, first);
  const TableRows table = table_rows(reply, 6);
  REQUIRE(table.records.size() == 500000);
  const std::uint8_t* const data = reply.bytes.data();
  RecordBuffer kept(std::move(reply.bytes), table.records.first(6));
  REQUIRE(kept.size() == 500000);
  CHECK(kept[0].data() == data + header_of_sa);
  CHECK(kept[499999].data() == data + header_of_sa + 499999 * 8);
  CHECK(kept[499999].size() == 6);
  CHECK(static_cast<std::size_t>(std::ranges::distance(kept.begin(), kept.end())) == kept.size());
  const RecordBuffer moved = std::move(kept);
  CHECK(moved[0].data() == data + header_of_sa);
  CHECK(moved.size() == 500000);
  CHECK(RecordBuffer({}, RecordRows()).empty());
}

TEST_CASE("answers that contradict themselves are errors") {
  REQUIRE_THROWS_AS(table_rows(answer(256, 64, rmpp::Type::data, first | last, 19), 64), Error);
  REQUIRE_THROWS_AS(table_rows(answer(256, 64, rmpp::Type::data, first | last, 221), 64), Error);
  REQUIRE_THROWS_AS(table_rows(answer(256, 56, rmpp::Type::data, first | last, 84), 64), Error);
  REQUIRE_THROWS_AS(table_rows(answer(header_of_sa + 100000, 8, rmpp::Type::data, first), 108), Error);
  Reply shorter = answer(header_of_sa, 64, rmpp::Type::none, 0);
  shorter.bytes.resize(40);
  REQUIRE_THROWS_AS(table_rows(shorter, 64), Error);
}

TEST_CASE("the answer to a SubnAdmGet is one record") {
  Reply reply = answer(256, 64, rmpp::Type::none, 0);
  reply.bytes[26] = 0;
  const auto table = table_rows(reply, 64);
  REQUIRE(table.records.size() == 1);
  REQUIRE_FALSE(table.torn);
  REQUIRE(table.records[0].size() == 200);
  reply.bytes.resize(header_of_sa + 63);
  REQUIRE_THROWS_AS(table_rows(reply, 64), Error);
}

}  // namespace sa_table_rows_tests
