// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Listings of ibnetdiscover read back, and what is different between two models.
#include "formats/topology_text.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "subnet/diff/difference.hpp"
#include "subnet/model/rate.hpp"
#include "support/catch.hpp"

namespace formats_topology_reader_tests {

using namespace ib;
using namespace ib::formats;
using namespace ib::subnet;

namespace {

/// As infiniband-diags writes it: a switch with an adapter of two ports, and a router.
constexpr std::string_view legacy =
    "#\n# Topology file: generated on Sun Nov 22 10:00:00 2026\n#\n# Initiated from node 0000000000100000 port 0000000000100001\n\n"
    "vendid=0x2c9\ndevid=0xbd36\nsysimgguid=0x200003\nswitchguid=0x200000(200001)\n"
    "Switch\t8 \"S-0000000000200000\"\t\t# \"sw \"1\" # lid 77 4xQDR\" enhanced port 0 lid 2 lmc 1\n"
    "[1]\t\"H-0000000000100000\"[1](100001) \t\t# \"a host\" lid 4 4xEDR\n"
    "[2][ext 17]\t\"H-0000000000100000\"[2](100002) \t\t# \"a host\" lid 5 2xXDR\n"
    "[3]\t\"R-0000000000300000\"[1](300001) \t\t# \"out\" lid 6 4xFDR10 s=4 w=2 v=4\n\n"
    "vendid=0x2c9\ndevid=0x1017\nsysimgguid=0x100003\ncaguid=0x100000\n"
    "Ca\t2 \"H-0000000000100000\"\t\t# \"a host\"\n"
    "[1](100001) \t\"S-0000000000200000\"[1]\t\t# lid 4 lmc 0 \"sw \"1\" # lid 77 4xQDR\" lid 2 4xEDR\n"
    "[2](100002) \t\"S-0000000000200000\"[2][ext 17]\t\t# lid 5 lmc 0 \"sw \"1\" # lid 77 4xQDR\" lid 2 2xXDR\n\n"
    "vendid=0x2c9\ndevid=0x1\nsysimgguid=0x300003\nrtguid=0x300000\n"
    "Rt\t1 \"R-0000000000300000\"\t\t# \"out\"\n"
    "[1](300001) \t\"S-0000000000200000\"[3]\t\t# lid 6 lmc 0 \"sw \"1\" # lid 77 4xQDR\" lid 2 4xFDR10\n";

Subnet read(std::string_view text) {
  Subnet subnet;
  read_topology_text(text, subnet);
  return subnet;
}

}  // namespace

TEST_CASE("a listing has nodes, port GUIDs, LIDs, links and rates") {
  CHECK(is_topology_text(legacy));
  CHECK(is_topology_text("\nvendid=0x2c9\n"));
  CHECK_FALSE(is_topology_text("GOSM"));
  CHECK_FALSE(is_topology_text(""));
  const Subnet subnet = read(legacy);
  REQUIRE(subnet.nodes().size() == 3);
  const NodeIndex sw = subnet.find_node(Guid{0x200000}), host = subnet.find_node(Guid{0x100000}), router = subnet.find_node(Guid{0x300000});
  CHECK(subnet.node(sw).info.port_guid == Guid{0x200001});
  CHECK(subnet.node(sw).info.system_image_guid == Guid{0x200003});
  CHECK(subnet.node(host).info.device_id == 0x1017);
  CHECK(subnet.node(sw).description() == "sw \"1\" # lid 77 4xQDR");
  CHECK(subnet.node(host).description() == "a host");
  CHECK(subnet.node(router).description() == "out");
  CHECK(subnet.node(router).kind() == NodeKind::router);
  CHECK(subnet.lid(subnet.port_of(sw, 3)) == Lid{2});
  CHECK(subnet.find_lid(Lid{3}) == subnet.port_of(sw, 0));  // LMC 1
  CHECK(subnet.find_lid(Lid{77}) == none);
  const PortIndex first = subnet.find_port(Guid{0x100001}), second = subnet.find_port(Guid{0x100002});
  CHECK(subnet.lid(second) == Lid{5});
  CHECK(subnet.port(first).peer == subnet.port_of(sw, 1));
  CHECK(subnet.port(second).peer == subnet.port_of(sw, 2));
  CHECK(active_rate(subnet, first).speed == Speed::edr);
  CHECK(active_rate(subnet, subnet.port_of(sw, 2)).speed == Speed::xdr);
  CHECK(active_rate(subnet, subnet.port_of(sw, 2)).lanes == 2);
  CHECK(active_rate(subnet, subnet.port_of(sw, 3)).speed == Speed::fdr10);
  CHECK(active_rate(subnet, subnet.port_of(router, 1)).speed == Speed::fdr10);
}

TEST_CASE("a listing begins where its sweep began, and the routes with it") {
  const Subnet subnet = read(legacy);
  const NodeIndex sw = subnet.find_node(Guid{0x200000}), router = subnet.find_node(Guid{0x300000});
  CHECK(subnet.start == subnet.find_port(Guid{0x100001}));
  CHECK(subnet.node(sw).hops == 1);
  CHECK(subnet.node(router).hops == 2);
  CHECK(subnet.node(router).entry_port == 1);
  CHECK(subnet.node(router).via == subnet.port_of(sw, 3));
  CHECK(subnet.node(sw).switch_info().enhanced_port0 != 0);
  for (const Node& node : subnet.nodes()) CHECK((node.is_listed && !node.has_switch_info));
  // Without that line, or with one that names nobody, it begins at the first node.
  const std::string nodes(legacy.substr(legacy.find("\n\n")));
  CHECK(read("#" + nodes).start == subnet.node(sw).first_port);
  CHECK(read("# Initiated from node 77 port 78\n" + nodes).start == subnet.node(sw).first_port);
  CHECK(read("# Initiated from node 0000000000100000\n" + nodes).start == subnet.node(sw).first_port);
  const Subnet bare = read("#\nCa\t0 \"H-1\"\n");
  CHECK(bare.start == 0);
}

TEST_CASE("a description has 64 bytes, and a node may have none") {
  const Subnet subnet = read("#\nCa\t1 \"H-0000000000100000\"\t\t# \"" + std::string(70, 'x') + "\"\nCa\t1 \"H-0000000000200000\"\n");
  CHECK(subnet.node(0).description() == std::string(64, 'x'));
  CHECK_FALSE(subnet.node(1).has_description);
}

TEST_CASE("anything but a listing is refused") {
  for (const char* text : {"#\n[", "#\nSwitch\t8 \"S-1\"\n[1", "#\nSwitch\t8 \"S-1\"\n[1]\t\"H-", "#\nSwitch\t8 \"S-1\"\nvendid=\n",
                           "#\nCa\t1\n", "#\nSwitch\t99999999999999999999 \"S-1\"\n", "#\n\t=\n"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(read(text), UsageError);
  }
  CHECK_THROWS_WITH(read("#\n\x7f" + std::string(5000, 'x') + "=1\n"), "line 2: not a line of a listing");
  // Each text that is cut off is read as far as it goes or refused.
  for (std::size_t length = 0; length < legacy.size(); ++length) {
    try {
      read(legacy.substr(0, length));
    } catch (const UsageError&) {
    }
  }
}

TEST_CASE("a listing may have several nodes with one GUID: cables are those that both ends name") {
  const std::string text =
      "#\nSwitch\t8 \"S-1\"\t\t# \"sw\" base port 0 lid 1 lmc 0\n[1]\t\"H-7\"[1](8) # \"a\" lid 2 4xEDR\n"
      "[2]\t\"H-7\"[1](8) # \"b\" lid 3 4xEDR\n[3]\t\"H-7\"[2](9) # \"b\" lid 4 4xEDR\n\n"
      "Ca\t2 \"H-7\"\t\t# \"b\"\n[2](9) \"S-1\"[3] # lid 4 lmc 0 \"sw\" lid 1 4xEDR\n"
      "[1](8) \"S-1\"[2] # lid 3 lmc 0 \"sw\" lid 1 4xEDR\n\n"
      "Ca\t2 \"H-7\"\t\t# \"a\"\n[1](8) \"S-1\"[1] # lid 2 lmc 0 \"sw\" lid 1 4xEDR\n";
  const Subnet subnet = read(text);
  REQUIRE(subnet.nodes().size() == 3);
  const NodeIndex sw = subnet.find_node(Guid{1});
  const auto peer_name = [&](unsigned number) {
    return subnet.node(subnet.port(subnet.port(subnet.port_of(sw, number)).peer).node).description();
  };
  CHECK(peer_name(1) == "a");
  CHECK(peer_name(2) == "b");
  CHECK(peer_name(3) == "b");
  CHECK(difference(subnet, subnet).none());
  const std::string node = "Ca\t1 \"H-7\"\t\t# \"a\"\n[1](8) \"S-1\"[1] # lid 2 lmc 0 \"sw\" lid 1 4xEDR\n\n";
  CHECK_THROWS_WITH(read("#\n" + node + node), "line 6: a node that was listed before");
}

TEST_CASE("two subnets are the same but for what is different") {
  const Subnet before = read(legacy);
  CHECK(difference(before, before).none());
  std::string text(legacy);
  for (const auto& [from, to] : {std::pair<std::string_view, std::string_view>{"lid 5 2xXDR", "lid 5 2xNDR"},
                                 {"lid 2 2xXDR", "lid 2 2xNDR"},
                                 {"# lid 4 lmc 0", "# lid 9 lmc 0"}}) {
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
  }
  const Subnet now = read(text);
  const SubnetDifference found = difference(now, before);
  CHECK_FALSE(found.none());
  CHECK(found.links.current == 3);
  CHECK(found.links.added.empty());
  REQUIRE(found.rates.size() == 1);
  CHECK(now.port(found.rates[0].port).number == 2);
  CHECK(now.end_port_guid(found.rates[0].port) == Guid{0x200001});
  CHECK(found.rates[0].current.speed == Speed::ndr);
  CHECK(found.rates[0].reference.speed == Speed::xdr);
  REQUIRE(found.lids.size() == 2);
  CHECK(found.lids[0].lid == Lid{4});
  CHECK_FALSE(found.lids[0].current.has_value());
  CHECK(found.lids[1].current == Guid{0x100001});
}

TEST_CASE("descriptions are escaped in ibtool's listing, and not in the listing of infiniband-diags") {
  const auto description = [](std::string_view guid, std::string_view text) {
    const Subnet subnet =
        read(fmt::format("vendid=0x2c9\ndevid=0xbd36\nsysimgguid=0x200003\nswitchguid=0x200000(200001)\n"
                         "Switch\t8 \"S-{}\"\t\t# \"{}\" base port 0 lid 2 lmc 0\n",
                         guid, text));
    return std::string(subnet.node(0).description());
  };
  CHECK(description("0000:0000:0020:0000", "node07\\\\x\\t\\xe9") == "node07\\x\t\xc3\xa9");
  CHECK(description("0000000000200000", "node07\\\\x\\t") == "node07\\\\x\\t");
}

}  // namespace formats_topology_reader_tests
