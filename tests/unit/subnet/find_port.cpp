// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Targets in a swept model: every form that people write, and what is said where nothing is found.
#include "subnet/model/find_port.hpp"
#include "formats/node_name_map.hpp"

#include "path/parse.hpp"
#include "support/catch.hpp"
#include "unit/subnet/swept.hpp"

namespace subnet_find_port_tests {

using namespace ib;
using namespace ib::subnet;
using ibtest::FakeFabric;
using ibtest::Swept;

namespace {

/// A spine (0x5000), a leaf (0x6000) with two hosts (0x100000, 0x100010), and an adapter of two ports (0x200), both linked to the leaf.
struct Bench {
  explicit Bench(void (*change)(FakeFabric&) = nullptr) {
    const FakeFabric::NodeId sp = fabric.add_switch(0x5000, 4, "spine");
    leaf = fabric.add_switch(0x6000, 6, "leaf");
    host = fabric.add_ca(0x100000, 1, "host");
    const FakeFabric::NodeId other = fabric.add_ca(0x100010, 1, "host");
    pair = fabric.add_ca(0x200, 2, "pair");
    fabric.link(sp, 1, leaf, 1);
    fabric.link(leaf, 2, host, 1);
    fabric.link(leaf, 3, other, 1);
    fabric.link(leaf, 4, pair, 1);
    fabric.link(leaf, 5, pair, 2);
    fabric.assign_lids();
    fabric.attach(host);
    if (change != nullptr) change(fabric);
    sweep = std::make_unique<Swept>(fabric);
  }
  FoundPort find(std::string_view text) {
    path::ParseOptions how;
    how.default_end_port = &fabric.end_port();
    return find_port(*sweep, *path::parse_target(text, how).path);
  }
  PortIndex port(std::uint64_t guid, unsigned number) { return sweep->subnet.port_of(sweep->subnet.find_node(Guid{guid}), number); }
  std::string missing(std::string_view text) {
    const FoundPort found = find(text);
    CHECK_FALSE(found);
    return found.missing;
  }
  FakeFabric fabric;
  FakeFabric::NodeId leaf{}, host{}, pair{};
  std::unique_ptr<Swept> sweep;
};

}  // namespace

TEST_CASE("a port is found by every form of target") {
  Bench bench;
  CHECK(bench.find("2").port == bench.port(0x6000, 0));
  CHECK(bench.find("0x6").port == bench.port(0x200, 2));
  CHECK(bench.find("0000:0000:0010:0011").port == bench.port(0x100010, 1));  // port GUID
  CHECK(bench.find("0000:0000:0010:0010").port == bench.port(0x100010, 1));  // node GUID
  CHECK(bench.find("0x0000000000006000").port == bench.port(0x6000, 0));
  CHECK(bench.find("0000:0000:0000:0202").port == bench.port(0x200, 2));
  CHECK(bench.find("fe80::202").port == bench.port(0x200, 2));
  CHECK(bench.find("0,").port == bench.port(0x100000, 1));
  CHECK(bench.find("0,1").port == bench.port(0x6000, 0));
  CHECK(bench.find("0,1,5").port == bench.port(0x200, 2));
  CHECK(bench.find("0,1,1,1,3").port == bench.port(0x100010, 1));
  CHECK(bench.find("IBPath(DLID=4)").port == bench.port(0x100010, 1));
  path::IbDrPath from_lid(&bench.fabric.end_port());
  from_lid.dr_slid = bench.fabric.end_port().lid;
  from_lid.dlid = Lid{1};
  from_lid.route[1] = 1;
  from_lid.hops = 1;
  CHECK(find_port(*bench.sweep, path::Path(from_lid)).port == bench.port(0x6000, 0));
  CHECK(get_port(*bench.sweep, path::Path(from_lid)) == bench.port(0x6000, 0));
}

TEST_CASE("all LIDs of a range of an LMC are its port's") {
  Bench bench([](FakeFabric& fabric) {
    fabric.node(2).ports[1].info.lid = Lid{64};
    fabric.node(2).ports[1].info.lmc = 2;
  });
  for (const char* lid : {"64", "65", "67"}) CHECK(bench.find(lid).port == bench.port(0x100000, 1));
  CHECK_FALSE(bench.find("68"));
  CHECK_FALSE(bench.find("63"));
}

TEST_CASE("a target that is not found is named, with similar ones") {
  Bench bench;
  CHECK(bench.missing("77") == "No port has the LID 77.");
  CHECK(bench.missing("0000:0000:0000:0999") == "No port, no node and no system has the GUID 0000:0000:0000:0999.");
  CHECK(bench.missing("0000:0000:0000:0200") ==
        "GUID 0000:0000:0000:0200 is a node with 2 ports: name one of them, 0000:0000:0000:0201 (port 1), 0000:0000:0000:0202 (port 2).");
  CHECK(bench.missing("fec0::202") == "No port has the GID fec0::202: the subnet of the port with this GUID is fe80::/64.");
  CHECK(bench.missing("0,1,9") == "The directed route ends before hop 2: 0000:0000:0000:6000 has no port 9.");
  CHECK(bench.missing("0,1,0") == "The directed route ends before hop 2: 0000:0000:0000:6000 has no port 0.");
  CHECK(bench.missing("0,1,6") == "The directed route ends before hop 2: 0000:0000:0000:6000 has no link at port 6.");
  CHECK(bench.missing("0,1,3,1") == "The directed route ends before hop 3: 0000:0000:0010:0010 is not a switch.");
  path::IbPath multicast;
  multicast.dlid = Lid{0xc001};
  CHECK(find_port(*bench.sweep, path::Path(multicast)).missing == "LID 49153 is not a unicast LID: no port has it.");
  CHECK_THROWS_WITH(get_port(*bench.sweep, path::Path(path::IbPath{})), "LID 0 is not a unicast LID: no port has it.");

  Bench holes([](FakeFabric& fabric) { fabric.node(3).faults.silent = true; });
  CHECK(holes.missing("4") == "No port has the LID 4. The subnet is not completely known: parts of it did not answer.");
  const SweptSubnet empty;
  CHECK_FALSE(find_port(empty, path::Path(path::IbDrPath{})));
}

TEST_CASE("a GUID that two nodes claim finds neither") {
  Bench bench([](FakeFabric& fabric) { fabric.node(3).info.node_guid = Guid{0x100000}; });
  REQUIRE(bench.sweep->subnet.nodes().size() == 5);
  CHECK(bench.missing("0000:0000:0010:0000").find("Several nodes claim the GUID 0000:0000:0010:0000") == 0);
  CHECK(bench.missing("0000:0000:0010:0001").find("Several nodes claim") == 0);
  CHECK(bench.find("4"));
  for (const std::string_view name : {"'host' (LID 3)", "'host' (LID 4)"})
    CHECK(bench.missing("0000:0000:0010:0000").find(name) != std::string::npos);
}

TEST_CASE("a GUID that ports of two nodes claim finds neither") {
  Bench bench([](FakeFabric& fabric) {
    fabric.node(3).faults.lie = [](FakeFabric::Answer& answer) {
      if (load_be<std::uint16_t>(&answer[16]) == smp::NodeInfo::attribute_id) store_be(&answer[64 + 20], std::uint64_t{0x100001});
    };
  });
  REQUIRE(bench.sweep->subnet.nodes().size() == 5);
  CHECK(bench.missing("0000:0000:0010:0001").find("Several nodes claim the GUID 0000:0000:0010:0001, '") == 0);
  CHECK(several_text(bench.sweep->subnet, Guid{0x100000}).empty());
  CHECK(several_text(bench.sweep->subnet, Guid{0x123456}).empty());
}

}  // namespace subnet_find_port_tests
