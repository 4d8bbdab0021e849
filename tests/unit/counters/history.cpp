// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The last rows of ports: nodes that come and go, and details that were not read again.
#include "counters/difference.hpp"

#include "iba-gen/pm.hpp"
#include "support/catch.hpp"
#include "support/fake_fabric.hpp"
#include "unit/subnet/swept.hpp"

namespace counters_history_tests {

using namespace ib;
using namespace ib::counters;
using namespace std::chrono_literals;
using ibtest::FakeFabric;
using ibtest::Swept;

namespace {

const CounterKey key{Guid{0x100}, 0, 3};

CounterRow extended(std::chrono::seconds time, std::uint64_t data) {
  CounterRow row;
  row.known = row.wide = 1U << column_of("port_xmit_data");
  row.counters[column_of("port_xmit_data")] = data;
  row.error_time = row.traffic_time = async::Time(time);
  return row;
}

}  // namespace

TEST_CASE("a history gives the row before") {
  CounterHistory history;
  CHECK(history.last(key) == nullptr);
  CHECK_FALSE(history.take(key, extended(1s, 1000)));
  const std::optional<CounterRow> before = history.take(key, extended(5s, 5000));
  REQUIRE(before);
  CHECK(before->value(column_of("port_xmit_data")) == 1000);
  CHECK(before->error_time == async::Time(1s));
  REQUIRE(history.last(key));
  CHECK(history.last(key)->error_time == async::Time(5s));
}

TEST_CASE("details that were not read again are as before, as long as their sum is") {
  const std::size_t sum = column_of("port_xmit_discards"), reason = column_of("port_neighbor_mtu_discards");
  const auto row = [&](std::uint64_t discards, std::optional<std::uint16_t> details) {
    CounterRow made;
    made.known = std::uint64_t{1} << sum;
    made.counters[sum] = discards;
    if (details) made.known |= std::uint64_t{1} << reason;
    made.details[reason - counter_columns] = details.value_or(0);
    return made;
  };
  CounterHistory history;
  history.take(key, row(5, 4));
  history.take(key, row(5, {}));
  REQUIRE(history.last(key)->is_known(reason));
  CHECK(history.last(key)->value(reason) == 4);
  history.take(key, row(6, {}));
  CHECK_FALSE(history.last(key)->is_known(reason));
  history.take(key, row(0xffff, 9));
  history.take(key, row(0xffff, {}));  // a sum that is full may have moved
  CHECK_FALSE(history.last(key)->is_known(reason));
}

TEST_CASE("a history outlives a model, and forgets nodes that are gone") {
  FakeFabric fabric = FakeFabric::fat_tree(1, 1, 2);
  const Swept first(fabric);
  CounterHistory history;
  for (subnet::NodeIndex at = 0; at < first.subnet.nodes().size(); ++at) history.take(counter_key(first.subnet, at, 1), extended(0s, 10));
  CHECK(history.size() == first.subnet.nodes().size());
  history.take(key, extended(0s, 10));  // of a node that is in no model
  Swept second(fabric);
  history.keep_nodes_of(second.subnet);
  CHECK(history.size() == first.subnet.nodes().size());
  const subnet::NodeIndex node = second.subnet.find_node(first.subnet.node(1).guid());
  CHECK(history.take(counter_key(second.subnet, node, 1), extended(1s, 15)));
}

TEST_CASE("twins are distinguished in one model, and forgotten with it; a crowd of them is not kept") {
  subnet::Subnet subnet;
  smp::NodeInfo info;
  info.node_type = smp::NodeType{1};
  info.num_ports = 1;
  info.node_guid = Guid{0x77};
  for (unsigned i = 0; i < 300; ++i) subnet.add_node(info);
  CounterHistory history;
  CHECK(counter_key(subnet, 0, 1) != counter_key(subnet, 1, 1));
  history.take(counter_key(subnet, 0, 1), extended(0s, 10));
  CHECK_FALSE(history.take(counter_key(subnet, 1, 1), extended(0s, 20)));
  CHECK(history.take(counter_key(subnet, 1, 1), extended(1s, 21))->value(column_of("port_xmit_data")) == 20);
  for (const std::chrono::seconds time : {0s, 1s}) CHECK_FALSE(history.take(counter_key(subnet, 299, 1), extended(time, 1)));
  history.keep_nodes_of(subnet);
  CHECK(history.size() == 0);
}

}  // namespace counters_history_tests
