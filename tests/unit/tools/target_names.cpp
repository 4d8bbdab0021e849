// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Targets by name in ibtool's dialect: the site's name or the description of a node, whole or a part of it that no other has; by the SA,
// and by a sweep where there is none.
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "support/catch.hpp"
#include "support/fake_sa.hpp"
#include "support/program.hpp"

namespace tools_target_names_tests {

using ibtest::contains;
using ibtest::FakeFabric;
using ibtest::FakeSa;
using ibtest::ibtool;
using ibtest::starts_with;

namespace {

/// Two switches (LIDs 1 and 2), the host of the test (3) and two others, one of them with two ports that are linked (4 and 5, 6).
struct Named {
  FakeFabric fabric;
  FakeFabric::NodeId near, far, here, dual, other;

  Named() {
    near = fabric.add_switch(0x100, 4, "leaf 1");
    far = fabric.add_switch(0x200, 4, "leaf 12");
    here = fabric.add_ca(0x300, 1, "here");
    dual = fabric.add_ca(0x400, 2, "node07 HCA-1");
    other = fabric.add_ca(0x500, 1, "beef@rack4");
    fabric.link(near, 1, here, 1);
    fabric.link(near, 2, far, 2);
    fabric.link(near, 3, dual, 1);
    fabric.link(far, 3, dual, 2);
    fabric.link(far, 4, other, 1);
    fabric.assign_lids();
    fabric.attach(here);
  }
  std::string guid_at(const std::string& target) {
    const auto told = ibtool(fabric, {"smpquery", "NI", target});
    INFO(told.err);
    CHECK(told.status == 0);
    const std::size_t at = told.out.find("\nGuid:");
    return at == std::string::npos ? told.err : told.out.substr(told.out.find("0000:", at), 19);
  }
  void check() {
    CHECK(guid_at("node07 HCA-1") == "0000:0000:0000:0400");
    CHECK(guid_at("node07") == "0000:0000:0000:0400");
    CHECK(guid_at("leaf 1") == "0000:0000:0000:0100");  // the whole name, though it is a part of another one
    CHECK(guid_at("leaf 12") == "0000:0000:0000:0200");
    CHECK(guid_at("beef") == "0000:0000:0000:0500");
    CHECK(guid_at("beef@rack4") == "0000:0000:0000:0500");
    const auto many = ibtool(fabric, {"smpquery", "NI", "leaf"});
    CHECK(many.status == 2);
    CHECK(many.err ==
          "E: Invalid command line argument #2 'leaf' - several nodes have this in their names: 'leaf 1' (0000:0000:0000:0100), "
          "'leaf 12' (0000:0000:0000:0200): type a whole name in quotes, or a GUID\n");
    const auto unknown = ibtool(fabric, {"smpquery", "NI", "node99"});
    CHECK(unknown.status == 2);
    CHECK_THAT(unknown.err, contains("'node99' is not a valid end port address (GID, port GUID or LID), and no node is called so"));
  }
};

}  // namespace

TEST_CASE_METHOD(Named, "a target is named by the SA's node records") {
  const FakeSa sa(fabric);
  check();
}

TEST_CASE_METHOD(Named, "a target is named by a sweep where no SA answers") { check(); }

TEST_CASE_METHOD(Named, "a target is named by a sweep where no subnet manager was yet") {
  fabric.node(here).ports.at(1).info.master_sm_lid = {};
  fabric.attach(here);
  check();
}

TEST_CASE_METHOD(Named, "a node without a LID is found by its route") {
  fabric.node(other).ports.at(1).info.lid = ib::Lid{};
  CHECK(guid_at("beef") == "0000:0000:0000:0500");
}

TEST_CASE_METHOD(Named, "two nodes of one name are told apart by their GUIDs") {
  const FakeSa sa(fabric);
  fabric.node(far).description = fabric.node(near).description;
  CHECK_THAT(ibtool(fabric, {"smpquery", "NI", "leaf 1"}).err,
             contains("several nodes are called so: 'leaf 1' (0000:0000:0000:0100), 'leaf 1' (0000:0000:0000:0200)"));
}

TEST_CASE_METHOD(Named, "the site's names count, and what the node says of itself too") {
  const FakeSa sa(fabric);
  char map[] = "/tmp/target-names-XXXXXX";
  const int fd = mkstemp(map);
  REQUIRE(fd >= 0);
  close(fd);
  std::ofstream(map) << "0x400 \"storage west\"\n";
  for (const char* word : {"storage west", "west", "node07"}) {
    const auto told = ibtool(fabric, {"smpquery", "--node-name-map", map, "NI", word});
    CHECK_THAT(told.out, contains("0000:0000:0000:0400"));
  }
  unlink(map);
}

TEST_CASE_METHOD(Named, "NAME@PORT, and wrong addresses that are no names") {
  const FakeSa sa(fabric);
  const auto planned = ibtool(fabric, {"set_port_state", "-n", "--disable", "leaf 12@4", "--discovery=DR"});
  CHECK(planned.status == 0);
  CHECK_THAT(planned.out + planned.err, contains("0000:0000:0000:0200"));
  for (const char* word : {"0xc000", "70000", "1:2", "0,300", "IBPath(nosuch=1)"}) {
    fabric.network.gmp = nullptr;  // nobody is asked
    CHECK_THAT(ibtool(fabric, {"smpquery", "NI", word}).err, starts_with("E: Invalid command line argument #2") && !contains("called so"));
  }
  CHECK_THAT(ibtool(fabric, {"smpquery", "-L", "NI", "leaf 1"}).err, !contains("called so"));
}

TEST_CASE_METHOD(Named, "names stand in files of targets too") {
  const ibtest::FakeSysfs directory;
  const std::string file = directory.root() / "pairs";
  std::ofstream(file) << "here beef@rack4\nbeef \"leaf 12\"\n";
  const auto traced = ibtool(fabric, {"ibtracert", "--ports-file", file});
  INFO(traced.err);
  CHECK(traced.status == 0);
  CHECK_THAT(traced.out, contains("0000:0000:0000:0501"));
  std::ofstream(file) << "here nobody\n";
  const auto unknown = ibtool(fabric, {"ibtracert", "--ports-file", file});
  CHECK(unknown.status == 2);
  CHECK_THAT(unknown.err, contains("no node is called so"));
}

TEST_CASE_METHOD(Named, "a name is looked up only when all operands are right") {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"ibportstate", "beef", "nonsense"}, {"ibtracert", "beef", "0,300"}, {"smpquery", "NI", "beef", "7", "8"}}) {
    CAPTURE(words.front());
    const auto told = ibtool(fabric, words);
    CHECK(told.status == 2);
    for (std::size_t node = 0; node <= fabric.size(); ++node) CHECK(fabric.requests_to(node) == 0);
  }
}

}  // namespace tools_target_names_tests
