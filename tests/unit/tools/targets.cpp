// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Every command that takes a TARGET takes it in every form, and -D, -L and -G refuse what is of another. The whole program
// runs, on a fabric in memory; the target is the switch that this host is plugged into: LID 2, GUID 6000, route 0,1.
#include <algorithm>

#include "support/catch.hpp"
#include "support/fake_sa.hpp"
#include "support/program.hpp"

namespace tools_targets_tests {

using ibtest::FakeFabric;
using ibtest::FakeSa;
using ibtest::Outcome;

namespace {

/// A command line; TARGET stands for the target.
using Words = std::vector<std::string>;
const std::vector<Words> commands{
    {"ibaddr", "TARGET"},          {"iblinkinfo", "TARGET"},     {"sminfo", "TARGET"},
    {"smpdump", "TARGET", "0x11"}, {"smpquery", "ND", "TARGET"}, {"smpquery", "PI", "TARGET", "1"},
};

struct Form {
  const char* text;
  enum Kind { lid, guid, route } kind;
};
constexpr Form forms[] = {
    {"2", Form::lid},
    {"0x2", Form::lid},
    {"IBPath(DLID=2)", Form::lid},
    {"IBPath(end_port='fake0/1', DLID=2, SLID=3)", Form::lid},
    {"fe80::6000", Form::guid},
    {"fe80::6000%fake0/1", Form::guid},
    {"fe80::6000%fake0", Form::guid},
    {"0000:0000:0000:6000", Form::guid},
    {"0x0000000000006000", Form::guid},
    {"0000000000006000", Form::guid},
    {"IBPath(DGID=fe80::6000)", Form::guid},
    {"0,1", Form::route},
    {"0,1,", Form::route},
    {"IBDRPath(drPath=0:1:)", Form::route},
};

struct Bench {
  Bench() {
    fabric.node(leaf).sm_info.emplace();
    fabric.node(leaf).sm_info->guid = ib::Guid{0x6000};
    fabric.node(leaf).switch_info.linear_fdb_top = 7;
  }
  Outcome run(const Words& command, std::string_view target, const Words& options = {}) {
    Words words{command.front()};
    words.insert(words.end(), options.begin(), options.end());
    for (std::size_t at = 1; at < command.size(); ++at) words.push_back(command[at] == "TARGET" ? std::string(target) : command[at]);
    return ibtool(fabric, words);
  }

  static constexpr FakeFabric::NodeId leaf = 1;
  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 2);
  FakeSa sa{fabric};
};

/// The result without the line that repeats what was asked for, and without the direction bit of answers to directed routes.
std::string without_heading(std::string text) {
  if (text.starts_with("# ")) text.erase(0, text.find('\n') + 1);
  if (const auto at = text.find("SMP status: "); at != std::string::npos) text.erase(at);
  return text;
}

}  // namespace

TEST_CASE("a target may be a LID, a GID, a GUID, a route or a path spec, on every command") {
  for (const Words& command : commands) {
    Bench bench;
    const Outcome by_lid = bench.run(command, "2");
    INFO(command.front() << '\n' << by_lid.err);
    REQUIRE(by_lid.status == 0);
    REQUIRE_FALSE(by_lid.out.empty());
    for (const Form& form : forms) {
      INFO(form.text);
      const Outcome outcome = bench.run(command, form.text);
      CHECK(outcome.err == "");
      CHECK(outcome.status == 0);
      CHECK(without_heading(outcome.out) == without_heading(by_lid.out));
    }
  }
}

