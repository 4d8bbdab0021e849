// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Pages: made in pieces, in shards, by selection; and fabrics that would spoil them.
#include "metrics/families.hpp"

#include <algorithm>
#include <set>

#include "support/catch.hpp"
#include "unit/metrics/made_view.hpp"

namespace metrics_page_tests {

using namespace ib;
using ibtest::FakeFabric;
using ibtest::MadeView;

namespace {

std::vector<std::string> sample_lines(const std::string& page) {
  std::vector<std::string> lines;
  std::istringstream in(page);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with('#')) lines.push_back(line);
  }
  std::ranges::sort(lines);
  return lines;
}

const metrics::PageRules all({.hcas = true, .details = true}, metrics::constant_labels({{"fabric", "x"}}));

}  // namespace

TEST_CASE("Page: pieces of any size make the same page, and are not much longer than wanted") {
  FakeFabric fabric = FakeFabric::fat_tree(3, 2, 4);
  const MadeView made(fabric);
  const std::string whole = made.page(all, {}, std::size_t{1} << 30);
  for (const std::size_t piece : {1, 100, 4096}) CHECK(made.page(all, {}, piece) == whole);
  metrics::Page page(all, made.view(), {});
  for (std::string text; page.next(text, 4096);) CHECK(text.size() < 4096 + 8 * 300);  // one switch of eight ports more
}

TEST_CASE("Page: families stand in one piece, no sample twice, and each has its comments") {
  FakeFabric fabric = FakeFabric::fat_tree(3, 2, 4);
  const MadeView made(fabric);
  for (const auto names : {metrics::Names::treydock, metrics::Names::guilbaults}) {
    const std::string page = made.page(metrics::PageRules({.names = names, .hcas = true, .details = true}, {}));
    std::set<std::string> ended, lines;
    std::string family;
    std::istringstream in(page);
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("# HELP ")) {
        family = line.substr(7, line.find(' ', 7) - 7);
        CHECK(ended.insert(family).second);
      } else if (!line.starts_with('#')) {
        CHECK(line.substr(0, line.find_first_of("{ ")) == family);
        CHECK(lines.insert(line.substr(0, line.rfind(' '))).second);
      }
    }
    CHECK(lines.size() > 1000);
  }
}

TEST_CASE("Page: shards together are the page, each GUID in one of them") {
  FakeFabric fabric = FakeFabric::fat_tree(4, 3, 5);
  const MadeView made(fabric);
  const std::vector<std::string> whole = sample_lines(made.page(all));
  for (const std::uint32_t shards : {1U, 2U, 3U, 7U}) {
    std::vector<std::string> together;
    for (std::uint32_t shard = 0; shard < shards; ++shard) {
      const auto lines = sample_lines(made.page(all, {.shards = shards, .shard = shard}));
      CHECK(lines.size() < whole.size() + (shards == 1 ? 1 : 0));
      together.insert(together.end(), lines.begin(), lines.end());
    }
    std::ranges::sort(together);
    CHECK(together == whole);
  }
}

TEST_CASE("Page: the shard of a GUID does not change from version to version, and shards are about equal") {
  CHECK(metrics::is_in_shard(Guid{0xb8599f0300a00030}, 3, 2));
  CHECK(metrics::is_in_shard(Guid{0x506b4b0300100031}, 3, 2));
  std::array<unsigned, 4> sizes{};
  for (std::uint64_t node = 0; node < 4000; ++node) {
    for (std::uint32_t shard = 0; shard < sizes.size(); ++shard)
      sizes.at(shard) += metrics::is_in_shard(Guid{0x506b4b0300100000 + 16 * node}, 4, shard);
  }
  for (const unsigned size : sizes) CHECK((size > 900 && size < 1100));
}

TEST_CASE("Page: a selection has the families of each collector that it names") {
  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 2);
  const MadeView made(fabric);
  const auto page = [&](std::uint8_t selected) { return made.page(all, {.selected = selected}); };
  const std::string errors = page(metrics::select_errors), data = page(metrics::select_data);
  CHECK_THAT(errors, ibtest::contains("infiniband_hca_port_symbol_error_total{"));
  CHECK_THAT(errors, !ibtest::contains("transmit_data_bytes") && !ibtest::contains("uplink_info"));
  CHECK_THAT(data, ibtest::contains("infiniband_switch_port_transmit_packets_total{"));
  CHECK_THAT(data, !ibtest::contains("symbol_error"));
  CHECK_THAT(page(metrics::select_switch), ibtest::contains("infiniband_switch_uplink_info{") && !ibtest::contains("infiniband_hca_"));
  CHECK_THAT(page(metrics::select_hca), ibtest::contains("infiniband_hca_uplink_info{") && !ibtest::contains("infiniband_switch_"));
  CHECK(sample_lines(page(metrics::select_switch | metrics::select_hca)) == sample_lines(page(metrics::select_all)));
  for (const std::string& one : {errors, data}) CHECK_THAT(one, ibtest::contains("infiniband_exporter_reading_timestamp_seconds"));
}

