// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What completes a command line, by the tables of commands, options and operands; on this host, and with a stored fabric.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/program.hpp"
#include "support/small_fabric.hpp"
#include "support/temporary_directory.hpp"
#include "tools/frame/commands.hpp"

namespace tools_completion_tests {

using namespace ib;
using ibtest::contains;
using ibtest::starts_with;
using nlohmann::json;
using Words = std::vector<std::string>;

namespace {

struct Bench : ibtest::SmallFabric {
  ibtest::TemporaryDirectory directory;

  /// What the program prints for "ibtool WORDS…".
  std::string printed(const Words& words) {
    Words line{"completion", "--words", "--"};
    line.insert(line.end(), words.begin(), words.end());
    const auto done = ibtest::ibtool(fabric, line);
    CHECK(done.status == 0);
    CHECK(done.err.empty());
    return done.out;
  }
  /// The words without their help; ":files" among them.
  Words completed(const Words& words) {
    Words found;
    const std::string text = printed(words);
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
      const std::string line = text.substr(at, text.find('\n', at) - at);
      found.push_back(line.substr(0, line.find('\t')));
    }
    return found;
  }
  bool offers(const Words& words, const std::string& word) {
    const Words found = completed(words);
    return std::ranges::find(found, word) != found.end();
  }
};

}  // namespace

TEST_CASE_METHOD(Bench, "Completion: commands") {
  CHECK(completed({"ibsw"}) == Words{"ibswitches", "ibswportwatch"});
  CHECK(completed({""}).size() == tools::commands().size());
  CHECK(completed({"--h"}) == Words{"--help"});
  CHECK(completed({"help", "smpq"}) == Words{"smpquery"});
  CHECK(completed({"nosuch", ""}).empty());
  CHECK_THAT(printed({"smpq"}), starts_with("smpquery\tPrint an attribute of a node or port"));
  // Behind options of all commands.
  CHECK(completed({"--json", "smpq"}) == Words{"smpquery"});
  CHECK(completed({"-t", "100", "smpquery", "nodei"}) == completed({"smpquery", "nodei"}));
  CHECK(completed({"-C", ""}) == completed({"ibaddr", "-C", ""}));
  CHECK(completed({"--nosuch", "smpq"}).empty());
}

TEST_CASE_METHOD(Bench, "Completion: options of every command, each with its help") {
  for (const tools::CommandInfo* info : tools::commands()) {
    CAPTURE(info->name);
    const std::string name(info->name);
    const Words found = completed({name, "-"});
    CHECK(std::ranges::find(found, "--help") != found.end());
    for (const std::string& word : found) {
      // A word that is offered is taken: nothing but its value is missing.
      const auto done = ibtest::ibtool(fabric, {name, word.ends_with('=') ? word + "zz" : word, "1", "--no-such-option"});
      CHECK_THAT(done.err, contains("'--no-such-option'"));
    }
  }
  CHECK(completed({"ibstat", "--sh"}) == Words{"--short"});
  CHECK(completed({"smpquery", "--show-k"}) == Words{"--show-keys"});  // not the name that help shows
  CHECK(completed({"smpquery", "NI", "--ti"}) == Words{"--timeout="});
  CHECK(completed({"saquery", "-p"}) == Words{"-p"});  // it has no long name
  CHECK(offers({"saquery", "-"}, "-p"));
}

TEST_CASE_METHOD(Bench, "Completion: values of options") {
  CHECK(completed({"ibnetdiscover", "--discovery", ""}) == Words{"LID", "DR", "SA"});
  CHECK(completed({"ibnetdiscover", "--discovery=D"}) == Words{"--discovery=DR"});
  CHECK(completed({"ibnetdiscover", "--disc=D"}) == Words{"--disc=DR"});  // abbreviations are options too
  CHECK(completed({"ibstat", "--json="}) == Words{"--json=document", "--json=lines"});
  CHECK(completed({"ibping", "--gmp", "u"}) == Words{"umad"});
  CHECK(completed({"snapshot", "--only", "lft,m"}) == Words{"lft,mft"});
  CHECK(completed({"smpquery", "-C", ""}) == Words{"fake0"});
  CHECK(completed({"smpquery", "-P", ""}) == Words{"fake0/1"});
  CHECK(completed({"smpquery", "-vC", "f"}) == Words{"fake0"});
  CHECK(completed({"smpquery", "-t", ""}).empty());
  CHECK(completed({"smpquery", "--from", ""}) == Words{":files"});
  CHECK(completed({"smpquery", "--from=/t"}) == Words{":files"});
  CHECK(completed({"snapshot", ""}) == Words{":files"});
  CHECK(completed({"smpquery", "--nosuch", ""}) == completed({"smpquery", ""}));
}

