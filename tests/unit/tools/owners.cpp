// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// LIDs that change hands while a command reads counters again and again: nothing that one node has counted stands under the name of
// another.
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "iba-gen/mad.hpp"
#include "support/catch.hpp"
#include "support/counting_fabric.hpp"
#include "support/program.hpp"
#include "support/swapped_lids.hpp"
#include "support/temporary_directory.hpp"
#include "unit/tools/health_fabric.hpp"

namespace tools_owners_tests {

using namespace ib;
using namespace std::chrono_literals;
using ibtest::contains;
using ibtest::FakeFabric;
using ibtest::ibtool;
using ibtest::Outcome;
using nlohmann::json;

namespace {

/// A switch (LID 1), the host of the test (LID 2), and two hosts (LIDs 3 and 4) that have counted much and differently.
struct Fabric {
  FakeFabric fabric;
  FakeFabric::NodeId leaf = fabric.add_switch(0x100, 4, "leaf");
  FakeFabric::NodeId here = fabric.add_ca(0x200, 1, "here");
  FakeFabric::NodeId first = fabric.add_ca(0x300, 1, "first"), second = fabric.add_ca(0x400, 1, "second");
  ibtest::FakeSa sa{fabric};
  ibtest::FakePma &first_pma, &second_pma;

  Fabric() : first_pma(linked().run(first)), second_pma(run(second)) {
    run(leaf);
    run(here);
    for (const char* counter : {"symbol_error_counter", "port_xmit_data"}) {
      first_pma.count(1, counter) = 1000;
      second_pma.count(1, counter) = 700000;
    }
  }
  Outcome watch(std::vector<std::string> words, std::function<void()> meanwhile) {
    ibtest::health::Meanwhile jumps;  // jumps of more than 5 s
    jumps.happens = std::move(meanwhile);
    return ibtool(fabric, std::move(words), {.clock = &jumps});
  }
  void swap() { ibtest::swap_lids(fabric, {first, 1}, {second, 1}); }

