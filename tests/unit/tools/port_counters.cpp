// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibcheckerrs, ibdatacounts, ibdatacounters, ibclearcounters, ibclearerrors and ibswportwatch on performance management agents in memory.
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "iba-gen/mad.hpp"
#include "iba-gen/pm.hpp"
#include "support/catch.hpp"
#include "support/counting_fabric.hpp"
#include "support/fake_clock.hpp"
#include "support/program.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/interval.hpp"

namespace tools_port_counters_tests {

using namespace ib;
using ibtest::contains;
using ibtest::ends_with;
using ibtest::FakeFabric;
using ibtest::FakePma;
using ibtest::ibtool;
using ibtest::starts_with;
using nlohmann::json;

namespace {

struct Fabric : ibtest::CountingFabric {
  Fabric() : CountingFabric(1) {}

  /// From now on each request to the switch's PMA finds `counter` of port 2 greater by `step`.
  void grow(std::string counter, std::uint64_t step) {
    auto& service = pma.service();
    service.answer = [this, counter, step, answer = service.answer](unsigned port, Bytes request) {
      pma.count(2, counter) += step;
      return answer(port, request);
    };
  }
  void without_all_port_select() { pma.capability_mask &= static_cast<std::uint16_t>(~pm::capability_mask::all_port_select); }
};

}  // namespace

TEST_CASE("ibdatacounts: data and packets of a port, by 64 bits where there are so many") {
  Fabric f;
  f.pma.count(2, "port_xmit_data") = std::uint64_t{1} << 40;
  const auto port = ibtool(f.fabric, {"ibdatacounts", "1", "2"});
  CHECK(port.status == 0);
  CHECK(port.out ==
        "# Port counters: Lid 1 port 2\nXmtData:..........................1099511627776\nRcvData:..........................0\n"
        "XmtPkts:..........................0\nRcvPkts:..........................0\n");
  CHECK(f.pma.asked.size() == 1);
  CHECK_THAT(ibtool(f.fabric, {"ibdatacounts", "--int-names", "1", "2"}).out,
             contains("PortXmitData:.....................1099511627776\n"));
  SECTION("a PMA without them gets a request for PortCounters") {
    f.pma.unsupported.insert(pm::PortCountersExt::attribute_id);
    CHECK_THAT(ibtool(f.fabric, {"ibdatacounts", "1", "2"}).out, contains("XmtData:..........................4294967295\n"));
  }
  SECTION("all ports of a switch, with AllPortSelect and without") {
    f.pma.count(3, "port_xmit_data") = 5;
    const std::string sum = "# Port counters: Lid 1 all ports\nXmtData:..........................1099511627781\n";
    CHECK_THAT(ibtool(f.fabric, {"ibdatacounts", "1"}).out, starts_with(sum));
    f.without_all_port_select();
    CHECK_THAT(ibtool(f.fabric, {"ibdatacounts", "1", "255"}).out, starts_with(sum));
  }
  SECTION("the port of a host") { CHECK_THAT(ibtool(f.fabric, {"ibdatacounts", "3"}).out, starts_with("# Port counters: Lid 3 port 1\n")); }
  SECTION("with -v the verdict too") {
    CHECK_THAT(ibtool(f.fabric, {"ibdatacounts", "-v", "1", "2"}).out,
               starts_with("Error check lid 1 (leaf) port 2: # Port counters: Lid 1 port 2\n") && ends_with("\nOK\n"));
  }
  SECTION("one that refuses, or is silent") {
    CHECK(ibtool(f.fabric, {"ibdatacounts", "1", "9"}).status == 3);
    f.pma.service().faults.silent = true;
    const auto silent = ibtool(f.fabric, {"ibdatacounts", "1", "2"});
    CHECK(silent.status == 3);
    CHECK(silent.out.empty());
    CHECK_THAT(silent.err, starts_with("E: ") && contains("No answer from "));
    CHECK(ibtool(f.fabric, {"ibdatacounts", "-v", "1", "2"}).out.empty());
    const json row = json::parse(ibtool(f.fabric, {"ibdatacounts", "--json", "1", "2"}).out)["ports"][0];
    CHECK_THAT(row["error"].get<std::string>(), contains("No answer from "));
    CHECK(row["traffic"].empty());
  }
  SECTION("JSON") {
    const json found = json::parse(ibtool(f.fabric, {"ibdatacounts", "--json", "1", "2"}).out);
    CHECK(found["ports"][0]["port_num"] == 2);
    CHECK(found["ports"][0]["traffic"][0] == json({{"counter", "port_xmit_data"}, {"count", std::uint64_t{1} << 40}}));
  }
}

TEST_CASE("ibcheckerrs: the counters of a port against thresholds") {
  Fabric f;
  f.pma.count(2, "symbol_error_counter") = 10;
  const auto well = ibtool(f.fabric, {"ibcheckerrs", "1", "2"});
  CHECK(well.status == 0);
  CHECK(well.out.empty());
  CHECK(f.pma.asked.size() == 1);
  CHECK(ibtool(f.fabric, {"ibcheckerrs", "-v", "1", "2"}).out == "Error check lid 1 (leaf) port 2: OK\n");
  f.pma.count(2, "symbol_error_counter") = 11;
  const auto bad = ibtool(f.fabric, {"ibcheckerrs", "1", "2"});
  CHECK(bad.status == 1);
  CHECK(bad.out == "Error check lid 1 (leaf) port 2: FAILED\n#warn: symbolErrorCounter is '11', expected less than '10': lid 1 port 2\n");
  CHECK_THAT(ibtool(f.fabric, {"ibcheckerrs", "1"}).out, starts_with("Error check lid 1 (leaf) all ports: FAILED\n"));
  CHECK_THAT(ibtool(f.fabric, {"ibcheckerrs", "-s"}).out, starts_with("VL15Dropped=100\nexcessiveBufferOverrunErrors=10\n"));
  CHECK(ibtool(f.fabric, {"ibcheckerrs"}).status == 2);
  f.pma.service().faults.silent = true;
  const auto silent = ibtool(f.fabric, {"ibcheckerrs", "1", "2"});
  CHECK(silent.status == 3);
  CHECK(silent.out.empty());
  CHECK_THAT(silent.err, starts_with("E: ") && contains("No answer from "));
  CHECK(ibtool(f.fabric, {"ibcheckerrs", "-v", "1", "2"}).out.empty());
  CHECK(json::parse(ibtool(f.fabric, {"ibcheckerrs", "--json", "1", "2"}).out)["checks"].empty());
}

TEST_CASE("ibdatacounters: all ports of the fabric, a row for each switch") {
  Fabric f;
  f.pma.count(2, "port_rcv_pkts") = 3;
  f.pma.count(4, "port_rcv_pkts") = 4;
  f.other_pma.count(1, "port_rcv_pkts") = 5;
  const std::string rows =
      "# Port counters: Lid 1 all ports\nXmtData:..........................0\nRcvData:..........................0\n"
      "XmtPkts:..........................0\nRcvPkts:..........................7\n"
      "# Port counters: Lid 3 port 1\n";
  const std::string summary =
      "RcvPkts:..........................5\n## Summary: 0 nodes checked, 0 bad nodes found\n"
      "##          3 ports checked, 0 ports have errors beyond threshold\n";
  const auto all = ibtool(f.fabric, {"ibdatacounters"});
  CHECK(all.status == 0);
  CHECK_THAT(all.out, contains(rows) && ends_with(summary));
  CHECK(f.pma.asked.size() == 2);
  f.without_all_port_select();
  CHECK_THAT(ibtool(f.fabric, {"ibdatacounters"}).out, contains(rows));
  CHECK_THAT(ibtool(f.fabric, {"ibdatacounters", "-v"}).out, contains("Error check lid 3 (other) port 1: OK\n"));
  f.other_pma.service().faults.silent = true;
  const auto partly = ibtool(f.fabric, {"ibdatacounters"});
  CHECK(partly.status == 4);
  CHECK_THAT(partly.out, contains("Error check lid 3 (other) port 1: not read\n#error: ") && contains("2 ports checked, 0 ports"));
}

TEST_CASE("ibdatacounters and ibdatacounts: ports as rows, sorted by what they counted or how fast they grow") {
  Fabric f;
  f.pma.count(2, "port_rcv_pkts") = 3;
  f.other_pma.count(1, "port_rcv_pkts") = 5;
  const auto all = ibtool(f.fabric, {"ibdatacounters", "--columns", "node_description,port_num,port_rcv_pkts", "--sort=-port_rcv_pkts"});
  CHECK(all.status == 0);
  CHECK(all.out == "NODE   PORT  PortRcvPkts\nother     1            5\nleaf      -            3\nhere      1            0\n");
  CHECK_THAT(ibtool(f.fabric, {"ibdatacounters", "--format", "table"}).out,
             starts_with("NODE ") && contains(" PortXmitData  PortRcvData  "));
  CHECK_THAT(ibtool(f.fabric, {"ibdatacounters", "--format", "csv"}).out, contains(",counter,count\r\n"));
  const auto one = ibtool(f.fabric, {"ibdatacounts", "--columns", "lid,port_num,port_rcv_pkts", "--format", "tsv", "1", "2"});
  CHECK(one.out == "lid\tport_num\tport_rcv_pkts\n1\t2\t3\n");
  f.other_pma.service().faults.silent = true;
  const auto partly = ibtool(f.fabric, {"ibdatacounters", "--columns", "node_description,error,port_rcv_pkts", "--format", "tsv"});
  CHECK(partly.status == 4);
  CHECK_THAT(partly.out, contains("\nother\t") && contains("\t\n"));
  CHECK(ibtool(f.fabric, {"ibdatacounters", "--columns", "port_rcv_pkts_per_second"}).status == 2);
  CHECK_THAT(ibtool(f.fabric, {"ibdatacounters", "--top=1", "--json"}).err, contains("JSON has counters in lists"));
}

TEST_CASE("ibdatacounters --interval: the ports that grow fastest") {
  Fabric f;
  f.grow("port_xmit_data", 100);
  const auto text = ibtool(f.fabric, {"ibdatacounters", "--interval", "2", "--count", "3", "--top", "1",
                                      "--sort=-port_xmit_data_per_second", "--columns", "port_xmit_data,port_xmit_data_per_second"});
  CHECK(text.status == 0);
  CHECK_THAT(text.out, contains("Z\nPortXmitData  XmitData/s\n"));
  CHECK(std::ranges::count(text.out, '\n') == 6);  // the first reading has no rates
  const auto csv =
      ibtool(f.fabric, {"ibdatacounters", "--interval", "2", "--count", "2", "--format", "csv", "--columns", "lid,port_xmit_data"});
  CHECK_THAT(csv.out, contains("lid,port_xmit_data\r\n"));
}

TEST_CASE("ibdatacounters: what is counted from one reading to the next, and nothing is set") {
  Fabric f;
  f.grow("port_xmit_data", 100);
  const auto text = ibtool(f.fabric, {"ibdatacounters", "--interval", "2", "--count", "3"});
  CHECK(text.status == 0);
  CHECK_THAT(text.out, contains("XmtData:..........................300      (+ 50.00"));
  CHECK(f.pma.times(mad::ClassPortInfo::attribute_id) == 1);  // requested once, whatever the number of readings
  for (const FakePma::Asked& one : f.pma.asked) CHECK(one.method == mad::method::get);
  const json found = json::parse(ibtool(f.fabric, {"ibdatacounters", "--interval", "2", "--count", "2", "--json"}).out);
  REQUIRE(found["readings"].size() == 2);
  CHECK(found["readings"][0]["seconds"].is_null());
  CHECK(found["readings"][1]["seconds"] == 2.0);
  const json& counter = found["readings"][1]["ports"][1]["traffic"][0];
  CHECK(counter["delta"] == 100);
  CHECK(counter["per_second"].get<double>() == Approx(50).epsilon(0.001));
  CHECK(ibtool(f.fabric, {"ibdatacounters", "--count", "2"}).status == 2);
  CHECK(ibtool(f.fabric, {"ibdatacounters", "--interval", "0"}).status == 2);
}

namespace {

/// Counters that grow by 100 a second, of a PMA that answers nothing for a while.
struct Growing : Fabric {
  Growing() {
    auto& service = pma.service();
    service.answer = [this, answer = service.answer](unsigned port, Bytes request) {
      const auto value = static_cast<std::uint64_t>(100 * now());
      for (const char* counter : {"port_xmit_data", "symbol_error_counter"}) pma.count(2, counter) = value;
      return answer(port, request);
    };
    service.faults.deaf = [this] { return now() > 2.5 && now() < 5.3; };
  }
  double now() const { return std::chrono::duration<double>(clock.now().time_since_epoch()).count(); }
  json readings(std::vector<std::string> words) {
    words.insert(words.end(), {"--interval", "1", "--count", "8", "--json"});
    return json::parse(ibtool(fabric, std::move(words), {.clock = &clock}).out)["readings"];
  }
  ibtest::FakeClock clock;
};

}  // namespace

TEST_CASE("after a lost reading a rate is over the time between the two readings that are compared") {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"ibdatacounters"}, {"ibqueryerrors", "--counters"}, {"ibqueryerrors"}, {"ibqueryerrors", "--data"}}) {
    Growing f;
    unsigned rates = 0, lost = 0;
    for (const json& reading : f.readings(words)) {
      if (reading["ports"].empty()) ++lost;
      for (const json& port : reading["ports"]) {
        for (const char* list : {"traffic", "errors"}) {
          if (!port.contains(list)) continue;
          for (const json& counter : port[list]) {
            if (!counter.contains("per_second") || counter["per_second"].is_null() || counter["delta"] == 0) continue;
            INFO(words.front() << ' ' << reading.dump(1));
            CHECK(counter["per_second"].get<double>() == Approx(100).epsilon(0.03));  // counts are whole numbers
            ++rates;
          }
        }
      }
    }
    CHECK(rates >= 4);
    CHECK((words.size() == 1 || lost > 0));
  }
}

