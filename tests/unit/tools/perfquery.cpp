// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// perfquery in both dialects on performance management agents in memory: what is asked of which port, what is printed, what is reset.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "iba-gen/pm.hpp"
#include "iba-gen/smp.hpp"
#include "iba/registry.hpp"
#include "iba/wire.hpp"
#include "support/catch.hpp"
#include "support/counting_fabric.hpp"
#include "support/program.hpp"
#include "tools/perfquery/readings.hpp"
#include "tools/shared/fabric.hpp"

namespace tools_perfquery_tests {

using namespace ib;
using ibtest::contains;
using ibtest::diags;
using ibtest::ends_with;
using ibtest::FakeFabric;
using ibtest::FakePma;
using ibtest::ibtool;
using ibtest::starts_with;
using nlohmann::json;

namespace {

struct Fabric : ibtest::CountingFabric {
  /// The ports that attribute T was asked of, or set at, in their order.
  template <class T>
  std::vector<unsigned> asked_of(std::uint8_t method = mad::method::get) const {
    std::vector<unsigned> ports;
    for (const FakePma::Asked& one : pma.asked) {
      if (one.method == method && one.attribute == T::attribute_id) ports.push_back(one.port);
    }
    return ports;
  }
};

using Ports = std::vector<unsigned>;
constexpr std::uint8_t set = mad::method::set;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("perfquery: PortCounters of a port in both dialects") {
  Fabric f;
  f.pma.count(2, "port_xmit_data") = 77;
  f.pma.count(2, "symbol_error_counter") = 70000;  // more than its field holds
  const auto ours = ibtool(f.fabric, {"perfquery", "1", "2"});
  CHECK(ours.status == 0);
  CHECK_THAT(ours.out, starts_with("# Port counters: Lid 1 (fe80::100) port 2\nPortSelect:......................2\n"));
  CHECK_THAT(ours.out, contains("SymbolErrors:....................65535\n") && contains("XmtData:.........................77\n"));
  const auto theirs = diags(f.fabric, {"perfquery", "1", "2"});
  CHECK(theirs.status == 0);
  CHECK_THAT(theirs.out, starts_with("# Port counters: Lid 1 port 2 (CapMask: 0x9304)\nPortSelect:......................2\n"));
  CHECK_THAT(theirs.out, contains("SymbolErrorCounter:..............65535\n") && contains("PortXmitData:....................77\n"));
  CHECK(theirs.err.empty());
  // It shows the number that was typed, and asks for its lowest byte.
  const auto wide = diags(f.fabric, {"perfquery", "1", "258"});
  CHECK_THAT(wide.out, starts_with("# Port counters: Lid 1 port 258 (CapMask: 0x9304)\nPortSelect:......................2\n"));
  if constexpr (sizeof(long) > sizeof(int))  // a LID is an int, made of a long
    CHECK_THAT(diags(f.fabric, {"perfquery", "4294967297", "2"}).out, starts_with("# Port counters: Lid 1 port 2 "));
  CHECK_THAT(diags(f.fabric, {"perfquery", "-P", "0", "1", "2"}).out, starts_with("# Port counters: Lid 1 port 2 "));
}

TEST_CASE("perfquery: the port that is meant where none is named") {
  Fabric f;
  SECTION("ibtool: this port, the port of a host that has the LID, port 1 of a switch") {
    CHECK_THAT(ibtool(f.fabric, {"perfquery"}).out, starts_with("# Port counters: Lid 2 (fe80::201) port 1\n"));
    CHECK_THAT(ibtool(f.fabric, {"perfquery", "4"}).out, starts_with("# Port counters: Lid 4 (fe80::302) port 2\n"));
    CHECK_THAT(ibtool(f.fabric, {"perfquery", "1"}).out, starts_with("# Port counters: Lid 1 (fe80::100) port 1\n"));
  }
  SECTION("infiniband-diags: this port, else port 0") {
    CHECK_THAT(diags(f.fabric, {"perfquery"}).out, starts_with("# Port counters: Lid 2 port 1 "));
    CHECK_THAT(diags(f.fabric, {"perfquery", "-a"}).out, starts_with("# Port counters: Lid 2 port 1 "));
    const auto refused = diags(f.fabric, {"perfquery", "4"});
    CHECK(refused.status == 255);
    CHECK(refused.out == "perfquery: iberror: failed: perfquery\n");
    CHECK(f.other_pma.asked.back().port == 0);
  }
}

TEST_CASE("perfquery: the port itself gets only requests for counters") {
  Fabric f;
  CHECK(ibtool(f.fabric, {"perfquery", "1", "2"}).status == 0);
  CHECK(ibtool(f.fabric, {"perfquery", "1"}).status == 0);
  CHECK(f.pma.asked.size() == 2);
  CHECK(f.pma.times(mad::ClassPortInfo::attribute_id) == 0);
}

namespace {

std::string first_word(std::string_view text) { return std::string(text.substr(0, text.find(' '))); }

/// The long spelling of an option by the legacy name.
std::string legacy_spelling(const tools::Spelling& option) {
  const std::string_view names = option.diags.empty() ? option.names : option.diags;
  return first_word(names.substr(names.find("--")));
}

}  // namespace

TEST_CASE("perfquery: every attribute, by its option in both dialects") {
  for (const auto& counters : tools::perfquery::counter_sets()) {
    Fabric f;
    const StructInfo& info = counters.info();
    std::vector<std::string> words{"perfquery", "1", "2"};
    const tools::Spelling& option = counters.spelling;
    if (!option.names.empty()) words.insert(words.begin() + 1, first_word(option.names));
    INFO(info.title);
    const auto ours = ibtool(f.fabric, words);
    CHECK(ours.status == 0);
    CHECK_THAT(ours.out, starts_with("# Port counters: Lid 1 (fe80::100) port 2\n"));
    CHECK(f.pma.times(static_cast<std::uint16_t>(info.attribute_id)) == 1);
    words.push_back("--json");
    const json document = json::parse(ibtool(f.fabric, words).out);
    CHECK(document.at("ports")[0]["attribute"] == std::string(info.iba_name));
    CHECK(document.at("ports")[0]["data"]["port_select"] == 2);

    std::vector<std::string> theirs_words{"perfquery"};
    if (!option.names.empty()) theirs_words.push_back(legacy_spelling(option));
    theirs_words.insert(theirs_words.end(), {"1", "2"});
    const auto theirs = diags(f.fabric, theirs_words);
    CHECK(theirs.status == 0);
    CHECK_THAT(theirs.out, contains("Lid 1 port 2"));
    CHECK(count(theirs.out, "\n# ") == 0);
    f.pma.unsupported.insert(static_cast<std::uint16_t>(info.attribute_id));
    const auto refused = diags(f.fabric, theirs_words);
    CHECK(refused.status == 255);
    CHECK(refused.out == "perfquery: iberror: failed: " + counters.cannot_read() + "\n");
    CHECK(ibtool(f.fabric, words).status == 3);
  }
}

TEST_CASE("perfquery: PortCountersExtended shows what the PMA counts, and warns of one that has none") {
  Fabric f;
  f.pma.count(1, "port_xmit_data") = std::uint64_t{1} << 40;
  const auto full = diags(f.fabric, {"perfquery", "-x", "1", "1"});
  CHECK_THAT(full.out, starts_with("# Port extended counters: Lid 1 port 1 (CapMask: 0x9304 CapMask2: 0x0000002)\n"));
  CHECK_THAT(full.out, contains("PortXmitData:....................1099511627776\n") && contains("PortUnicastXmitPkts:") &&
                           contains("CounterSelect2:") && contains("QP1Dropped:"));
  f.pma.capability_mask2 = 0;
  f.pma.capability_mask = pm::capability_mask::is_extended_width_no_ietf_supported;
  const auto narrow = diags(f.fabric, {"perfquery", "-x", "1", "1"});
  CHECK_THAT(narrow.out, ends_with("PortRcvPkts:.....................0\n"));
  CHECK(narrow.err.empty());
  f.pma.capability_mask = 0;
  const auto none = diags(f.fabric, {"perfquery", "-x", "1", "1"});
  CHECK(none.status == 255);
  CHECK(none.out == "perfquery: iberror: failed: perfextquery\n");
  CHECK_THAT(none.err, contains("No extended counter support indicated"));
}

TEST_CASE("perfquery: infiniband-diags shows no PortXmitWait that the PMA does not count") {
  Fabric f;
  auto& leaf = f.fabric.node(f.leaf);
  f.pma.count(1, "port_xmit_wait") = 5;
  f.pma.capability_mask = 0;
  leaf.services.at(mad::mgmt_class::performance).faults.lie = [](FakeFabric::Answer& mad) {
    if (mad[17] == pm::PortCounters::attribute_id) mad[64 + 43] = 5;  // it answers with one all the same
  };
  CHECK_THAT(diags(f.fabric, {"perfquery", "1", "1"}).out, contains("PortXmitWait:....................0\n"));
  CHECK_THAT(ibtool(f.fabric, {"perfquery", "1", "1"}).out, contains("XmtWait:.........................5\n"));
}

TEST_CASE("perfquery: all ports are summed by a PMA that can") {
  Fabric f;
  f.pma.count(1, "port_rcv_pkts") = 5;
  f.pma.count(4, "port_rcv_pkts") = 7;
  for (const auto& words : {std::vector<std::string>{"perfquery", "-a", "1"}, {"perfquery", "1", "255"}}) {
    CHECK_THAT(ibtool(f.fabric, words).out,
               starts_with("# Port counters: Lid 1 (fe80::100) port 255\n") && contains("RcvPkts:.........................12\n"));
    CHECK_THAT(diags(f.fabric, words).out,
               starts_with("# Port counters: Lid 1 port 255 ") && contains("PortRcvPkts:.....................12\n"));
  }
  CHECK(f.asked_of<pm::PortCounters>() == Ports(4, 255));
}

TEST_CASE("perfquery: without AllPortSelect every port is read, and a sum stops at the greatest value of its field") {
  Fabric f;
  f.pma.capability_mask &= static_cast<std::uint16_t>(~pm::capability_mask::all_port_select);
  f.pma.count(1, "symbol_error_counter") = 0xfff0;
  f.pma.count(2, "symbol_error_counter") = 0x20;
  f.pma.count(1, "local_link_integrity_errors") = 9;  // a field of 4 bits
  f.pma.count(4, "local_link_integrity_errors") = 9;
  f.pma.count(1, "port_rcv_data") = ~std::uint64_t{0};
  f.pma.count(2, "port_rcv_data") = 3;
  const auto ours = ibtool(f.fabric, {"perfquery", "-a", "1"});
  CHECK(ours.status == 0);
  CHECK_THAT(ours.out, starts_with("# Port counters: Lid 1 (fe80::100) port 255\nPortSelect:......................255\n"));
  CHECK_THAT(ours.out, contains("SymbolErrors:....................65535\n") && contains("LinkIntegrityErrors:.............15\n"));
  CHECK(f.asked_of<pm::PortCounters>() == Ports{1, 2, 3, 4});
  CHECK_THAT(ibtool(f.fabric, {"perfquery", "-x", "-a", "1"}).out, contains("RcvData:.........................18446744073709551615\n"));

  const auto theirs = diags(f.fabric, {"perfquery", "-a", "1"});
  CHECK(theirs.status == 0);
  CHECK_THAT(theirs.out, starts_with("# Port counters: Lid 1 port 255 ") && contains("SymbolErrorCounter:..............65535\n"));
  CHECK_THAT(theirs.err, contains("Emulating AllPortSelect"));
  const auto refused = diags(f.fabric, {"perfquery", "1", "255"});
  CHECK(refused.status == 255);
  CHECK(refused.out == "perfquery: iberror: failed: AllPortSelect not supported\n");
}

TEST_CASE("perfquery: port 0 is one of all where it is an enhanced one") {
  FakeFabric fabric;
  const auto leaf = fabric.add_switch(0x100, 2, "leaf");
  const auto here = fabric.add_ca(0x200, 1, "here");
  fabric.link(leaf, 1, here, 1);
  fabric.assign_lids();
  fabric.attach(here);
  const ibtest::FakeSa sa(fabric);
  fabric.node(leaf).switch_info.enhanced_port0 = 1;
  run_pma(fabric, leaf);
  CHECK_THAT(ibtool(fabric, {"perfquery", "-l", "1"}).out, starts_with("# Port counters: Lid 1 (fe80::100) port 0\n"));
  CHECK_THAT(diags(fabric, {"perfquery", "-l", "-a", "1"}).out, starts_with("# Port counters: Lid 1 port 0 "));
}

TEST_CASE("perfquery: the ports one by one") {
  Fabric f;
  CHECK(count(ibtool(f.fabric, {"perfquery", "-l", "1"}).out, "# Port counters:") == 4);
  CHECK(count(diags(f.fabric, {"perfquery", "-l", "1", "255"}).out, "# Port counters:") == 4);
  CHECK(count(diags(f.fabric, {"perfquery", "-l", "1", "2"}).out, "# Port counters:") == 1);
  CHECK(f.asked_of<pm::PortCounters>() == Ports{1, 2, 3, 4, 1, 2, 3, 4, 2});
}

TEST_CASE("perfquery: lists and ranges of ports") {
  Fabric f;
  SECTION("ibtool") {
    CHECK(ibtool(f.fabric, {"perfquery", "1", "4,1-2"}).status == 0);
    CHECK(f.asked_of<pm::PortCounters>() == Ports{4, 1, 2});
  }
  SECTION("ibtool: -a sums those of PORT, and -l does not") {
    f.pma.count(1, "port_rcv_pkts") = 5;
    f.pma.count(2, "port_rcv_pkts") = 7;
    f.pma.count(3, "port_rcv_pkts") = 9;
    const auto sum = ibtool(f.fabric, {"perfquery", "-a", "1", "1,3"});
    CHECK_THAT(sum.out, contains("port 255\n") && contains("RcvPkts:.........................14\n"));
    CHECK(count(ibtool(f.fabric, {"perfquery", "-a", "-l", "1", "1,3"}).out, "# Port counters:") == 2);
    CHECK_THAT(ibtool(f.fabric, {"perfquery", "-a", "1", "3"}).out, contains("port 3\n"));
  }
  SECTION("infiniband-diags: ranges go up, and what is no number is 0") {
    CHECK(count(diags(f.fabric, {"perfquery", "1", "1-3"}).out, "# Port counters:") == 3);
    CHECK_THAT(diags(f.fabric, {"perfquery", "-a", "1", "1,,2,"}).out, starts_with("# Port counters: Lid 1 port 255 "));
    CHECK(f.asked_of<pm::PortCounters>() == Ports{1, 2, 3, 1, 2});
    CHECK(diags(f.fabric, {"perfquery", "1", "3-1"}).out ==
          "perfquery: iberror: failed: max port must be greater than min port in range\n");
    CHECK(diags(f.fabric, {"perfquery", "1", "x"}).status == 255);
    CHECK(f.pma.asked.back().port == 0);
  }
  SECTION("infiniband-diags: the other attributes are shown of the first port alone") {
    const auto done = diags(f.fabric, {"perfquery", "-D", "1", "2-4"});
    CHECK_THAT(done.out, starts_with("# PortXmitDiscardDetails counters: Lid 1 port 2\n"));
    CHECK(f.asked_of<pm::PortXmitDiscardDetails>() == Ports{2});
  }
  SECTION("infiniband-diags: the longest list") {
    std::string longest = "1";
    for (int i = 0; i < 400; ++i) longest += ",2";
    CHECK(count(diags(f.fabric, {"perfquery", "1", longest}).out, "# Port counters:") == 256);
  }
}

TEST_CASE("perfquery: a port of a list that the node refuses") {
  Fabric f;
  const auto ours = ibtool(f.fabric, {"perfquery", "1", "2,9"});
  CHECK(ours.status == 3);
  CHECK(ours.out.empty());
  CHECK_THAT(ours.err, contains("E: 'leaf' (LID 1) has ports 0 to 4, and no port 9\n"));
  const auto theirs = diags(f.fabric, {"perfquery", "1", "2,9"});
  CHECK(theirs.status == 255);
  CHECK_THAT(theirs.out, starts_with("# Port counters: Lid 1 port 2 ") && ends_with("perfquery: iberror: failed: perfquery\n"));
}

TEST_CASE("perfquery: counters are reset by mask") {
  Fabric f;
  f.pma.count(2, "symbol_error_counter") = 3;
  f.pma.count(2, "link_downed_counter") = 4;
  f.pma.count(2, "port_xmit_wait") = 5;
  const auto counters = [&](const char* extended = nullptr) {
    std::vector<std::string> words{"perfquery", "--json", "1", "2"};
    if (extended != nullptr) words.insert(words.begin() + 1, extended);
    return json::parse(ibtool(f.fabric, words).out)["ports"][0]["data"];
  };
  SECTION("ibtool: some of them, by their bits") {
    CHECK(ibtool(f.fabric, {"perfquery", "-R", "1", "2", "0x10001"}).out.empty());
    CHECK(counters()["symbol_error_counter"] == 0);
    CHECK(counters()["link_downed_counter"] == 4);
    CHECK(counters()["port_xmit_wait"] == 0);
  }
  SECTION("ibtool: all of them, after they were shown") {
    const auto shown = ibtool(f.fabric, {"perfquery", "-r", "1", "2"});
    CHECK_THAT(shown.out, contains("LinkDowned:......................4\n"));
    CHECK(counters()["link_downed_counter"] == 0);
    CHECK(counters()["port_xmit_wait"] == 0);
    CHECK(counters("-x")["link_downed_counter"] == 4);  // an attribute of its own
    CHECK(ibtool(f.fabric, {"perfquery", "-R", "-x", "1", "2"}).status == 0);
    CHECK(counters("-x")["link_downed_counter"] == 0);
    CHECK(counters("-x")["port_xmit_wait"] == 0);
  }
  SECTION("infiniband-diags: the mask has 16 bits, and what the PMA counts beside is reset where none is given") {
    CHECK(diags(f.fabric, {"perfquery", "-R", "1", "2", "0x4"}).out.empty());
    CHECK(counters()["link_downed_counter"] == 0);
    CHECK(counters()["symbol_error_counter"] == 3);
    CHECK(counters()["port_xmit_wait"] == 5);
    CHECK(diags(f.fabric, {"perfquery", "-r", "1", "2"}).status == 0);
    CHECK(counters()["symbol_error_counter"] == 0);
    CHECK(counters()["port_xmit_wait"] == 0);
  }
  SECTION("infiniband-diags: 0 is all") {
    CHECK(diags(f.fabric, {"perfquery", "-R", "1", "2", "0"}).status == 0);
    CHECK(counters()["symbol_error_counter"] == 0);
  }
  SECTION("infiniband-diags: -x resets the additional counters too") {
    CHECK(diags(f.fabric, {"perfquery", "-x", "-R", "1", "2"}).status == 0);
    CHECK(counters("-x")["symbol_error_counter"] == 0);
    CHECK(counters("-x")["port_xmit_wait"] == 0);
    CHECK(counters()["symbol_error_counter"] == 3);
  }
}

TEST_CASE("perfquery: a mask of 64 bits resets the counters of each lane") {
  Fabric f;
  const auto lane3 = [&] {
    const auto done = ibtool(f.fabric, {"perfquery", "-T", "--json", "1", "2"});
    return json::parse(done.out)["ports"][0]["data"]["fec_uncorrectable_block_ctr_lane"][3];
  };
  f.pma.count(2, "fec_uncorrectable_block_ctr_lane", 3) = 5;
  CHECK(lane3() == 5);
  CHECK(diags(f.fabric, {"perfquery", "-T", "-R", "1", "2", "0xffff"}).status == 0);
  CHECK(lane3() == 5);
  CHECK(diags(f.fabric, {"perfquery", "-T", "-R", "1", "2"}).status == 0);
  CHECK(lane3() == 0);
  f.pma.count(2, "fec_uncorrectable_block_ctr_lane", 3) += 2;
  CHECK(ibtool(f.fabric, {"perfquery", "-T", "-R", "1", "2"}).status == 0);
  CHECK(lane3() == 0);
}

TEST_CASE("perfquery: the ports that were shown are reset") {
  Fabric f;
  CHECK(ibtool(f.fabric, {"perfquery", "-r", "-a", "1"}).status == 0);
  CHECK(f.asked_of<pm::PortCounters>(set) == Ports{255});
  CHECK(ibtool(f.fabric, {"perfquery", "-r", "1", "4,2"}).status == 0);
  CHECK(f.asked_of<pm::PortCounters>(set) == Ports{255, 4, 2});
  f.pma.capability_mask = 0;
  CHECK(diags(f.fabric, {"perfquery", "-R", "-a", "1"}).status == 0);
  CHECK(f.asked_of<pm::PortCounters>(set) == Ports{255, 4, 2, 1, 2, 3, 4});
  CHECK(diags(f.fabric, {"perfquery", "-r", "-D", "1", "3"}).status == 0);
  CHECK(f.asked_of<pm::PortXmitDiscardDetails>(set) == Ports{3});
}

TEST_CASE("perfquery: a reset that the node refuses") {
  Fabric f;
  CHECK(ibtool(f.fabric, {"perfquery", "-R", "1", "9"}).status == 3);
  const auto theirs = diags(f.fabric, {"perfquery", "-R", "1", "9"});
  CHECK(theirs.status == 255);
  CHECK(theirs.out == "perfquery: iberror: failed: perf reset\n");
  CHECK(diags(f.fabric, {"perfquery", "-x", "-R", "1", "9"}).out == "perfquery: iberror: failed: perf ext reset\n");
  CHECK(diags(f.fabric, {"perfquery", "-E", "-R", "1", "9"}).out == "perfquery: iberror: failed: cannot reset PortRcvErrorDetails\n");
  CHECK(diags(f.fabric, {"perfquery", "-T", "-R", "1", "9"}).out ==
        "perfquery: iberror: failed: cannot reset PortExtendedSpeedsCounters\n");
}

TEST_CASE("perfquery: sampling is never set, as that would start a sample") {
  Fabric f;
  CHECK(ibtool(f.fabric, {"perfquery", "-c", "-R", "1", "2"}).status == 2);
  CHECK(ibtool(f.fabric, {"perfquery", "-c", "-a", "1"}).status == 2);
  CHECK_THAT(diags(f.fabric, {"perfquery", "-c", "-R", "1", "2"}).out, starts_with("# PortSamplesControl: Lid 1 port 2\n"));
  CHECK(f.asked_of<pm::PortSamplesCtl>(set).empty());
}

TEST_CASE("perfquery: a PMA that does not answer") {
  Fabric f;
  f.pma.service().faults.silent = true;
  const auto ours = ibtool(f.fabric, {"perfquery", "1", "1"});
  CHECK(ours.status == 3);
  CHECK(ours.out.empty());
  CHECK_THAT(ours.err, contains("No answer from 'leaf' (LID 1) about PortCounters of port 1 ("));
  const auto theirs = diags(f.fabric, {"perfquery", "1", "1"});
  CHECK(theirs.status == 255);
  CHECK(theirs.out == "perfquery: iberror: failed: classportinfo query\n");
  CHECK_THAT(theirs.err, contains("dport (Lid 1)"));
}

TEST_CASE("perfquery: words that are wrong, and options that exclude each other") {
  Fabric f;
  const auto complaint = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "perfquery");
    const auto done = ibtool(f.fabric, words);
    CHECK(done.status == 2);
    CHECK(done.out.empty());
    return done.err;
  };
  CHECK_THAT(complaint({"-x", "-D", "1"}), contains("--extended and --xmtdisc exclude each other"));
  CHECK_THAT(complaint({"-r", "-R", "1"}), contains("-r, reset after reading, and -R, reset only, exclude each other"));
  CHECK_THAT(complaint({"1", "1", "0xf"}), contains("RESET needs -r"));
  CHECK_THAT(complaint({"1", "256"}), contains("PORT"));
  CHECK_THAT(complaint({"1", "2-1"}), contains("goes down"));
  CHECK_THAT(complaint({"1", "1,,2"}), contains("PORT"));
  CHECK_THAT(complaint({"1", ""}), contains("PORT"));
  CHECK_THAT(complaint({"1", "0-255,0-255"}), contains("more than 256 ports"));
  CHECK_THAT(complaint({"-r", "1", "1", "-1"}), contains("-1"));
  CHECK(f.pma.asked.empty());
  CHECK(ibtool(f.fabric, {"perfquery", "-x", "-x", "1", "1"}).status == 0);
  const auto usage = diags(f.fabric, {"perfquery", "--nosuch"});
  CHECK(usage.status == 2);
  CHECK_THAT(usage.err, contains("Usage: perfquery"));
  CHECK(diags(f.fabric, {"perfquery", "zz", "1"}).out == "perfquery: iberror: failed: can't resolve destination port zz\n");
}

