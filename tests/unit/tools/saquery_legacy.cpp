// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// saquery by its legacy name, on a subnet administrator of this file's: what leaves, and what infiniband-diags would print.
#include "iba-gen/sa.hpp"
#include "support/catch.hpp"
#include "support/fake_sa.hpp"
#include "support/program.hpp"
#include "support/sa_answer.hpp"
#include "tools/saquery/saquery.hpp"
#include "unit/tools/sa_subnet.hpp"

namespace tools_saquery_legacy_tests {

using namespace ib;
using ibtest::contains;
using ibtest::diags;
using ibtest::FakeFabric;
using ibtest::ibtool;
using ibtest::padded;
using namespace ibtest::sa_subnet;

TEST_CASE("saquery of infiniband-diags: records by name, with a number for each part of a word") {
  Subnet subnet([](Bytes request) { return ibtest::sa_table(request, {padded(node("leaf"))}); });
  const auto done = diags(subnet.fabric, {"saquery", "nr", "2/9", "more"});
  CHECK(done.status == 0);
  CHECK(done.err.empty());
  CHECK_THAT(done.out, ibtest::starts_with("NodeRecord dump:\n\t\tlid.....................2\n\t\treserved................0x0\n"));
  CHECK_THAT(done.out, contains("\t\tNodeDescription.........leaf\n"));
  CHECK(mask_of(subnet.asked.back()) == 1);
  diags(subnet.fabric, {"saquery", "LR", "2/3x", "4"});
  CHECK(mask_of(subnet.asked.back()) == 0xb);  // FromLID, FromPort, ToLID
  diags(subnet.fabric, {"saquery", "zz"});     // a word that names no record
  CHECK(load_be<std::uint16_t>(&subnet.asked.back()[16]) == sa::NodeRecord::attribute_id);
}

TEST_CASE("saquery of infiniband-diags: members by option") {
  Subnet subnet([](Bytes request) { return ibtest::sa_table(request, {}); });
  diags(subnet.fabric, {"saquery", "-p", "-M", "4", "--slid", "5", "--dlid", "6", "--dlid", "0", "-n", "0"});
  CHECK(mask_of(subnet.asked.back()) == (1U << 5 | 1U << 12 | 1U << 16 | 1U << 17));
  CHECK(subnet.asked.back()[56 + 54] == 0x04);  // the selector is what stands above the value: greater than
  diags(subnet.fabric, {"saquery", "--sgid-to-dgid", "fe80::1-fe80::2"});
  CHECK(mask_of(subnet.asked.back()) == (1U << 2 | 1U << 3 | 1U << 12));
  CHECK(subnet.asked.back()[56 + 49] == 0x7f);
  diags(subnet.fabric, {"saquery", "--src-to-dst", "1:2"});
  CHECK(mask_of(subnet.asked.back()) == (1U << 4 | 1U << 5 | 1U << 12));
  diags(subnet.fabric, {"saquery", "NR", "-M", "4"});
  CHECK(mask_of(subnet.asked.back()) == 0);
}

TEST_CASE("saquery of infiniband-diags: nodes by name, LID and GUID") {
  FakeFabric fabric;
  const auto leaf = fabric.add_switch(0x100, 4, "leaf");
  const auto host = fabric.add_ca(0x200, 1, "host");
  const auto odd = fabric.add_ca(0x300, 1, "o\tdd");
  fabric.link(leaf, 1, host, 1);
  fabric.link(leaf, 2, odd, 1);
  fabric.assign_lids();
  fabric.attach(host);
  const ibtest::FakeSa sa(fabric);
  const auto out = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "saquery");
    const auto done = diags(fabric, words);
    CHECK(done.status == 0);
    CHECK(sa.asked.back().component_mask == 0);  // it compares by itself
    return done.out;
  };
  CHECK(out({"-D"}) == "   LID \"name\"\n================\n     2  \"host\"\n     3  \"o dd\"\n");
  CHECK(out({"-L", "leaf"}) == "1\n");
  CHECK(out({"-G", "host"}) == "0x0000000000000201\n");
  CHECK(out({"-O", "0x1"}) == "leaf\n");
  CHECK(out({"-U", "0x201"}) == "host\n");
  CHECK(out({"-G", "o dd"}) == "0x0000000000000301\n");  // a name is compared as it is printed
  for (const char* nobody : {"nobody", "", "o\tdd"}) CHECK(out({"-l", nobody}).empty());
  CHECK_THAT(out({"-N", "host"}), ibtest::starts_with("NodeRecord dump:\n\t\tlid.....................2\n"));
  CHECK(count(out({"-N"}), "NodeRecord dump:") == 3);
}

