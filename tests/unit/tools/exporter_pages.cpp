// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What the exporter makes of requests, and its page for people with hostile names in it.
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "health/input.hpp"
#include "support/catch.hpp"
#include "tools/exporter/engine.hpp"
#include "unit/metrics/made_view.hpp"

namespace tools_exporter_pages_tests {

using namespace ib;
using ibtest::contains;
using tools::exporter::prefers_openmetrics;

namespace {

using Query = std::vector<std::pair<std::string, std::string>>;

metrics::PagePart wanted(const Query& query) { return tools::exporter::part_of({"/metrics", query, ""}); }

std::string complaint(const Query& query) {
  try {
    wanted(query);
    return "";
  } catch (const UsageError& error) {
    return error.message();
  }
}

}  // namespace

TEST_CASE("Exporter: shards and collectors of a request") {
  CHECK(wanted({}).shards == 1);
  CHECK(wanted({}).selected == metrics::select_all);
  const metrics::PagePart third = wanted({{"num_shards", "3"}, {"shard", "2"}});
  CHECK(third.shards == 3);
  CHECK(third.shard == 2);
  CHECK(wanted({{"collect[]", "switch"}}).selected == metrics::select_switch);
  CHECK(wanted({{"collect[]", "errors"}, {"collect[]", "hca"}}).selected == (metrics::select_errors | metrics::select_hca));
}

TEST_CASE("Exporter: a request that makes no sense gets the reason") {
  CHECK_THAT(complaint({{"num_shards", "3"}, {"shard", "3"}}), contains("shard: '3' is not a number from 0 to 2"));
  CHECK_THAT(complaint({{"num_shards", "0"}, {"shard", "0"}}), contains("num_shards"));
  CHECK_THAT(complaint({{"num_shards", "1e3"}, {"shard", "0"}}), contains("num_shards"));
  CHECK_THAT(complaint({{"shard", "0"}}), contains("shard needs num_shards"));
  CHECK_THAT(complaint({{"num_shards", "2"}}), contains("num_shards needs shard"));
  CHECK_THAT(complaint({{"collect[]", "fans"}}), contains("'fans' is none of switch, hca, errors and data"));
  CHECK_THAT(complaint({{"colect[]", "hca"}}), contains("There is no parameter 'colect[]'"));
  CHECK_THAT(complaint({{"\x1b[2J", "x"}}), !contains("\x1b"));
}

TEST_CASE("Exporter: OpenMetrics for clients that prefer it") {
  // What Prometheus 2.42, curl and a browser send.
  CHECK(
      prefers_openmetrics("application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
                          "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"));
  CHECK(prefers_openmetrics("Application/OpenMetrics-Text; Q=0.8, TEXT/PLAIN;q=0.5"));
  CHECK_FALSE(prefers_openmetrics("application/openmetrics-text;q=0.5, text/*;q=0.8"));
  CHECK_FALSE(prefers_openmetrics("application/openmetrics-text;q=0.5, */*"));
  CHECK(prefers_openmetrics("application/openmetrics-text;q=0.5, text/plain;q=0.1, */*"));
  CHECK_FALSE(prefers_openmetrics("*/*"));
  CHECK_FALSE(prefers_openmetrics("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"));
  CHECK_FALSE(prefers_openmetrics(""));
  CHECK_FALSE(prefers_openmetrics("text/plain, application/openmetrics-text;q=0.5"));
  CHECK_FALSE(prefers_openmetrics("application/openmetrics-text;q=0"));
}

TEST_CASE("Exporter: hostile names do no harm on the HTML page") {
  ibtest::FakeFabric fabric = ibtest::FakeFabric::fat_tree(2, 1, 2);
  const std::string name = "<script>alert('1')</script>&\"\x1b[2J\xff";
  std::ranges::copy(name, fabric.node(1).description.begin());
  fabric.node(1).description[name.size()] = 0;
  const ibtest::MadeView made(fabric);
  for (auto& reading : std::span(made.reading->devices).first(made.fabric->switch_count))
    reading.outcome = metrics::DeviceReading::Outcome::silent;
  const std::string page = tools::exporter::front_page(made.view(), made.reading->time + std::chrono::seconds(90));
  CHECK_THAT(page, contains("&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;&quot;"));
  CHECK_THAT(page, !contains("<script") && !contains("\x1b") && !contains("\xff"));
  CHECK_THAT(page, contains("not read: 3") && contains("(90 s ago"));
  CHECK_THAT(page, !contains("http://") && !contains("https://") && !contains("src="));
  metrics::View empty;
  CHECK_THAT(tools::exporter::front_page(empty, {}), contains("was not read yet"));
}

namespace {

/// A view with findings: all that was counted since a reading before in which all was zero.
metrics::View sick(const ibtest::MadeView& made) {
  auto before = std::make_shared<metrics::Reading>(*made.reading);
  for (counters::CounterRow& row : before->rows) {
    row.counters.fill(0);
    row.error_time -= std::chrono::seconds(30);
  }
  metrics::View view = made.view();
  view.findings = tools::exporter::find(before.get(), *made.reading, nullptr);
  return view;
}

std::size_t times(const std::string& text, std::string_view word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("Exporter: the page for people says what is wrong with which cable, and marks it in the picture") {
  ibtest::FakeFabric fabric = ibtest::FakeFabric::fat_tree(2, 1, 2);
  const ibtest::MadeView made(fabric);
  const metrics::View view = sick(made);
  REQUIRE(std::ranges::count(view.findings->list, 2, &metrics::Findings::Row::level) > 0);
  const std::string page = tools::exporter::front_page(view, made.reading->time);
  CHECK_THAT(page, contains("class=\"verdict error\"") && contains(" errors") && contains("; watched 30 s.<"));
  CHECK_THAT(page, contains("&#39;leaf0&#39;") && contains("SymbolErrorCounter +"));
  CHECK(times(page, "<svg") == 1);
  CHECK(times(page, "<circle") == 3);
  CHECK(times(page, "<title>") == 4);
  CHECK_THAT(page, contains(">2 switches</text>") && contains(">1 switches</text>"));
  CHECK(times(page, "<path class=\"error\"") == 2 + 2);  // two links to the spine, and a stub below each leaf
  CHECK_THAT(page, contains("Content-Security-Policy") && contains("default-src 'none'"));
}

TEST_CASE("Exporter: a fabric without findings is good, and one without a second reading says so") {
  ibtest::FakeFabric fabric = ibtest::FakeFabric::fat_tree(2, 1, 2);
  const ibtest::MadeView made(fabric);
  metrics::View view = made.view();
  view.findings = tools::exporter::find(nullptr, *made.reading, nullptr);
  CHECK_THAT(tools::exporter::front_page(view, made.reading->time), contains("verdict warning") &&
                                                                        contains("Not known, because not everything was read: ") &&
                                                                        contains("counters were read once.<"));
  auto before = std::make_shared<metrics::Reading>(*made.reading);
  for (counters::CounterRow& row : before->rows) row.error_time -= std::chrono::seconds(30);
  view.findings = tools::exporter::find(before.get(), *made.reading, nullptr);
  CHECK_THAT(tools::exporter::front_page(view, made.reading->time),
             contains("verdict good\">Healthy: nothing found on 4 hosts, 3 switches, 6 cables; watched 30 s.<"));
  // A device that is silent is no part of a healthy fabric.
  made.reading->devices.front().outcome = metrics::DeviceReading::Outcome::silent;
  view.findings = tools::exporter::find(before.get(), *made.reading, nullptr);
  CHECK_THAT(tools::exporter::front_page(view, made.reading->time),
             contains("verdict warning") && contains("Not known, ") && contains("; counters of "));
}

TEST_CASE("Exporter: a silent subnet manager, and a silent SA, are findings; a manager out of sight is not known") {
  ibtest::FakeFabric fabric = ibtest::FakeFabric::fat_tree(2, 1, 2);
  const ibtest::MadeView made(fabric);
  const auto errors = [&made](const subnet::SurveyedManagers& managers, std::string_view check) -> std::optional<std::uint32_t> {
    const auto found = tools::exporter::find(nullptr, *made.reading, &managers);
    const auto at = std::ranges::find(found->checks, check, &metrics::Findings::Counts::check);
    return at == found->checks.end() ? std::nullopt : std::optional(at->counts.at(2));
  };
  const subnet::PortIndex at = ib::health::own_sm_port(made.fabric->subnet);
  REQUIRE(at != subnet::none);
  subnet::SurveyedManagers master;
  master.rows = {{.port = at, .value = smp::SMInfo{.sm_state = smp::SMState::master}}};
  CHECK(errors(master, "sm-none") == 0U);
  CHECK(errors(master, "sa-silent") == 0U);
  made.fabric->is_sa_silent = true;
  CHECK(errors(master, "sa-silent") == 1U);
  subnet::SurveyedManagers silent;
  silent.rows = {{.port = at, .value = {}, .failure = 0}};
  silent.failures = {{.kind = subnet::Failure::Kind::no_answer, .attribute = {}, .why = {}, .error = {}}};
  CHECK(errors(silent, "sm-silent") == 1U);
  CHECK(errors(silent, "sm-none") == 0U);
  subnet::SurveyedManagers refused = silent;
  refused.failures.front().kind = subnet::Failure::Kind::refused;
  CHECK(errors(refused, "sm-none") == 1U);  // without IsSM it has ended
  smp::PortInfo info = made.fabric->subnet.port(at).info();
  info.capability_mask |= smp::capability_mask::is_sm;
  made.fabric->subnet.set_port_info(at, wire::packed(info));
  CHECK_FALSE(errors(refused, "sm-none"));
  CHECK(errors({}, "sm-none") == 1U);
  ibtest::FakeFabric other = ibtest::FakeFabric::fat_tree(2, 1, 2);
  for (ibtest::FakeFabric::NodeId node = 0; node < other.size(); ++node) {
    for (ibtest::FakeFabric::Port& port : other.node(node).ports) port.info.master_sm_lid = Lid{77};
  }
  const ibtest::MadeView out_of_sight(other);
  const auto found = tools::exporter::find(nullptr, *out_of_sight.reading, std::make_unique<subnet::SurveyedManagers>().get());
  CHECK(std::ranges::find(found->checks, "sm-none", &metrics::Findings::Counts::check) == found->checks.end());
}

TEST_CASE("Exporter: the page for people is bounded in size, however large the fabric and however long its names") {
  ibtest::FakeFabric fabric = ibtest::FakeFabric::fat_tree(120, 60, 2);
  for (ibtest::FakeFabric::NodeId node = 0; node < fabric.size(); ++node) fabric.node(node).description.fill('<');
  ibtest::MadeView made(fabric);
  for (auto& reading : std::span(made.reading->devices).first(made.fabric->switch_count))
    reading.outcome = metrics::DeviceReading::Outcome::silent;
  const metrics::View view = sick(made);
  REQUIRE(view.findings->list.size() > 1000);
  const std::string page = tools::exporter::front_page(view, made.reading->time);
  CHECK(page.size() < 400'000);
  CHECK(times(page, "<circle") == 40 + 30);
  CHECK_THAT(page, contains("more\n"));
}

namespace {

/// Checks that no sample of the page is there twice.
void check_series(const metrics::View& view) {
  const metrics::PageRules rules({.hcas = true}, {});
  metrics::Page page(rules, view, {});
  std::set<std::string> series;
  std::string text;
  page.next(text, 1U << 22U);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with('#')) CHECK(series.insert(line.substr(0, line.rfind(' '))).second);
  }
  CHECK(times(text, "infiniband_health_finding_info{") == view.findings->list.size());
}

}  // namespace

TEST_CASE("Exporter: nodes that claim one GUID make no sample twice") {
  ibtest::FakeFabric fabric = ibtest::FakeFabric::fat_tree(2, 1, 2);
  fabric.node(3).info.node_guid = fabric.node(2).info.node_guid;
  fabric.node(3).info.port_guid = fabric.node(2).info.port_guid;
  const ibtest::MadeView made(fabric);
  check_series(sick(made));
}

TEST_CASE("Exporter: three adapters with one port GUID and one name make no sample twice") {
  ibtest::FakeFabric fabric = ibtest::FakeFabric::fat_tree(2, 1, 2);
  for (const ibtest::FakeFabric::NodeId host : {3U, 5U, 6U}) {
    constexpr std::size_t port_guid = 64 + 20;  // PortGUID in the SMP with NodeInfo
    fabric.node(host).description = {'n'};
    fabric.node(host).faults.lie = [](ibtest::FakeFabric::Answer& answer) {
      if (load_be<std::uint16_t>(&answer[16]) == smp::NodeInfo::attribute_id) store_be(&answer[port_guid], std::uint64_t{0x777});
    };
  }
  const ibtest::MadeView made(fabric);
  REQUIRE(made.fabric->twins.size() == 2);
  const metrics::View view = sick(made);
  CHECK(std::ranges::count(view.findings->list, std::string_view("duplicate-guid"), &metrics::Findings::Row::check) == 1);
  check_series(view);
}

}  // namespace tools_exporter_pages_tests