TEST_CASE_METHOD(Bench, "Completion: operations, attributes and fields") {
  CHECK(completed({"smpquery", "Po"}) == Words{"PortInfo", "PortInfoExtended"});
  CHECK(completed({"query", "SubnS"}) == Words{"SubnSet"});
  CHECK(offers({"query", "SubnGet", ""}, "SMPNodeInfo"));
  CHECK_FALSE(offers({"query", "SubnSet", ""}, "SMPNodeInfo"));
  CHECK(completed({"query", "nosuch", ""}).empty());
  CHECK(completed({"query", "SubnGet", "SMPPortInfo", "-f", "linkWidthA"}) == Words{"linkWidthActive="});
  CHECK(completed({"query", "SubnGet", "SMPMulticastForwardingTable", "--field=port"}) == Words{"--field=portMaskBlock["});
  CHECK(completed({"query", "SubnAdmGet", "SANodeRecord", "-f", "nodeInfo.nodeT"}) == Words{"nodeInfo.nodeType="});
  CHECK(offers({"saquery", ""}, "NodeRecord"));
  CHECK(completed({"saquery", "NR", "nodeInfo.nodeT"}) == Words{"nodeInfo.nodeType="});
  CHECK(completed({"saquery", "nosuch", ""}).empty());
  CHECK(offers({"ibportstate", "1", "2", ""}, "disable"));
  CHECK(offers({"ibportstate", "1", "2", "speed", "1", ""}, "width"));
  CHECK(completed({"ibsysstat", "1", "c"}) == Words{"cpu", "cpi"});
  CHECK(completed({"ibqueryerrors", "-s", "PortRcvE"}) == Words{"PortRcvErrors"});
  CHECK(completed({"ibstatus", ""}) == Words{"fake0/1"});
  CHECK(completed({"smpquery", "--", "Po"}) == Words{"PortInfo", "PortInfoExtended"});
  CHECK(completed({"smpquery", "--", "--t"}).empty());
}

TEST_CASE_METHOD(Bench, "Completion: names of nodes from a stored fabric") {
  const std::string file = directory.file("one.ibss");
  REQUIRE(ibtest::ibtool(fabric, {"snapshot", file, "--only", "topology"}).status == 0);
  CHECK(completed({"smpquery", "NI", ""}).empty());
  const Words all = completed({"smpquery", "--from", file, "NI", ""});
  CHECK(all.size() == 3);
  CHECK(std::ranges::is_sorted(all));
  CHECK(completed({"smpquery", "--from=" + file, "NI", all.front().substr(0, 2)}).front() == all.front());
  CHECK(completed({"smpquery", "--from", file, "NI", all.front(), ""}).empty());  // ATTR_MOD is not a target
  ibtest::Outside outside;
  outside.from = file;
  const auto by_variable = ibtest::ibtool(fabric, {"completion", "--words", "--", "ibtracert", ""}, outside);
  CHECK(std::ranges::count(by_variable.out, '\n') == 3);
  CHECK(completed({"smpquery", "--from", "/nowhere", "NI", ""}).empty());
  // Bytes that would disturb a terminal are in no completion.
  fabric.node(other).description[0] = 0x1b;
  REQUIRE(ibtest::ibtool(fabric, {"snapshot", file, "--only", "topology"}).status == 0);
  CHECK(completed({"smpquery", "--from", file, "NI", ""}).size() == 2);
}

TEST_CASE_METHOD(Bench, "Completion: nothing is sent to the fabric, and options take no effect") {
  const auto before = fabric.requests_to(other) + fabric.requests_to(leaf) + fabric.requests_to(here);
  CHECK(completed({"set_port_state", "--disable", "--yes", "leaf@1", "--d"}).front() == "--disable");
  CHECK(completed({"smpquery", "-y", "no number", "-z", "/nowhere", "NI", "--ti"}) == Words{"--timeout="});
  CHECK(fabric.requests_to(other) + fabric.requests_to(leaf) + fabric.requests_to(here) == before);
}

TEST_CASE_METHOD(Bench, "Completion: scripts for shells") {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const auto script = ibtest::ibtool(fabric, {"completion", shell});
    CHECK(script.status == 0);
    CHECK_THAT(script.out, contains("completion --words -- "));
    const json found = json::parse(ibtest::ibtool(fabric, {"completion", shell, "--json"}).out);
    CHECK(found["script"] == script.out);
    CHECK(found["shell"] == shell);
  }
  CHECK_THAT(ibtest::ibtool(fabric, {"completion", "basch"}).err, contains("There is no script for 'basch': did you mean bash?"));
  CHECK(ibtest::ibtool(fabric, {"completion"}).status == 2);
  CHECK(ibtest::ibtool(fabric, {"completion", "bash", "zsh"}).status == 2);
  const json words = json::parse(ibtest::ibtool(fabric, {"completion", "--json", "--words", "--", "ibstat", "--sh"}).out);
  CHECK(words["words"].size() == 1);
  CHECK(words["words"][0]["word"] == "--short");
  CHECK(words["words"][0]["help"] == "Leave the ports out.");
  CHECK(words["files"] == false);
}

}  // namespace tools_completion_tests
