// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Files that are damaged, or made to do harm: each is refused with one sentence, or answers.
#include <fstream>
#include <iterator>
#include <random>

#include "snapshot/file/sqlite.hpp"
#include "snapshot/format.hpp"
#include "snapshot/snapshot.hpp"
#include "snapshot/transactor.hpp"
#include "snapshot/writer.hpp"
#include "support/catch.hpp"
#include "support/small_fabric.hpp"
#include "support/snapshot_sql.hpp"
#include "support/temporary_directory.hpp"
#include "unit/subnet/swept.hpp"

namespace snapshot_hostile_tests {

namespace {

using namespace ib;
using namespace ibtest;
using snapshot::Snapshot;

/// A good snapshot in a directory of its own, to be damaged.
struct Victim {
  TemporaryDirectory directory;
  SmallFabric small;
  std::string file = directory.file("one");
  std::string good;

  Victim() {
    Swept swept(small.fabric);
    snapshot::Writer writer(file, Keys::hidden);
    writer.put_origin(small.fabric.end_port());
    writer.put_fabric(swept);
    writer.commit();
    std::ifstream in(file, std::ios::binary);
    good.assign(std::istreambuf_iterator<char>(in), {});
  }

  void write(const std::string& content) const { std::ofstream(file, std::ios::binary | std::ios::trunc) << content; }

  void run(const std::string& sql) const { run_sql(file, sql); }

  /// Reads all of the file. Returns why it was refused, or nothing.
  std::string refused() const {
    try {
      Snapshot snapshot(file);
      static_cast<void>(snapshot.devices());
      static_cast<void>(snapshot.read_fabric(&small.fabric.end_port()));
    } catch (const UsageError& error) {
      CHECK_FALSE(error.message().empty());
      CHECK(error.message().find('\n') == std::string::npos);
      return error.message();
    }
    return {};
  }
};

}  // namespace

TEST_CASE("A snapshot with what no snapshot holds is refused") {
  const auto [sql, why] = GENERATE(table<std::string, std::string>({
      {"CREATE TRIGGER t AFTER INSERT ON raw_fact BEGIN DELETE FROM raw_node; END", "holds what no snapshot does"},
      {"CREATE INDEX i ON raw_port(guid)", "holds what no snapshot does"},
      {"CREATE VIEW raw_view AS SELECT 1", "tables are not those"},
      {"CREATE TABLE raw_more(a)", "tables are not those"},
      {"CREATE VIRTUAL TABLE v USING fts5(a)", "holds what no snapshot does"},
      {"DROP TABLE raw_port; CREATE VIEW raw_port AS SELECT 1", "tables are not those"},
      {"ALTER TABLE raw_node ADD COLUMN more", "tables are not those"},
      {"DROP VIEW nodes; DROP VIEW ports; DROP VIEW links; DROP VIEW failures; DROP VIEW facts; DROP TABLE raw_fact", "lacks tables"},
      {"PRAGMA user_version=4", "newer ibtool (format 4, this one reads 3)"},
      {"PRAGMA user_version=1", "older ibtool (format 1, this one reads 2 and later): take a new one"},
      {"PRAGMA user_version=0", "no format number"},
      {"PRAGMA application_id=1", "is not a snapshot"},
  }));
  Victim victim;
  REQUIRE(victim.refused().empty());
  victim.run(sql);
  CAPTURE(sql);
  CHECK_THAT(victim.refused(), contains(why));
}

TEST_CASE("A snapshot whose rows contradict each other is refused") {
  const std::string sql =
      GENERATE(as<std::string>(), "UPDATE raw_node SET via_node=1000000 WHERE node=1", "UPDATE raw_port SET peer_node=77",
               "UPDATE raw_port SET port=port+200", "DELETE FROM raw_node WHERE node=1",
               "UPDATE raw_answer SET node=4000000000 WHERE node=1", "UPDATE raw_answer SET payload=zeroblob(1000000)",
               "UPDATE raw_answer SET payload=NULL||'' WHERE 0; UPDATE raw_answer SET payload=3.5",
               "INSERT INTO raw_failure VALUES(9,0,0,0,0,'a',0,'w',-1,0,'',x'',x'')", "UPDATE raw_fact SET value='x' WHERE name='start'");
  Victim victim;
  victim.run(sql);
  CAPTURE(sql);
  CHECK_THAT(victim.refused(), contains("damaged snapshot"));
}

TEST_CASE("Facts of a device that no host has are refused") {
  std::string many_gids, many_ports;
  for (unsigned at = 0; at <= 0x10000; ++at) many_gids += ":: ";
  for (unsigned at = 0; at <= 256; ++at) many_ports += std::to_string(at) + " ";
  const auto [name, value] = GENERATE_COPY(table<std::string, std::string>({
      {"device name", "\n"},
      {"device firmware", "\x1b[2J"},
      {"device node_type", ""},
      {"device node_type", "-1"},
      {"device node_type", "256"},
      {"device node_guid", "x"},
      {"device system_image_guid", ""},
      {"device ports", "1 1"},
      {"device ports", "1  2"},
      {"device ports", "256"},
      {"device ports", "1 2"},  // nothing is known of 2
      {"device ports", many_ports},
      {"device port 1 link_layer", "3"},
      {"device port 1 state", "99999999999999999999"},
      {"device port 1 rate_text", "\x7f"},
      {"device port 1 lid", "65536"},
      {"device port 1 gids", "fe80::/64"},
      {"device port 1 gids", many_gids},
      {"device port 1 pkeys", "0x10000"},
      {"device port 1 pkeys", "ffff"},
  }));
  Victim victim;
  set_fact(victim.file, name, value);
  CAPTURE(name);
  CHECK_THAT(victim.refused(), contains("damaged snapshot"));
}

TEST_CASE("A snapshot that lacks a fact of its device is refused") {
  Victim victim;
  victim.run("DELETE FROM raw_fact WHERE name='device port 1 lmc'");
  CHECK_THAT(victim.refused(), contains("it does not say by which device it was taken"));
}

TEST_CASE("Cut files and changed bits are refused, or change nothing") {
  Victim victim;
  std::mt19937 random(16);
  unsigned refused = 0;
  for (unsigned run = 0; run < 400; ++run) {
    std::string bad = victim.good;
    if (run % 4 == 0) {
      bad.resize(random() % bad.size());
    } else {
      for (unsigned flip = 0; flip <= run % 3; ++flip) {
        // The first page holds the header and the schema; what is not read is not noticed.
        const std::size_t at = run % 2 == 0 ? random() % 4096 : random() % bad.size();
        bad[at] = static_cast<char>(bad[at] ^ 1 << random() % 8);
      }
    }
    victim.write(bad);
    refused += victim.refused().empty() ? 0 : 1;
  }
  CHECK(refused > 100);
}

}  // namespace snapshot_hostile_tests