TEST_CASE("after a stall the next reading is due at the next multiple of the interval; each has the time of day") {
  Growing f;
  const json readings = f.readings({"ibdatacounters"});
  REQUIRE(readings.size() == 8);
  std::set<std::string> times;
  for (const json& reading : readings) {
    if (!reading["seconds"].is_null()) {
      const double seconds = reading["seconds"];
      CHECK(seconds >= 0.999);
      CHECK(seconds == Approx(std::round(seconds)).margin(0.001));
    }
    const std::string time = reading["time"];
    CHECK_THAT(time, starts_with("2001-09-09T01:46:") && ends_with("Z"));
    CHECK(time.size() == std::string("2001-09-09T01:46:40.000Z").size());
    times.insert(time);
  }
  CHECK(times.size() == readings.size());
}

TEST_CASE("ibclearcounters and ibclearerrors: counters of all ports back to zero") {
  Fabric f;
  for (FakePma* pma : {&f.pma, &f.here_pma, &f.other_pma}) {
    pma->count(1, "symbol_error_counter") = 5;
    pma->count(1, "port_xmit_data") = 6;
  }
  const auto shown = [&](const std::string& lid) {
    const json found = json::parse(ibtool(f.fabric, {"perfquery", "--json", lid, "1"}).out);
    const json& data = found["ports"][0]["data"];
    return std::pair{data["symbol_error_counter"].get<int>(), data["port_xmit_data"].get<int>()};
  };
  const std::string done = "## Summary: 0 nodes checked, 0 bad nodes found\n##          3 port counters cleared.\n";
  SECTION("errors only") {
    const auto outcome = ibtool(f.fabric, {"ibclearerrors", "--yes"});
    CHECK(outcome.out == done);
    CHECK(shown("1") == std::pair{0, 6});
    CHECK(shown("3") == std::pair{0, 6});
  }
  SECTION("all") {
    CHECK_THAT(ibtool(f.fabric, {"ibclearcounters", "--yes", "-v"}).out,
               contains("Clear counters lid 1 (leaf, 0000:0000:0000:0100) all ports: OK\n") &&
                   contains("Clear counters lid 3 (other, 0000:0000:0000:0300) port 1: OK\n"));
    CHECK(shown("1") == std::pair{0, 0});
  }
  SECTION("one that is silent") {
    f.pma.service().faults.silent = true;
    const auto outcome = ibtool(f.fabric, {"ibclearcounters", "--yes", "--json"});
    CHECK(outcome.status == 4);
    const json found = json::parse(outcome.out);
    CHECK(found["unreachable"].size() == 1);
    for (const json& port : found["ports"]) CHECK(port["cleared"] == (port["node_description"] != "leaf"));
  }
}

