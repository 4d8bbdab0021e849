// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// GMPs where no subnet administrator answers: a LID is enough, SL 0 is used, and a warning says so once. An SA that answers is believed.
#include <algorithm>
#include <string>
#include <vector>

#include "iba-gen/sa.hpp"
#include "support/catch.hpp"
#include "support/counting_fabric.hpp"
#include "support/program.hpp"
#include "tools/shared/fabric.hpp"

namespace tools_without_sa_tests {

using namespace ib;
using ibtest::contains;
using ibtest::diags;
using ibtest::FakeFabric;
using ibtest::ibtool;

namespace {

constexpr std::string_view warning = "W: SL 0 is used: ";

struct Fabric : ibtest::CountingFabric {
  Fabric() {
    sa.path_lie = [](sa::PathRecord& path) { path.sl = 5; };
  }
  std::size_t paths_asked() const { return std::ranges::count(sa.asked, sa::PathRecord::attribute_id, &ibtest::FakeSa::Query::attribute); }
};

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

using Words = std::vector<std::string>;

Words with(Words words, const std::string& more) {
  words.push_back(more);
  return words;
}

}  // namespace

TEST_CASE("a counter is read by its LID though no SA answers, with SL 0 and one warning") {
  for (const Words& words : {Words{"perfquery", "1", "2"}, {"ibcheckerrs", "1", "2"}, {"ibdatacounts", "1", "2"}, {"ibqueryerrors", "1"}}) {
    INFO(words.front());
    Fabric f;
    f.sa.silent = true;
    const auto done = ibtool(f.fabric, with(words, "-d"));
    CHECK(done.status == 0);
    CHECK(!f.pma.asked.empty());
    CHECK(count(done.err, warning) == 1);
    CHECK_THAT(done.err, contains("D: GMP Path 2 -> 1 SL=0 PKey=0xffff DQPN=1\n") || contains("SL=0"));
  }
}

TEST_CASE("an SA that let a request wait gets one short try for each further one, and the one line about it says so") {
  Fabric f;
  f.sa.silent = true;
  const auto done = ibtool(f.fabric, {"perfquery", "leaf", "2"});
  CHECK(done.status == 0);
  CHECK_THAT(done.err, ibtest::starts_with("W: Waiting for the subnet administrator at LID 1 (NodeRecord was requested 5 s ago)\n"));
  CHECK_THAT(done.err_after_wait(),
             ibtest::starts_with("W: SL 0 is used: No subnet administrator answers at LID 1 (NodeRecord: 4 tries in "));
  CHECK_THAT(done.err_after_wait(), contains(" s, then PathRecord: 1 try in 0.5 s)\n"));
  CHECK(count(done.err_after_wait(), "\n") == 1);
  CHECK(f.paths_asked() == 1);
  f.sa.asked.clear();
  CHECK_THAT(ibtool(f.fabric, {"perfquery", "-t", "200", "leaf", "2"}).err, contains(" s, then PathRecord: 1 try in 0.2 s)\n"));
  CHECK(f.paths_asked() == 1);
}

TEST_CASE("an SA that does not answer is reported once where SL 0 and the port that is read depend on it") {
  Fabric f;
  f.sa.silent = true;
  const auto done = ibtool(f.fabric, {"perfquery", "1"});
  CHECK(done.status == 0);
  CHECK(done.err_after_wait().starts_with(warning));
  CHECK(count(done.err_after_wait(), "\n") == 1);
}

TEST_CASE("the SA's SL is used where it answers") {
  Fabric f;
  const auto done = ibtool(f.fabric, {"perfquery", "1", "2", "-d"});
  CHECK(done.status == 0);
  CHECK_THAT(done.err, contains("D: GMP Path 2 -> 1 SL=5 ") && !contains(std::string(warning)));
}

TEST_CASE("--skip-sl sends nothing to the SA and gives no warning, wherever GMPs are sent") {
  for (const Words& words : {Words{"perfquery", "1", "2"},
                             {"perfquery", "0,1", "2"},
                             {"ibcheckerrs", "1", "2"},
                             {"ibdatacounts", "1", "2"},
                             {"ibqueryerrors", "1"},
                             {"ibqueryerrors"},
                             {"ibdatacounters"}}) {
    INFO(words.front() + " " + words.back());
    Fabric f;
    const auto done = ibtool(f.fabric, with(words, "--skip-sl"));
    CHECK(done.status == 0);
    CHECK(done.err.empty());
    CHECK(!f.pma.asked.empty());
    CHECK(f.sa.asked.empty());
  }
}

TEST_CASE("--skip-sl of a check that compares nodes with the SA's records requests no path") {
  Fabric f;
  const auto done = ibtool(f.fabric, {"ibcheckerrors", "--skip-sl"});
  CHECK(done.status == 1);  // a port of the switch is down
  CHECK(done.err.empty());
  CHECK(!f.pma.asked.empty());
  CHECK(f.paths_asked() == 0);
}

TEST_CASE("such a check says once that the SA is silent, and that SL 0 is used; not with --skip-sl, where SL 0 was requested") {
  Fabric f;
  f.sa.silent = true;
  CHECK_THAT(ibtool(f.fabric, {"ibcheckerrors", "--skip-sl"}).err, !contains("SL 0") && contains("E: "));
  const auto done = ibtool(f.fabric, {"ibcheckerrors"});
  CHECK(count(done.err, "No subnet administrator answers") == 1);
  CHECK_THAT(done.err, contains("s): nodes are not checked, and SL 0 is used.\n"));
}

TEST_CASE("a path with DLID and SL is complete: nothing is sent to the SA, and the SL of the path is used") {
  for (const char* sl : {"0", "3"}) {
    Fabric f;
    const auto done = ibtool(f.fabric, {"perfquery", "-d", "IBPath(DLID=1, SL=" + std::string(sl) + ")", "2"});
    CHECK(done.status == 0);
    CHECK(f.sa.asked.empty());
    CHECK_THAT(done.err, contains("D: GMP Path 2 -> 1 SL=" + std::string(sl) + " ") && !contains(std::string(warning)));
  }
  Fabric f;  // the SL is left to the SA
  CHECK_THAT(ibtool(f.fabric, {"perfquery", "-d", "IBPath(DLID=1)", "2"}).err, contains("D: GMP Path 2 -> 1 SL=5 "));
  CHECK(f.paths_asked() == 1);
}

TEST_CASE("a directed route is followed by SMPs to the LID at its end where no SA answers") {
  Fabric f;
  f.sa.silent = true;
  const auto done = ibtool(f.fabric, {"perfquery", "-d", "0,1", "2"});
  CHECK(done.status == 0);
  CHECK(count(done.err, warning) == 1);
  CHECK_THAT(done.err, contains("D: GMP Path 2 -> 1 SL=0 "));
  f.fabric.node(f.leaf).faults.silent = true;  // now nobody knows the LID
  const auto silent = ibtool(f.fabric, {"perfquery", "0,1", "2"});
  CHECK(silent.status == 3);
  CHECK_THAT(silent.err, !contains(std::string(warning)));
}

TEST_CASE("the answer of an SA that knows no path says so, and a refusal is not silence") {
  Fabric f;
  f.sa.lie = [](std::uint16_t attribute, std::vector<ibtest::FakeSa::Record>& records) {
    if (attribute == sa::PathRecord::attribute_id) records.clear();
  };
  const auto none = ibtool(f.fabric, {"perfquery", "1", "2"});
  CHECK(none.status == 3);
  CHECK(none.out.empty());
  CHECK_THAT(none.err, !contains(std::string(warning)));
  f.sa.lie = {};
  f.sa.status = 0x0200;  // the request is invalid
  CHECK(ibtool(f.fabric, {"perfquery", "1", "2"}).status == 3);
  f.sa.status = 0x000c;  // there is no SA at that LID
  const auto other = ibtool(f.fabric, {"perfquery", "1", "2"});
  CHECK(other.status == 0);
  CHECK(count(other.err, warning) == 1);
  CHECK(ibtool(f.fabric, {"perfquery", "1", "2", "--skip-sl"}).err.empty());
}

TEST_CASE("without an SA a sweep finds the LID of a port GUID") {
  Fabric f;
  const auto skipped = ibtool(f.fabric, {"perfquery", "-G", "0x100", "2", "--skip-sl"});
  CHECK(skipped.status == 0);
  CHECK(skipped.err.empty());
  CHECK(f.sa.asked.empty());
  f.sa.silent = true;
  const auto silent = ibtool(f.fabric, {"perfquery", "-G", "0x100", "2"});
  CHECK(silent.status == 0);
  CHECK(count(silent.err, warning) == 1);
  CHECK(ibtool(f.fabric, {"perfquery", "-G", "0x999", "2"}).status == 3);
}

TEST_CASE("ibping and ibsysstat reach a LID without an SA") {
  for (const Words& words : {Words{"ibping", "-c", "1", "1"},
                             {"ibsysstat", "1", "ping"},
                             {"vendstat", "--cpi", "1"},
                             {"ibccquery", "ClassPortInfo", "1"},
                             {"query", "PerformanceGet", "PortCounters", "1"}}) {
    INFO(words.front());
    Fabric f;
    f.sa.silent = true;
    const auto silent = ibtool(f.fabric, words);
    CHECK(count(silent.err, warning) == 1);
    CHECK_THAT(silent.err, !contains("path record"));
    CHECK_THAT(ibtool(f.fabric, with(words, "--skip-sl")).err, !contains(std::string(warning)) && !contains("path record"));
  }
}

TEST_CASE("programs of infiniband-diags send no query for a LID, and do not mention SLs") {
  Fabric f;
  f.sa.silent = true;
  const auto done = diags(f.fabric, {"perfquery", "1", "2"});
  CHECK(done.status == 0);
  CHECK(done.err.empty());
  CHECK(f.sa.asked.empty());
}

}  // namespace tools_without_sa_tests
