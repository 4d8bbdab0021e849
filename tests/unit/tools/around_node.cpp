// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What infiniband-diags' iblinkinfo and ibqueryerrors find of the node of -D, -G or -S: which ports of it, at what cost, which service
// levels, and what --diff tells of it. As Debian's programs print it of such fabrics on ibsim.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "base/bytes.hpp"
#include "iba-gen/sa.hpp"
#include "iba-gen/smp.hpp"
#include "support/catch.hpp"
#include "support/fake_pma.hpp"
#include "support/fake_sa.hpp"
#include "support/program.hpp"

namespace tools_around_node_tests {

using namespace ib;
using ibtest::contains;
using ibtest::diags;
using ibtest::FakeFabric;
using ibtest::ibtool;
using ibtest::starts_with;

namespace {

/// A switch (LID 1) and this host (LIDs 2 and 3) with both ports at it: port 1 at the switch's port 1, port 2 at its port `back`. Another
/// host with two ports is at ports 4 and 5. What is asked by SMPs is counted.
struct Site {
  FakeFabric fabric;
  FakeFabric::NodeId leaf = fabric.add_switch(0x100, 8, "leaf");
  FakeFabric::NodeId here = fabric.add_ca(0x200, 2, "here");
  FakeFabric::NodeId dual = fabric.add_ca(0x300, 2, "dual");
  ibtest::FakeSa sa{fabric};
  std::map<std::vector<std::uint8_t>, unsigned> asked;  ///< by route, attribute and modifier
  std::vector<ibtest::FakePma*> pmas;

  explicit Site(unsigned back = 3) {
    fabric.link(leaf, 1, here, 1);
    fabric.link(leaf, back, here, 2);
    fabric.link(leaf, 4, dual, 1);
    fabric.link(leaf, 5, dual, 2);
    constexpr std::uint16_t no_fdr10 = 0x673c;
    for (const auto node : {leaf, here, dual}) {
      fabric.node(node).info.device_id = no_fdr10;
      pmas.push_back(&ibtest::run_pma(fabric, node));
    }
    fabric.assign_lids();
    fabric.attach(here);
    fabric.network.tamper = [this](Bytes request, std::optional<FakeFabric::Answer> answer) {
      const mad::HeaderView header(request);
      constexpr std::size_t hop_count = 7, attribute = 16, initial_path = 128;
      if (mad::is_smp(header.mgmt_class()) && answer) {
        std::vector<std::uint8_t> key(request.begin() + attribute, request.begin() + attribute + 8);
        key.insert(key.end(), request.begin() + initial_path, request.begin() + initial_path + request[hop_count] + 1);
        ++asked[key];
      }
      return answer ? std::vector<FakeFabric::Answer>{*answer} : std::vector<FakeFabric::Answer>{};
    };
  }

