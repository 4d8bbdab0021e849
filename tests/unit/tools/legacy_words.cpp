// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// By legacy names: whatever a site's files, sysfs or the command line hold, no control byte comes out of it.
#include <algorithm>
#include <fstream>

#include "formats/node_name_map.hpp"
#include "support/catch.hpp"
#include "support/program.hpp"
#include "tools/saquery/saquery.hpp"

namespace tools_legacy_words_tests {

using namespace ib::tools;
using ib::subnet::NodeNameMap;
using ibtest::contains;
using ibtest::diags;

namespace {

bool plain(const std::string& text) {
  return std::none_of(text.begin(), text.end(), [](unsigned char c) { return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f; });
}

}  // namespace

TEST_CASE("names of sysfs by legacy names") {
  ibtest::FakeSysfs sysfs;
  sysfs.device("mlx\x1b[2J");
  sysfs.port("mlx\x1b[2J", {});
  sysfs.write("class/infiniband/mlx\x1b[2J/fw_ver", "2\x07.42\n");
  sysfs.write("class/infiniband/mlx\x1b[2J/ports/1/rate", "40 Gb/sec\x1b[2J\n");
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"ibstat"}, {"ibstat", "-l"}, {"ibstat", "mlx\x1b[2J", "1"}, {"ibstatus"}}) {
    CAPTURE(words);
    const auto done = diags(words);
    CHECK(done.status == 0);
    CHECK_THAT(done.out, contains("mlx [2J"));
    CHECK(plain(done.out + done.err));
  }
}

TEST_CASE("operands and options by legacy names") {
  const ibtest::FakeSysfs sysfs;
  for (const auto& words : std::vector<std::vector<std::string>>{{"ibstat", "\x1b[2J"},
                                                                 {"ibstat", "--\x1b[2J"},
                                                                 {"ibstat", "-\x1b"},
                                                                 {"ibstatus", "\x1b[2J"},
                                                                 {"ibaddr", "-C", "\x1b[2J", "1"},
                                                                 {"smpquery", "\x1b[2J", "1"},
                                                                 {"saquery", "--smkey", "1", "-C", "\x1b[2J"}}) {
    CAPTURE(words);
    const auto done = diags(words);
    CHECK(done.status != 0);
    CHECK_FALSE((done.out + done.err).empty());
    CHECK(plain(done.out + done.err));
  }
  CHECK_THAT(diags({"ibstat", "--no\x1bsuch"}).err, contains("ibstat: unrecognized option '--no such'\n"));
  CHECK_THAT(diags({"ibstat", "x", "--ver"}).err, contains("ibstat: option '--ver' is ambiguous; possibilities: '--verbose'"));
}

TEST_CASE("names of a map and ibdiag.conf by legacy names") {
  const ibtest::FakeSysfs sysfs;
  const std::string file = sysfs.root() / "conf";
  std::ofstream(file) << "CA=\x1b[2J\n";
  const auto done = diags({"ibaddr", "-z", file, "1"});
  CHECK_THAT(done.out + done.err, contains(" [2J"));
  CHECK(plain(done.out + done.err));

  const auto names = ib::formats::parse_node_name_map("0x0 \x1b[2Jgr\xc3\xbc\xc3\x9f\n");
  CHECK(ib::tools::saquery::node_name(ib::sa::NodeRecord(), names) == " [2Jgr\xc3\xbc\xc3\x9f");
}

}  // namespace tools_legacy_words_tests
