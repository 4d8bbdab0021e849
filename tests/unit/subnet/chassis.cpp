// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Boxes: places of boards by wiring, by description and by system image. The tables are checked against the wiring that
// rdma-core documents for each board.
#include "subnet/model/chassis.hpp"

#include "subnet/model/order.hpp"
#include "support/catch.hpp"

namespace subnet_chassis_tests {

using namespace ib;
using namespace ib::subnet;
using voltaire::Line;
using voltaire::Model;

namespace {

constexpr std::uint32_t voltaire_id = 0x8f1, mellanox_id = 0x2c9;

NodeIndex add(Subnet& subnet, std::uint64_t guid, std::uint32_t vendor, std::uint16_t device, unsigned ports, std::uint64_t image = 0,
              std::string_view description = {}, smp::NodeType type = smp::NodeType::switch_) {
  smp::NodeInfo info;
  info.node_guid = info.port_guid = Guid{guid};
  info.system_image_guid = Guid{image};
  info.node_type = type;
  info.num_ports = static_cast<std::uint8_t>(ports);
  info.local_port_num = 1;
  info.vendor_id = vendor;
  info.device_id = device;
  const NodeIndex at = subnet.add_node(info);
  std::copy(description.begin(), description.end(), subnet.node(at).description_bytes.begin());
  return at;
}

std::string slot(const Subnet& subnet, const Grouping& grouping, NodeIndex at) { return grouping.slot_text(subnet.node(at), at); }

std::vector<unsigned> external(Line line, unsigned chip, unsigned first, unsigned last) {
  std::vector<unsigned> ports;
  for (unsigned port = first; port <= last; ++port) ports.push_back(voltaire::external_port(line, Model::unknown, chip, port));
  return ports;
}

}  // namespace

TEST_CASE("boards are placed by the port of the other board") {
  const auto line = [](Model model, unsigned port) {
    const auto at = voltaire::line_place(model, port);
    return std::pair<unsigned, unsigned>(at.slot, at.chip);
  };
  CHECK(line(Model::isr9096, 1) == std::pair(1U, 1U));
  CHECK(line(Model::isr9096, 6) == std::pair(1U, 2U));
  CHECK(line(Model::isr9096, 24) == std::pair(4U, 2U));
  CHECK(line(Model::isr9096, 25) == std::pair(0U, 0U));
  CHECK(line(Model::isr9288, 24) == std::pair(12U, 2U));
  CHECK(line(Model::isr4700, 36) == std::pair(18U, 1U));
  CHECK(line(Model::isr4700x2, 18) == std::pair(18U, 1U));
  CHECK(line(Model::isr4700x2, 19) == std::pair(0U, 0U));
  CHECK(line(Model::isr4200, 36) == std::pair(9U, 1U));
  const auto spine = [](Model model, unsigned port) {
    const auto at = voltaire::spine_place(model, port);
    return std::pair<unsigned, unsigned>(at.slot, at.chip);
  };
  CHECK(spine(Model::isr9288, 12) == std::pair(4U, 3U));
  CHECK(spine(Model::isr9096, 12) == std::pair(4U, 1U));
  CHECK(spine(Model::isr4700, 18) == std::pair(9U, 1U));
  CHECK(spine(Model::isr4700x2, 1) == std::pair(1U, 2U));
  CHECK(spine(Model::isr4700x2, 2) == std::pair(1U, 1U));
  CHECK(spine(Model::isr4200, 4) == std::pair(1U, 1U));
  CHECK(spine(Model::isr4200, 5).first == 0);
  CHECK(spine(Model::isr4200, 7).first == 2);
  CHECK(spine(Model::isr4200, 18) == std::pair(4U, 1U));
  CHECK(voltaire::router_place(Model::isr9096, 1, Guid{0}).chip == 3);
  CHECK(voltaire::router_place(Model::isr9288, 3, Guid{7}).chip == 1);
  CHECK(voltaire::router_place(Model::isr9288, 3, Guid{5}).chip == 3);
}

TEST_CASE("external ports have the numbers of the front panel") {
  CHECK(external(Line::slb24, 1, 13, 24) == std::vector<unsigned>{6, 5, 4, 18, 17, 16, 1, 2, 3, 13, 14, 15});
  CHECK(external(Line::slb24, 2, 13, 24) == std::vector<unsigned>{12, 11, 10, 24, 23, 22, 7, 8, 9, 19, 20, 21});
  CHECK(external(Line::slb8, 2, 13, 24) == std::vector<unsigned>{4, 4, 4, 8, 8, 8, 3, 3, 3, 7, 7, 7});
  CHECK(external(Line::slb2024, 1, 13, 15) == std::vector<unsigned>{13, 14, 15});
  CHECK(external(Line::slb2024, 2, 13, 15) == std::vector<unsigned>{1, 2, 3});
  CHECK(external(Line::slb4018, 1, 18, 20) == std::vector<unsigned>{0, 1, 2});
  CHECK(voltaire::external_port(Line::none, Model::isr4700x2, 1, 19) == 7);
  CHECK(voltaire::external_port(Line::none, Model::isr4700x2, 2, 36) == 6);
  CHECK(voltaire::external_port(Line::slb24, Model::unknown, 3, 20) == 0);
}

TEST_CASE("a Voltaire director is put together from its wiring") {
  Subnet subnet;
  const NodeIndex spine1 = add(subnet, 0x1001, voltaire_id, 0x5a08, 24), spine2 = add(subnet, 0x1002, voltaire_id, 0x5a08, 24);
  const NodeIndex line1 = add(subnet, 0x2001, voltaire_id, 0x5a09, 24), line2 = add(subnet, 0x2002, voltaire_id, 0x5a09, 24);
  const NodeIndex outside = add(subnet, 0x3001, voltaire_id, 0x5a30, 24);
  const auto wire = [&](NodeIndex line, unsigned line_port, NodeIndex spine, unsigned spine_port) {
    subnet.link(subnet.port_of(line, line_port), subnet.port_of(spine, spine_port));
  };
  wire(line1, 1, spine1, 1);
  wire(line1, 2, spine2, 1);
  wire(line2, 1, spine1, 4);
  wire(line2, 20, outside, 3);
  subnet.start = subnet.port_of(outside, 0);
  const Grouping grouping = group(subnet, by_guid(subnet));
  REQUIRE(grouping.chassis.size() == 1);
  const Chassis& box = grouping.chassis[0];
  CHECK(box.number == 1);
  CHECK(box.guid == Guid{0x1000});
  CHECK(box.spines[1] == spine1);
  CHECK(box.spines[2] == spine2);
  CHECK(box.lines[1] == line1);
  CHECK(box.lines[5] == line2);  // slot 2, chip 2
  CHECK(slot(subnet, grouping, spine2) == "Spine 1 Chip 2");
  CHECK(slot(subnet, grouping, line2) == "Line 2 Chip 2");
  CHECK(grouping.slots[line2].model == "ISR9288");
  CHECK(grouping.external_port[subnet.port_of(line2, 20)] == 8);
  CHECK_FALSE(grouping.grouped(outside));
}

TEST_CASE("adapters of another vendor on a Voltaire spine stay in their slots, whose model is not theirs") {
  Subnet subnet;
  const auto ca = smp::NodeType::channel_adapter;
  const NodeIndex spine = add(subnet, 0x1001, voltaire_id, 0x5a08, 24), line = add(subnet, 0x2001, voltaire_id, 0x5a09, 24);
  const NodeIndex first = add(subnet, 0x3001, mellanox_id, 0x5a00, 2, 0x3000, {}, ca);
  const NodeIndex second = add(subnet, 0x4001, mellanox_id, 0x5a00, 2, 0x3000, {}, ca);
  subnet.link(subnet.port_of(spine, 1), subnet.port_of(line, 4));
  subnet.link(subnet.port_of(spine, 3), subnet.port_of(first, 1));
  subnet.link(subnet.port_of(spine, 5), subnet.port_of(second, 1));
  const Grouping grouping = group(subnet, by_guid(subnet));
  CHECK(grouping.slots[first].chassis == 0);
  CHECK(grouping.slots[second].chassis == 0);
  CHECK(slot(subnet, grouping, first) == "SRBD 2 Chip 3");
  CHECK(slot(subnet, grouping, second) == "SRBD 3 Chip 3");
  CHECK(grouping.slots[first].model.empty());
  CHECK(grouping.slots[spine].model == "ISR9288");
}

TEST_CASE("Xsigo adapters belong to the box that their port 1 leads to, and those without a port 1 together") {
  Subnet subnet;
  constexpr std::uint32_t xsigo_id = 0x1397;
  const auto ca = smp::NodeType::channel_adapter;
  const NodeIndex leaf = add(subnet, 0x1, xsigo_id, 1, 24, 0x0013970102000005, {});
  const NodeIndex wired = add(subnet, 0x2, xsigo_id, 1, 2, 0x0013970200000007, {}, ca);
  const NodeIndex without = add(subnet, 0x3, xsigo_id, 1, 2, 0x0013970200000008, {}, ca);
  const NodeIndex without_too = add(subnet, 0x4, xsigo_id, 1, 2, 0x0013970200000009, {}, ca);
  subnet.link(subnet.port_of(leaf, 1), subnet.port_of(wired, 1));
  subnet.link(subnet.port_of(leaf, 2), subnet.port_of(without, 2));
  subnet.link(subnet.port_of(leaf, 3), subnet.port_of(without_too, 2));
  const Grouping grouping = group(subnet, by_guid(subnet));
  REQUIRE(grouping.chassis.size() == 2);
  CHECK(grouping.slots[wired].chassis == grouping.slots[leaf].chassis);
  CHECK(grouping.slots[without].chassis == grouping.slots[without_too].chassis);
  CHECK(grouping.chassis[grouping.slots[without].chassis].guid == Guid{});
  CHECK(grouping.chassis[grouping.slots[leaf].chassis].guid == Guid{0x0013970100000005});
}

TEST_CASE("Mellanox boards say where they are") {
  Subnet subnet;
  const NodeIndex line = add(subnet, 0x1, mellanox_id, 0xbd36, 36, 0x500, "MF0;sw-core1:IS5600/L07/U1");
  const NodeIndex spine = add(subnet, 0x2, mellanox_id, 0xbd36, 36, 0x500, "MF0;sw-core1:IS5600/S18:board/U2");
  const NodeIndex other = add(subnet, 0x3, mellanox_id, 0xbd36, 36, 0x500, "something else");
  const NodeIndex broken = add(subnet, 0x4, mellanox_id, 0xbd36, 36, 0x500, "MF0;sw-core1:IS5600/L99/U1");
  const NodeIndex alone = add(subnet, 0x5, mellanox_id, 0xbd36, 36, 0x600, "MF0;lone:IS5035/U1");
  const Grouping grouping = group(subnet, by_guid(subnet));
  REQUIRE(grouping.grouped(line));
  const Chassis& box = grouping.chassis[grouping.slots[line].chassis];
  CHECK(box.lines[7] == line);
  CHECK(box.spines[18] == spine);
  CHECK(box.others == std::vector<NodeIndex>{other});
  CHECK(slot(subnet, grouping, spine) == "Spine 18 Chip 2");
  CHECK(grouping.slots[line].model == "IS5600");
  CHECK(grouping.external_port[subnet.port_of(line, 18)] == 18);
  CHECK(grouping.external_port[subnet.port_of(line, 19)] == 0);
  CHECK(slot(subnet, grouping, broken) == "Line 0 Chip 1");
  CHECK(grouping.slots[broken].model.empty());
  CHECK(grouping.external_port[subnet.port_of(broken, 18)] == 0);
  CHECK_FALSE(grouping.grouped(alone));
}

TEST_CASE("Mellanox boards in slots that infiniband-diags does not list") {
  Subnet subnet;
  const auto board = [&](std::uint64_t guid, std::string_view place) {
    return add(subnet, guid, mellanox_id, 0xbd36, 36, 0x500, "MF0;sw-core1:IS5600/" + std::string(place) + "/U1");
  };
  const NodeIndex line37 = board(1, "L37"), spine19 = board(2, "S19"), line38 = board(3, "L38"), spine20 = board(4, "S20");
  const NodeIndex line0 = board(5, "L0x"), wrapped = board(6, "L260");
  const Grouping grouping = group(subnet, by_guid(subnet));
  REQUIRE(grouping.chassis.size() == 1);
  const Chassis& box = grouping.chassis[0];
  CHECK(box.unlisted == std::array<NodeIndex, 3>{spine19, spine20, line37});
  CHECK(box.lines[4] == wrapped);
  CHECK(box.others.empty());
  CHECK(slot(subnet, grouping, line37) == "Line 37 Chip 1");
  CHECK(grouping.slots[line37].model == "IS5600");
  CHECK(grouping.external_port[subnet.port_of(line37, 18)] == 18);
  CHECK(slot(subnet, grouping, spine19) == "Spine 19 Chip 1");
  CHECK(slot(subnet, grouping, spine20) == "Spine 0 Chip 1");
  CHECK(grouping.slots[spine20].model.empty());
  CHECK_FALSE(grouping.grouped(line38));  // spine 19 has the slot of line 0
  CHECK(grouping.external_port[subnet.port_of(line38, 18)] == 0);
  CHECK_FALSE(grouping.grouped(line0));
  CHECK(grouping.external_port[subnet.port_of(line0, 18)] == 18);
}

}  // namespace subnet_chassis_tests
