// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A snapshot of a whole fabric does not go because less of it was seen later.
#include "snapshot/cache.hpp"

#include <fmt/format.h>

#include "snapshot/writer.hpp"
#include "support/catch.hpp"
#include "support/snapshot_sql.hpp"
#include "support/temporary_directory.hpp"
#include "unit/subnet/swept.hpp"

namespace snapshot_replacement_tests {

namespace {

using namespace ib;
using namespace ibtest;
using snapshot::why_old_is_kept;

/// A switch with `hosts` hosts, whose GUIDs begin at `guid`.
struct Star {
  FakeFabric fabric;
  explicit Star(unsigned hosts, std::uint64_t guid = 0x100) {
    const auto sw = fabric.add_switch(guid, hosts, "switch");
    for (unsigned port = 1; port <= hosts; ++port) {
      const auto host = fabric.add_ca(guid + 0x10 * port, 1, fmt::format("host {}", port));
      fabric.link(sw, port, host, 1);
      if (port == 1) first = host;
    }
    fabric.assign_lids();
    fabric.attach(first);
  }
  FakeFabric::NodeId first{};
};

struct Bench {
  TemporaryDirectory directory;
  std::string file = directory.file("one.ibss");

  void store(unsigned hosts, std::uint64_t guid = 0x100) const {
    Star star(hosts, guid);
    const Swept swept(star.fabric);
    snapshot::Writer writer(file, Keys::hidden);
    writer.put_origin(star.fabric.end_port());
    writer.put_fabric(swept);
    writer.commit();
  }
  std::optional<std::string> why(unsigned hosts, std::uint64_t guid = 0x100) const {
    Star star(hosts, guid);
    const Swept swept(star.fabric);
    return why_old_is_kept(file, swept.subnet);
  }
};

}  // namespace

TEST_CASE_METHOD(Bench, "A snapshot that saw half of the nodes of the old one, or more, replaces it") {
  CHECK_FALSE(why(3));  // there is no old one
  store(21);
  for (const unsigned hosts : {40U, 21U, 20U, 11U, 10U}) {
    CAPTURE(hosts);
    CHECK_FALSE(why(hosts));
  }
}

TEST_CASE_METHOD(Bench, "An old snapshot of which less than half was seen is kept under another name") {
  store(21);
  for (const unsigned hosts : {9U, 4U, 2U})
    CHECK(why(hosts) == fmt::format("'{0}' has 22 nodes, only {1} of which were seen now: it is kept as '{0}~'", file, hosts + 1));
}

TEST_CASE_METHOD(Bench, "An old snapshot of which less than a tenth was seen, or nothing, stays") {
  store(30);
  CHECK(why(3));
  CHECK_THROWS_WITH(why(2),
                    fmt::format("'{}' has 31 nodes, only 3 of which were seen now: it is not replaced (--force replaces it)", file));
  CHECK_THROWS_WITH(why(40, 0x10000), fmt::format("'{}' has 31 nodes, none of which is among the 41 nodes of this fabric: "
                                                  "it is not replaced (--force replaces it)",
                                                  file));
}

TEST_CASE_METHOD(Bench, "One node of a few that is still there shows the same fabric") {
  store(1);
  Star star(4);
  star.fabric.set_link(star.first, 1, false);
  const Swept swept(star.fabric);
  REQUIRE(swept.subnet.nodes().size() == 1);
  CHECK_FALSE(why_old_is_kept(file, swept.subnet));
}

TEST_CASE_METHOD(Bench, "A snapshot that cannot be compared is kept under another name") {
  store(4);
  SECTION("Damaged") { run_sql(file, "DELETE FROM raw_answer; DROP TABLE raw_node"); }
  SECTION("Of an older version") { run_sql(file, "PRAGMA user_version=1"); }
  SECTION("Of a newer version") { run_sql(file, "PRAGMA user_version=99"); }
  const auto line = why(4);
  REQUIRE(line);
  CHECK_THAT(*line, starts_with("'" + file + "' is a ") && ends_with(fmt::format(": it is kept as '{}~'", file)));
}

}  // namespace snapshot_replacement_tests
