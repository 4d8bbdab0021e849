// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One door for fabrics in files: each option that names one takes a snapshot, a cache of libibnetdisc and topology text of both programs,
// and what a file does not hold is not read.
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "snapshot/stored_fabric.hpp"
#include "support/catch.hpp"
#include "support/counting_fabric.hpp"
#include "support/program.hpp"
#include "support/temporary_directory.hpp"

namespace tools_fabric_files_tests {

using ibtest::contains;
using ibtest::diags;
using ibtest::ibtool;
using ibtest::Outcome;
using nlohmann::json;
using Words = std::vector<std::string>;

namespace {

/// The fabric, and a file of each kind.
struct Files : ibtest::CountingFabric {
  Files() {
    REQUIRE(ibtool(fabric, {"snapshot", snapshot}).status == 0);
    REQUIRE(diags(fabric, {"ibnetdiscover", "-l", "--cache", cache}).status == 0);
    write(text, ibtool(fabric, {"ibnetdiscover"}).out);
    write(legacy_text, diags(fabric, {"ibnetdiscover"}).out);
  }
  static void write(const std::string& name, const std::string& content) { std::ofstream(name) << content; }
  /// Runs on the fabric, which sends an answer to nothing: all comes from a file.
  Outcome offline(Words words) {
    fabric.node(leaf).faults.silent = fabric.node(here).faults.silent = true;
    Outcome outcome = ibtool(fabric, std::move(words));
    fabric.node(leaf).faults.silent = fabric.node(here).faults.silent = false;
    return outcome;
  }
  json document(Words words) {
    words.emplace_back("--json");
    const Outcome outcome = ibtool(fabric, words);
    INFO(outcome.out << outcome.err);
    return json::parse(outcome.out);
  }