TEST_CASE("with --sa too, and then no SMP leaves") {
  for (const Words& command : commands) {
    if (command.front() == "sminfo") continue;  // the fake SA has no SMInfoRecord
    Bench bench;
    const Outcome by_lid = bench.run(command, "2", {"--sa"});
    INFO(command.front() << '\n' << by_lid.err);
    REQUIRE(by_lid.status == 0);
    for (const Form& form : forms) {
      INFO(form.text);
      const Outcome outcome = bench.run(command, form.text, {"--sa"});
      CHECK(outcome.err == "");
      CHECK(without_heading(outcome.out) == without_heading(by_lid.out));
    }
    for (std::size_t node = 0; node <= bench.fabric.size(); ++node) CHECK(bench.fabric.requests_to(node) == 0);
  }
}

TEST_CASE("-D, -L and -G take their form and refuse the others") {
  const struct {
    const char* option;
    Form::Kind kind;
    const char* refusal;
  } checks[] = {{"--Direct", Form::route, "Not a directed route"}, {"--Lid", Form::lid, "Not a LID"}, {"--Guid", Form::guid, "Not a GUID"}};
  for (const Words& command : commands) {
    for (const auto& check : checks) {
      Bench bench;
      const std::string good = bench.run(command, check.kind == Form::route ? "0,1" : check.kind == Form::lid ? "2" : "fe80::6000").out;
      for (const Form& form : forms) {
        INFO(command.front() << ' ' << check.option << ' ' << form.text);
        const Outcome outcome = bench.run(command, form.text, {check.option});
        // With -D a number is a route of one port, with -G a hexadecimal number is a GUID.
        const bool number = std::string_view(form.text).find_first_of(":,(") == std::string_view::npos;
        if (form.kind == check.kind) {
          CHECK(outcome.status == 0);
          CHECK(without_heading(outcome.out) == without_heading(good));
        } else if (!number || check.kind == Form::lid) {
          CHECK(outcome.status == 2);
          CHECK(outcome.out == "");
          CHECK_THAT(outcome.err, ibtest::contains(check.refusal));
          CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
        }
      }
    }
  }
}

TEST_CASE("the forms of infiniband-diags: -D 0 is this host, -G 0x… a GUID of any length") {
  Bench bench;
  CHECK(bench.run({"ibaddr", "TARGET"}, "0", {"-D"}).out == "GID fe80::10:1 LID start 3 end 3\n");
  CHECK(bench.run({"ibaddr", "TARGET"}, "0x6000", {"-G"}).out == bench.run({"ibaddr", "TARGET"}, "2").out);
}

TEST_CASE("a word that is not an address is refused in one line, or not found at the SA") {
  Bench bench;
  for (const char* bad : {"zzz", "0", "65535", "0xc000", "70000", "1,2", "0,255", "0,1,zz", "fe80::6000%other/1", "fe80::6000%fake0/2",
                          "IBPath(DLID=)", "IBPath(DLID=2", "fe80::1::2", "12:34", "", "\x1b[2J"}) {
    INFO(bad);
    const Outcome outcome = bench.run({"ibaddr", "TARGET"}, bad);
    CHECK(outcome.status == 2);
    CHECK(outcome.out == "");
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
    CHECK(outcome.err.find('\x1b') == std::string::npos);
  }
  const Outcome nobody = bench.run({"ibaddr", "TARGET"}, "fe80::9999");
  CHECK(nobody.status == 3);
  CHECK_THAT(nobody.err, ibtest::contains("No port, no node and no system has the GUID 0000:0000:0000:9999"));
}

TEST_CASE("a port behind a router is no target for SMPs") {
  Bench bench;
  bench.sa.path_lie = [](ib::sa::PathRecord& path) { path.hop_limit = 64; };
  const Outcome outcome = bench.run({"ibaddr", "TARGET"}, "fe80::6000");
  CHECK(outcome.status == 3);
  CHECK(outcome.err == "E: fe80::6000 is behind a router, where SMPs do not go\n");
  bench.sa.path_lie = [](ib::sa::PathRecord& path) { path.hop_limit = 1; };
  CHECK(bench.run({"ibaddr", "TARGET"}, "fe80::6000").status == 0);
}

}  // namespace tools_targets_tests
