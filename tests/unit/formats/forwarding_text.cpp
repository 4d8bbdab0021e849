// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Forwarding tables as each program writes them, and files that are broken or meant to do harm.
#include "formats/forwarding_text.hpp"

#include <fmt/format.h>

#include <fstream>
#include <map>

#include "base/error.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

namespace formats_forwarding_text_tests {

using namespace ib;
using namespace ib::formats;
using ibtest::contains;

namespace {

struct Read {
  std::vector<StoredForwardingTable> tables;
  std::vector<std::string> remarks;
};

Read read(std::string_view text) {
  Read found;
  ForwardingTextReader reader("FILE", [&found](StoredForwardingTable&& table) { found.tables.push_back(std::move(table)); });
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    reader.line(line);
  }
  reader.end();
  found.remarks = reader.remarks();
  return found;
}

/// The message with which `text` is refused.
std::string refusal(std::string_view text) {
  try {
    read(text);
  } catch (const UsageError& error) {
    return error.message();
  }
  return "";
}

std::map<unsigned, unsigned> ports(const StoredForwardingTable& table) {
  std::map<unsigned, unsigned> all;
  for (const StoredRoute& route : table.routes) all[route.lid.value] = route.port;
  return all;
}

using Ports = std::map<unsigned, unsigned>;

constexpr std::string_view diags =
    "Unicast lids [0x0-0x4] of switch DR path slid 0; dlid 0; 0,1,3 guid 0x0000000000200001 (a guid 0x1 (b)):\n"
    "  Lid  Out   Destination\n       Port     Info \n"
    "0x0001 003 : (Channel Adapter portguid 0x0000000000100001: 'Hca1')\n"
    "0x0003 000 : (Switch portguid 0x0000000000200002: 'Switch2')\n"
    "0x0004 012 : (path #2 out of 4: portguid 0x0000000000100005)\n"
    "3 valid lids dumped \n";

constexpr std::string_view ours =
    "Unicast lids [0-63] of switch DR Path (0, 1, 3) 'Switch2'\n  Lid  Out   Destination\n       Port     Info\n"
    "     0 255 : (reserved LID - illegal port)\n"
    "     1 003 : (Channel Adapter portguid 0000:0000:0010:0001 'Hca1')\n"
    "     3 000 : (Switch portguid 0000:0000:0020:0002 'Switch2')\n"
    "     4 012 : \n"
    "     5 255 : (illegal port)\n"
    "4 valid lids dumped\n";

}  // namespace

TEST_CASE("a table of infiniband-diags has a GUID, a route or a LID, and its rows") {
  const Read found = read(diags);
  REQUIRE(found.tables.size() == 1);
  const StoredForwardingTable& table = found.tables[0];
  CHECK(table.node_guid == Guid{0x200001});
  CHECK(table.port_guid == Guid{0x200002});
  CHECK_FALSE(table.lid);
  CHECK(table.directed_route == std::vector<std::uint8_t>{1, 3});
  CHECK(table.name == "a guid 0x1 (b)");
  CHECK(table.line == 1);
  CHECK_FALSE(table.multicast);
  CHECK(ports(table) == Ports{{1, 3}, {3, 0}, {4, 12}});
  CHECK(table.says(Lid{2}));   // no row, hence no way
  CHECK(table.says(Lid{90}));  // above the top
  CHECK(found.remarks.empty());

  const Read by_lid = read("Unicast lids [0x2-0x3] of switch Lid 7 guid 0x00000000002000ff (x):\n0x0002 001 \n1 valid lids dumped \n");
  CHECK(by_lid.tables.at(0).lid == Lid{7});
  CHECK(by_lid.tables[0].node_guid == Guid{0x2000ff});
  CHECK_FALSE(by_lid.tables[0].directed_route);
  CHECK_FALSE(by_lid.tables[0].says(Lid{1}));  // ibroute 7 2 3 prints only these two
  CHECK(by_lid.tables[0].says(Lid{3}));
  CHECK_FALSE(by_lid.tables[0].says(Lid{4}));

  // A route that begins at a LID is not one from a host.
  const Read combined = read("Unicast lids [0x0-0x4] of switch DR path slid 5; dlid 65535; 0,1 guid 0x20 (x):\n0 lids dumped\n");
  CHECK_FALSE(combined.tables.at(0).directed_route);
  CHECK(combined.tables[0].node_guid == Guid{0x20});
}

