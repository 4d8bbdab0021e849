// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A cache adds to the file that it reads, to no other, and keeps what was answered.
#include "snapshot/cache.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "snapshot/file/new_file.hpp"
#include "snapshot/format.hpp"
#include "support/catch.hpp"
#include "support/small_fabric.hpp"
#include "support/snapshot_sql.hpp"
#include "support/temporary_directory.hpp"
#include "unit/subnet/swept.hpp"

namespace snapshot_cache_tests {

namespace {

using namespace ib;
using namespace ibtest;
using snapshot::Cache;
using snapshot::Snapshot;

std::string content(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

async::Task<> request_port_info(mad::Transactor& transactor, path::Path path, std::uint32_t port, std::optional<smp::PortInfo>& info) {
  const mad::Result<smp::PortInfo> answer = co_await transactor.try_subn_get<smp::PortInfo>(path, port);
  if (answer) info = *answer;
}

struct Bench {
  TemporaryDirectory directory;
  TwoWayFabric two;
  Swept swept{two.fabric};
  std::string file = directory.file("one");
  std::vector<std::string> lost;

  std::unique_ptr<Cache> cache(Keys keys = Keys::hidden) {
    return std::make_unique<Cache>(*swept.rpc, file, keys, [this](const Error& error) { lost.push_back(error.message()); });
  }
  void store(Keys keys = Keys::hidden) {
    const auto begun = cache(keys);
    begun->begin(swept, false);
    REQUIRE(begun->save());
  }
  std::unique_ptr<Cache> used(Keys keys = Keys::hidden) {
    auto use = cache(keys);
    use->use(std::make_unique<Snapshot>(file));
    return use;
  }
  /// PortInfo of a port of the switch at LID 1, of which a sweep does not request all.
  std::optional<smp::PortInfo> port_info(Cache& through, std::uint32_t port) {
    std::optional<smp::PortInfo> info;
    swept.loop.run(request_port_info(through, two.by_lid(1), port, info));
    return info;
  }
  /// The number that a query of the file gives.
  std::int64_t number(const std::string& query) const {
    const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    snapshot::Database database(fd.get(), file, snapshot::Database::Mode::read);
    snapshot::Statement row(database, query);
    REQUIRE(row.step());
    return row.integer(0);
  }
  /// Has the file forget what the switch at LID 1 said of a port.
  void forget(unsigned port) const {
    run_sql(file, fmt::format("DELETE FROM raw_answer WHERE attribute={} AND node={} AND modifier={}",
                              unsigned{smp::PortInfo::attribute_id}, swept.subnet.find_node(Guid{0x100}), port));
  }
};

}  // namespace

TEST_CASE_METHOD(Bench, "Attributes that a cache lacks are requested once and added") {
  store();
  forget(4);
  {
    const auto use = used();
    CHECK(port_info(*use, 4));
    CHECK(use->save());
  }
  const std::uint64_t before = swept.sent();
  const auto use = used();
  CHECK(port_info(*use, 4));
  CHECK(swept.sent() == before + 1);  // the NodeInfo
  CHECK_FALSE(use->save());
  CHECK(lost.empty());
}

TEST_CASE_METHOD(Bench, "A file that took the place of the one that was read gets none of its answers") {
  store();
  forget(4);
  const auto use = used();
  const std::string other = directory.file("other");
  {
    SmallFabric small;
    Swept of_other(small.fabric);
    snapshot::Writer writer(other, Keys::hidden);
    writer.put_origin(small.fabric.end_port());
    writer.put_fabric(of_other);
    writer.commit();
  }
  const std::string before = content(other);
  std::filesystem::rename(other, file);
  CHECK(port_info(*use, 4));
  CHECK_FALSE(use->save());
  CHECK(content(file) == before);
  CHECK_FALSE(std::filesystem::exists(file + ".new"));
}

TEST_CASE_METHOD(Bench, "Answers come from the model of the file that was opened") {
  store();
  const auto use = used();
  std::filesystem::remove(file);
  std::ofstream(file) << "thesis";
  CHECK(port_info(*use, 1));
  CHECK_FALSE(use->save());
  CHECK(content(file) == "thesis");
}

TEST_CASE_METHOD(Bench, "Silence is not kept by a cache, and is by a snapshot; a refusal is kept by both") {
  store();
  forget(4);
  SECTION("Silence") {
    two.fabric.node(two.near).faults.ignores = smp::PortInfo::attribute_id;
    {
      const auto use = used();
      CHECK_FALSE(port_info(*use, 4));
      use->save();
    }
    two.fabric.node(two.near).faults.ignores = 0;
    CHECK(port_info(*used(), 4));
  }
  SECTION("A refusal") {
    two.fabric.node(two.near).faults.status = 12;
    two.fabric.node(two.near).faults.status_attribute = smp::PortInfo::attribute_id;
    {
      const auto use = used();
      CHECK_FALSE(port_info(*use, 4));
      CHECK(use->save());
    }
    two.fabric.node(two.near).faults.status = 0;
    const std::uint64_t before = swept.sent();
    CHECK_FALSE(port_info(*used(), 4));
    CHECK(swept.sent() == before + 1);  // the NodeInfo
  }
  SECTION("Silence that the file of a snapshot has") {
    {
      Snapshot old(file);
      snapshot::Writer writer(file, Keys::hidden, &old);
      const std::vector<std::uint8_t> request(mad::packet_size);
      const mad::MadTimeout timeout(request, two.by_lid(1), 4, std::chrono::seconds(1));
      const snapshot::AnswerKey key{.mgmt_class = mad::mgmt_class::smp,
                                    .attribute = smp::PortInfo::attribute_id,
                                    .node = swept.subnet.find_node(Guid{0x100}),
                                    .modifier = 4};
      writer.put_failure(key, timeout);
      writer.commit();
    }
    CHECK(port_info(*used(), 4));
  }
}

TEST_CASE_METHOD(Bench, "Another node at a LID, or at the end of a route, is found before anything is answered or kept") {
  store();
  forget(4);
  two.fabric.node(two.near).info.node_guid = two.fabric.node(two.near).info.port_guid = Guid{0x999};
  const std::string before = content(file);
  const auto use = used();
  CHECK_THROWS_AS(port_info(*use, 1), snapshot::Outdated);
  const auto by_route = used();
  std::optional<smp::PortInfo> info;
  CHECK_THROWS_AS(swept.loop.run(request_port_info(*by_route, two.by_route({1}), 4, info)), snapshot::Outdated);
  CHECK_FALSE(use->save());
  CHECK_FALSE(by_route->save());
  CHECK(content(file) == before);
}

TEST_CASE_METHOD(Bench, "A node at a LID that the file does not know is not taken for silence") {
  store();
  two.fabric.node(two.other).ports[1].info.lid = Lid{9};
  for (const auto node : {two.near, two.far}) {
    std::vector<std::uint8_t>& table = two.fabric.node(node).lft;
    table.resize(64, 255);
    table[9] = table[4];
  }
  const auto use = used();
  std::optional<smp::PortInfo> info;
  CHECK_THROWS_AS(swept.loop.run(request_port_info(*use, two.by_lid(9), 1, info)), snapshot::Outdated);
}

TEST_CASE_METHOD(Bench, "A file that another process writes is read, and the answers go on") {
  store();
  forget(4);
  const snapshot::NewFile other(file);
  const auto use = used();
  CHECK(port_info(*use, 4));
  CHECK(port_info(*use, 4));
  CHECK_FALSE(use->save());
  REQUIRE(lost.size() == 1);
  CHECK_THAT(lost[0], contains("is being written by another process"));
}

TEST_CASE_METHOD(Bench, "A cache that was filled with keys has none after one without them adds to it") {
  constexpr std::uint64_t m_key = 0x1122334455667788;
  const std::string bytes("\x11\x22\x33\x44\x55\x66\x77\x88", 8);
  for (auto& port : two.fabric.node(two.near).ports) port.info.m_key = m_key;
  Swept with_key(two.fabric);
  {
    const auto begun = cache(Keys::shown);
    begun->begin(with_key, false);
    REQUIRE(begun->save());
  }
  CHECK_THAT(content(file), contains(bytes));
  CHECK(Snapshot(file).has_keys());
  // A file that only says so is refused.
  set_fact(file, "keys", "hidden");
  CHECK_THROWS_WITH(Snapshot(file).read_fabric(nullptr), contains("it says that it holds no keys, and holds one"));
  set_fact(file, "keys", "shown");
  forget(4);
  {
    const auto use = used(Keys::hidden);
    CHECK(port_info(*use, 4));
    REQUIRE(use->save());
  }
  CHECK_FALSE(Snapshot(file).has_keys());
  CHECK_THAT(content(file), !contains(bytes));
  // A key that was set is known to have been.
  CHECK(port_info(*used(Keys::hidden), 1)->m_key == ~std::uint64_t{});
}

TEST_CASE_METHOD(Bench, "Only the rows that a snapshot reads back go into its next version") {
  store();
  forget(4);
  run_sql(file, "CREATE TABLE mine(a); INSERT INTO mine VALUES('planted words')");
  const auto use = used();
  CHECK(port_info(*use, 4));
  REQUIRE(use->save());
  CHECK_THAT(content(file), !contains("planted words"));
}

TEST_CASE_METHOD(Bench, "A file of format 2, whose rows have checksums, is read, and added to in the newest format") {
  store();
  forget(4);
  const std::string answers = "SELECT count(*) FROM raw_answer WHERE time>0 AND hides_key IN (0,1)";
  const std::int64_t before = number(answers);
  // The tables as format 2 had them.
  for (const std::string table : {
           "raw_fact(name TEXT PRIMARY KEY, value TEXT NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID",
           "raw_node(node INTEGER PRIMARY KEY, hops INTEGER NOT NULL, via_node INTEGER NOT NULL, via_port INTEGER NOT NULL, "
           "entry_port INTEGER NOT NULL, lid_refused INTEGER NOT NULL, checksum INTEGER NOT NULL)",
           "raw_port(node INTEGER NOT NULL, port INTEGER NOT NULL, guid INTEGER NOT NULL, peer_node INTEGER NOT NULL, "
           "peer_port INTEGER NOT NULL, fdr10 INTEGER NOT NULL, swept INTEGER NOT NULL, checksum INTEGER NOT NULL, "
           "PRIMARY KEY(node, port)) WITHOUT ROWID",
           "raw_failure(failure INTEGER PRIMARY KEY, kind INTEGER NOT NULL, node INTEGER NOT NULL, port INTEGER NOT NULL, "
           "beyond INTEGER NOT NULL, attribute TEXT NOT NULL, modifier INTEGER NOT NULL, why TEXT NOT NULL, tries INTEGER NOT NULL, "
           "waited INTEGER NOT NULL, path TEXT NOT NULL, request BLOB NOT NULL, reply BLOB NOT NULL, checksum INTEGER NOT NULL)",
           "raw_answer(mgmt_class INTEGER NOT NULL, attribute INTEGER NOT NULL, node INTEGER NOT NULL, entry_port INTEGER NOT NULL, "
           "modifier INTEGER NOT NULL, selector INTEGER NOT NULL, status INTEGER NOT NULL, time INTEGER NOT NULL, "
           "hides_key INTEGER NOT NULL, payload BLOB NOT NULL, checksum INTEGER NOT NULL, "
           "PRIMARY KEY(mgmt_class, attribute, node, entry_port, modifier, selector)) WITHOUT ROWID",
       }) {
    const std::string name = table.substr(0, table.find('('));
    run_sql(file, fmt::format("CREATE TEMP TABLE rows AS SELECT * FROM {0}; DROP TABLE {0}; CREATE TABLE {1}; "
                              "INSERT INTO {0} SELECT *, 77 FROM rows; PRAGMA user_version=2",
                              name, table));
  }
  CHECK(Snapshot(file).read_fabric(nullptr).subnet.nodes().size() == swept.subnet.nodes().size());
  const auto use = used();
  CHECK(port_info(*use, 4));
  REQUIRE(use->save());
  CHECK(number("PRAGMA user_version") == snapshot::format_version);
  CHECK(number(answers) == before + 1);
  CHECK(Snapshot(file).read_fabric(nullptr).subnet.nodes().size() == swept.subnet.nodes().size());
}

TEST_CASE_METHOD(Bench, "Adding to a cache does not make it younger") {
  store();
  forget(4);
  set_fact(file, "ended", "1700000000000");
  const auto use = used();
  CHECK(port_info(*use, 4));
  REQUIRE(use->save());
  Snapshot snapshot(file);
  CHECK(snapshot.number("ended") == 1700000000000);
  CHECK_THAT(snapshot::time_of(snapshot), starts_with("2023-11-1"));
}

}  // namespace snapshot_cache_tests
