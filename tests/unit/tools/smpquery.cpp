// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// smpquery in both dialects on a fabric in memory: what it prints, and how it fails.
#include <string>

#include "support/catch.hpp"
#include "support/program.hpp"
#include "support/small_fabric.hpp"
#include "tools/frame/manners.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/smpquery/operation.hpp"

namespace tools_smpquery_tests {

using namespace ib::tools;
using ibtest::contains;
using ibtest::diags;
using ibtest::ibtool;

namespace {

using Fabric = ibtest::SmallFabric;

}  // namespace

TEST_CASE("smpquery: a node description in both dialects") {
  Fabric f;
  const auto ours = ibtool(f.fabric, {"smpquery", "ND", "3"});
  CHECK(ours.status == 0);
  CHECK(ours.out == "Node Description: 'other'\n");
  const auto theirs = diags(f.fabric, {"smpquery", "ND", "3"});
  CHECK(theirs.status == 0);
  CHECK(theirs.out == "Node Description:...........................other\n");
  CHECK(theirs.err.empty());
}

TEST_CASE("smpquery: a long name stands behind one dot, and no byte of it reaches a terminal") {
  Fabric f;
  f.fabric.node(f.other).description.fill('n');
  CHECK(diags(f.fabric, {"smpquery", "ND", "3"}).out == "Node Description:." + std::string(64, 'n') + "\n");
  f.fabric.node(f.other).description[0] = 0x1b;
  for (const auto& done : {ibtool(f.fabric, {"smpquery", "ND", "3"}), diags(f.fabric, {"smpquery", "ND", "3"})}) {
    CHECK(done.status == 0);
    CHECK(done.out.find('\x1b') == std::string::npos);
  }
}

TEST_CASE("smpquery: a port is named in the heading of infiniband-diags") {
  Fabric f;
  CHECK_THAT(diags(f.fabric, {"smpquery", "PI", "1", "2"}).out, ibtest::starts_with("# Port info: Lid 1 port 2\nMkey:"));
  CHECK_THAT(ibtool(f.fabric, {"smpquery", "PI", "1", "2"}).out,
             ibtest::starts_with("# Port info: Path 2 -> 1 SL=0 PKey=0xffff DQPN=0\nMkey:"));
}

TEST_CASE("smpquery: a node that does not answer") {
  Fabric f;
  f.fabric.node(f.other).faults.silent = true;
  const auto ours = ibtool(f.fabric, {"smpquery", "NI", "3"});
  CHECK(ours.status == 3);
  CHECK_THAT(ours.err, contains("No answer from LID 3 about NodeInfo ("));
  const auto theirs = diags(f.fabric, {"smpquery", "NI", "3"});
  CHECK(theirs.status == 255);
  CHECK(theirs.out == "smpquery: iberror: failed: operation NI: node info query failed\n");
  CHECK_THAT(theirs.err, contains("mad_rpc: _do_madrpc failed; dport (Lid 3)"));
  const auto extended = diags(f.fabric, {"smpquery", "PIE", "3"});  // reads NodeInfo by itself before that
  CHECK(extended.status == 255);
  CHECK_THAT(extended.out, contains("smpquery: iberror: failed: node info query failed\n"));
}

TEST_CASE("smpquery: what infiniband-diags reads as numbers and addresses") {
  Fabric f;
  CHECK(diags(f.fabric, {"smpquery", "ND", "zz"}).out == "smpquery: iberror: failed: can't resolve destination port zz\n");
  CHECK(diags(f.fabric, {"smpquery", "-D", "ND", "0,1,2"}).out == "Node Description:...........................other\n");
  CHECK(diags(f.fabric, {"smpquery", "-c", "ND", "1", "0,2"}).out == "Node Description:...........................other\n");
  CHECK(diags(f.fabric, {"smpquery", "-c", "ND", "1"}).out == "Node Description:..........................leaf 1\n");  // no route
  CHECK(diags(f.fabric, {"smpquery", "zz", "1"}).out == "smpquery: iberror: failed: operation 'zz' not supported\n");
  const auto usage = diags(f.fabric, {"smpquery", "ND"});
  CHECK(usage.status == 2);
  CHECK(usage.out.empty());
  CHECK_THAT(usage.err, contains("Usage: smpquery [options] OP TARGET [PORT]"));
}

TEST_CASE("smpquery: operands that are missing or wrong are named") {
  Fabric f;
  const auto missing = ibtool(f.fabric, {"smpquery", "ND"});
  CHECK(missing.status == 2);
  CHECK_THAT(missing.err, contains("TARGET is missing"));
  CHECK_THAT(missing.err, contains("ibtool smpquery --all | OP TARGET [ATTR_MOD]"));
  CHECK_THAT(ibtool(f.fabric, {"smpquery", "nodeinof", "1"}).err, contains("did you mean"));
  CHECK(ibtool(f.fabric, {"smpquery", "PI", "1", "4294967296"}).status == 2);
}

TEST_CASE("smpquery: the forwarding table ends at its top") {
  Fabric f;
  const auto done = ibtool(f.fabric, {"smpquery", "LFT", "1"});
  CHECK(done.status == 0);
  CHECK_THAT(done.out, contains("the table ends at the top"));
  CHECK(done.out.size() < 400);
}

TEST_CASE("smpquery: a full disk is a failure in both dialects") {
  Fabric f;
  CHECK(ibtool(f.fabric, {"smpquery", "PI", "1"}, {.full_disk = true}).status == 3);
  CHECK(diags(f.fabric, {"smpquery", "PI", "1"}, {.full_disk = true}).status == 255);
}

TEST_CASE("directed routes are read as atoi reads numbers") {
  const auto numbers = [](std::string_view text) {
    const ib::path::IbDrPath path = read_diags_route(text).value();
    return std::vector<std::uint8_t>(path.route.begin(), path.route.begin() + path.hops + 1);
  };
  CHECK(numbers("0,1,3") == std::vector<std::uint8_t>{0, 1, 3});
  CHECK(numbers("0") == std::vector<std::uint8_t>{0});
  CHECK(numbers("x, 7y,,256,9,") == std::vector<std::uint8_t>{0, 7, 0, 0, 9});
  CHECK_FALSE(read_diags_route("").has_value());
  std::string longest = "0";
  for (int hop = 1; hop <= 63; ++hop) longest += ",1";
  CHECK(numbers(longest).size() == 64);
  CHECK_FALSE(read_diags_route(longest + ",1").has_value());
}

TEST_CASE("operations of infiniband-diags go by name or alias in any case") {
  using namespace ib::tools::smpquery;
  CHECK(find_diags_operation("nodeinfo") == find_diags_operation("NI"));
  CHECK(find_diags_operation("sl2vl") == find_diags_operation("SL2VLTable"));
  CHECK(find_diags_operation("mepi")->query->name == "MlnxExtPortInfo");
  CHECK(find_diags_operation("zz") == nullptr);
  CHECK(find_diags_operation("lft") == nullptr);
  CHECK(find_diags_operation("") == nullptr);
}

}  // namespace tools_smpquery_tests