TEST_CASE("perfquery: infiniband-diags takes one of several attributes") {
  Fabric f;
  CHECK_THAT(diags(f.fabric, {"perfquery", "-x", "-E", "-D", "1", "2"}).out, starts_with("# PortXmitDiscardDetails counters:"));
  CHECK_THAT(diags(f.fabric, {"perfquery", "-c", "-x", "1", "2"}).out, starts_with("# PortSamplesControl:"));
}

TEST_CASE("perfquery: the layout of extended speeds goes by the error correction in use") {
  Fabric f;
  f.pma.capability_mask |= pm::capability_mask::rs_fec_counters_supported;
  const auto plain = diags(f.fabric, {"perfquery", "-T", "1", "2"});  // the switch has no PortInfoExtended
  CHECK_THAT(plain.out, starts_with("# PortExtendedSpeedsCounters counters: Lid 1 port 2\n"));
  CHECK_THAT(plain.err, contains("Port Info Extended not supported"));
}

TEST_CASE("perfquery: a full disk is a failure in both dialects") {
  Fabric f;
  CHECK(ibtool(f.fabric, {"perfquery", "1", "1"}, {.full_disk = true}).status == 3);
  CHECK(diags(f.fabric, {"perfquery", "1", "1"}, {.full_disk = true}).status == 255);
}