 private:
  Fabric& linked() {
    fabric.link(leaf, 1, here, 1);
    fabric.link(leaf, 2, first, 1);
    fabric.link(leaf, 3, second, 1);
    fabric.assign_lids();
    fabric.attach(here);
    return *this;
  }
  ibtest::FakePma& run(FakeFabric::NodeId node) { return ibtest::run_pma(fabric, node); }
};

/// Runs a program, and calls `change` as soon as the first request to a PMA has been answered.
Outcome once_counters_are_requested(FakeFabric& fabric, const std::function<void()>& change, const std::function<Outcome()>& program) {
  bool is_changed = false;
  fabric.network.tamper = [&](Bytes request, std::optional<FakeFabric::Answer> answer) {
    if (mad::HeaderView(request).mgmt_class() == mad::mgmt_class::performance && !std::exchange(is_changed, true)) change();
    return answer ? std::vector<FakeFabric::Answer>{*answer} : std::vector<FakeFabric::Answer>{};
  };
  Outcome outcome = program();
  fabric.network.tamper = nullptr;
  return outcome;
}

}  // namespace

TEST_CASE("ibqueryerrors --interval: LIDs that move to other nodes are not read under wrong names, and the fabric is swept again") {
  Fabric f;
  const Outcome seen = f.watch({"ibqueryerrors", "--interval", "10", "--count", "4", "--json"}, [&f] { f.swap(); });
  INFO(seen.out << seen.err);
  CHECK(seen.status == 4);
  const json readings = json::parse(seen.out)["readings"];
  REQUIRE(readings.size() == 4);
  for (const json& reading : readings) CHECK(reading["ports"].empty());
  CHECK(readings[1]["unreachable"].size() == 2);
  CHECK(readings[1]["unreachable"][0]["reason"] == "not_read");
  CHECK(readings[2]["unreachable"].empty());
  CHECK_THAT(seen.err, contains("Counters are not read, since other nodes have the LIDs now of 2 nodes: "));

  Fabric g;  // what is counted after that stands under the right name
  unsigned rounds = 0;
  auto& service = g.second_pma.service();
  service.answer = [&, answer = service.answer](unsigned port, Bytes request) {
    if (load_be<std::uint16_t>(&request[16]) != mad::ClassPortInfo::attribute_id && ++rounds == 4)
      g.second_pma.count(1, "symbol_error_counter") += 5;
    return answer(port, request);
  };
  const Outcome later = g.watch({"ibqueryerrors", "--interval", "10", "--count", "4", "--json"}, [&g] { g.swap(); });
  INFO(later.out << later.err);
  const json after = json::parse(later.out)["readings"];
  REQUIRE(after[3]["ports"].size() == 1);
  CHECK(after[3]["ports"][0]["node_guid"] == "0000:0000:0000:0400");
  CHECK(after[3]["ports"][0]["lid"] == 3);
  CHECK(after[3]["ports"][0]["errors"][0]["delta"] == 5);
}

TEST_CASE("ibqueryerrors --interval: the node of TARGET is followed to its LID") {
  Fabric f;
  const Outcome seen = f.watch({"ibqueryerrors", "--interval", "10", "--count", "3", "3", "--json"}, [&f] { f.swap(); });
  INFO(seen.out << seen.err);
  CHECK(seen.status == 4);
  const json readings = json::parse(seen.out)["readings"];
  CHECK(readings[1]["unreachable"].size() == 1);
  CHECK(readings[2]["unreachable"].empty());
  CHECK(readings[2]["ports_checked"] == 1);
  for (const json& reading : readings) CHECK(reading["ports"].empty());
}

TEST_CASE("ibqueryerrors -k: what another port has counted is not read, and its counters are not reset") {
  for (const bool legacy : {false, true}) {
    for (const bool of_one_node : {true, false}) {
      ibtest::CountingFabric f;
      f.here_pma.count(1, "symbol_error_counter") = 500;
      f.other_pma.count(1, "symbol_error_counter") = 1000;
      f.other_pma.count(2, "symbol_error_counter") = 2000;
      const ibtest::EndOf other_end = of_one_node ? ibtest::EndOf{f.other, 2} : ibtest::EndOf{f.here, 1};
      const auto swap = [&f, other_end] { ibtest::swap_lids(f.fabric, {f.other, 1}, other_end); };
      const Outcome seen = once_counters_are_requested(f.fabric, swap, [&] {
        return legacy ? ibtest::diags(f.fabric, {"ibqueryerrors", "-k"}) : ibtool(f.fabric, {"ibqueryerrors", "-k", "--yes"});
      });
      INFO("legacy: " << legacy << ", of one node: " << of_one_node << '\n' << seen.out << seen.err);
      CHECK(f.other_pma.count(1, "symbol_error_counter") == 1000);
      CHECK(f.other_pma.count(2, "symbol_error_counter") == 2000);
      for (const char* wrong : of_one_node ? std::vector{"1000", "2000"} : std::vector{"1000", "500"})
        CHECK_THAT(seen.out, !contains(wrong));
      if (!legacy) CHECK(seen.status == (of_one_node ? 1 : 4));  // what the host itself has counted is read
      if (!legacy) CHECK_THAT(seen.err, contains("was meant: nothing was set") || contains("other nodes have the LIDs now of"));
    }
  }
}

TEST_CASE("snapshot: what was read at a LID is kept only if the LID was the node's own") {
  const ibtest::TemporaryDirectory directory;
  const std::string file = directory.file("fabric");
  Fabric f;
  const Outcome taken = once_counters_are_requested(
      f.fabric, [&f] { f.swap(); },
      [&] {
        return ibtool(f.fabric, {"snapshot", file});
      });
  INFO(taken.out << taken.err);
  CHECK(taken.status == 4);
  CHECK_THAT(taken.err, contains("LID 3 belongs to 0000:0000:0000:0400 now: its answers are not kept"));
  CHECK_THAT(taken.err, contains("LID 4 belongs to 0000:0000:0000:0300 now: its answers are not kept"));
  const Outcome seen = ibtool(f.fabric, {"ibqueryerrors", "--from", file, "--counters", "--skip-sl", "--json"});
  INFO(seen.out << seen.err);
  CHECK(seen.status == 4);
  std::size_t read = 0;
  const json document = json::parse(seen.out);
  for (const json& node : document["nodes"]) {
    ++read;
    CHECK(node["node_guid"] != "0000:0000:0000:0300");
    CHECK(node["node_guid"] != "0000:0000:0000:0400");
  }
  CHECK(read == 2);
}

TEST_CASE("a stored fabric: counters at a LID that is another node's by now are not read under the name that the file has") {
  const ibtest::TemporaryDirectory directory;
  const std::string file = directory.file("fabric");
  Fabric f;
  REQUIRE(ibtool(f.fabric, {"snapshot", file}).status == 0);
  f.swap();
  const std::vector<std::vector<std::string>> lines = {
      {"ibqueryerrors", "--counters"}, {"ibqueryerrors"}, {"ibdatacounters"}, {"ibcheckerrors"}};
  for (std::vector<std::string> words : lines) {
    for (const char* more : {"--skip-sl", "--load-cache", file.c_str()}) words.emplace_back(more);
    const Outcome seen = ibtool(f.fabric, words);
    INFO(words.front() << '\n' << seen.out << seen.err);
    for (const char* wrong : {"1000", "700000"}) CHECK_THAT(seen.out, !contains(wrong));
    CHECK_THAT(seen.err, contains("other nodes have the LIDs now of"));
  }
  const Outcome legacy = ibtest::diags(f.fabric, {"ibqueryerrors", "--load-cache", file});
  INFO(legacy.out << legacy.err);
  for (const char* wrong : {"1000", "65535", "700000"}) CHECK_THAT(legacy.out, !contains(wrong));
}

TEST_CASE("perfquery of a name: the counters at its LID are shown only if the node still has that LID") {
  Fabric f;
  CHECK_THAT(ibtool(f.fabric, {"perfquery", "first", "1"}).out, contains("1000"));
  const Outcome seen = once_counters_are_requested(
      f.fabric, [&f] { f.swap(); },
      [&] {
        return ibtool(f.fabric, {"perfquery", "first", "1"});
      });
  INFO(seen.out << seen.err);
  CHECK(seen.status == 3);
  CHECK(seen.out.empty());
  CHECK_THAT(seen.err, contains("the counters may belong to another node"));
}

TEST_CASE("ibdatacounters --interval: LIDs that change hands are not read under wrong names") {
  Fabric f;
  const Outcome seen = f.watch({"ibdatacounters", "--interval", "10", "--count", "3", "--json"}, [&f] { f.swap(); });
  INFO(seen.out << seen.err);
  CHECK(seen.status == 4);
  const json found = json::parse(seen.out);
  for (const json& reading : found["readings"]) {
    for (const json& port : reading["ports"]) {
      const bool is_first = port["node_guid"] == "0000:0000:0000:0300", is_second = port["node_guid"] == "0000:0000:0000:0400";
      for (const json& counter : port["traffic"]) {
        if ((is_first || is_second) && counter["counter"] == "port_xmit_data" && !counter["count"].is_null())
          CHECK(counter["count"] == (is_first ? 1000 : 700000));
      }
    }
  }
  CHECK_THAT(seen.err, contains("other nodes have the LIDs now of 2 nodes: "));
}

TEST_CASE("perfquery --interval and ibswportwatch: the node that answered first is followed to its LID") {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"perfquery", "--interval", "10", "--count", "4", "3", "1", "--json"},
                                             {"ibswportwatch", "-p", "10", "-n", "4", "3", "1", "--json"}}) {
    Fabric f;
    const Outcome seen = f.watch(words, [&f] { f.swap(); });
    INFO(seen.out << seen.err);
    CHECK(seen.status == 4);
    const json readings = json::parse(seen.out)["readings"];
    REQUIRE(readings.size() == 4);
    CHECK(readings[0]["ports"].size() == 1);
    CHECK(readings[1]["ports"].empty());
    for (const std::size_t round : {2U, 3U}) {
      REQUIRE(readings[round]["ports"].size() == 1);
      const json& counter = readings[round]["ports"][0]["counters"][0];
      CHECK(counter["counter"] == "symbol_error_counter");
      CHECK(counter["delta"] == 0);
    }
    CHECK_THAT(seen.err, contains("LID 3 belongs to 0000:0000:0000:0400 now: the counters are not read"));
  }
}