TEST_CASE("saquery of infiniband-diags: multicast members have the names of their nodes") {
  Subnet subnet([](Bytes request) {
    if (load_be<std::uint16_t>(&request[16]) == sa::NodeRecord::attribute_id) return ibtest::sa_table(request, {padded(node("leaf"))});
    sa::MCMemberRecord member;
    member.mlid = Lid{0xc000};
    member.port_gid = Gid::from(link_local_prefix, Guid{0x100});
    sa::MCMemberRecord stranger = member;
    stranger.port_gid = Gid::from(link_local_prefix, Guid{0x999});
    return ibtest::sa_table(request, {padded(member), padded(stranger)});
  });
  CHECK_THAT(diags(subnet.fabric, {"saquery", "-m"}).out,
             contains("\t\tProxyJoin...............0x0\n\t\tNodeDescription.........leaf\nMCMemberRecord member dump:\n"));
  CHECK(diags(subnet.fabric, {"saquery", "-m", "0xC000"}).out ==
        "\t\tPortGid.................fe80::100 (leaf)\n\t\tPortGid.................fe80::999 (<unknown>)\n");
  CHECK(diags(subnet.fabric, {"saquery", "-m", "0xC001"}).out.empty());
  CHECK(count(diags(subnet.fabric, {"saquery", "-g"}).out, "MCMemberRecord group dump:\n") == 2);
}

TEST_CASE("saquery of infiniband-diags: an answer that was cut is reported once") {
  Subnet subnet([](Bytes request) {
    auto mad = ibtest::sa_table(request, {padded(node("leaf"))});
    store_be<std::uint32_t>(&mad[32], 20 + 112 + 4);  // PayloadLength
    mad[56 + 112 + 1] = 8;
    return mad;
  });
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"-L", "leaf"}, {"-U", "0x100"}, {"-N"}}) {
    INFO(words[0]);
    std::vector<std::string> line{"saquery"};
    line.insert(line.end(), words.begin(), words.end());
    const auto done = diags(subnet.fabric, line);
    CHECK_THAT(done.out, contains(words[0] == "-L" ? "2\n" : "leaf\n"));
    CHECK(count(done.err, "\n") == 1);
    CHECK_THAT(done.err, contains("sa_query: the answer of the SA was cut on its way: only the first record arrived\n"));
  }
  const auto ours = ibtool(subnet.fabric, {"saquery", "-L", "leaf"});
  CHECK(ours.out == "2\n");
  CHECK(ours.err == "W: the answer of the SA was cut on its way: only the first record arrived\n");
  CHECK(ours.status == 4);
}

TEST_CASE("saquery of infiniband-diags: how it ends") {
  std::optional<std::uint16_t> status;
  Subnet subnet([&](Bytes request) -> std::optional<FakeFabric::Answer> {
    if (!status) return std::nullopt;
    auto mad = ibtest::sa_record(request, {});
    mad[3] = request[3] | 0x80;
    mad[4] = static_cast<std::uint8_t>(*status >> 8);
    mad[5] = static_cast<std::uint8_t>(*status);
    return mad;
  });
  const auto silent = diags(subnet.fabric, {"saquery", "NR", "2"});
  CHECK(silent.status == 110);
  CHECK(silent.out.empty());
  CHECK(silent.err == "Query SA failed: Connection timed out\n");
  CHECK_THAT(diags(subnet.fabric, {"saquery", "-c"}).err,
             contains("Query SA failed: Connection timed out\nFailed to query SA:ClassPortInfo\n"));
  status = 0x0300;  // no records: to it an error
  const auto none = diags(subnet.fabric, {"saquery", "NR", "2"});
  CHECK(none.status == 5);
  CHECK(none.err == "ERROR: Query result returned 0x0300,  SA(SA_ERR_NO_RECORDS)\n");
  subnet.asked.clear();
  for (const auto& [words, code] : std::vector<std::pair<std::vector<std::string>, int>>{{{"saquery", "-l"}, 2},
                                                                                         {{"saquery", "-O", "0"}, 2},
                                                                                         {{"saquery", "--src-to-dst", "4"}, 2},
                                                                                         {{"saquery", "--sgid", "zz"}, 2},
                                                                                         {{"saquery", "NR", "0"}, 22},
                                                                                         {{"saquery", "IIR", "zz"}, 22}}) {
    CAPTURE(words);
    const auto done = diags(subnet.fabric, words);
    CHECK(done.status == code);
    CHECK(done.out.empty());
    CHECK_FALSE(done.err.empty());
  }
  CHECK(subnet.asked.empty());
}

