// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Prints a page of metrics of a fabric in memory, in which every family has samples and nodes have names that would spoil a page:
// `made-page [guilbaults] [hcas] [details] [runonce] [openmetrics]`. For test_pages.py.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <set>
#include <string>
#include <string_view>

#include "programs/programs.hpp"
#include "unit/metrics/made_view.hpp"

namespace ibtest::programs::made_page {

using namespace ib;

using namespace std::string_view_literals;

namespace {

constexpr std::array hostile_names{
    "back\\slash at the end\\"sv,
    "\"quoted\" and 'quoted'"sv,
    "two\nlines\r\nand a CR"sv,
    "\xff\xfe\x80 no UTF-8 \xc3"sv,
    "},port=\"1\"} 7\n# EOF\n# TYPE"sv,
    "  blanks at both ends  "sv,
    "\x1b[31mred\x1b[0m\tand a tab"sv,
    ""sv,
    "Ünïcødé \xe2\x80\xa8 \xf0\x9f\x98\x80"sv,
};

void name_nodes(ibtest::FakeFabric& fabric) {
  for (ibtest::FakeFabric::NodeId node = 0; node < std::min(fabric.size(), hostile_names.size()); ++node) {
    auto& description = fabric.node(node).description;
    description.fill(0);
    std::ranges::copy(hostile_names[node], description.begin());
  }
}

/// Fills what a sweep of a fabric in health leaves empty, and makes one counter as large as it can be.
void fill(ibtest::MadeView& made) {
  metrics::SweptFabric& fabric = *made.fabric;
  fabric.twins = {fabric.switches().front().guid, fabric.switches().front().guid};
  fabric.gone.push_back({true, Guid{0x99}, "gone \"switch\"\\", fabric.time});
  fabric.gone.push_back({false, Guid{0x98}, "gone\nhca", fabric.time});
  made.reading->rows.back().counters.fill(std::numeric_limits<std::uint64_t>::max());
}

}  // namespace

int run(int argc, char** argv) {
  const std::set<std::string_view> words(argv + 1, argv + argc);
  ibtest::FakeFabric fabric = ibtest::FakeFabric::fat_tree(3, 2, 4);
  name_nodes(fabric);
  ibtest::MadeView made(fabric);
  fill(made);
  metrics::View view = made.view();
  subnet::SurveyedManagers managers;
  auto& manager = managers.rows.emplace_back();
  manager.port = made.fabric->hcas().front().port;
  smp::SMInfo& info = manager.value.emplace();
  info.sm_state = smp::SMState::master;
  info.priority = 14;
  view.managers = std::make_shared<subnet::SurveyedManagers>(managers);
  if (words.contains("runonce")) view.exporter.last_execution = made.fabric->time;
  metrics::Exported exported{.hcas = words.contains("hcas"), .details = words.contains("details"), .run_once = words.contains("runonce")};
  if (words.contains("guilbaults")) exported.names = metrics::Names::guilbaults;
  if (!exported.hcas) made.reading->devices.resize(made.fabric->switch_count);
  const metrics::PageRules rules(exported, metrics::constant_labels({{"host", "a\\b\"c\nd"}}));
  metrics::Page page(rules, view, {.format = words.contains("openmetrics") ? metrics::Format::openmetrics : metrics::Format::text});
  for (std::string text; page.next(text, 4096);) std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace ibtest::programs::made_page