TEST_CASE("a table of ibtool has a path, and only the GUID of its own row") {
  const Read found = read(ours);
  REQUIRE(found.tables.size() == 1);
  CHECK_FALSE(found.tables[0].node_guid);
  CHECK(found.tables[0].port_guid == Guid{0x200002});
  CHECK(found.tables[0].directed_route == std::vector<std::uint8_t>{1, 3});
  CHECK(found.tables[0].name == "Switch2");
  CHECK(ports(found.tables[0]) == Ports{{1, 3}, {3, 0}, {4, 12}, {5, 255}});
  CHECK(found.tables[0].says(Lid{63}));

  const auto heading = [](std::string_view path) {
    return read(fmt::format("Unicast lids [0-63] of switch {}\n0 lids dumped\n", path)).tables[0];
  };
  CHECK(heading("DR Path (0,) None").directed_route == std::vector<std::uint8_t>{});
  CHECK(heading("DR Path (0,) None").name.empty());
  CHECK(heading("Path 1 -> 2 SL=0 PKey=0xffff DQPN=0 u\"leaf 'x'\"").lid == Lid{2});
  CHECK(heading("Path 1 -> 2 SL=0 PKey=0xffff DQPN=0 u\"leaf 'x'\"").name == "leaf 'x'");
  CHECK(heading("Path fe80::1 1 -> fe80::2 9 TC=0 FL=0 HL=0 SL=0 PKey=0xffff DQPN=0 'x'").lid == Lid{9});
  CHECK(heading("Path 1 -> 2 SL=0 PKey=0xffff DQPN=None 'x'").name == "x");
}

TEST_CASE("rows that ibtool could not read are not taken for LIDs without a way") {
  const Read found = read(
      "Unicast lids [0-127] of switch DR Path (0, 1) 'a'\n     1 001 : \n1 valid lids dumped, 1 block not read\n"
      "Unicast lids of switch DR Path (0, 2) 'b': not read\n");
  REQUIRE(found.tables.size() == 2);
  CHECK(found.tables[0].says(Lid{1}));
  CHECK_FALSE(found.tables[0].says(Lid{2}));
  CHECK_FALSE(found.tables[0].says(Lid{200}));
  CHECK(found.tables[1].routes.empty());
  CHECK(found.tables[1].name == "b");
  CHECK(found.tables[1].directed_route == std::vector<std::uint8_t>{2});
  CHECK_FALSE(found.tables[1].says(Lid{1}));
  CHECK(found.remarks.empty());
}

TEST_CASE("opensm writes tables in two forms") {
  const Read dump = read(
      "Unicast lids [0-22] of switch Lid 3 guid 0x0002c90200000010 ('leaf0'):\n"
      "0x0001 001 # Channel Adapter portguid 0x0002c90200000071: 'node00 HCA-1'\n"
      "0x0003 000 # Switch portguid 0x0002c90200000011: 'leaf0'\n"
      "0x0005 005 # unknown node and type\n22 lids dumped\n");
  REQUIRE(dump.tables.size() == 1);
  CHECK(dump.tables[0].node_guid == Guid{0x0002c90200000010});
  CHECK(dump.tables[0].port_guid == Guid{0x0002c90200000011});
  CHECK(dump.tables[0].name == "leaf0");
  CHECK(ports(dump.tables[0]) == Ports{{1, 1}, {3, 0}, {5, 5}});

  const Read fdbs = read(
      "dump_ucast_routes: Switch 0x0002c90200000010\nLID    : Port : Hops : Optimal\n0x0001 : 001  : 01   : yes\n0x0002 : UNREACHABLE\n"
      "0x000A : 005  : 02   : No 1 hop path possible via port 5!\n\n"
      "__osm_ucast_mgr_dump_ucast_routes: Switch 0x0002c90200000020\nLID    : Port : Hops : Optimal\n0x0001 : 000  : 00   : yes\n"
      "0x000A : UNREACHABLE\n");
  REQUIRE(fdbs.tables.size() == 2);
  CHECK(fdbs.tables[0].node_guid == Guid{0x0002c90200000010});
  CHECK(ports(fdbs.tables[0]) == Ports{{1, 1}, {2, 255}, {10, 5}});
  CHECK(fdbs.tables[0].says(Lid{3}));
  CHECK(fdbs.tables[1].line == 7);
  CHECK(ports(fdbs.tables[1]) == Ports{{1, 0}, {10, 255}});
  CHECK(fdbs.remarks.empty());
}