  bool asked_nothing_twice() const {
    return std::ranges::all_of(asked, [](const auto& one) { return one.second == 1; });
  }
  void lose_paths() {
    sa.lie = [](std::uint16_t attribute, std::vector<ibtest::FakeSa::Record>& records) {
      if (attribute == sa::PathRecord::attribute_id) records.clear();
    };
  }
};

struct Far : Site {
  Far() : Site(6) {}
};

constexpr std::string_view first_line =
    "CA: here:\n      0x0000000000000201      2    1[  ] ==( 4X          10.0 Gbps Active/  LinkUp)==>       1    1[  ] \"leaf\" ( )\n";

}  // namespace

TEST_CASE_METHOD(Site, "iblinkinfo -D 0 shows the port of this host to which the last link leads that libibnetdisc tries") {
  const std::string both = std::string(first_line) +
                           "      0x0000000000000202      3    2[  ] ==( 4X          10.0 Gbps Active/  LinkUp)==>       1    3[  ] "
                           "\"leaf\" ( )\n";
  for (const char* route : {"0", "0,", "what"}) {
    INFO(route);
    asked.clear();
    CHECK(diags(fabric, {"iblinkinfo", "-D", route}).out == both);
    CHECK(asked_nothing_twice());
    // NodeInfo, NodeDescription and PortInfo of this port; these of the switch, with its port 1; its ports 2 and 3; NodeInfo and PortInfo
    // of the other port.
    CHECK(asked.size() == 3 + 4 + 2 + 2);
  }
  CHECK(diags(fabric, {"iblinkinfo", "-D", "0", "-n", "1"}).out == both);
  CHECK(diags(fabric, {"iblinkinfo", "-D", "0", "-n", "2"}).out == both);
  CHECK_THAT(diags(fabric, {"iblinkinfo", "-D", "0", "-a"}).out, contains(both.substr(both.find('\n') + 1)));
}

TEST_CASE_METHOD(Far, "iblinkinfo -D 0 shows no port that another link comes before") {
  const auto found = diags(fabric, {"iblinkinfo", "-D", "0"});
  CHECK(found.out == first_line);
  CHECK(asked_nothing_twice());
  CHECK(asked.size() == 3 + 4 + 3 + 1);
  CHECK_THAT(diags(fabric, {"iblinkinfo", "-D", "0", "-n", "2"}).out, contains("    2[  ] =="));
  fabric.node(dual).faults.silent = true;
  const auto silent = diags(fabric, {"iblinkinfo", "-D", "0"});
  CHECK(silent.out == first_line);
  CHECK_THAT(silent.err, contains("0,1,4 Attr 0x11:0) bad status 110;"));
  fabric.node(dual).faults = {};
  fabric.node(leaf).faults.answers_left = fabric.node(leaf).answered + 4;
  CHECK(diags(fabric, {"iblinkinfo", "-D", "0"}).out == first_line);
}

TEST_CASE_METHOD(Site, "iblinkinfo -D 0 of a host whose other port is not linked sends the requests of libibnetdisc, and no more") {
  fabric.set_link(leaf, 3, false);
  CHECK(diags(fabric, {"iblinkinfo", "-D", "0"}).out == first_line);
  CHECK(asked.size() == 3 + 4 + 3 + 1);
}

TEST_CASE_METHOD(Site, "ibqueryerrors -D checks the ports of the node that libibnetdisc finds") {
  const auto ports_of = [this](const char* route) {
    asked.clear();
    const std::string out = diags(fabric, {"ibqueryerrors", "-D", route, "--counters"}).out;
    CAPTURE(out);
    CHECK(asked_nothing_twice());
    const std::size_t line = out.find("##          ");
    return line == std::string::npos ? -1 : std::atoi(out.c_str() + line + 2);
  };
  CHECK(ports_of("0") == 2);
  CHECK(asked.size() == 3 + 4 + 2 + 2);
  CHECK(ports_of("0,1") == 8);
  CHECK(ports_of("0,1,4") == 2);
  CHECK(ports_of("0,1,5") == 2);
  CHECK(ports_of("0,1,1") == 2);
  CHECK(ports_of("0,1,3") == 1);  // the port that the route leaves by is not looked at again
  fabric.set_link(leaf, 5, false);
  CHECK(ports_of("0,1,4") == 1);
  CHECK_THAT(diags(fabric, {"ibqueryerrors", "-D", "0,1,4", "-r", "--counters"}).out,
             contains("       Link info:      4   1[  ] ==( 4X          10.0 Gbps Active/  LinkUp)==>  0x0000000000000100      1    4[  ] "
                      "\"leaf\" ( )\n"));
}

TEST_CASE_METHOD(Far, "ibqueryerrors -D 0 does not check a port of this host that libibnetdisc does not find") {
  CHECK_THAT(diags(fabric, {"ibqueryerrors", "-D", "0", "--counters"}).out, contains("##          1 ports checked, 0 "));
  CHECK(asked_nothing_twice());
}

TEST_CASE_METHOD(Site, "ibqueryerrors -D goes on with SL 0 where the SA has no path to the node: its table is empty") {
  const auto count = [this] { return diags(fabric, {"ibqueryerrors", "-D", "0,1,4"}); };
  const auto before = count();
  lose_paths();
  const auto after = count();
  CHECK(after.status == 0);
  CHECK(after.out == before.out);
  CHECK_THAT(after.out, contains("## Summary: 1 nodes checked, 0 bad nodes found\n##          2 ports checked, 0 "));
  CHECK_THAT(after.err, !contains("Query SA failed"));
  CHECK_THAT(diags(fabric, {"ibqueryerrors", "-D", "0"}).out, contains("## Summary: 1 nodes checked"));
  CHECK_THAT(ibtool(fabric, {"ibqueryerrors", "0,1,4"}).err, contains("SL 0 is used: "));
  sa.lie = {};
  sa.status = 0x0200;  // another failure ends it as silence does
  CHECK(count().out.empty());
}

TEST_CASE_METHOD(Site, "ibqueryerrors -D ends without a result where the SA is silent, also for this host and for what is not checked") {
  sa.silent = true;
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"-D", "0"}, {"-D", "0", "--counters"}, {"-D", "0", "--switch"}, {"-D", "0,1", "--ca"}, {"-D", "0,1,4"}}) {
    sa.asked.clear();
    std::vector<std::string> all{"ibqueryerrors"};
    all.insert(all.end(), words.begin(), words.end());
    INFO(words.back());
    const auto silent = diags(fabric, all);
    CHECK(silent.status == 0);
    CHECK(silent.out.empty());
    CHECK_THAT(silent.err, contains("Query SA failed: ") && contains("; sa call path_query failed\n"));
    for (const auto& query : sa.asked) CHECK(query.record == sa.asked.front().record);  // one request and its tries
  }
  CHECK_THAT(diags(fabric, {"ibqueryerrors", "-D", "0", "--skip-sl"}).out, contains("## Summary: 1 nodes checked"));
}

