// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What is printed beside ports. IB port 3 of a Quantum-2 box is 1/2/1, as seen on real ones.
#include "subnet/model/names.hpp"

#include <algorithm>

#include "support/catch.hpp"

namespace subnet_port_label_tests {

using namespace ib;
using namespace ib::subnet;

namespace {

std::string label(unsigned device, unsigned ports, unsigned port, std::string_view description = "leaf", unsigned type = 2) {
  Subnet subnet;
  smp::NodeInfo info;
  info.node_type = smp::NodeType{static_cast<std::uint8_t>(type)};
  info.num_ports = static_cast<std::uint8_t>(ports);
  info.device_id = static_cast<std::uint16_t>(device);
  info.node_guid = Guid{0x77};
  const NodeIndex node = subnet.add_node(info);
  std::ranges::copy(description, subnet.node(node).description_bytes.begin());
  return port_label(subnet, subnet.port_of(node, port));
}

}  // namespace

TEST_CASE("labels of ports, by the device") {
  CHECK(label(0xcf08, 36, 22) == "22");
  CHECK(label(0xcf08, 36, 0).empty());
  CHECK(label(0xd2f0, 41, 40) == "40");
  CHECK(label(0xd2f0, 41, 41).empty());  // inside of the box
  CHECK(label(0xd2f0, 81, 22) == "11/2");
  CHECK(label(0xd2f0, 81, 81).empty());
  CHECK(label(0xd2f2, 65, 3) == "1/2/1");
  CHECK(label(0xd2f2, 65, 64) == "1/32/2");
  CHECK(label(0xd2f2, 65, 65).empty());
  CHECK(label(0xd2f2, 129, 8) == "1/2/2/2");
  CHECK(label(0xd2f2, 129, 129).empty());
  CHECK(label(0x1234, 36, 1).empty());
  CHECK(label(0xcf08, 36, 1, "leaf", 1).empty());
}

TEST_CASE("chips of directors have no labels of their own") {
  CHECK(label(0xcf08, 36, 1, "MF0;sw:CS7500/L16/U2").empty());
  CHECK(label(0xcf08, 36, 1, "MF0;sw:CS7500/S01/U1").empty());
  CHECK(label(0xcf08, 36, 1, "MF0;leaf01:SB7800/U1") == "1");
  CHECK(label(0xcf08, 36, 1, "/U1") == "1");
}

}  // namespace subnet_port_label_tests