TEST_CASE("multicast tables have columns, masks or numbers") {
  const auto members = [](std::string_view text) {
    const Read found = read(text);
    REQUIRE(found.tables.size() == 1);
    CHECK(found.tables[0].multicast);
    REQUIRE(found.tables[0].groups.size() == 2);
    CHECK(found.tables[0].groups[0].lid == Lid{0xc000});
    CHECK(found.tables[0].groups[1].lid == Lid{0xc002});
    CHECK(found.tables[0].groups[1].ports == std::bitset<256>{}.set(0).set(11));
    CHECK(found.tables[0].says(Lid{0xc001}));
    std::vector<std::size_t> all;
    for (std::size_t port = 0; port < 256; ++port) {
      if (found.tables[0].groups[0].ports[port]) all.push_back(port);
    }
    return all;
  };
  const std::vector<std::size_t> expected{1, 3, 10};
  CHECK(members("Multicast mlids [0xc000-0xc3ff] of switch Lid 2 guid 0x20 (x):\n"
                "            0 1 \n     Ports: 0 1 2 3 4 5 6 7 8 9 0 1 \n MLid\n"
                "Switch multicast mlid capability is 1024 top is 0xc002\n"
                "0xc000        x   x             x   \n0xc002      x                     x \n2 valid mlids dumped \n") == expected);
  CHECK(members("Multicast mlids [0xc000-0xc3ff] of switch Path 1 -> 2 SL=0 PKey=0xffff DQPN=0 'x'\n"
                "     Ports:   0   1   2   3   4   5   6   7   8   9  10  11\n MLid\n"
                "0xc000            x       x                           x     \n"
                "0xc002        x                                           x \n"
                "default              x \n2 valid mlids dumped\n") == expected);
  CHECK(members("Multicast mlids [0xc000-0xc3ff] of switch Lid 2 guid 0x20 (x):\n MLid       Port Mask\n"
                "0xc000      040a0000\n0xc002      08010000\n2 valid mlids dumped \n") == expected);
  CHECK(members("\nSwitch 0x0002c90200000010\nLID    : Out Port(s)\n0xC000 : 0x001  0x003  0x00A \n0xC002 : 0x000  0x00B \n") == expected);
}

TEST_CASE("of a LID that is listed twice the last row counts, and a line says so") {
  const Read inside = read(
      "Unicast lids [0x0-0x4] of switch Lid 2 guid 0x20 (x):\n0x0004 001 \n0x0001 001 \n0x0004 002 \n0x0004 003 \n4 valid lids dumped \n");
  CHECK(ports(inside.tables.at(0)) == Ports{{1, 1}, {4, 3}});
  CHECK(inside.tables[0].routes[0].lid == Lid{1});
  REQUIRE(inside.remarks.size() == 1);
  CHECK(inside.remarks[0] == "FILE:1: LID 4 is listed twice for switch 0000:0000:0000:0020 'x': the last row counts");

  // The tables of one switch may be several: ibroute, called for one range after another. Only what they share is remarked on.
  const std::string one = "Unicast lids [0x1-0x2] of switch Lid 2 guid 0x20 (x):\n0x0001 001 \n0x0002 001 \n2 valid lids dumped \n";
  const std::string next = "Unicast lids [0x3-0x4] of switch Lid 2 guid 0x20 (x):\n0x0003 001 \n1 valid lids dumped \n";
  CHECK(read(one + next).remarks.empty());
  const Read twice = read(one + next + one);
  CHECK(twice.tables.size() == 3);
  REQUIRE(twice.remarks.size() == 1);
  CHECK(twice.remarks[0] ==
        "FILE:8: 2 LIDs, 1 the first of them, are listed twice for switch 0000:0000:0000:0020 'x', whose first table is "
        "in line 1: the last row counts");
  std::string often;
  for (int i = 0; i < 30; ++i) often += one;
  const Read many = read(often);
  CHECK(many.remarks.size() == ForwardingTextReader::most_remarks + 1);
  CHECK(many.remarks.back() == "FILE: 13 more such remarks");
}