TEST_CASE("perfquery: JSON names each port") {
  Fabric f;
  f.pma.count(3, "port_rcv_data") = 40;
  const json document = json::parse(ibtool(f.fabric, {"perfquery", "-x", "-l", "--json", "1"}).out);
  CHECK(document.at("command") == "perfquery");
  CHECK(document.at("ports").size() == 4);
  CHECK(document.at("ports")[2]["port_num"] == 3);
  CHECK(document.at("ports")[2]["data"]["port_rcv_data"] == 40);
  const json reset = json::parse(ibtool(f.fabric, {"perfquery", "-R", "--json", "1", "1"}).out);
  CHECK(reset["ports"].empty());
  CHECK(reset["status"] == 0);
}

TEST_CASE("perfquery: nodes that answer nonsense") {
  Fabric f;
  SECTION("every byte set, port by port and summed") {
    f.pma.service().faults.lie = [](FakeFabric::Answer& mad) { std::fill(mad.begin() + 64, mad.end(), std::uint8_t{0xff}); };
    for (const auto& counters : tools::perfquery::counter_sets()) {
      std::vector<std::string> words{"perfquery", "1", "1,2"};
      const tools::Spelling& option = counters.spelling;
      if (!option.names.empty()) words.insert(words.begin() + 1, first_word(option.names));
      CHECK(ibtool(f.fabric, words).status == 3);  // of port 255, which was not requested
      if (!option.names.empty()) words[1] = legacy_spelling(option);
      CHECK(diags(f.fabric, words).status == 0);
    }
  }
  SECTION("a node with 255 ports, of which its PMA knows four") {
    f.pma.capability_mask = 0;
    f.fabric.node(f.leaf).info.num_ports = 255;
    CHECK(ibtool(f.fabric, {"perfquery", "-a", "1"}).status == 3);
    CHECK(diags(f.fabric, {"perfquery", "-a", "1"}).status == 255);
  }
  SECTION("a node without ports") {
    f.fabric.node(f.leaf).info.num_ports = 0;
    CHECK_THAT(ibtool(f.fabric, {"perfquery", "-l", "1"}).err, contains("claims to have no ports"));
    CHECK(diags(f.fabric, {"perfquery", "-a", "-l", "1"}).out == "perfquery: iberror: failed: smp query nodeinfo: num ports invalid\n");
  }
}