TEST_CASE("perfquery: the counters of another port than the requested one are no answer") {
  Fabric f;
  auto& service = f.first_pma.service();
  service.answer = [answer = service.answer](unsigned port, Bytes request) {
    auto reply = answer(port, request);
    if (reply && load_be<std::uint16_t>(&request[16]) == pm::PortCounters::attribute_id) reply->at(65) = 9;
    return reply;
  };
  const Outcome seen = ibtool(f.fabric, {"perfquery", "3", "1"});
  CHECK(seen.status == 3);
  CHECK_THAT(seen.err, contains("requested for the counters of port 1 and answered for port 9"));
}

TEST_CASE("health: LIDs that change hands between two readings are no errors on healthy cables") {
  ibtest::health::Fabric f;
  const FakeFabric::NodeId third = f.fabric.add_ca(0x400, 1, "third");
  f.fabric.link(f.leaf, 3, third, 1);
  f.fabric.assign_lids();
  ibtest::FakePma& third_pma = ibtest::run_pma(f.fabric, third);
  f.other_pma.count(1, "symbol_error_counter") = 10;
  third_pma.count(1, "symbol_error_counter") = 90000;
  f.clock.happens = [&] { ibtest::swap_lids(f.fabric, {f.other, 1}, {third, 1}); };
  const json found = f.found({}, 4);
  INFO(found.dump(1));
  CHECK(found["verdict"] == "unknown");
  CHECK(found["findings"].empty());
  CHECK(found["unreachable"].size() == 2);
}

TEST_CASE("health: LIDs that changed hands after the sweep, before the only reading") {
  ibtest::health::Fabric f;
  const std::string file = f.directory.file("cache");
  REQUIRE(ibtool(f.fabric, {"snapshot", file}).status == 0);
  const FakeFabric::NodeId other = f.other;
  ibtest::swap_lids(f.fabric, {other, 1}, {f.leaf, 0});
  f.other_pma.count(1, "symbol_error_counter") = 0xffff;
  const json found = f.found({"--load-cache", file, "--interval", "0", "--only", "counter-stuck,symbol-errors"}, 4);
  INFO(found.dump(1));
  CHECK(found["findings"].empty());
}

}  // namespace tools_owners_tests
