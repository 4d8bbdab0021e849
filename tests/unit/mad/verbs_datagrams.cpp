// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What stands before a datagram, and how much of a device's room a port takes. Neither needs a device.
#include <algorithm>
#include <array>

#include "iba/text.hpp"
#include "mad/channel/channel.hpp"
#include "support/catch.hpp"
#include "verbs/objects.hpp"

namespace mad_verbs_datagrams_tests {

using namespace ib;
using sys::LinkLayer;

namespace {

using Header = std::array<std::uint8_t, 40>;

/// A GRH, or what it is on RoCE: an IPv6 header.
Header ipv6(const Gid& sgid, const Gid& dgid) {
  Header header{0x61, 0x23, 0x45, 0x67, 0x01, 0x18, 0x1b, 0x40};
  std::ranges::copy(sgid.bytes, header.begin() + 8);
  std::ranges::copy(dgid.bytes, header.begin() + 24);
  return header;
}

/// 20 bytes of 192.0.2.1 to 192.0.2.2, UDP, DSCP 0x10 and TTL 63, the checksum made by another program, behind `before`.
Header ipv4_behind(const Header& before) {
  constexpr std::array<std::uint8_t, 20> ip{0x45, 0x10, 0x01, 0x30, 0x00, 0x00, 0x40, 0x00, 0x3f, 0x11,
                                            0xb6, 0xa9, 0xc0, 0x00, 0x02, 0x01, 0xc0, 0x00, 0x02, 0x02};
  Header header = before;
  std::ranges::copy(ip, header.begin() + 20);
  return header;
}

/// The source that `bytes` before a datagram show, if they are a header.
std::optional<mad::Source> parse_grh(Bytes bytes, LinkLayer link_layer) {
  mad::Source source;
  mad::parse_grh(bytes, link_layer, source);
  return source.has_grh ? std::optional(source) : std::nullopt;
}

const Gid here = *parse_gid("fe80::4510:130:0:1"), there = *parse_gid("2001:db8::2");

}  // namespace

TEST_CASE("a GRH is read as one, though its SGID begins like IPv4") {
  for (const LinkLayer link : {LinkLayer::infiniband, LinkLayer::ethernet}) {
    const Gid middle = *parse_gid("fe80::1234:5678:4510:130");  // the 0x45 stands where an IPv4 header would begin
    for (const Gid& sgid : {here, middle}) {
      const auto grh = parse_grh(ipv6(sgid, there), link);
      REQUIRE(grh);
      CHECK(grh->sgid == sgid);
      CHECK(grh->dgid == there);
      CHECK(grh->traffic_class == 0x12);
      CHECK(grh->flow_label == 0x34567);
      CHECK(grh->hop_limit == 0x40);
    }
  }
}

TEST_CASE("an IPv4 header is read as one, whatever stands before it") {
  Header zero{}, other;
  other.fill(0xee);
  for (const Header& before : {zero, other, ipv6(here, there)}) {
    const auto grh = parse_grh(ipv4_behind(before), LinkLayer::ethernet);
    REQUIRE(grh);
    CHECK(to_text(grh->sgid) == to_text(*parse_gid("::ffff:c000:201")));
    CHECK(to_text(*grh->dgid) == to_text(*parse_gid("::ffff:c000:202")));
    CHECK(grh->traffic_class == 0x10);
    CHECK(grh->hop_limit == 63);
    CHECK(grh->flow_label == 0);
  }
}

TEST_CASE("InfiniBand knows no IPv4 header") {
  const Header header = ipv4_behind(ipv6(here, there));
  const auto grh = parse_grh(header, LinkLayer::infiniband);
  REQUIRE(grh);
  CHECK(std::ranges::equal(grh->sgid.bytes, Bytes(header).subspan(8, 16)));
  CHECK_FALSE(parse_grh(ipv4_behind({}), LinkLayer::infiniband));
}

TEST_CASE("only a right checksum makes IPv4 of what may be IPv6") {
  for (std::size_t byte = 20; byte < 40; ++byte) {
    Header header = ipv4_behind(ipv6(here, there));
    header[byte] ^= 1;
    const auto grh = parse_grh(header, LinkLayer::ethernet);
    REQUIRE(grh);
    CHECK(std::ranges::equal(grh->dgid->bytes, Bytes(header).subspan(24)));
  }
  Header header = ipv4_behind({});
  header[30] ^= 1;
  CHECK(parse_grh(header, LinkLayer::ethernet));  // what else could it be?
  header[20] = 0x46;                              // options: not RoCEv2
  CHECK_FALSE(parse_grh(header, LinkLayer::ethernet));
  CHECK_FALSE(parse_grh(Bytes(header).first(39), LinkLayer::ethernet));
}

TEST_CASE("the queues of a port are no longer than its device can make them") {
  constexpr verbs::QueueSizes wanted{256, 1024};
  ibv_device_attr device{};
  device.max_qp_wr = 1 << 20;
  device.max_cqe = 1 << 20;
  CHECK(wanted.fitted(device).receives == 1024);
  CHECK(wanted.fitted(device).sends == 256);
  device.max_qp_wr = 200;
  CHECK(wanted.fitted(device).receives == 200);
  CHECK(wanted.fitted(device).sends == 200);
  device.max_cqe = 100;  // for both queues
  CHECK(wanted.fitted(device).receives == 50);
  device.max_qp_wr = device.max_cqe = 0;
  CHECK(wanted.fitted(device).receives == 1);
}

}  // namespace mad_verbs_datagrams_tests
