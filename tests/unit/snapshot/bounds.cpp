// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What a node claims does not make a snapshot send requests without end; the tables that so many ports can have are read.
#include "iba-gen/smp.hpp"
#include "snapshot/fabric_survey.hpp"
#include "support/catch.hpp"
#include "unit/snapshot/recorder.hpp"

namespace snapshot_bounds_tests {

using namespace ib;
using ibtest::FakeFabric;
using ibtest::ReadFabric;
using snapshot::Part;
using snapshot::SurveyedPart;

TEST_CASE("P_Key tables: more than any node can have is reported and not read; SLtoVL tables of as many ports are read") {
  FakeFabric fabric;
  const auto leaf = fabric.add_switch(0x100, 254, "leaf"), here = fabric.add_ca(0x200, 1, "here");
  fabric.link(leaf, 1, here, 1);
  fabric.assign_lids();
  fabric.attach(here);
  fabric.node(leaf).info.partition_cap = 8;
  fabric.node(leaf).switch_info.partition_enforcement_cap = 65535;
  ReadFabric read(fabric);
  const SurveyedPart done = read.read(Part::pkeys);
  CHECK(done.planned == 2 + 1 + 254 * 32);  // here, port 0, and 1,024 P_Keys of each other port
  CHECK(read.times(smp::PKeyTable::attribute_id) == done.planned);
  REQUIRE(done.failures.size() == 1);
  CHECK(done.failures[0].why == "It claims 65535 P_Keys for a port; of each of its ports only the first 1024 were requested.");
  CHECK(done.failures[0].node == read.subnet.find_node(Guid{0x100}));

  fabric.node(leaf).switch_info.partition_enforcement_cap = 1024;
  ReadFabric large(fabric);
  const SurveyedPart whole = large.read(Part::pkeys);
  CHECK(whole.planned == 2 + 1 + 254 * 32);
  CHECK(whole.failures.empty());
  CHECK(large.read(Part::sl2vl).planned == 1 + 255 * 255);
}

}  // namespace snapshot_bounds_tests