TEST_CASE("ibswportwatch: counters and how fast they grow") {
  Fabric f;
  f.grow("port_xmit_pkts", 10);
  const auto watched = ibtool(f.fabric, {"ibswportwatch", "-n", "2", "-p", "0.5", "1", "2"});
  CHECK(watched.status == 0);
  CHECK_THAT(watched.out, starts_with("# Port counters: Lid 1 (fe80::100) port 2\nSymbolErrorCounter...............0\n") &&
                              contains("PortXmitPkts.....................10\n") &&
                              contains("PortXmitPkts.....................20       (+ 20.000/s)\n"));
  const auto above = ibtool(f.fabric, {"ibswportwatch", "-n", "2", "-t", "1", "2"});
  CHECK(above.out == "# Port counters: Lid 1 (fe80::100) port 2\n# Port counters: Lid 1 (fe80::100) port 2\n");
  f.grow("port_xmit_pkts", ~std::uint64_t{0} - 19);  // less than before, and then less than zero
  for (const auto& [first, change] : {std::pair{1000U, " (reset)\n"}, {0U, " (implausible)\n"}}) {
    f.pma.count(2, "port_xmit_pkts") = first;
    CHECK_THAT(ibtool(f.fabric, {"ibswportwatch", "-x", "-n", "2", "1", "2"}).out, contains(change));
  }
  CHECK(ibtool(f.fabric, {"ibswportwatch", "-n", "0", "1"}).status == 2);
  CHECK(ibtool(f.fabric, {"ibswportwatch", "-p", "x", "1"}).status == 2);
  CHECK(ibtool(f.fabric, {"ibswportwatch", "-T", "/nonexistent", "-t", "-n", "1", "1"}).status == 2);
}