TEST_CASE("a table that breaks off does not say what its other LIDs have") {
  const Read found = read("Unicast lids [0x0-0x9] of switch Lid 2 guid 0x20 (x):\n0x0001 001 \n0x0004 001 \n" + std::string(ours));
  REQUIRE(found.tables.size() == 2);
  CHECK(found.tables[0].says(Lid{3}));
  CHECK_FALSE(found.tables[0].says(Lid{5}));
  CHECK_FALSE(found.tables[0].says(Lid{100}));
  CHECK(found.remarks ==
        std::vector<std::string>{"FILE:4: the table of switch 0000:0000:0000:0020 'x' breaks off: its entries above LID 4 are not known"});
  CHECK(read("Unicast lids [0x0-0x9] of switch Lid 2 guid 0x20 (x):\n").remarks.size() == 1);
}

TEST_CASE("opensm.fdbs ends each table with the same LID: a last one with fewer breaks off") {
  const auto table = [](unsigned guid, unsigned rows, unsigned left_out = 0) {
    std::string text = fmt::format("dump_ucast_routes: Switch {:#018x}\nLID    : Port : Hops : Optimal\n", guid);
    for (unsigned lid = 1; lid <= rows; ++lid) {
      if (lid != left_out) text += fmt::format("{:#06x} : 00{}  : 00   : yes\n", lid, lid % 4 + 1);
    }
    return text;
  };
  const Read whole = read(table(0x20, 9) + "\n" + table(0x21, 9, 4));
  CHECK(whole.remarks.empty());
  CHECK(whole.tables[1].says(Lid{4}));  // a row that is left out is no entry
  CHECK(whole.tables[1].says(Lid{12}));
  for (const unsigned rows : {0U, 6U}) {
    CAPTURE(rows);
    const Read torn = read(table(0x20, 9) + "\n" + table(0x21, rows, 4));
    REQUIRE(torn.tables.size() == 2);
    CHECK(torn.tables[0].says(Lid{12}));
    CHECK(torn.tables[1].says(Lid{4}) == (rows == 6));
    CHECK_FALSE(torn.tables[1].says(Lid{7}));
    CHECK(torn.remarks.size() == 1);
    CHECK_THAT(torn.remarks[0], contains(fmt::format("breaks off: its entries above LID {} are not known", rows)));
  }
}