TEST_CASE("Page: of two devices with one GUID one is on the page, and the other is reported") {
  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 2);
  const auto twin = fabric.add_ca(0x100000, 1, "twin");  // the GUID of host0
  const auto extra = fabric.add_switch(0x7000, 4, "extra");
  fabric.link(0, 1, 1, 3);
  fabric.link(extra, 2, twin, 1);
  fabric.node(1).ports.resize(5);
  fabric.node(1).info.num_ports = 4;
  fabric.link(1, 4, extra, 1);
  fabric.assign_lids();
  const MadeView made(fabric);
  REQUIRE(made.fabric->twins.size() == 1);
  const std::string page = made.page(metrics::PageRules({.hcas = true}, {}));
  const auto lines = sample_lines(page);
  std::set<std::string> series;
  for (const std::string& line : lines) CHECK(series.insert(line.substr(0, line.rfind(' '))).second);
  CHECK_THAT(page, ibtest::contains("infiniband_duplicate_guid{guid=\"0x0000000000100001\"} 1\n"));
}

TEST_CASE("Page: GUIDs that switches and hosts claim twice are each on the page once, and the same device has it in each sweep") {
  const auto made_fabric = [](bool is_turned) {
    FakeFabric fabric = FakeFabric::fat_tree(2, 1, 2);
    const auto extra = fabric.add_switch(0x7000, 8, "extra");
    fabric.node(1).ports.resize(5);
    fabric.node(1).info.num_ports = 4;
    fabric.link(1, 4, extra, 1);
    fabric.link(extra, is_turned ? 3 : 2, fabric.add_ca(0x100000, 1, "twin"), 1);
    for (const std::uint64_t guid : {0x100001U, 0x200000U}) {
      for (const unsigned number : {0U, 1U}) {
        const auto twin = fabric.add_switch(guid, 2, number == 0 ? "switch a" : "switch b");
        const unsigned place = (guid == 0x200000U ? 4U : 6U) + number;
        fabric.link(extra, is_turned ? place ^ 1U : place, twin, 1);
      }
    }
    fabric.assign_lids();
    return fabric;
  };
  for (const bool is_turned : {false, true}) {
    FakeFabric fabric = made_fabric(is_turned);
    fabric.attach(2);
    const MadeView made(fabric);
    CHECK(made.fabric->twins == std::vector{Guid{0x100001}, Guid{0x100001}, Guid{0x200000}});
    CHECK(made.fabric->has_twins(Guid{0x200000}));
    CHECK_FALSE(made.fabric->has_twins(Guid{0x7000}));
    const std::string page = made.page(metrics::PageRules({.hcas = true}, {}));
    std::set<std::string> series;
    for (const std::string& line : sample_lines(page)) CHECK(series.insert(line.substr(0, line.rfind(' '))).second);
    CHECK_THAT(page, ibtest::contains("infiniband_duplicate_guid{guid=\"0x0000000000100001\"} 1\n"));
    CHECK_THAT(page, ibtest::contains("switch=\"switch a\"") && !ibtest::contains("switch=\"switch b\""));
  }
}

TEST_CASE("Page: hostile names are one line of UTF-8") {
  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 2);
  std::string name = "evil\"} 1\nfake_metric{a=\"\\\xff\xc3";
  std::ranges::copy(name, fabric.node(1).description.begin());
  fabric.node(1).description[name.size()] = 0;
  const MadeView made(fabric);
  const std::string page = made.page(all);
  CHECK_THAT(page, ibtest::contains("switch=\"evil\\\"} 1\\nfake_metric{a=\\\"\\\\\xef\xbf\xbd\xef\xbf\xbd\""));
  CHECK_THAT(page, !ibtest::contains("\nfake_metric"));
}

TEST_CASE("Page: without a reading it is only about the exporter") {
  metrics::View view;
  view.exporter.version = "1";
  view.exporter.is_last_round_lost = true;
  metrics::Page page(all, view, {});
  std::string text, whole;
  while (page.next(text, 100)) whole += text;
  CHECK_THAT(whole, ibtest::contains("infiniband_exporter_collect_errors{fabric=\"x\",collector=\"ibnetdiscover\"} 1\n"));
  CHECK_THAT(whole, !ibtest::contains("infiniband_switch") && !ibtest::contains("timestamp"));
}

}  // namespace metrics_page_tests