TEST_CASE("perfquery of infiniband-diags: before a reset the node is requested to say who it is, and nothing is printed of that") {
  Fabric f;
  std::vector<std::uint16_t> smps;
  bool is_silent = false;
  f.fabric.network.tamper = [&](Bytes request, std::optional<FakeFabric::Answer> answer) {
    const mad::HeaderView header(request);
    const bool is_smp = mad::is_smp(header.mgmt_class());
    if (is_smp) smps.push_back(header.attribute_id());
    return answer && !(is_smp && is_silent) ? std::vector<FakeFabric::Answer>{*answer} : std::vector<FakeFabric::Answer>{};
  };
  const auto reset = diags(f.fabric, {"perfquery", "-R", "1", "2"});
  CHECK(reset.status == 0);
  CHECK(smps == std::vector<std::uint16_t>(2, smp::NodeInfo::attribute_id));  // before what is read, and before the Set
  smps.clear();
  CHECK(diags(f.fabric, {"perfquery", "1", "2"}).status == 0);
  CHECK(smps.empty());
  is_silent = true;  // for the lack of its M_Key
  const auto silent = diags(f.fabric, {"perfquery", "-t", "10", "-R", "1", "2"});
  CHECK(silent.status == 0);
  CHECK(silent.err.empty());
  CHECK(f.asked_of<pm::PortCounters>(set) == Ports{2, 2});
}

}  // namespace tools_perfquery_tests