TEST_CASE("a last line without its end does not count: a number in it may be cut") {
  const ibtest::TemporaryDirectory directory;
  const auto torn = [&directory](const std::string& text) {
    std::ofstream(directory.file("torn")) << text;
    Read found;
    found.remarks =
        read_forwarding_text(directory.file("torn"), [&found](StoredForwardingTable&& table) { found.tables.push_back(std::move(table)); });
    return found;
  };
  const std::string heading = "Unicast lids [0x0-0x9] of switch Lid 2 guid 0x20 (x):\n0x0006 012 \n";
  for (const std::string end : {"0x0007 0", "0x0007", "0x0", "2 valid lids dum", "Unicast lids [0x"}) {
    CAPTURE(end);
    const Read found = torn(heading + end);
    REQUIRE(found.tables.size() == 1);
    CHECK(ports(found.tables[0]) == Ports{{6, 12}});
    CHECK_FALSE(found.tables[0].says(Lid{7}));
    REQUIRE(found.remarks.size() == 2);
    CHECK_THAT(found.remarks[0], contains("torn:3: this last line is incomplete: it does not count"));
    CHECK_THAT(found.remarks[1], contains("breaks off"));
  }
  const Read complete = torn(heading + "1 valid lids dumped");
  CHECK(complete.remarks.empty());
  CHECK(complete.tables[0].says(Lid{7}));
  const std::string form = "dump_ucast_routes: Switch 0x20\nLID    : Port : Hops : Optimal\n0x0001 : 001  : 00   : yes\n";
  CHECK_FALSE(torn(form + "0x0002 : 0").tables[0].says(Lid{2}));
  const Read groups = torn("Switch 0x20\nLID    : Out Port(s)\n0xC000 : 0x001  \n0xC001 : 0x001  0x0");
  CHECK(groups.tables[0].groups.size() == 1);
  CHECK(groups.tables[0].leaves_out_empty);
  CHECK_FALSE(groups.tables[0].to_top);
}

TEST_CASE("rows above the last LID of their heading do not count") {
  const Read found = read(
      "Unicast lids [0x0-0x6] of switch Lid 2 guid 0x20 (x):\n0x0006 001 \n0x0007 001 \n0x0008 001 \n3 valid lids dumped \n"
      "Multicast mlids [0xc000-0xc001] of switch Lid 2 guid 0x20 (x):\n0xc000 : 0x001\n0xc002 : 0x001\n");
  REQUIRE(found.tables.size() == 2);
  CHECK(ports(found.tables[0]) == Ports{{6, 1}});
  CHECK(found.tables[0].says(Lid{7}));  // that is beyond the top: no entry
  CHECK(found.tables[1].groups.size() == 1);
  REQUIRE(found.remarks.size() >= 2);
  CHECK(found.remarks[0] ==
        "FILE:1: 2 rows of switch 0000:0000:0000:0020 'x' are above LID 6, the last one of the heading: they do not count");
}

TEST_CASE("anything but a forwarding table is refused in one line that names its place") {
  const std::string heading = "Unicast lids [0x0-0x9] of switch Lid 2 guid 0x20 (x):\n";
  const std::string groups = "Multicast mlids [0xc000-0xc3ff] of switch Lid 2 guid 0x20 (x):\n";
  const std::map<std::string, std::string> cases{
      {"", "FILE: this file holds no forwarding table"},
      {"# only a comment\n\n", "FILE: this file holds no forwarding table"},
      {"hello\n", "FILE:1: no line above says which switch this is about"},
      {"0x0001 001 \n", "FILE:1: no line above says which switch this is about"},
      {heading + "hello\n", "FILE:2: not a line of a forwarding table"},
      {heading + "0x0001\n", "FILE:2: no output port for LID 1"},
      {heading + "0x0001 256 \n", "FILE:2: no output port for LID 1"},
      {heading + "0x0001 -1 \n", "FILE:2: no output port for LID 1"},
      {heading + "0x0001 1x\n", "FILE:2: no output port for LID 1"},
      {heading + "\n0xc000 001 \n", "FILE:3: 0xc000 is not a unicast LID"},
      {heading + "0x10000 001 \n", "FILE:2: not a line of a forwarding table"},
      {heading + "99999999999999999999999 001 \n", "FILE:2: not a line of a forwarding table"},
      {heading + "0 lids dumped\n0x0001 001 \n", "FILE:3: a row after the end of its table"},
      {heading + "0 lids dumped\n0 lids dumped\n", "FILE:3: a second line that ends this table"},
      {heading + "0 lids dumped, but\n", "FILE:2: not a line of a forwarding table"},
      {groups + "0x0001 001 \n", "FILE:2: 0x1 is not a multicast LID"},
      {groups + "     Ports: 0 1 \n0xc000       x\n", "FILE:3: an x that stands below no port"},
      {groups + "     Ports: 0 1 \n0xc000      y\n", "FILE:3: an x that stands below no port"},
      {groups + " MLid       Port Mask\n0xc000      12\n", "FILE:3: not a mask of ports"},
      {groups + "0xc000 : 0x0ff\n", "FILE:2: not the number of a port"},
      {groups + "0xc000 1\n", "FILE:2: no output ports"},
  };
  for (const auto& [text, why] : cases) {
    CAPTURE(text);
    CHECK(refusal(text) == why);
  }
  for (const std::string_view broken :
       {"Unicast lids [0x0-0x9] of switch", "Unicast lids [0x0-0x9 of switch Lid 2 guid 0x20 (x):",
        "Unicast lids [0-] of switch Lid 2 guid 0x20 (x):", "Unicast lids of switch Lid 2 guid 0x20 (x):",
        "Unicast lids [0-9] of switch DR Path (1, 2) 'x'", "Unicast lids [0-9] of switch DR Path (0, 255) 'x'",
        "Unicast lids [0-9] of switch Path 1 -> 70000 SL=0 DQPN=0 'x'", "Unicast lids of switch DR Path (0, 1) 'x'", "Switch 0x",
        "Switch 0x12 and more", "dump_ucast_routes: Switch x", "Multicast mlids [0xc000-0x1ffff] of switch Lid 2 guid 0x20 (x):"}) {
    CAPTURE(broken);
    CHECK(refusal(broken) == "FILE:1: this line does not say which switch the table below it belongs to");
  }
}

