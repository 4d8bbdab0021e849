// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Fabrics in files: ibnetdiscover stores one, what it loads prints as what it swept, --diff shows what changed in both dialects, and
// ibcacheedit puts other GUIDs into it. A file that is none is refused in each dialect's words.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "formats/netdisc_cache.hpp"
#include "support/catch.hpp"
#include "support/program.hpp"

namespace tools_stored_fabric_tests {

using ibtest::contains;
using ibtest::diags;
using ibtest::FakeFabric;
using ibtest::ibtool;
using nlohmann::json;

namespace {

/// A switch (LID 1) with the host of the test (2) and another one (3 and 4), a second switch (5), and a directory for files.
struct Stored {
  FakeFabric fabric;
  FakeFabric::NodeId leaf, here, other, far;
  std::string directory;

  Stored() {
    leaf = fabric.add_switch(0x100, 4, "leaf");
    here = fabric.add_ca(0x200, 1, "here");
    other = fabric.add_ca(0x300, 2, "other");
    far = fabric.add_switch(0x400, 4, "far");
    fabric.link(leaf, 1, here, 1);
    fabric.link(leaf, 2, other, 1);
    fabric.link(leaf, 3, far, 3);
    fabric.assign_lids();
    fabric.attach(here);
    char name[] = "/tmp/stored-fabric-XXXXXX";
    REQUIRE(mkdtemp(name) != nullptr);
    directory = name;
    REQUIRE(diags(fabric, {"ibnetdiscover", "-l", "--cache", file("c")}).status == 0);
  }
  ~Stored() { std::filesystem::remove_all(directory); }