TEST_CASE("saquery of infiniband-diags: ports of managers are printed as far as they came") {
  unsigned answered = 0;
  Subnet subnet([&](Bytes request) -> std::optional<FakeFabric::Answer> {
    if (answered++ > 0) return std::nullopt;
    return ibtest::sa_table(request, {padded(sa::PortInfoRecord())});
  });
  const auto done = diags(subnet.fabric, {"saquery", "-s"});
  CHECK(done.status == 110);
  CHECK_THAT(done.out, ibtest::starts_with("IsSM ports\nPortInfoRecord dump:\n"));
  CHECK(done.out.find("IsSMdisabled") == std::string::npos);
}

TEST_CASE("saquery of infiniband-diags: hostile names, keys, packets and widths") {
  sa::ServiceRecord service;
  service.service_key.bytes.fill(0xa5);
  sa::PortInfoRecord port;
  port.port_info.m_key = 0x1234;
  port.port_info.link_width_active = static_cast<decltype(port.port_info.link_width_active)>(5);
  Subnet subnet([&](Bytes request) {
    const auto attribute = load_be<std::uint16_t>(&request[16]);
    if (attribute == sa::ServiceRecord::attribute_id) return ibtest::sa_table(request, {padded(service)});
    if (attribute == sa::PortInfoRecord::attribute_id) return ibtest::sa_table(request, {padded(port)});
    return ibtest::sa_table(request, {padded(node("\x1b[2J\xff\n"))});
  });
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"saquery"}, {"saquery", "-N"}, {"saquery", "-O", "2"}, {"saquery", "-U", "0x100"}}) {
    const auto done = diags(subnet.fabric, words);
    CHECK(done.status == 0);
    CHECK_THAT(done.out, contains(" [2J"));
    CHECK(done.out.find('\x1b') == std::string::npos);
  }
  CHECK_THAT(diags(subnet.fabric, {"saquery", "-S"}).out, contains("ServiceKey..............<not displayed>\n"));
  CHECK_THAT(diags(subnet.fabric, {"saquery", "-S", "-K"}).out, contains("ServiceKey..............0xa5a5"));
  const auto listed = diags(subnet.fabric, {"saquery", "PIR"});
  CHECK_THAT(listed.out, contains("\t\tMkey:............................<not displayed>\n"));
  CHECK_THAT(listed.err, contains("mad_dump_linkwidth: bad width 5\n"));
  CHECK(listed.out.find("LinkSpeedExtActive2") == std::string::npos);
  const ibtest::Outside as56{.diags_release = &tools::diags_release("56.1")};
  CHECK_THAT(diags(subnet.fabric, {"saquery", "PIR"}, as56).out,
             contains("\t\tLinkSpeedExtActive2:.............No Extended Speed 2\n\t\tLinkSpeedExtSupported2:..........0\n"));
  const auto traced = diags(subnet.fabric, {"saquery", "-dd", "PIR"});
  CHECK(traced.out == listed.out);
  CHECK_THAT(traced.err, contains("D: ") && contains("MKey=<not displayed>"));
}

TEST_CASE("saquery of infiniband-diags: words that hold several fields") {
  namespace saquery = ib::tools::saquery;
  std::array<std::uint8_t, 72> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i + 1);
  bytes[49] = 1;  // ProxyJoin, as infiniband-diags reads it
  const subnet::NodeNameMap names;
  const auto text = [&](const saquery::RecordForm& form) { return saquery::record_text(form, bytes, {names}); };
  const std::string path = text(*saquery::find_form("PR")), info = text(*saquery::find_form("CPI"));
  for (const char* value : {"hop_flow_raw............0x2D2E2F30\n", "num_path_revers.........0x1\n", "mtu.....................0x37\n",
                            "rate....................0x38\n", "pkt_life................0x39\n", "resv2...................0x3B3C3D3E3F40\n"})
    CHECK_THAT(path, contains(value));
  for (const char* value : {"Redirect TC/SL/FL........0x191A1B1C\n", "Redirect QP..............0x21222324\n",
                            "Trap TC/SL/FL............0x393A3B3C\n", "Trap HL/QP...............0x41424344\n"})
    CHECK_THAT(info, contains(value));
  CHECK_THAT(text(*saquery::find_form("SWIR")), contains("LifeTimeValue/PortStateChange/OpSL2VL...0x10\n"));
  CHECK_THAT(text(*saquery::find_form("SWIR")), contains("flags...................................0x15\n"));
  CHECK_THAT(text(*saquery::find_form("MCMR")), contains("ProxyJoin...............0x1\n"));
  CHECK_THAT(text(saquery::special_form(saquery::SpecialForm::mc_member)),
             contains("ScopeState..............0x31\n\t\tProxyJoin...............0x1\n"));
}

}  // namespace tools_saquery_legacy_tests
