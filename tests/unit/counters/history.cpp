// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What counters have counted between two readings: wraps, saturation, resets, jumps that no link explains, nodes that come and go.
#include "counters/history.hpp"

#include <cmath>

#include "iba-gen/pm.hpp"
#include "iba/registry.hpp"
#include "support/catch.hpp"
#include "support/fake_fabric.hpp"
#include "unit/subnet/swept.hpp"

namespace counters_history_tests {

using namespace ib;
using namespace ib::counters;
using namespace std::chrono_literals;
using ibtest::FakeFabric;
using ibtest::Swept;
using Kind = CounterChange::Kind;

namespace {

const StructInfo& narrow = pm::PortCounters::info();
const StructInfo& wide = pm::PortCountersExt::info();
const CounterKey key{Guid{0x100}, 0, 3};

const FieldInfo& field(const StructInfo& of, std::string_view name) { return *find_field(of, name); }

std::vector<std::uint8_t> extended(std::uint64_t data, std::uint64_t packets = 0, std::uint64_t wait = 0) {
  pm::PortCountersExt value;
  value.port_xmit_data = data;
  value.port_xmit_pkts = packets;
  value.port_xmit_wait = wait;
  std::vector<std::uint8_t> bytes(pm::PortCountersExt::wire_size);
  value.pack(bytes);
  return bytes;
}

}  // namespace

TEST_CASE("a change knows wrap, saturation and reset") {
  CHECK(change_of(100, 350, 64).kind == Kind::counted);
  CHECK(change_of(100, 350, 64).delta == 250U);
  CHECK(change_of(100, 100, 32).delta == 0U);
  CHECK(change_of(0xffffffffffffff00, 0x100, 64).delta == 0x200U);
  CHECK(change_of(~std::uint64_t{0} - 1, ~std::uint64_t{0}, 64).kind == Kind::counted);
  CHECK(change_of(1'000'000, 100, 64).kind == Kind::reset);
  CHECK_FALSE(change_of(1'000'000, 100, 64).delta);
  CHECK(change_of(5, ~std::uint64_t{0} - 39, 64).kind == Kind::implausible);  // it went below zero
  CHECK(change_of(0xfffffff0, 100, 32).kind == Kind::reset);                  // narrow ones do not wrap
  CHECK(change_of(3, 255, 8).kind == Kind::saturated);
  CHECK(change_of(3, 255, 8).delta == 252U);  // at least
  CHECK(change_of(255, 255, 8).kind == Kind::saturated);
  CHECK_FALSE(change_of(255, 255, 8).delta);
  CHECK(change_of(255, 4, 8).kind == Kind::reset);
  CHECK(change_of(1, 15, 4).kind == Kind::saturated);
}

TEST_CASE("each reading has its time, and each attribute is compared with itself") {
  CounterHistory history;
  CHECK_FALSE(history.take(key, wide, async::Time(1s), extended(1000)));
  CHECK_FALSE(history.take(key, narrow, async::Time(2s), std::vector<std::uint8_t>(narrow.bytes, 0)));
  const auto growth = history.take(key, wide, async::Time(5s), extended(5000));
  REQUIRE(growth);
  CHECK(growth->seconds == 4.0);
  CHECK(growth->change(field(wide, "port_xmit_data")).delta == 4000U);
  CHECK(growth->change(field(wide, "port_rcv_data")).delta == 0U);
  REQUIRE(history.last(key, wide));
  CHECK(history.last(key, wide)->time == async::Time(5s));
  CHECK(history.last(key, narrow)->time == async::Time(2s));
  // A clock that stands still, or an answer that overtook another, gives no rate.
  const auto timeless = history.take(key, wide, async::Time(5s), extended(6000));
  REQUIRE(timeless);
  CHECK_FALSE(timeless->seconds);
  CHECK(timeless->change(field(wide, "port_xmit_data")).delta == 1000U);
}

TEST_CASE("what no link carries is implausible") {
  constexpr double edr = 103125e6 / 8;
  CounterHistory history;
  history.take(key, wide, async::Time(0s), extended(0), edr);
  const auto full = history.take(key, wide, async::Time(1s), extended(static_cast<std::uint64_t>(edr / 4)), edr);
  REQUIRE(full);
  CHECK(full->change(field(wide, "port_xmit_data")).kind == Kind::counted);
  const std::uint64_t jump = ~std::uint64_t{0} / 4;
  const auto jumped = history.take(key, wide, async::Time(2s), extended(jump, jump, jump), edr);
  REQUIRE(jumped);
  CHECK(jumped->change(field(wide, "port_xmit_data")).kind == Kind::implausible);
  CHECK_FALSE(jumped->change(field(wide, "port_xmit_data")).delta);
  CHECK(jumped->change(field(wide, "port_xmit_pkts")).kind == Kind::implausible);
  CHECK(jumped->change(field(wide, "port_xmit_wait")).kind == Kind::counted);  // ticks of a length of the device's own
  // Where the link is not known, nothing is implausible.
  const auto unknown = history.take(key, wide, async::Time(3s), extended(2 * jump));
  CHECK(unknown->change(field(wide, "port_xmit_data")).kind == Kind::counted);
}

TEST_CASE("a node that restarted, or was cleared, begins anew") {
  CounterHistory history;
  history.take(key, wide, async::Time(0s), extended(1000, 100));
  CHECK_FALSE(history.take(key, wide, async::Time(1s), extended(1100, 110))->began_anew());
  CHECK_FALSE(history.take(key, wide, async::Time(2s), extended(3, 111))->began_anew());  // one of them was reset
  CHECK(history.take(key, wide, async::Time(3s), extended(1, 0))->began_anew());
  // What a restart itself counts does not speak against it: 1 before, 1 after.
  history.take(key, wide, async::Time(3500ms), extended(5000, 1));
  CHECK(history.take(key, wide, async::Time(3600ms), extended(2, 1))->began_anew());
  history.take(key, wide, async::Time(4s), extended(0));
  CHECK_FALSE(history.take(key, wide, async::Time(5s), extended(7))->began_anew());  // nothing had been counted
}

TEST_CASE("a history outlives a model, and forgets nodes that are gone") {
  FakeFabric fabric = FakeFabric::fat_tree(1, 1, 2);
  const Swept first(fabric);
  CounterHistory history;
  for (subnet::NodeIndex at = 0; at < first.subnet.nodes().size(); ++at)
    history.take(counter_key(first.subnet, at, 1), wide, async::Time(0s), extended(10));
  CHECK(history.size() == first.subnet.nodes().size());
  history.take(key, wide, async::Time(0s), extended(10));  // of a node that is in no model
  Swept second(fabric);
  history.keep_nodes_of(second.subnet);
  CHECK(history.size() == first.subnet.nodes().size());
  const subnet::NodeIndex node = second.subnet.find_node(first.subnet.node(1).guid());
  CHECK(history.take(counter_key(second.subnet, node, 1), wide, async::Time(1s), extended(15)));
}

TEST_CASE("twins are told apart in one model, and forgotten with it; a crowd of them is not kept") {
  subnet::Subnet subnet;
  smp::NodeInfo info;
  info.node_type = smp::NodeType{1};
  info.num_ports = 1;
  info.node_guid = Guid{0x77};
  for (unsigned i = 0; i < 300; ++i) subnet.add_node(info);
  CounterHistory history;
  CHECK(counter_key(subnet, 0, 1) != counter_key(subnet, 1, 1));
  history.take(counter_key(subnet, 0, 1), wide, async::Time(0s), extended(10));
  CHECK_FALSE(history.take(counter_key(subnet, 1, 1), wide, async::Time(0s), extended(20)));
  CHECK(history.take(counter_key(subnet, 1, 1), wide, async::Time(1s), extended(21))->change(field(wide, "port_xmit_data")).delta == 1U);
  for (const async::Time time : {async::Time(0s), async::Time(1s)})
    CHECK_FALSE(history.take(counter_key(subnet, 299, 1), wide, time, extended(1)));
  history.keep_nodes_of(subnet);
  CHECK(history.size() == 0);
}

}  // namespace counters_history_tests
