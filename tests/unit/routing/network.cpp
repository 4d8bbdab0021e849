// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The copy of a model's links and LIDs.
#include "routing/network.hpp"

#include "support/catch.hpp"
#include "unit/routing/made_fabric.hpp"

namespace routing_network_tests {

using namespace ib;
using namespace ib::routing;
using ibtest::MadeFabric;

namespace {

/// A switch, a host on it and a second switch, found in this order or in the opposite one; the same GUIDs each time.
std::vector<Guid> order_of_places(bool reversed) {
  MadeFabric made;
  std::vector<subnet::NodeIndex> nodes(3);
  for (const unsigned i : reversed ? std::vector<unsigned>{2, 1, 0} : std::vector<unsigned>{0, 1, 2}) {
    smp::NodeInfo info;
    info.node_type = i == 1 ? smp::NodeType::channel_adapter : smp::NodeType::switch_;
    info.num_ports = i == 1 ? 1 : 2;
    info.node_guid = info.port_guid = Guid{0x10 + i};
    nodes[i] = made.subnet.add_node(info);
  }
  made.link(nodes[0], 1, nodes[1], 1);
  made.link(nodes[0], 2, nodes[2], 1);
  made.set_port(nodes[1], 1, 5);
  const Network network(made.subnet);
  std::vector<Guid> found;
  for (PortId port_id = 0; port_id < network.port_id_count(); ++port_id)
    found.push_back(made.subnet.node(made.subnet.port(network.port_of(port_id)).node).guid());
  return found;
}

}  // namespace

TEST_CASE("switches and hosts are ordered by GUID, whichever a sweep found first") {
  const std::vector<Guid> expected{{0x10}, {0x10}, {0x10}, {0x12}, {0x12}, {0x12}, {0x11}};
  CHECK(order_of_places(false) == expected);
  CHECK(order_of_places(true) == expected);
}

TEST_CASE("end ports with an Active link and no LID are counted, and switches that have one") {
  MadeFabric made;
  for (int i = 0; i < 2; ++i) made.add_switch(4);
  made.set_switch_lid(0, 9);
  made.add_host(0, 1, 1);
  made.add_host(0, 2, 0);
  made.set_port(made.add_host(0, 3, 0), 1, 0, 0, smp::PortState::init);
  const Network network(made.subnet);
  CHECK(network.hosts().size() == 1);
  CHECK(network.without_lid() == 1);
  CHECK(network.switches_with_lid() == 1);
}

}  // namespace routing_network_tests
