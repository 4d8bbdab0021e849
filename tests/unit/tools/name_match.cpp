// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// How words mean the names of nodes, and that only whole words of a name choose what is set.
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "unit/tools/set_site.hpp"

namespace tools_name_match_tests {

using tools_sets_tests::contains;
using tools_sets_tests::FakeSa;
using tools_sets_tests::Outcome;
using tools_sets_tests::Site;
using tools_sets_tests::Words;

TEST_CASE_METHOD(Site, "a node is named in any form that something prints") {
  const FakeSa sa(fabric);
  fabric.node(other).info.system_image_guid = ib::Guid{0x777};
  for (const char* word : {"5", "0x500", "other", "OTHER", "other.example.org", "oth*", "other/1", "other@1", "S-0000000000000500",
                           "H-0000000000000500", "0x0000:0000:0000:0500", "0000:0000:0000:0500", "0x00000500", "0000:0000:0000:0777"}) {
    CAPTURE(word);
    const Outcome seen = ibtool(fabric, {"smpquery", "NI", word});
    CAPTURE(seen.err);
    if (std::string_view(word) == "0x500") continue;  // a LID, which nobody has
    CHECK(seen.status == 0);
    CHECK_THAT(seen.out, contains("0000:0000:0000:0500"));
  }
}

TEST_CASE_METHOD(Site, "NODE/PORT is the target and the port behind it") {
  const FakeSa sa(fabric);
  const std::string wanted = ibtool(fabric, {"ibportstate", "leaf10", "3"}).out;
  REQUIRE_FALSE(wanted.empty());
  for (const char* word : {"leaf10/3", "leaf10@3", "3/3", "0,1,1,2/3"}) {
    CAPTURE(word);
    const Outcome seen = ibtool(fabric, {"ibportstate", word});
    CAPTURE(seen.err);
    CHECK(seen.status == 0);
    CHECK(seen.out.substr(seen.out.find('\n')) == wanted.substr(wanted.find('\n')));
  }
  CHECK_THAT(ibtool(fabric, {"smpquery", "PI", "leaf10/3"}).out, contains("LocalPort:"));
  CHECK_THAT(ibtool(fabric, {"smpquery", "NI", "other/2"}).err, contains("'other' has no end port 2 with an address"));
}

TEST_CASE_METHOD(Site, "a name that the SA does not list is found by a sweep") {
  FakeSa sa(fabric);
  sa.lie = [](std::uint16_t attribute, std::vector<FakeSa::Record>& records) {
    if (attribute != ib::sa::NodeRecord::attribute_id) return;
    std::erase_if(records,
                  [](const FakeSa::Record& record) { return ib::sa::NodeRecord::unpack(record).node_info.node_guid == ib::Guid{0x500}; });
  };
  const Outcome seen = ibtool(fabric, {"smpquery", "NI", "other"});
  CAPTURE(seen.err);
  CHECK_THAT(seen.out, contains("0000:0000:0000:0500"));
  CHECK_THAT(ibtool(fabric, {"smpquery", "NI", "othr"}).err, contains("no node is called 'othr': did you mean 'other'?"));
}

TEST_CASE_METHOD(Site, "a target before the operation, and two nodes in one word, are refused with what to type") {
  CHECK(ibtool(fabric, {"smpquery", "other", "NI"}).err ==
        "E: Operation 'other' is not known: the operation stands first, smpquery NI other\n");
  CHECK_THAT(ibtool(fabric, {"ibtracert", "nobody:other"}).err,
             contains("no node is called 'nobody:other'") && contains(" (two nodes are two words: nobody other)\n"));
  CHECK_THAT(ibtool(fabric, {"ibtracert", "1:2"}).err, contains(" (two nodes are two words: 1 2)\n"));
  CHECK_THAT(ibtool(fabric, {"ibtracert", "nobody:other", "other"}).err, !contains("two words"));
}

TEST_CASE_METHOD(Site, "commands that set take no glob, range, other form of a host, fragment or nearest name") {
  const FakeSa sa(fabric);
  for (const char* word : {"leaf10*", "leaf1?", "leaf[10-12]", "leaf10.example.org", "eaf10", "laef10"}) {
    for (const Words& words : std::vector<Words>{{"ibportstate", word, "3", "disable"},
                                                 {"ibportstate", word, "3", "disable", "--dry-run"},
                                                 {"ibportstate", std::string(word) + "/3", "disable"},
                                                 {"set_port_state", "--disable", std::string(word) + "@3"},
                                                 {"set_port_state", "--disable", std::string(word) + "/3"},
                                                 {"perfquery", "-R", word, "3"},
                                                 {"ibclearcounters", word},
                                                 {"ibclearerrors", word},
                                                 {"ibqueryerrors", "-k", word},
                                                 {"sminfo", word, "1"},
                                                 {"set_guid", word, "1", "0x1234"},
                                                 {"ibccconfig", "CK", word, "0", "30", "1"},
                                                 {"vendstat", "-c", "1,2", word},
                                                 {"query", "SubnSet", "SMPPortInfo", word}}) {
      const Outcome refused = ibtool(fabric, words);
      INFO(words[0] << ' ' << word << ": " << refused.err);
      CHECK(refused.status == 2);
      CHECK(std::ranges::count(refused.err, '\n') == 1);
    }
  }
  CHECK(fabric.sets.empty());
  CHECK(pma_sets() == 0);
  CHECK(ibtool(fabric, {"ibportstate", "LEAF10", "3", "enable"}).status == 0);  // whole words, in another case
}

}  // namespace tools_name_match_tests
