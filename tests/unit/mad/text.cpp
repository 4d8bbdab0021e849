// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What the user reads: error lines at each -v, trace lines at each -d.
#include <fmt/format.h>

#include "iba-gen/smp.hpp"
#include "mad/describe.hpp"
#include "mad/error.hpp"
#include "mad/request.hpp"
#include "mad/trace.hpp"
#include "support/catch.hpp"
#include "support/fake_channel.hpp"

namespace mad_text_tests {

using namespace ib;
using namespace ib::mad;
using namespace std::chrono_literals;

namespace {

struct Fixture {
  Fixture() {
    device.name = "ibsim0";
    port.device = &device;
    port.number = 1;
    path::IbPath to;
    to.end_port = &port;
    to.dlid = Lid{2};
    to.slid = Lid{1};
    to.dqpn = to.sqpn = Qpn{0};
    to.qkey = 0;
    path = to;
    mad = to_mad({.path = path,
                  .mgmt_class = mgmt_class::smp,
                  .attribute_id = smp::PortInfo::attribute_id,
                  .attribute_modifier = 99,
                  .payload = {}});
    store_be(&mad[8], std::uint64_t{0x87a7351e});
  }
  sys::Device device;
  sys::EndPort port;
  path::Path path = path::IbPath{};
  std::vector<std::uint8_t> mad;
  std::string text;
  LineTracer tracer(int detail) {
    return LineTracer(detail,
                      [this](std::string_view message) { text.append("D: ").append(message).append(message.ends_with('\n') ? "" : "\n"); });
  }
};

}  // namespace

TEST_CASE("an error says what, with -v where to, with -vv what was in the packets") {
  const Fixture f;
  const std::shared_ptr<MadError> error = status_error(f.mad, ibtest::answer_to(f.mad, 0x1c), f.path);
  REQUIRE(error);
  error->note("asking port 99");
  const std::vector<std::string> plain = error->lines(0);
  REQUIRE(plain == std::vector<std::string>{"asking port 99", "LID 2 rejects the Get of PortInfo of port 99 as invalid (status 0x1c)"});
  const std::vector<std::string> where = error->lines(1);
  REQUIRE(where.size() == 4);
  REQUIRE(where[2] == "RPC MAD_METHOD_GET(1) SMPFormat(1.1) SMPPortInfo(21) got error status 0x1c - Invalid attr or modifier");
  REQUIRE(where[3] == "MAD path was IBPath(end_port='ibsim0/1', DLID=2, SLID=1, dqpn=0, qkey=0x0, sqpn=0)");
  const std::vector<std::string> packets = error->lines(2);
  REQUIRE(packets.size() == 6);
  REQUIRE_THAT(packets[4], ibtest::starts_with("Request Packet SMPFormat\n"
                                               "  0 01010101 baseVersion=1,mgmtClass=1,classVersion=1,method=1\n"
                                               "  4 00000000 status=0,classSpecific=0\n"
                                               "  8 00000000 transactionID=2275882270\n"
                                               " 12 87A7351E \n"
                                               " 16 00150000 attributeID=21,reserved_144=0\n"
                                               " 20 00000063 attributeModifier=99\n"));
  REQUIRE_THAT(packets[4], ibtest::contains("\n   + data SMPPortInfo\n"));
  REQUIRE_THAT(packets[4], ibtest::ends_with("\n252 00000000 "));
  REQUIRE_THAT(packets[5], ibtest::starts_with("Reply Packet SMPFormat\n"
                                               "  0 01010181 baseVersion=1,mgmtClass=1,classVersion=1,method=129\n"
                                               "  4 001C0000 status=28,classSpecific=0\n"));
}

TEST_CASE("a timeout has no reply to show") {
  const Fixture f;
  const MadTimeout error(f.mad, f.path, 4, 2100ms);
  REQUIRE(error.lines(2).size() == 4);
  REQUIRE(error.lines(1)[1] == "RPC MAD_METHOD_GET(1) SMPFormat(1.1) SMPPortInfo(21) timed out to 'Path 1 -> 2 SL=0 PKey=0xffff DQPN=0'");
  REQUIRE(error.status() == 0);
  REQUIRE(error.message() == "No answer from LID 2 about PortInfo of port 99 (4 tries in 2.1 s)");
  REQUIRE_THAT(MadTimeout(f.mad, f.path, 1, 250ms).message(), ibtest::ends_with(" (1 try in 0.2 s)"));
  REQUIRE(MadTimeout(f.mad, f.path, 0, 0ms).message() == "LID 2 has stopped answering: PortInfo of port 99 was not requested");
}

TEST_CASE("status 0 is not an error, and the direction bit is not part of the status") {
  Fixture f;
  REQUIRE_FALSE(status_error(f.mad, ibtest::answer_to(f.mad), f.path));
  f.mad[1] = mgmt_class::smp_directed;
  REQUIRE_FALSE(status_error(f.mad, ibtest::answer_to(f.mad), f.path));
  const auto error = status_error(f.mad, ibtest::answer_to(f.mad, 0xc), f.path);
  REQUIRE_THAT(error->message(), ibtest::ends_with(" does not support PortInfo of port 99 (status 0xc)"));
}

TEST_CASE("the short trace has one line for each event") {
  Fixture f;
  LineTracer tracer = f.tracer(1);
  tracer.completed(f.mad, f.path, ibtest::answer_to(f.mad));
  tracer.completed(f.mad, f.path, {});
  tracer.retried(f.mad, f.path);
  tracer.unexpected(f.mad, f.path, false);
  tracer.unexpected(Bytes(f.mad).first(5), f.path, false);
  REQUIRE(f.text ==
          "D: RPC MAD_METHOD_GET(1) SMPFormat(1.1) SMPPortInfo(21) completed to 'Path 1 -> 2 SL=0 PKey=0xffff DQPN=0' len 256.\n"
          "D: RPC MAD_METHOD_GET(1) SMPFormat(1.1) SMPPortInfo(21) TIMED OUT to 'Path 1 -> 2 SL=0 PKey=0xffff DQPN=0'.\n"
          "D: RPC MAD_METHOD_GET(1) SMPFormat(1.1) SMPPortInfo(21) retry to 'Path 1 -> 2 SL=0 PKey=0xffff DQPN=0'.\n"
          "D: Got unexpected MAD from 'Path 1 -> 2 SL=0 PKey=0xffff DQPN=0'.\n"
          "D: Got unexpected MAD from 'Path 1 -> 2 SL=0 PKey=0xffff DQPN=0'.\n");
}

TEST_CASE("the long trace decodes both packets") {
  Fixture f;
  LineTracer tracer = f.tracer(2);
  tracer.completed(f.mad, f.path, ibtest::answer_to(f.mad));
  REQUIRE_THAT(f.text, ibtest::contains("len 256.\nD: Request MAD_METHOD_GET(1) SMPFormat(1.1) SMPPortInfo(21)\n  0 01010101 "));
  REQUIRE_THAT(f.text,
               ibtest::contains("\n252 00000000 \nD: Reply MAD_METHOD_GET_RESP(129) SMPFormat(1.1) SMPPortInfo(21)\n  0 01010181 "));
  REQUIRE_THAT(f.text, ibtest::ends_with("\n"));
}

TEST_CASE("keys of the records of a table are blanked wherever they begin") {
  constexpr std::size_t data = 56, step = 176, key = 32, key_size = 16;  // of ServiceRecords, 200 bytes of which a segment has
  std::vector<std::uint8_t> table(data + 5 * step, std::uint8_t{0x77});
  const std::array<std::uint8_t, 20> header{1, 3, 2, 0x92};
  std::fill_n(table.begin(), data, std::uint8_t{0});
  std::copy(header.begin(), header.end(), table.begin());
  table[17] = 0x31;
  table[24] = table[25] = table[26] = 1;  // RMPP: version 1, DATA, active
  table[45] = step / 8;
  const auto is_key = [](std::size_t at) { return at % step >= key && at % step < key + key_size; };
  const std::vector<std::uint8_t> whole = without_keys(table);
  for (std::size_t at = 0; at < 5 * step; ++at) REQUIRE(whole[data + at] == (is_key(at) ? 0 : 0x77));
  for (std::uint8_t segment = 1; segment <= 4; ++segment) {
    const std::size_t before = (segment - 1U) * 200;
    std::vector<std::uint8_t> packet(table.begin(), table.begin() + 256);
    packet[31] = segment;
    const std::vector<std::uint8_t> shown = without_keys(packet);
    INFO(int{segment});
    // The first bytes of a later segment are decoded as if a record began there: more than keys may be blank.
    for (std::size_t at = 0; at < 200; ++at) {
      if (is_key(before + at)) REQUIRE(shown[data + at] == 0);
    }
    const std::string dump = dump_packet(packet);
    for (std::size_t at = 0; at + 4 <= step; at += 4) {
      if (is_key(before + at)) CHECK_THAT(dump, ibtest::contains(fmt::format("\n{:3} 00000000", data + at)));
    }
  }
  table[44] = table[45] = 0;  // the size of a record is not said
  CHECK(without_keys(table)[data + step + key] == 0);
  for (std::size_t size = 0; size < 100; ++size) CHECK(without_keys(Bytes(table).first(size)).size() == size);
}

TEST_CASE("bytes 24 to 31 of classes 0x0a and 0x0c are a key, whatever the attribute and the version") {
  Fixture f;
  const std::uint8_t mgmt_class = GENERATE(std::uint8_t{0x0a}, std::uint8_t{0x0c});
  // KeyInfo, NeighborsInfo, GeneralInfo, ConfigSpaceAccess, what nobody has defined
  const std::uint8_t attribute =
      GENERATE(std::uint8_t{0x0f}, std::uint8_t{0x10}, std::uint8_t{0x17}, std::uint8_t{0x50}, std::uint8_t{0xee});
  const std::uint8_t version = GENERATE(std::uint8_t{1}, std::uint8_t{2});
  CAPTURE(int{mgmt_class}, int{attribute}, int{version});
  std::vector<std::uint8_t> mad(256);
  mad[0] = 1;
  mad[1] = mgmt_class;
  mad[2] = version;
  mad[3] = 1;
  mad[17] = attribute;
  std::fill_n(mad.begin() + 24, 8, std::uint8_t{0xa5});
  mad[100] = 0x77;
  std::vector<std::uint8_t> without = mad;
  std::fill_n(without.begin() + 24, 8, std::uint8_t{0});
  CHECK(without_keys(mad) == without);
  CHECK(without_keys(mgmt_class, attribute, 24, Bytes(mad).subspan(24)) == std::vector<std::uint8_t>(without.begin() + 24, without.end()));
  CHECK_FALSE(without_keys(mgmt_class, attribute, 24, Bytes(without).subspan(24)));
  CHECK_FALSE(ibtest::contains("A5A5").match(dump_packet(mad)));
  CHECK_THAT(dump_packet(mad), ibtest::contains("<not displayed>"));
  CHECK_THAT(dump_packet(mad, Keys::shown), ibtest::contains("A5A5A5A5"));
  LineTracer tracer = f.tracer(2);
  tracer.completed(mad, f.path, mad);
  CHECK_FALSE(ibtest::contains("A5A5").match(f.text));
}

TEST_CASE("a ClassPortInfo of class 0x0a has a key in front, unless it begins where the data begin") {
  Fixture f;
  std::vector<std::uint8_t> mad(256);
  mad[0] = mad[2] = 1;
  mad[1] = 0x0a;
  mad[17] = 1;
  mad[3] = GENERATE(std::uint8_t{0x01}, std::uint8_t{0x81});
  const bool has_attribute = GENERATE(false, true);
  const std::uint8_t first = GENERATE(std::uint8_t{0xa5}, std::uint8_t{0x01});  // a key may begin as a ClassPortInfo does
  std::fill_n(mad.begin() + 24, 8, std::uint8_t{0xa5});
  if (has_attribute) mad[24] = mad[25] = first, mad[32] = mad[33] = 1;
  std::vector<std::uint8_t> without = mad;
  std::fill_n(without.begin() + 24, 8, std::uint8_t{0});
  CHECK(without_keys(mad) == without);
  CHECK(without_keys(0x0a, 1, 24, Bytes(mad).subspan(24)) == std::vector<std::uint8_t>(without.begin() + 24, without.end()));
  CHECK_FALSE(ibtest::contains("A5A5").match(dump_packet(mad)));
  CHECK_THAT(dump_packet(mad, Keys::shown), ibtest::contains("A5A5A5A5"));
  LineTracer tracer = f.tracer(2);
  tracer.completed(mad, f.path, mad);
  CHECK_FALSE(ibtest::contains("A5A5").match(f.text));

  std::vector<std::uint8_t> plain = mad;
  plain[24] = plain[25] = 1;
  plain[32] = plain[33] = 0;
  CHECK(without_keys(plain) == plain);
  CHECK_THAT(dump_packet(plain), ibtest::contains("0101A5A5"));
}

TEST_CASE("other vendors' bytes are no key") {
  std::vector<std::uint8_t> mad(256);
  mad[0] = mad[2] = 1;
  mad[1] = GENERATE(std::uint8_t{0x09}, std::uint8_t{0x0b}, std::uint8_t{0x0d});
  std::fill_n(mad.begin() + 24, 8, std::uint8_t{0xa5});
  CHECK(without_keys(mad) == mad);
}

TEST_CASE("a key is hidden in a MAD of an unknown version of its class, too") {
  std::vector<std::uint8_t> mad(256);
  mad[0] = GENERATE(std::uint8_t{1}, std::uint8_t{0x80});
  mad[1] = GENERATE(std::uint8_t{0x01}, std::uint8_t{0x21}, std::uint8_t{0x81});
  mad[2] = 7;
  std::fill_n(mad.begin() + 24, 8, std::uint8_t{0xa5});
  std::vector<std::uint8_t> without = mad;
  std::fill_n(without.begin() + 24, 8, std::uint8_t{0});
  CHECK(without_keys(mad) == without);
  CHECK_FALSE(ibtest::contains("A5A5").match(dump_packet(mad)));
}

TEST_CASE("a Result is a value or an error") {
  const Fixture f;
  Result<int> good = 5;
  REQUIRE(good);
  REQUIRE(std::move(good).take() == 5);
  Result<int> bad = std::shared_ptr<const MadError>(std::make_shared<MadTimeout>(f.mad, f.path, 4, 2100ms));
  REQUIRE_FALSE(bad);
  REQUIRE_THROWS_AS(std::move(bad).take(), MadTimeout);
  try {
    bad.shared_error()->raise_with("more");
    FAIL("came back");
  } catch (const MadTimeout& error) {
    REQUIRE(std::string(error.what()) == "more");
  }
}

}  // namespace mad_text_tests
