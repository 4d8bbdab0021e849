// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "phy/reading.hpp"

#include "support/catch.hpp"
#include "unit/subnet/swept.hpp"

namespace phy_table_tests {

using namespace ib;
using namespace ib::phy;
using ibtest::FakeFabric;
using ibtest::Swept;

TEST_CASE("rows are found in a model that was swept later, where nodes have other indexes; what was not read is not there") {
  FakeFabric fabric;
  const auto leaf = fabric.add_switch(0x100, 4, "leaf"), here = fabric.add_ca(0x200, 1, "here"), other = fabric.add_ca(0x300, 1, "other");
  fabric.link(leaf, 1, here, 1);
  fabric.link(leaf, 3, other, 1);
  fabric.assign_lids();
  fabric.attach(here);
  const Swept then(fabric);
  const auto added = fabric.add_ca(0x400, 1, "new");  // is found before `other`
  fabric.link(leaf, 2, added, 1);
  fabric.assign_lids();
  const Swept now(fabric);

  const auto place = [](const Swept& of, Guid guid, unsigned port) { return of.subnet.port_of(of.subnet.find_node(guid), port); };
  Reading reading;
  for (const unsigned number : {1U, 3U}) {
    reading.ports.emplace_back();
    reading.ports.back().port = place(then, Guid{0x100}, number);
  }
  reading.ports[1].set(Part::module);  // of port 1 nothing was read
  reading.ports.emplace_back();
  reading.ports.back().port = place(then, Guid{0x300}, 1);
  reading.ports.back().set(Part::module);
  reading.devices.push_back({then.subnet.find_node(Guid{0x300}), DeviceState::read, Firmware{}});
  reading.devices.push_back({then.subnet.find_node(Guid{0x200}), DeviceState::silent, {}});
  EnvironmentRow environment;
  environment.node = then.subnet.find_node(Guid{0x100});
  reading.environments.push_back(std::move(environment));
  const auto shared = std::make_shared<const Reading>(std::move(reading));

  const Table same(shared, then.subnet);
  CHECK(same.find(place(then, Guid{0x100}, 3)) == &shared->ports[1]);
  CHECK(same.find(place(then, Guid{0x100}, 1)) == nullptr);
  const Table later(shared, now.subnet, subnet::Counterparts(now.subnet, then.subnet));
  CHECK(later.find(place(now, Guid{0x100}, 3)) == &shared->ports[1]);
  CHECK(later.find(place(now, Guid{0x300}, 1)) == &shared->ports[2]);
  CHECK(later.find(place(now, Guid{0x400}, 1)) == nullptr);
  CHECK(later.firmware(now.subnet.find_node(Guid{0x300})) != nullptr);
  CHECK(later.firmware(now.subnet.find_node(Guid{0x200})) == nullptr);
  CHECK(later.environment(now.subnet.find_node(Guid{0x100})) == &shared->environments[0]);
  CHECK(later.environment(now.subnet.find_node(Guid{0x400})) == nullptr);
  CHECK(later.planes(place(now, Guid{0x100}, 3)).empty());
  CHECK(Table().find(0) == nullptr);
  CHECK(Table().planes(0).empty());
  CHECK_FALSE(Table().is_read());
}

TEST_CASE("the row of a port covers all its planes, whose rows follow") {
  FakeFabric fabric;
  const auto leaf = fabric.add_switch(0x100, 4, "leaf"), here = fabric.add_ca(0x200, 1, "here");
  fabric.link(leaf, 1, here, 1);
  fabric.assign_lids();
  fabric.attach(here);
  const Swept swept(fabric);
  const auto first = swept.subnet.port_of(swept.subnet.find_node(Guid{0x100}), 1);
  Reading reading;
  for (const subnet::PortIndex port : {first, first + 1}) {
    for (std::uint8_t plane = 0; plane <= 2; ++plane) {
      PortRow& row = reading.ports.emplace_back();
      row.port = port;
      row.plane = plane;
      row.set(Part::operation);
    }
  }
  const auto shared = std::make_shared<const Reading>(std::move(reading));
  const Table table(shared, swept.subnet);
  CHECK(table.find(first) == &shared->ports[0]);
  CHECK(table.find(first + 1) == &shared->ports[3]);
  REQUIRE(table.planes(first).size() == 2);
  CHECK(table.planes(first)[1].plane == 2);
  CHECK(table.planes(first + 1).data() == &shared->ports[4]);
  CHECK(table.planes(first + 1).size() == 2);
  CHECK(table.planes(first + 2).empty());
}

}  // namespace phy_table_tests
