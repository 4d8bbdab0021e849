// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One link at a time, from an SA that finds it and from one that has to be asked in another way.

#include "mad/rpc/rpc.hpp"
#include "sa/records.hpp"
#include "support/catch.hpp"
#include "support/fake_clock.hpp"
#include "support/fake_sa.hpp"

namespace sa_links_tests {

using namespace ib;
using ibtest::FakeFabric;
using ibtest::FakeSa;

namespace {

/// A ring of switches: port 1 of LID n leads to port 2 of LID n + 1. The host is at port 3 of the first,
/// port 1 of one more switch, which has the next LID, at port 3 of the second.
struct Ring {
  explicit Ring(unsigned switches) {
    std::vector<FakeFabric::NodeId> ids;
    for (unsigned i = 0; i < switches; ++i) ids.push_back(fabric.add_switch(0x100 + i, 3, "switch"));
    for (unsigned i = 0; i < switches; ++i) fabric.link(ids[i], 1, ids[(i + 1) % switches], 2);
    fabric.link(fabric.add_switch(0x800, 3, "outside"), 1, ids[1], 3);
    const auto host = fabric.add_ca(0x900, 1, "host");
    fabric.link(ids[0], 3, host, 1);
    fabric.assign_lids();
    fabric.attach(host);
  }
  mad::Result<sa::LinkRecord> find(unsigned lid, std::optional<std::uint8_t> port) {
    sa.asked.clear();
    ibtest::FakeClock clock;
    async::Loop loop(clock);
    mad::Rpc rpc(loop, fabric.open());
    return loop.run(sa::find_link(rpc, Lid{static_cast<std::uint16_t>(lid)}, port));
  }
  FakeFabric fabric;
  FakeSa sa{fabric};
};

}  // namespace

TEST_CASE("a link that the SA finds by its LID costs one query") {
  Ring ring(4);
  CHECK(ring.find(3, 1)->to_lid == Lid{4});
  CHECK(ring.sa.asked.size() == 1);
  CHECK(ring.find(6, std::nullopt)->to_port == 3);  // the host has one link
  CHECK(ring.sa.asked.size() == 1);
}

TEST_CASE("a link that the SA does not find by its LID is found by its port") {
  Ring ring(4);
  ring.sa.lmc = 2;
  CHECK(ring.find(3, 1)->to_lid == Lid{4});
  CHECK(ring.sa.asked.size() == 2);
  CHECK(ring.find(4, 1)->to_lid == Lid{1});  // a round LID
  CHECK(ring.sa.asked.size() == 1);
}

TEST_CASE("a link that is not in what came of a table without its end may exist for all that") {
  Ring ring(40);
  ring.sa.lmc = 3;
  ring.sa.cut = true;
  CHECK(ring.find(1, 3)->to_lid == Lid{42});  // of three ports 3
  CHECK(ring.find(2, 1)->to_lid == Lid{3});   // among the first of 42 ports 1
  const auto link = ring.find(39, 1);
  REQUIRE_FALSE(link);
  CHECK(link.error().lines(0).front() == "the SA's table of links from ports 1 came without its end");
  CHECK(sa::is_no_records(link.error()));
}

TEST_CASE("where there is no link, the error comes from the first query") {
  Ring ring(4);
  const auto link = ring.find(3, 3);
  REQUIRE_FALSE(link);
  CHECK(link.error().message() == "The SA has no LinkRecord that matches");
  CHECK(ring.sa.asked.size() == 2);
  CHECK_FALSE(ring.find(77, std::nullopt));
  CHECK(ring.sa.asked.size() == 1);
}

}  // namespace sa_links_tests
