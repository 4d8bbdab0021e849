// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Which ports of a node must not be disabled by who asks the node, and what is named instead.
#include "subnet/sweep/peer.hpp"

#include "mad/rpc/rpc.hpp"
#include "support/catch.hpp"
#include "support/fake_clock.hpp"
#include "support/small_fabric.hpp"

namespace subnet_way_in_tests {

using namespace ib;
using ibtest::contains;
using ibtest::FakeFabric;

namespace {

struct Ways : ibtest::TwoWayFabric {
  ibtest::FakeClock clock;
  async::Loop loop{clock};
  std::unique_ptr<mad::Rpc> rpc;

  Ways() { rpc = std::make_unique<mad::Rpc>(loop, fabric.open()); }

  /// Empty where the port may be disabled, else why not.
  std::string complaint(path::Path path, unsigned port) {
    try {
      loop.run(check(path, port));
      return {};
    } catch (const Error& error) {
      return error.message();
    }
  }

 private:
  async::Task<> check(path::Path path, unsigned port) {
    const auto node = co_await rpc->subn_get<smp::NodeInfo>(path);
    const auto info = co_await rpc->subn_get<smp::PortInfo>(path, port);
    co_await subnet::check_carries_our_smps(*rpc, path, node, port, info);
  }
};

}  // namespace

TEST_CASE_METHOD(Ways, "a switch at a LID: its forwarding table gives the port of our requests where LocalPortNum is 0") {
  const unsigned back = fabric.node(far).lft[3];  // to the host of the test
  CHECK((back == 2 || back == 3));
  const unsigned spare = 5 - back;
  CHECK_THAT(complaint(by_lid(2), back), contains("use the other end of the link, port " + std::to_string(back) + " of LID 1"));
  CHECK(complaint(by_lid(2), spare).empty());
  CHECK(complaint(by_lid(2), 4).empty());
  CHECK(complaint(by_lid(2), 0).empty());
  fabric.node(far).lft[3] = static_cast<std::uint8_t>(spare);
  CHECK_FALSE(complaint(by_lid(2), spare).empty());
  fabric.node(far).faults.ignores = smp::LinearForwardingTable::attribute_id;
  CHECK_THAT(complaint(by_lid(2), 4), contains("LinearForwardingTable"));  // not known is not safe
}

TEST_CASE_METHOD(Ways, "a switch at the end of a directed route: only the port by which the route comes in") {
  CHECK_THAT(complaint(by_route({1, 3}), 3), contains("use the other end of the link, port 3 of route 0,1"));
  CHECK(complaint(by_route({1, 3}), 2).empty());
  CHECK(complaint(by_route({1}), 2).empty());
}

TEST_CASE_METHOD(Ways, "an end node is reached by the port itself") {
  CHECK_THAT(complaint(by_lid(4), 1), contains("use the other end of the link"));
  CHECK_THAT(complaint(by_lid(4), 0), contains("Port 1 of "));
  CHECK(complaint(by_lid(4), 2).empty());
  CHECK_THAT(complaint(by_route({1, 2, 4}), 1), contains("use the other end of the link, port 4 of route 0,1,2"));
  fabric.node(other).faults.lie = [](FakeFabric::Answer& mad) {  // says nowhere by which port it was asked
    if (mad[17] == smp::PortInfo::attribute_id) mad[64 + 28] = 0;
    if (mad[17] == smp::NodeInfo::attribute_id) mad[64 + 36] = 0;
  };
  CHECK_FALSE(complaint(by_lid(4), 2).empty());
}

TEST_CASE_METHOD(Ways, "there is nothing to use instead of the link of this host") {
  CHECK_THAT(complaint(by_route({}), 1), contains("it is the port of this host"));
  CHECK_THAT(complaint(by_lid(3), 1), contains("it is the port of this host"));
  CHECK_THAT(complaint(by_route({1}), 1), contains("it is linked to this host"));
  CHECK_THAT(complaint(by_lid(1), 1), contains("it is linked to this host"));
}

}  // namespace subnet_way_in_tests
