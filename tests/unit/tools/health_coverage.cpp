// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// health says what it has not seen: counters that were not read, nodes that a snapshot does not have, and windows that can not be.
#include <chrono>
#include <fstream>
#include <string>

#include "support/snapshot_sql.hpp"
#include "tools/health/fetch.hpp"
#include "tools/shared/fabric.hpp"
#include "unit/tools/health_fabric.hpp"

namespace tools_health_coverage_tests {

using namespace ib;
using namespace std::chrono_literals;
using ibtest::contains;
using ibtest::ibtool;
using ibtest::Outcome;
using ibtest::starts_with;
using ibtest::health::check;
using ibtest::health::Fabric;
using nlohmann::json;

namespace {

json covered(const json& found, const std::string& what) {
  for (const json& one : found["coverage"]) {
    if (one["covered"] == what) return one;
  }
  return {};
}

}  // namespace

TEST_CASE("health: counters that were not read stand in the verdict line, in the checks, and nothing is proved of their links") {
  Fabric f;
  f.other_pma.service().faults.silent = true;
  const Outcome partly = f.run({"--interval", "1", "--fail-on", "error"}, 4);
  CHECK_THAT(partly.out, contains("counters of 2 of 3 nodes, watched 2 of 3 nodes for "));
  CHECK_THAT(partly.out, contains("prove that each of the 1 of 2 links that were read at both ends has fewer than"));
  CHECK_THAT(partly.out, contains("Checked in part: "));
  CHECK(partly.err.find("No answer") == partly.err.rfind("No answer"));  // one line
  const json found = f.found({"--interval", "1", "--fail-on", "error"}, 4);
  CHECK(found["verdict"] == "unknown");
  CHECK(check(found, "symbol-errors")["check_state"] == "partly");
  CHECK(check(found, "symbol-errors")["ports_wanted"].get<int>() - check(found, "symbol-errors")["ports_read"].get<int>() == 1);
  CHECK(check(found, "link-slow")["check_state"] == "done");
  CHECK(check(found, "link-slow")["ports_read"].is_null());
  CHECK(covered(found, "counters")["nodes_read"] == 2);
  CHECK(covered(found, "counters")["nodes_wanted"] == 3);
  CHECK(covered(found, "port_info")["ports_read"] == covered(found, "port_info")["ports_wanted"]);
  f.other_pma.service().faults.silent = false;
  CHECK_THAT(f.run({"--interval", "1"}).out, !contains("nodes for") && !contains("in part"));
}

TEST_CASE("health: --since with a snapshot that has the counters of some nodes has not watched the others") {
  Fabric f;
  const std::string file = f.directory.file("since");
  f.other_pma.service().faults.silent = true;
  ibtool(f.fabric, {"snapshot", file}, {.clock = &f.clock});
  f.other_pma.service().faults.silent = false;
  f.other_pma.count(1, "symbol_error_counter") += 5000;
  f.clock.advance(10s);
  for (const char* option : {"--since", "--baseline"}) {
    const json found = f.found({option, file, "--only", "symbol-errors"}, 4);
    CHECK(found["verdict"] == "unknown");
    CHECK(check(found, "symbol-errors")["reason"] == "watched 2 of 3 nodes");
    CHECK_THAT(f.run({option, file, "--only", "symbol-errors"}, 4).out, !starts_with("Healthy") && contains("watched 2 of 3 nodes for "));
  }
}

TEST_CASE("health: --since without other options names the nodes that are gone") {
  Fabric f;
  const std::string file = f.directory.file("since");
  REQUIRE(ibtool(f.fabric, {"snapshot", file}, {.clock = &f.clock}).status == 0);
  f.clock.advance(10s);
  CHECK(f.found({"--since", file})["verdict"] == "healthy");
  f.fabric.set_link(f.leaf, 2, false);
  const Outcome gone = f.run({"--since", file, "--only", "symbol-errors"}, 4);
  CHECK_THAT(gone.err, contains("Not in the fabric any more since ") && contains("node 0000:0000:0000:0300 'other'"));
  CHECK_THAT(gone.out, !starts_with("Healthy"));
}

TEST_CASE("health: a snapshot without the time of its end, or of an impossible one, begins no window") {
  Fabric f;
  const std::string file = f.directory.file("since");
  REQUIRE(ibtool(f.fabric, {"snapshot", file}, {.clock = &f.clock}).status == 0);
  f.clock.advance(10s);
  struct Case {
    const char *ended, *why;
  };
  for (const Case& of : {Case{"yesterday", "it does not say when it was written"},
                         Case{"99999999999999999999", "it does not say when it was written"}, Case{"0", "its clock was not set"},
                         Case{"-5", "its clock was not set"}, Case{"86400000", "days ago"}, Case{"9000000000000000000", "in the future"}}) {
    ibtest::set_fact(file, "ended", of.ended);
    for (const char* option : {"--since", "--baseline"}) {
      const Outcome refused = f.run({option, file}, 2);
      CHECK_THAT(refused.err, contains(of.why));
      CHECK(std::ranges::count(refused.err, '\n') == 1);
    }
    CHECK(f.found({"--baseline", file, "--interval", "1"})["verdict"] == "healthy");
  }
}

TEST_CASE("health: a --state of before the clock was set, or of the future, begins no window, and is replaced") {
  Fabric f;
  const std::string state = f.directory.file("state");
  f.run({"--port", "local", "--state", state});
  std::ifstream file(state);
  std::string kind, guid, port, time, rest;
  file >> kind >> guid >> port >> time;
  std::getline(file, rest);
  for (const char* other : {"1", "86400000", "99999999999999"}) {
    std::ofstream(state) << kind << ' ' << guid << ' ' << port << ' ' << other << rest << '\n';
    const Outcome first = f.run({"--port", "local", "--state", state});
    CHECK_THAT(first.err, contains("cannot begin a window: "));
    CHECK_THAT(first.out, contains("port states only: counters were read once"));
    f.clock.advance(60s);
    const Outcome second = f.run({"--port", "local", "--state", state});
    CHECK(second.err.empty());
    CHECK_THAT(second.out, contains("watched 60"));
  }
}

TEST_CASE("health: differences that no link can carry are no healthy fabric, at a port without a link either") {
  Fabric f;
  f.clock.happens = [&f] { f.pma.count(2, "port_rcv_errors") += std::uint64_t{1} << 40; };
  const json linked = f.found({"--only", "receive-errors"}, 4);
  CHECK(linked["verdict"] == "unknown");
  CHECK(linked["implausible_count"] == 1);
  f.clock.happens = [&f] { f.pma.count(4, "port_rcv_constraint_errors") += std::uint64_t{1} << 40; };
  const json free = f.found({"--only", "constraint-errors"}, 4);
  CHECK(free["verdict"] == "unknown");
  CHECK(free["implausible_count"] == 1);
}

TEST_CASE("reading_time: what can not be") {
  using tools::health::why_impossible;
  const auto now = std::chrono::system_clock::time_point(std::chrono::hours(24 * 20000));
  const std::int64_t present = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  CHECK(why_impossible(present, now).empty());
  CHECK(why_impossible(present - 86400000LL * 3000, now).empty());
  CHECK_FALSE(why_impossible(present + 1, now).empty());
  CHECK_FALSE(why_impossible(present - 86400000LL * 4000, now).empty());
  CHECK_FALSE(why_impossible({}, now).empty());
}

}  // namespace tools_health_coverage_tests
