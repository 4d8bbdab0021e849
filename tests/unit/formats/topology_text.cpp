// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Text of a subnet: hostile names, what is missing, and the lines of each form.
#include "formats/topology_text.hpp"
#include "formats/node_name_map.hpp"

#include "subnet/model/order.hpp"
#include "support/catch.hpp"
#include "unit/subnet/swept.hpp"

namespace formats_topology_text_tests {

using namespace ib;
using namespace ib::formats;
using namespace ib::subnet;
using ibtest::FakeFabric;
using ibtest::Swept;

namespace {

struct Example {
  Example() {
    const auto sw = fabric.add_switch(0x0002c90200400100, 4, "leaf \x1b[2J \xff \"x\"");
    const auto host = fabric.add_ca(0x0002c90300001490, 1, "node01");
    fabric.link(sw, 1, host, 1);
    fabric.link(sw, 3, fabric.add_router(0x300, 2, "rt"), 2);
    fabric.assign_lids();
    fabric.attach(host);
  }
  FakeFabric fabric;
};

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    result.push_back(text.substr(at, end - at));
    at = end == std::string::npos ? text.size() : end + 1;
  }
  return result;
}

}  // namespace

TEST_CASE("a switch's block names its links and hides no control bytes in them") {
  Example example;
  const Swept swept(example.fabric);
  std::string out;
  TopologyText(swept.subnet, nullptr).node(out, swept.subnet.find_node(Guid{0x0002c90200400100}));
  const auto text = lines(out);
  REQUIRE(text.size() == 7);
  CHECK(text[3] == "switchguid=0002:c902:0040:0100(0002:c902:0040:0100)");
  CHECK(text[4] == "Switch\t4 \"S-0002:c902:0040:0100\"\t# \"leaf \\x1b[2J \\xff \"x\"\" base port 0 lid 1 lmc 0");
  CHECK(text[5].starts_with("[1]\t\"H-0002:c903:0000:1490\"[1](0002:c903:0000:1491)\t# \"node01\" lid 2 4x"));
  CHECK(text[6].starts_with("[3]\t\"R-0000:0000:0000:0300\"[2]("));
  for (const char c : out) CHECK((c == '\n' || c == '\t' || (c >= ' ' && c <= '~')));
}

TEST_CASE("listings name the nodes, by the site's names where it has some") {
  Example example;
  const Swept swept(example.fabric);
  const NodeNameMap names = formats::parse_node_name_map("0x0002c90300001490 \"the front end\"");
  const TopologyText text(swept.subnet, &names);
  std::string out;
  for (const NodeIndex at : breadth_first(swept.subnet)) text.summary(out, at);
  const auto rows = lines(out);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0] == "Ca      : 0002:c903:0000:1490 ports 1 \"the front end\"");
  CHECK(rows[1].starts_with("Switch  : 0002:c902:0040:0100 ports 4 \""));
  CHECK(rows[2] == "Router  : 0000:0000:0000:0300 ports 2 \"rt\"");
}

TEST_CASE("nothing is invented for nodes that did not answer") {
  Example example;
  example.fabric.node(0).faults.status = 0x1c;
  example.fabric.node(0).faults.status_attribute = smp::PortInfo::attribute_id;
  example.fabric.node(1).faults.status = 0x1c;
  example.fabric.node(1).faults.status_attribute = smp::PortInfo::attribute_id;
  const Swept swept(example.fabric);
  std::string out;
  TopologyText text(swept.subnet, nullptr);
  text.full = true;
  for (const NodeIndex at : breadth_first(swept.subnet)) {
    text.node(out, at);
    text.ports(out, at);
    text.listed(out, at);
  }
  CHECK(swept.failures.size() > 0);
  for (const auto& row : lines(out)) CHECK(row.find("lid 65535") == std::string::npos);
}

TEST_CASE("rates read as people write them") {
  CHECK(rate_text(LinkRate{4, Speed::hdr}) == "4xHDR");
  CHECK(rate_text(LinkRate{}) == "?x?");
}

}  // namespace formats_topology_text_tests