  ibtest::TemporaryDirectory directory;
  std::string snapshot = directory.file("snapshot"), cache = directory.file("cache"), text = directory.file("text"),
              legacy_text = directory.file("legacy");
  Words all{snapshot, cache, text, legacy_text};
};

std::size_t lines_in(const std::string& text) { return static_cast<std::size_t>(std::ranges::count(text, '\n')); }

}  // namespace

TEST_CASE_METHOD(Files, "--load-cache and --from take a fabric from each kind of file") {
  const std::string links = ibtool(fabric, {"ibnetdiscover", "-p"}).out;
  const std::string nodes = ibtool(fabric, {"ibnodes"}).out;
  for (const std::string& file : all) {
    CAPTURE(file);
    for (const char* option : {"--load-cache", "--from"}) {
      CAPTURE(option);
      CHECK(offline({"ibnodes", option, file}).out == nodes);
      const Outcome listed = offline({"ibnetdiscover", "-l", option, file});
      CHECK(listed.err.empty());
      CHECK(listed.out == ibtool(fabric, {"ibnetdiscover", "-l"}).out);
      const Outcome switches = offline({"iblinkinfo", option, file});
      CHECK(switches.status == 0);
      CHECK_THAT(switches.out, contains("'other'"));
      CHECK_THAT(offline({"iblinkinfo", option, file, "leaf"}).out, contains("'other'"));  // a target by its name
      CHECK_THAT(offline({"iblinkinfo", option, file, "1"}).out, contains("'other'"));
    }
  }
  for (const std::string& file : {snapshot, cache}) CHECK(offline({"ibnetdiscover", "-p", "--from", file}).out == links);
  CHECK_THAT(links, contains("'other'"));
}

TEST_CASE_METHOD(Files, "a listing that is read and printed is the same but for its date") {
  const auto body = [](const std::string& listing) { return listing.substr(std::min(listing.find("# Initiated"), listing.size())); };
  CHECK(body(offline({"ibnetdiscover", "--from", text}).out) == body(ibtool(fabric, {"ibnetdiscover"}).out));
  CHECK(body(offline({"ibnetdiscover", "--load-cache", legacy_text}).out) == body(ibtool(fabric, {"ibnetdiscover"}).out));
}

TEST_CASE_METHOD(Files, "a fabric can be compared with each kind of file") {
  const std::string tables = directory.file("tables");
  write(tables, ibtool(fabric, {"dump_lfts"}).out);
  for (const std::string& file : all) {
    CAPTURE(file);
    CHECK(ibtool(fabric, {"ibnetdiscover", "--diff", file}).out.empty());
    CHECK(ibtool(fabric, {"subnet_diff", file}).status == 0);
    for (const std::string& second : all) CHECK(offline({"subnet_diff", file, second}).status == 0);
    const Outcome routes = offline({"check_routes", "--unicast", "--topology", file, "--lfts", tables});
    CHECK(routes.err.empty());
    CHECK(routes.status == 0);
    const json health = document({"health", "--interval", "0", "--baseline", file, "--only", "node-gone,link-gone,link-slower,changed"});
    CHECK(health["findings"].empty());
    for (const json& check : health["checks"]) {
      if (check["check"] == "link-gone") CHECK(check["check_state"] == "done");
    }
  }
  fabric.set_link(leaf, 2, false);
  for (const std::string& file : all) {
    CAPTURE(file);
    CHECK(ibtool(fabric, {"ibnetdiscover", "--diff", file}).status == 1);
    CHECK(ibtool(fabric, {"subnet_diff", file}).status == 1);
    const json health = document({"health", "--interval", "0", "--baseline", file, "--only", "link-gone"});
    REQUIRE(health["findings"].size() == 1);
    CHECK(health["findings"][0]["check"] == "link-gone");
  }
}

TEST_CASE_METHOD(Files, "an attribute that a file lacks is not read, and the error names the option that stores it") {
  const auto says = [this](Words words, const std::string& what) {
    const Outcome outcome = offline(std::move(words));
    INFO(outcome.out << outcome.err);
    CHECK(outcome.status != 0);
    CHECK(lines_in(outcome.err) == 1);
    CHECK_THAT(outcome.err, contains(what));
    CHECK_THAT(outcome.err, contains("; `ibtool snapshot` keeps "));
  };
  const std::string is_text = "'" + text + "' is topology text: it has no ";
  const std::string is_cache = "'" + cache + "' is a cache of libibnetdisc: it has no ";
  says({"smpquery", "PI", "1", "1", "--from", text}, is_text + "PortInfo");
  says({"smpquery", "NI", "1", "--from", text}, is_text + "NodeInfo");
  says({"ibroute", "1", "--from", text}, is_text);
  says({"ibroute", "1", "--from", cache}, is_cache + "LinearForwardingTable");
  says({"perfquery", "1", "1", "--from", cache}, is_cache);
  says({"saquery", "NR", "--from", cache}, is_cache + "NodeRecord");
  says({"export", "openmetrics", text}, is_text + "counters");
  for (const std::string& file : {cache, text, legacy_text}) {
    for (const Outcome& outcome : {ibtool(fabric, {"health", "--since", file}), ibtool(fabric, {"ibstat"}, {.from = file}),
                                   ibtool(fabric, {"ibstatus"}, {.from = file})}) {
      CHECK(outcome.status == 2);
      CHECK(outcome.out.empty());
      CHECK(lines_in(outcome.err) == 1);
      CHECK_THAT(outcome.err, contains("'" + file + "' is ") && contains("; `ibtool snapshot` keeps them\n"));
    }
  }
}

TEST_CASE_METHOD(Files, "a cache answers what libibnetdisc reads, as the node did") {
  for (const Words& words : {Words{"smpquery", "NI", "3"},
                             {"smpquery", "ND", "1"},
                             {"smpquery", "SI", "1"},
                             {"smpquery", "PI", "1", "2"},
                             {"smpquery", "PI", "2"},
                             {"smpquery", "NI", "-D", "0,2"}}) {
    Words stored = words;
    stored.insert(stored.end(), {"--from", cache});
    CAPTURE(words);
    CHECK(offline(stored).out == ibtool(fabric, words).out);
  }
  CHECK(offline({"smpquery", "ND", "1", "--from", text}).out == ibtool(fabric, {"smpquery", "ND", "1"}).out);
}

TEST_CASE_METHOD(Files, "states and settings that a listing does not have are null, and are not judged") {
  const json links = document({"iblinkinfo", "--from", text});
  for (const json& node : links["nodes"]) {
    for (const json& port : node["ports"]) {
      CHECK(port["state"].is_null());
      CHECK(port["phys_state"].is_null());
      CHECK(port["hoq_life"].is_null());
      if (!port["peer"].is_null()) CHECK(port["rate_mbps"].is_number());
    }
  }
  CHECK_THAT(offline({"iblinkinfo", "--from", text}).out, contains("not read"));
  const Outcome checked = offline({"ibcheckstate", "--from", text});
  CHECK(checked.status == 4);
  CHECK_THAT(checked.err, contains("Topology text has no states of ports"));
  const json health = document({"health", "--from", text});
  CHECK(health["status"] == 4);
  CHECK(health["findings"].empty());
  for (const json& check : health["checks"]) CHECK(check["check_state"] != "done");
  CHECK_THAT(offline({"health", "--from", text}).out, contains("topology text has no counters"));
}

TEST_CASE_METHOD(Files, "by the legacy names --load-cache and --diff take no topology text") {
  CHECK_THAT(diags(fabric, {"iblinkinfo", "--load-cache", text}).err, contains("loading cached fabric failed\n"));
  for (const std::string& file : {text, legacy_text}) {
    CHECK(diags(fabric, {"ibnetdiscover", "--load-cache", file}).out == "ibnetdiscover: iberror: failed: loading cached fabric failed\n\n");
    CHECK(diags(fabric, {"ibnetdiscover", "--diff", file}).out ==
          "ibnetdiscover: iberror: failed: loading cached fabric for diff failed\n\n");
  }
  CHECK(diags(fabric, {"ibnetdiscover", "-l"}, {.from = cache}).out == diags(fabric, {"ibnetdiscover", "-l"}).out);
}

TEST_CASE_METHOD(Files, "a file that holds no fabric, or half of one, is refused in one line by every option") {
  const std::string nonsense = directory.file("nonsense"), half = directory.file("half"), bent = directory.file("bent");
  write(nonsense, "nonsense");
  std::ifstream in(cache, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(in), {}};
  write(half, content.substr(0, content.size() / 2));
  write(bent, "#\nSwitch\t4 \"S-1\"\n[9]\t\x1b[2J\n");
  const std::vector<std::pair<std::string, std::string>> files{
      {nonsense, "'" + nonsense + "' holds no fabric: it is not a snapshot of ibtool, a cache of libibnetdisc or topology text"},
      {half, "'" + half + "' cannot be read as a cache of libibnetdisc: "},
      {bent, "'" + bent + "' cannot be read as topology text: line 3: "},
      {directory.file("nosuch"), "nosuch"},
      {directory.path(), "is a directory: a regular file is needed"}};
  for (const auto& [file, why] : files) {
    for (const Words& words : {Words{"ibhosts", "--from", file},
                               {"ibhosts", "--load-cache", file},
                               {"ibnetdiscover", "--diff", file},
                               {"subnet_diff", file},
                               {"subnet_diff", text, file},
                               {"health", "--baseline", file},
                               {"health", "--since", file},
                               {"check_routes", "--topology", file, "--lfts", "x"}}) {
      CAPTURE(words);
      const Outcome outcome = ibtool(fabric, words);
      CHECK(outcome.status == 2);
      CHECK(outcome.out.empty());
      CHECK(lines_in(outcome.err) == 1);
      CHECK_THAT(outcome.err, contains(why) && !contains("\x1b"));
    }
  }
}

}  // namespace tools_fabric_files_tests
