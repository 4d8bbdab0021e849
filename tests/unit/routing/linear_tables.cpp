// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What an entry says, and which entries a switch has.
#include "routing/tables.hpp"

#include <array>

#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "unit/routing/made_fabric.hpp"

namespace routing_linear_tables_tests {

using namespace ib;
using namespace ib::routing;

TEST_CASE("an entry names a port of its switch, the switch itself, or nothing") {
  CHECK(entry_kind(std::nullopt, 36) == EntryKind::not_read);
  CHECK(entry_kind(0, 36) == EntryKind::own_port);
  CHECK(entry_kind(1, 36) == EntryKind::port);
  CHECK(entry_kind(36, 36) == EntryKind::port);
  CHECK(entry_kind(37, 36) == EntryKind::no_entry);
  CHECK(entry_kind(subnet::no_out_port, 36) == EntryKind::no_entry);
}

TEST_CASE("the entry 255 means no port, whatever number of ports a switch claims") {
  CHECK(entry_kind(254, 255) == EntryKind::port);
  CHECK(entry_kind(255, 255) == EntryKind::no_entry);
}

TEST_CASE("a table that ends before a LID has no entry for it, a block that was not read may have one") {
  smp::SwitchInfo info;
  info.linear_fdb_cap = 1024;
  info.linear_fdb_top = 100;
  subnet::LinearTable read(info);
  std::array<std::uint8_t, 64> ports{};
  ports[3] = 7;
  ports[4] = 9;
  read.set_block(0, ports);
  LinearTables tables(1, Lid{200});
  tables.set(0, read);
  CHECK(tables.kind(0, Lid{2}, 8) == EntryKind::own_port);
  CHECK(tables.kind(0, Lid{3}, 8) == EntryKind::port);
  CHECK(tables.kind(0, Lid{4}, 8) == EntryKind::no_entry);
  CHECK(tables.kind(0, Lid{70}, 8) == EntryKind::not_read);
  CHECK(tables.kind(0, Lid{101}, 8) == EntryKind::no_entry);
}

TEST_CASE("the entries of a switch are those for LIDs of ports, to ports that it has") {
  ibtest::MadeFabric made;
  made.add_switch(254);
  for (unsigned lid = 1; lid <= 3; ++lid) made.add_host(0, lid, lid);
  made.set_switch_lid(0, 4);
  made.lft = {{{0, 1}, 1}, {{0, 2}, 255}, {{0, 4}, 0}};
  const Network network(made.subnet);
  const std::vector<ForwardingEntry> entries = entries_of(network, made.tables(), 0);
  REQUIRE(entries.size() == 2);
  CHECK((entries[0].lid == Lid{1} && entries[0].port == 1));
  CHECK((entries[1].lid == Lid{4} && entries[1].port == 0));
}

TEST_CASE("a range that is declared empty is known, and nothing beside it") {
  for (const auto& [first, last] :
       std::vector<std::pair<unsigned, unsigned>>{{1, 1}, {1, 63}, {63, 64}, {64, 127}, {5, 200}, {130, 900}, {500, 600}, {9, 8}}) {
    CAPTURE(first, last);
    LinearTables tables(2, Lid{300});
    tables.set_entry(1, Lid{64}, 3);
    tables.clear(1, Lid{static_cast<std::uint16_t>(first)}, Lid{static_cast<std::uint16_t>(last)});
    for (unsigned value = 0; value <= 300; ++value) {
      const Lid lid{static_cast<std::uint16_t>(value)};
      const bool is_cleared = value >= first && value <= last;
      CAPTURE(value);
      REQUIRE(tables.is_known(1, lid) == (is_cleared || value == 64));
      REQUIRE(tables.out_port(1, lid) == (value == 64 && !is_cleared ? 3 : LinearTables::no_entry));
      REQUIRE_FALSE(tables.is_known(0, lid));
    }
  }
}

}  // namespace routing_linear_tables_tests