  std::string file(std::string_view name) const { return directory + "/" + std::string(name); }
  std::string content(std::string_view name) const {
    std::ifstream in(file(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// The listing of a stored fabric, but for the line with the date.
  std::string listing(std::vector<std::string> words) {
    words.insert(words.begin(), "ibnetdiscover");
    const std::string out = diags(fabric, words).out;
    return out.substr(std::min(out.find("# Initiated"), out.size()));
  }
};

}  // namespace

TEST_CASE_METHOD(Stored, "a stored fabric prints as the one that was swept") {
  CHECK(listing({"--load-cache", file("c")}) == listing({}));
  CHECK(diags(fabric, {"ibnetdiscover", "-p", "--load-cache", file("c")}).out == diags(fabric, {"ibnetdiscover", "-p"}).out);
  const std::string hops = diags(fabric, {"ibnetdiscover", "-m", "--load-cache", file("c")}).out;
  CHECK_THAT(hops, contains("# Reported max hops discovered: 2\n# Total MADs used: 0\n"));
  CHECK(ibtool(fabric, {"ibnetdiscover", "-l", "--load-cache", file("c")}).out == ibtool(fabric, {"ibnetdiscover", "-l"}).out);
  const auto down = ibtool(fabric, {"iblinkinfo", "--load-cache", file("c"), "5"});
  CHECK_THAT(down.out, contains("Switch 0000:0000:0000:0400 'far'") && !contains("'leaf':"));
  CHECK(ibtool(fabric, {"ibnetdiscover", "--load-cache", file("c"), "--discovery", "SA"}).status == 2);
}

TEST_CASE_METHOD(Stored, "a target by name is a node of the stored fabric, and nothing is sent to find it") {
  std::ranges::copy(std::string_view("gone"), fabric.node(far).description.begin());
  fabric.node(here).faults.silent = true;
  const auto found = ibtool(fabric, {"iblinkinfo", "--load-cache", file("c"), "far"});
  CHECK(found.status == 0);
  CHECK_THAT(found.out, contains("Switch 0000:0000:0000:0400 'far'") && !contains("'leaf':"));
  const auto unknown = ibtool(fabric, {"iblinkinfo", "--load-cache", file("c"), "gone"});
  CHECK(unknown.status == 2);
  CHECK_THAT(unknown.err, contains("no stored node is called 'gone'"));
  CHECK(ibtool(fabric, {"iblinkinfo", "--load-cache", file("nosuch"), "far"}).status == 2);
}

TEST_CASE_METHOD(Stored, "a fabric that was loaded is stored unchanged, without requests") {
  fabric.node(here).faults.silent = true;
  CHECK(diags(fabric, {"ibnetdiscover", "-l", "--load-cache", file("c"), "--cache", file("again")}).status == 0);
  CHECK(diags(fabric, {"ibnetdiscover", "-l", "--load-cache", file("again"), "--cache", file("again")}).status == 0);
  CHECK(content("again").size() == content("c").size());
  CHECK(listing({"--load-cache", file("again")}) == listing({"--load-cache", file("c")}));
}

TEST_CASE_METHOD(Stored, "a silent node is stored without the attributes that it did not answer") {
  fabric.node(other).faults.silent = true;
  CHECK(diags(fabric, {"ibnetdiscover", "-l", "--cache", file("d")}).status == 0);
  CHECK_THAT(listing({"--load-cache", file("d")}), contains("far") && !contains("other"));
}

TEST_CASE_METHOD(Stored, "files that are none are refused") {
  std::ofstream(file("text")) << "nonsense";
  for (const char* name : {"nosuch", "text", ""}) {
    INFO(name);
    const auto loaded = diags(fabric, {"ibnetdiscover", "--load-cache", file(name)});
    CHECK(loaded.status == 255);
    CHECK(loaded.out == "ibnetdiscover: iberror: failed: loading cached fabric failed\n\n");
    CHECK(diags(fabric, {"ibnetdiscover", "--diff", file(name)}).out ==
          "ibnetdiscover: iberror: failed: loading cached fabric for diff failed\n\n");
    const auto said = ibtool(fabric, {"ibhosts", "--load-cache", file(name)});
    CHECK(said.status == 2);
    CHECK(std::count(said.err.begin(), said.err.end(), '\n') == 1);
  }
  const auto unwritten = diags(fabric, {"ibnetdiscover", "-l", "--cache", file("no/where")});
  CHECK(unwritten.status == 255);
  CHECK_THAT(unwritten.out, contains("failed: caching ibnetdiscover data failed\n"));
  CHECK(diags(fabric, {"ibnetdiscover", "-l", "--cache", directory}).status == 255);
}

TEST_CASE_METHOD(Stored, "--diff shows links that are lost and found, each on its side") {
  CHECK(diags(fabric, {"ibnetdiscover", "--diff", file("c")}).out.empty());
  CHECK(ibtool(fabric, {"ibnetdiscover", "--diff", file("c")}).status == 0);
  fabric.set_link(leaf, 2, false);
  const auto lost = diags(fabric, {"ibnetdiscover", "--diff", file("c")});
  CHECK(lost.status == 0);
  CHECK_THAT(lost.out, contains("< [2]\t\"H-0000000000000300\"[1](301) \t\t# \"other\" lid 3 ") &&
                           contains("\n< Ca\t2 \"H-0000000000000300\"\t\t# \"other\"\n") && !contains(">"));
  CHECK_THAT(diags(fabric, {"ibnetdiscover", "--diff", file("c"), "--diffcheck", "sw"}).out, !contains("other"));
  const auto ours = ibtool(fabric, {"ibnetdiscover", "--diff", file("c")});
  CHECK(ours.status == 1);
  CHECK_THAT(ours.out, contains("< [2]\t\"H-0000:0000:0000:0300\"[1](0000:0000:0000:0301)\t# \"other\" lid 3 ") &&
                           contains("< caguid=0000:0000:0000:0300\n"));
  CHECK(diags(fabric, {"ibnetdiscover", "--cache", file("d")}).status == 0);
  fabric.set_link(leaf, 2, true);
  CHECK_THAT(diags(fabric, {"ibnetdiscover", "--diff", file("d")}).out,
             contains("> [2]\t") && contains("> caguid=0x300\n") && !contains("<"));
}

TEST_CASE_METHOD(Stored, "--diff compares LIDs and descriptions on request") {
  fabric.node(far).ports.at(0).info.lid = ib::Lid{9};
  std::ranges::copy(std::string_view("leaf X"), fabric.node(leaf).description.begin());
  CHECK(diags(fabric, {"ibnetdiscover", "--diff", file("c")}).out.empty());
  const std::string lids = diags(fabric, {"ibnetdiscover", "--diff", file("c"), "--diffcheck", "sw,port,lid"}).out;
  CHECK_THAT(lids,
             contains("# \"far\" base port 0 lid 5 lmc 0\n> Switch\t4 \"S-0000000000000400\"\t\t# \"far\" base port 0 lid 9 lmc 0\n< [3]"));
  const std::string names = diags(fabric, {"ibnetdiscover", "--diff", file("c"), "--diffcheck", "SW,nodedesc"}).out;
  CHECK_THAT(names, contains("\n< Switch\t4 \"S-0000000000000100\"\t\t# \"leaf\" ") &&
                        contains("\n> Switch\t4 \"S-0000000000000100\"\t\t# \"leaf X\" "));
  const auto wrong = diags(fabric, {"ibnetdiscover", "--diff", file("c"), "--diffcheck", "sw,hosts"});
  CHECK(wrong.status == 2);
  CHECK_THAT(wrong.err, contains("invalid diff check key: hosts\n"));
  CHECK_THAT(ibtool(fabric, {"ibnetdiscover", "--diff", file("c"), "--diffcheck", "hosts"}).err,
             contains("it takes sw, ca, router, port, lid, nodedesc"));
  CHECK(ibtool(fabric, {"ibnetdiscover", "--diff", file("c"), "-l"}).status == 2);
}

TEST_CASE_METHOD(Stored, "differences in JSON have both sides") {
  fabric.set_link(leaf, 2, false);
  const json found = json::parse(ibtool(fabric, {"ibnetdiscover", "--diff", file("c"), "--json"}).out);
  CHECK(found["status"] == 1);
  REQUIRE(found["differences"].size() == 2);
  const json& node = found["differences"][0];
  CHECK(node["node_description"] == "leaf");
  CHECK(node["before"]["lid"] == 1);
  REQUIRE(node["ports"].size() == 1);
  CHECK(node["ports"][0]["port_num"] == 2);
  CHECK(node["ports"][0]["before"]["peer"]["node_description"] == "other");
  CHECK(node["ports"][0]["after"].is_null());
  CHECK(found["differences"][1]["after"].is_null());
}

TEST_CASE_METHOD(Stored, "ibcacheedit puts other GUIDs into a stored fabric") {
  const auto edit = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "ibcacheedit");
    words.insert(words.end(), {file("c"), file("e")});
    return diags(fabric, words);
  };
  CHECK(edit({"--switchguid", "0x100:0x111", "--caguid", "0x300:0x333", "--sysimgguid", "0x300:0x3f", "--portguid", "0x333:0x301:0x334"})
            .status == 0);
  const std::string text = listing({"--load-cache", file("e")});
  CHECK_THAT(text, contains("switchguid=0x111(100)\nSwitch\t4 \"S-0000000000000111\"") && contains("sysimgguid=0x3f\ncaguid=0x333\n") &&
                       contains("\n[1](334) \t\"S-0000000000000111\"[2]") && !contains("S-0000000000000100"));
  const auto links = diags(fabric, {"iblinkinfo", "--load-cache", file("e"), "-S", "0x111"});
  CHECK_THAT(links.out, contains("Switch: 0x0000000000000111 "));
  CHECK(edit({"--switchguid", "0x300:1"}).out == "ibcacheedit: iberror: failed: switchguid = 300 not found\n");
  CHECK(edit({"--portguid", "0x999:1:2"}).out == "ibcacheedit: iberror: failed: nodeguid = 999 not found\n");
  CHECK(edit({"--portguid", "0x300:1:2"}).out == "ibcacheedit: iberror: failed: portguid = 1 not found\n");
  const auto wrong = edit({"--caguid", "0x300"});
  CHECK(wrong.status == 2);
  CHECK_THAT(wrong.err, contains("invalid input '0x300'\n"));
  CHECK(diags(fabric, {"ibcacheedit"}).out == "ibcacheedit: iberror: failed: original cache file not specified\n");
  CHECK(diags(fabric, {"ibcacheedit", file("c")}).out == "ibcacheedit: iberror: failed: new cache file not specified\n");
  CHECK(diags(fabric, {"ibcacheedit", file("x"), file("y")}).out ==
        "ibcacheedit: iberror: failed: loading original cached fabric failed\n");
}

TEST_CASE_METHOD(Stored, "ibcacheedit in ibtool's words") {
  const auto edited = ibtool(
      fabric, {"ibcacheedit", "--json", "--portguid", "0000:0000:0000:0300:0000:0000:0000:0301:0000:0000:0000:0399", file("c"), file("c")});
  CHECK(edited.status == 0);
  CHECK(json::parse(edited.out)["edits"][0]["new_guid"] == "0000:0000:0000:0399");
  CHECK_THAT(listing({"--load-cache", file("c")}), contains("[1](399) "));
  const auto missing = ibtool(fabric, {"ibcacheedit", "--caguid", "0x77:0x78", file("c"), file("d")});
  CHECK(missing.status == 2);
  CHECK_THAT(missing.err, contains("has no caguid 0000:0000:0000:0077"));
  CHECK(ibtool(fabric, {"ibcacheedit", "--caguid", "0x77", file("c"), file("d")}).status == 2);
  CHECK(ibtool(fabric, {"ibcacheedit", file("c")}).status == 2);
  const auto twins = ibtool(fabric, {"ibcacheedit", "--caguid", "0x300:0x100", file("c"), file("d")});
  CHECK(twins.status == 2);
  CHECK_THAT(twins.err, contains("would not be a stored fabric: it has two nodes 0x0000000000000100\n"));
  CHECK_THAT(ibtool(fabric, {"ibcacheedit", "--caguid", "0x300:0", file("c"), file("d")}).err, contains("no GUID is 0"));
  CHECK_FALSE(std::filesystem::exists(file("d")));
}

}  // namespace tools_stored_fabric_tests