TEST_CASE("a LID that has a row in several tables of a switch is found, in whatever order the rows come") {
  std::string text;
  std::vector<unsigned> order;
  for (unsigned i = 0; i < 40; ++i) order.push_back(1 + i * 17 % 40);
  for (const unsigned lid : order)
    text += fmt::format("Unicast lids [0x0-0x40] of switch Lid 2 guid 0x20 (x):\n{:#06x} 001 : (x)\n1 valid lids dumped\n", lid);
  CHECK(read(text).remarks.empty());
  const auto remarks =
      read(text + "Unicast lids [0x0-0x40] of switch Lid 2 guid 0x20 (x):\n0x0011 001 : (x)\n0x0029 001 : (x)\n2 valid lids dumped\n")
          .remarks;
  REQUIRE(remarks.size() == 1);
  CHECK_THAT(remarks[0], contains("LID 17 is listed twice for switch"));
}

TEST_CASE("a file is read line by line, and its name is shown on one line") {
  const ibtest::TemporaryDirectory directory;
  const std::string path = directory.file("odd\n\x1bname");
  std::ofstream(path) << diags << "hello\n";
  std::vector<StoredForwardingTable> tables;
  const TakeTable take = [&tables](StoredForwardingTable&& table) { tables.push_back(std::move(table)); };
  std::string message;
  try {
    read_forwarding_text(path, take);
  } catch (const UsageError& error) {
    message = error.message();
  }
  CHECK_THAT(message, ibtest::ends_with("odd\\n\\x1bname:8: not a line of a forwarding table"));
  std::ofstream(path) << diags;
  CHECK(read_forwarding_text(path, take).empty());
  CHECK(tables.size() == 1);
  CHECK_THROWS_AS(read_forwarding_text(directory.file("none"), take), SysError);
  CHECK_THROWS_AS(read_forwarding_text(directory.path(), take), UsageError);
  CHECK_THROWS_AS(read_forwarding_text("/dev/null", take), UsageError);
}

TEST_CASE("more switches than a subnet has LIDs are refused") {
  ForwardingTextReader reader("FILE", [](StoredForwardingTable&&) {});
  const auto table = [&reader](unsigned guid) { reader.line(fmt::format("Switch {:#x}", guid)); };
  for (unsigned guid = 1; guid <= 49152; ++guid) table(guid);
  CHECK_THROWS_WITH(table(49153), "FILE:49153: more switches than a subnet can have");
}

}  // namespace formats_forwarding_text_tests
