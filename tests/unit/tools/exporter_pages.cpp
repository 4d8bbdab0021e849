// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What the exporter makes of requests, and its page for people with hostile names in it.
#include <string>
#include <vector>

#include "base/error.hpp"
#include "support/catch.hpp"
#include "tools/exporter/pages.hpp"
#include "unit/metrics/made_view.hpp"

using namespace ib;
using ibtest::contains;
using tools::exporter::prefers_openmetrics;

namespace {

using Query = std::vector<std::pair<std::string, std::string>>;

metrics::PageWanted wanted(const Query& query) { return tools::exporter::wanted_by({"/metrics", query, ""}); }

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
  const metrics::PageWanted third = wanted({{"num_shards", "3"}, {"shard", "2"}});
  CHECK(third.shards == 3);
  CHECK(third.shard == 2);
  CHECK(wanted({{"collect[]", "switch"}}).selected == metrics::select_switch);
  CHECK(wanted({{"collect[]", "errors"}, {"collect[]", "hca"}}).selected == (metrics::select_errors | metrics::select_hca));
}

TEST_CASE("Exporter: a request that makes no sense is told why") {
  CHECK_THAT(complaint({{"num_shards", "3"}, {"shard", "3"}}), contains("shard: '3' is no number from 0 to 2"));
  CHECK_THAT(complaint({{"num_shards", "0"}, {"shard", "0"}}), contains("num_shards"));
  CHECK_THAT(complaint({{"num_shards", "1e3"}, {"shard", "0"}}), contains("num_shards"));
  CHECK_THAT(complaint({{"shard", "0"}}), contains("shard needs num_shards"));
  CHECK_THAT(complaint({{"num_shards", "2"}}), contains("num_shards needs shard"));
  CHECK_THAT(complaint({{"collect[]", "fans"}}), contains("'fans' is none of switch, hca, errors and data"));
  CHECK_THAT(complaint({{"colect[]", "hca"}}), contains("There is no parameter 'colect[]'"));
  CHECK_THAT(complaint({{"\x1b[2J", "x"}}), !contains("\x1b"));
}

TEST_CASE("Exporter: OpenMetrics for who prefers it") {
  // What Prometheus 2.42, curl and a browser send.
  CHECK(
      prefers_openmetrics("application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
                          "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"));
  CHECK_FALSE(prefers_openmetrics("*/*"));
  CHECK_FALSE(prefers_openmetrics("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"));
  CHECK_FALSE(prefers_openmetrics(""));
  CHECK_FALSE(prefers_openmetrics("text/plain, application/openmetrics-text;q=0.5"));
  CHECK_FALSE(prefers_openmetrics("application/openmetrics-text;q=0"));
}

TEST_CASE("Exporter: the page for people shows hostile names and is none the worse") {
  ibtest::FakeFabric fabric = ibtest::FakeFabric::fat_tree(2, 1, 2);
  const std::string name = "<script>alert('1')</script>&\"\x1b[2J\xff";
  std::ranges::copy(name, fabric.node(1).description.begin());
  fabric.node(1).description[name.size()] = 0;
  const ibtest::MadeView made(fabric);
  for (auto& reading : made.reading->switches) reading.outcome = metrics::DeviceReading::Outcome::silent;
  const std::string page = tools::exporter::front_page(made.view(), made.reading->time + std::chrono::seconds(90));
  CHECK_THAT(page, contains("&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;&quot;"));
  CHECK_THAT(page, !contains("<script") && !contains("\x1b") && !contains("\xff"));
  CHECK_THAT(page, contains("not read: 3") && contains("(90 s ago"));
  CHECK_THAT(page, !contains("http://") && !contains("https://") && !contains("src="));
  metrics::View empty;
  CHECK_THAT(tools::exporter::front_page(empty, {}), contains("was not read yet"));
}