TEST_CASE("perfquery --interval: any attribute again and again, as text or lines of JSON") {
  Fabric f;
  f.grow("port_vl_xmit_wait", 1);
  const auto text = ibtool(f.fabric, {"perfquery", "--vl-xmit-wait", "--interval", "1", "--count", "2", "1", "2"});
  CHECK_THAT(text.out, contains("PortVLXmitWait[0]................2        (+ 1.000/s)\nPortVLXmitWait[1]................0\n"));
  const json found = json::parse(ibtool(f.fabric, {"perfquery", "-l", "--interval", "1", "--count", "2", "1", "--json"}).out);
  CHECK(found["readings"][1]["ports"].size() == 4);
  CHECK(found["readings"][1]["attribute"] == "PMPortCounters");
  CHECK(found["readings"][1]["ports"][0]["counters"][0] == json({{"counter", "symbol_error_counter"},
                                                                 {"index", nullptr},
                                                                 {"count", 0},
                                                                 {"change", "counted"},
                                                                 {"delta", 0},
                                                                 {"per_second", 0.0}}));
  // Details, which a row holds, and the counters by lane, which none holds.
  for (const auto& attribute : {std::pair{"-E", "port_malformed_packet_errors"}, {"-T", "error_detection_counter_lane"}}) {
    f.grow(attribute.second, 3);
    const json grown =
        json::parse(ibtool(f.fabric, {"perfquery", attribute.first, "--interval", "2", "--count", "2", "1", "2", "--json"}).out);
    const json& counters = grown["readings"][1]["ports"][0]["counters"];
    const auto one = std::ranges::find_if(counters, [&](const json& of) { return of["counter"] == attribute.second; });
    REQUIRE(one != counters.end());
    CHECK((*one)["delta"] == 3);
    CHECK((*one)["per_second"].get<double>() == Approx(1.5).epsilon(0.001));
  }
  CHECK(ibtool(f.fabric, {"perfquery", "-r", "--interval", "1", "1"}).status == 2);
  CHECK(ibtool(f.fabric, {"perfquery", "--count", "1", "1"}).status == 2);
}

