// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibtool export openmetrics: snapshots of a fabric in memory as history.
#include <fmt/format.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "snapshot/snapshot.hpp"
#include "support/catch.hpp"
#include "support/counting_fabric.hpp"
#include "support/program.hpp"
#include "support/temporary_directory.hpp"

namespace tools_export_tests {

using namespace ib;
using ibtest::contains;
using ibtest::ibtool;
using ibtest::Outcome;

namespace {

struct Bench : ibtest::CountingFabric {
  /// Takes a snapshot and returns its name and its time as the page has it.
  std::pair<std::string, std::string> take(const std::string& name, std::vector<std::string> words = {}) {
    std::string file = directory.file(name);
    words.insert(words.begin(), {"snapshot", file});
    ibtool(fabric, std::move(words));
    const std::int64_t ended = snapshot::Snapshot(file).number("ended").value();
    while (std::chrono::system_clock::now().time_since_epoch() <= std::chrono::milliseconds(ended + 1)) std::this_thread::yield();
    return {file, fmt::format("{}.{:03}", ended / 1000, ended % 1000)};
  }
  Outcome run(std::vector<std::string> words) {
    words.insert(words.begin(), {"export", "openmetrics"});
    return ibtool(fabric, std::move(words));
  }

  ibtest::TemporaryDirectory directory;
};

const std::string symbols = "infiniband_switch_port_symbol_error_total{guid=\"0x0000000000000100\",port=\"3\"}";

}  // namespace

TEST_CASE_METHOD(Bench, "export: the samples of a series stand together, by their times") {
  pma.count(3, "symbol_error_counter") = 7;
  const auto [first, begun] = take("first");
  pma.count(3, "symbol_error_counter") = 9;
  const auto [second, ended] = take("second");
  const Outcome outcome = run({"--timestamps", second, first});
  CHECK(outcome.err.empty());
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.out, contains(fmt::format("\n{0} 7 {1}\n{0} 9 {2}\n", symbols, begun, ended)));
  CHECK_THAT(outcome.out, contains("# TYPE infiniband_switch_port_symbol_error counter\n") && ibtest::ends_with("\n# EOF\n"));
  CHECK_THAT(outcome.out, !contains("infiniband_exporter_") && !contains("_collect_") && !contains("infiniband_hca_"));
  CHECK_THAT(run({"--timestamps", "--hcas", first}).out, contains("infiniband_hca_uplink_info{"));
  CHECK_THAT(run({first}).out, contains("\n" + symbols + " 7\n"));
}

TEST_CASE_METHOD(Bench, "export: labels of the user's, so that history has the series of a job that scrapes") {
  pma.count(3, "symbol_error_counter") = 7;
  const auto [file, time] = take("now");
  const Outcome outcome = run({"--label", "job=ib", "--label", "instance=mgmt1:9315", "--label", "job=infiniband", file});
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.out, contains("infiniband_switch_port_symbol_error_total{instance=\"mgmt1:9315\",job=\"infiniband\","
                                   "guid=\"0x0000000000000100\",port=\"3\"} 7\n"));
  const Outcome ours = run({"--label", "guid=1", file});
  CHECK(ours.status == 2);
  CHECK_THAT(ours.err, contains("--label: samples have a label guid already"));
  CHECK(run({"--label", "no name=1", file}).status == 2);
}

TEST_CASE_METHOD(Bench, "export: what cannot be exported") {
  const auto [file, time] = take("now");
  const auto [bare, later] = take("bare", {"--skip", "counters"});
  CHECK_THAT(run({file, file}).err, contains("need --timestamps"));
  CHECK_THAT(run({"--timestamps", file, file}).err, contains("are of the same time"));
  CHECK_THAT(run({bare}).err, contains("has no counters"));
  CHECK(run({"/nowhere/a"}).status == 2);
  const Outcome format = ibtool(fabric, {"export", "csv", file});
  CHECK(format.status == 2);
  CHECK_THAT(format.err, contains("'csv' is not openmetrics"));
}

}  // namespace tools_export_tests