TEST_CASE_METHOD(Site, "iblinkinfo --diff of one node reports the node only if the stored fabric lacks it") {
  std::string file = "/tmp/around-XXXXXX";
  const int fd = ::mkstemp(file.data());
  REQUIRE(fd >= 0);
  ::close(fd);
  const auto differences = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"iblinkinfo", "--diff", file});
    const auto found = diags(fabric, words);
    CHECK(found.status == 0);
    CHECK(found.err.empty());
    return found.out;
  };
  REQUIRE(diags(fabric, {"ibnetdiscover", "--cache", file, "-l"}).status == 0);
  // Read alone, the peers of a host's port are not known: that is no difference.
  for (const char* guid : {"0x201", "0x302", "0x100"}) CHECK(differences({"-G", guid}).empty());
  CHECK(differences({"-D", "0", "--diffcheck", "port,state,lid,nodedesc"}).empty());
  fabric.set_link(leaf, 5, false);
  CHECK(differences({"-D", "0,1"}).empty());
  CHECK(differences({"-S", "0x100", "-l"}).empty());
  CHECK_THAT(differences({"-D", "0,1", "-a"}), contains("<            1    5[  ]") && contains(">            1    5[  ]"));
  fabric.set_link(leaf, 4, false);
  REQUIRE(diags(fabric, {"ibnetdiscover", "--cache", file, "-l"}).status == 0);
  fabric.set_link(leaf, 4, true);
  const std::string alone = diags(fabric, {"iblinkinfo", "-D", "0,1,4"}).out;
  CHECK(differences({"-D", "0,1,4"}) == "> CA: dual:\n> " + alone.substr(alone.find('\n') + 1));
  CHECK(differences({"-G", "0x301", "-l"}) == "> " + diags(fabric, {"iblinkinfo", "-G", "0x301", "-l"}).out);
  ::unlink(file.c_str());
}

TEST_CASE_METHOD(Site, "ibqueryerrors -S and -D name a silent neighbour by the route from where libibnetdisc begins") {
  fabric.node(dual).faults.silent = true;
  const auto by_guid = diags(fabric, {"ibqueryerrors", "-S", "0x100"});
  CHECK_THAT(by_guid.err, contains("query_smp.c:186; umad (Lid 1 DR path slid 2; dlid 65535; 0,4 Attr 0x11:0) bad status 110;"));
  const auto by_route = diags(fabric, {"ibqueryerrors", "-D", "0,1"});
  CHECK_THAT(by_route.err, contains("query_smp.c:186; umad (DR path slid 65535; dlid 65535; 0,1,4 Attr 0x11:0) bad status 110;"));
}

}  // namespace tools_around_node_tests