TEST_CASE("perfquery --interval and ibswportwatch report a reading that fails, and go on") {
  Fabric f;
  f.grow("symbol_error_counter", 5);
  unsigned answers = 0;
  f.fabric.network.tamper = [&](Bytes request, std::optional<FakeFabric::Answer> answer) {
    std::vector<FakeFabric::Answer> all;
    const bool is_second = answer && load_be<std::uint16_t>(&request[16]) == pm::PortCounters::attribute_id && ++answers == 2;
    if (is_second) answer->at(2) = 7;  // an impossible class version
    if (answer) all.push_back(std::move(*answer));
    return all;
  };
  const auto text = ibtool(f.fabric, {"perfquery", "--interval", "10", "--count", "4", "1", "2"});
  CHECK(text.status == 4);
  CHECK_THAT(text.err, contains("E: ") && contains("Invalid reply: class version is 0x7, expected 0x1"));
  std::size_t readings = 0;
  for (std::size_t at = text.out.find("# Port counters"); at != std::string::npos; at = text.out.find("# Port counters", at + 1))
    ++readings;
  CHECK(readings == 3);
  CHECK_THAT(text.out, contains(" (+ 0.500/s)\n"));  // between the third and the fourth reading
  CHECK_THAT(text.out, !contains(" (+ 0.250/s)\n"));

  answers = 0;
  const auto watched = ibtool(f.fabric, {"ibswportwatch", "-n", "4", "1", "2"});
  CHECK(watched.status == 4);
  CHECK_THAT(watched.out, contains(" (+ 5.000/s)\n"));
  answers = 0;
  const json found = json::parse(ibtool(f.fabric, {"perfquery", "--interval", "10", "--count", "4", "1", "2", "--json"}).out);
  REQUIRE(found["readings"].size() == 4);
  CHECK(found["readings"][1]["ports"].empty());
  CHECK(found["readings"][2]["ports"].size() == 1);
}

TEST_CASE("a date and time of day is text in UTC") {
  using namespace std::chrono_literals;
  using Time = std::chrono::system_clock::time_point;
  CHECK(tools::utc_text(Time{}) == "1970-01-01T00:00:00.000Z");
  CHECK(tools::utc_text(Time(1'000'000'000s)) == "2001-09-09T01:46:40.000Z");
  CHECK(tools::utc_text(Time(951'782'400s + 1'999us)) == "2000-02-29T00:00:00.001Z");
  CHECK(tools::utc_text(Time(-1ms)) == "1969-12-31T23:59:59.999Z");
}

}  // namespace tools_port_counters_tests
