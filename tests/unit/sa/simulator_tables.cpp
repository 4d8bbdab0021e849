// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Tables that come without their end, asked for in parts: they are what they would have been whole.
#include "sa/simulator_tables.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "iba-gen/sa.hpp"
#include "iba/text.hpp"
#include "mad/rpc.hpp"
#include "sa/links.hpp"
#include "sa/records.hpp"
#include "sa/subn_adm.hpp"
#include "support/catch.hpp"
#include "support/fake_sa.hpp"

using namespace ib;
using ibtest::FakeFabric;
using ibtest::FakeSa;

namespace {

FakeFabric cable() {
  FakeFabric fabric;
  const auto near = fabric.add_ca(0x100, 1, "near"), far = fabric.add_ca(0x200, 1, "far");
  fabric.link(near, 1, far, 1);
  fabric.assign_lids();
  fabric.attach(near);
  return fabric;
}

/// A ring of switches: port 1 of LID n leads to port 2 of LID n + 1. The host is at port 3 of the first,
/// port 1 of one more switch, which has the next LID, at port 3 of the second.
FakeFabric ring(unsigned switches) {
  FakeFabric fabric;
  std::vector<FakeFabric::NodeId> ids;
  for (unsigned i = 0; i < switches; ++i) ids.push_back(fabric.add_switch(0x100 + i, 3, "switch"));
  for (unsigned i = 0; i < switches; ++i) fabric.link(ids[i], 1, ids[(i + 1) % switches], 2);
  fabric.link(fabric.add_switch(0x800, 3, "outside"), 1, ids[1], 3);
  const auto host = fabric.add_ca(0x900, 1, "host");
  fabric.link(ids[0], 3, host, 1);
  fabric.assign_lids();
  // The LMC is there in the host's own eyes only: LIDs for it would clash with those of others.
  fabric.node(host).ports[1].info.lmc = 3;
  fabric.attach(host);
  fabric.node(host).ports[1].info.lmc = 0;
  return fabric;
}

std::vector<std::vector<std::uint8_t>> sorted(const sa::Records& records) {
  std::vector<std::vector<std::uint8_t>> all;
  for (const Bytes record : records.bytes) all.emplace_back(record.begin(), record.end());
  std::ranges::sort(all);
  return all;
}

struct Bench {
  explicit Bench(FakeFabric of = FakeFabric::fat_tree(3, 2, 16)) : fabric(std::move(of)) {}
  sa::Records ask(const sa::Pattern& pattern) {
    mad::Result<sa::Records> result = loop.run(sa::try_records(tables, tables.sa_path(), pattern));
    return std::move(result).take();
  }
  /// The records with and without an SA whose tables come cut, in one order.
  void compare(const sa::Pattern& pattern) {
    sa.cut = false;
    told.clear();
    sa::Records whole = ask(pattern);
    CHECK(told.empty());
    sa.cut = true;
    sa::Records parts = ask(pattern);
    const bool fits = 56 + whole.bytes.size() * ((whole.type->bytes + 7) / 8 * 8) < mad::packet_size;
    CHECK(told == (fits ? "" : fmt::format("The {} table came back cut: asked for it in parts.", whole.type->iba_name)));
    CHECK_FALSE(whole.torn);
    CHECK_FALSE(parts.torn);
    CHECK(parts.type == whole.type);
    CHECK(sorted(parts) == sorted(whole));
  }
  std::size_t asked_for(std::uint16_t attribute) const {
    return static_cast<std::size_t>(std::ranges::count(sa.asked, attribute, &FakeSa::Query::attribute));
  }

  FakeFabric fabric;
  FakeSa sa{fabric};
  async::FakeClock clock;
  async::Loop loop{clock};
  mad::Rpc rpc{loop, fabric.open()};
  std::string told;
  sa::SimulatorTables tables{rpc, [this](std::string_view line) { told += line; }};
};

}  // namespace

TEST_CASE("every kind of table that the fake SA has") {
  Bench bench;
  for (const StructInfo* record :
       {&sa::NodeRecord::info(), &sa::PortInfoRecord::info(), &sa::LinkRecord::info(), &sa::SwitchInfoRecord::info()}) {
    INFO(record->iba_name);
    bench.compare(sa::Pattern(*record));
  }
}

TEST_CASE("a pattern holds for each part") {
  Bench bench;
  sa::Pattern switches(sa::NodeRecord::info());
  switches.match("nodeInfo.nodeType", 2U);
  bench.compare(switches);
  sa::Pattern first_ports(sa::PortInfoRecord::info());
  first_ports.match("portNum", 1U);
  bench.compare(first_ports);
  sa::Pattern one_switch(sa::PortInfoRecord::info());
  one_switch.match("endportLID", 1U);
  bench.compare(one_switch);
}

TEST_CASE("paths from one port are asked for by LID, without a look at the nodes, where each port has one LID") {
  const auto from_here = [](const Bench& bench) {
    sa::Pattern pattern(sa::PathRecord::info());
    pattern.match("SGID", to_text(bench.fabric.end_port().default_gid()));
    pattern.match("numbPath", 1U);
    return pattern;
  };
  Bench bench;
  bench.compare(from_here(bench));
  CHECK(bench.asked_for(sa::NodeRecord::attribute_id) == 0);
  bench.sa.asked.clear();
  const sa::Records paths = bench.ask(from_here(bench));
  CHECK(bench.asked_for(sa::PathRecord::attribute_id) == 1 + bench.fabric.size());  // the LIDs have no gaps
  REQUIRE(paths.bytes.size() == bench.fabric.size());
  const auto rank = [&paths](std::size_t row) {  // opensm's, which takes the last byte of a GUID for its first
    return __builtin_bswap64(sa::PathRecord::unpack(paths.bytes[row]).dgid.guid().value);
  };
  for (std::size_t row = 1; row < paths.bytes.size(); ++row) CHECK(rank(row - 1) < rank(row));

  Bench several(ring(40));  // the host has eight LIDs
  several.compare(from_here(several));
  CHECK(several.asked_for(sa::NodeRecord::attribute_id) > 0);
}

TEST_CASE("two ends of a cable: no switch knows how high LIDs go") {
  Bench bench(cable());
  bench.compare(sa::Pattern(sa::NodeRecord::info()));
}

TEST_CASE("a part that fails leaves what came at first, and the rest is not asked for") {
  Bench bench;
  bench.sa.cut = true;
  bench.sa.lie = [&bench](std::uint16_t, std::vector<FakeSa::Record>&) { bench.sa.status = 0x0200; };  // from the second answer on
  for (const StructInfo* type : {&sa::NodeRecord::info(), &sa::PortInfoRecord::info(), &sa::LinkRecord::info()}) {
    bench.sa.status = 0;
    bench.sa.asked.clear();
    const sa::Records records = bench.ask(sa::Pattern(*type));
    CHECK(records.torn);
    CHECK_FALSE(records.bytes.empty());
    CHECK(bench.sa.asked.size() < 10);
  }
}

TEST_CASE("an SA that cuts whatever is asked does not get asked for ever") {
  Bench bench;
  bench.sa.cut = true;
  bench.sa.lie = [](std::uint16_t attribute, std::vector<FakeSa::Record>& records) {
    const std::size_t first = records.size();
    if (attribute != sa::NodeRecord::attribute_id || first == 0) return;
    for (std::size_t i = 0; i < first; ++i) records.push_back(records[i]);  // all nodes twice: no LID has one record
  };
  const sa::Records records = bench.ask(sa::Pattern(sa::NodeRecord::info()));
  CHECK(records.torn);
  CHECK(bench.asked_for(sa::NodeRecord::attribute_id) < 300);
}

TEST_CASE("a port whose record can not be had whole costs no other port of its node") {
  Bench bench;
  bench.sa.cut = false;
  const sa::Pattern everything(sa::PortInfoRecord::info());
  const std::size_t all = bench.ask(everything).bytes.size();
  bench.sa.cut = true;
  bench.sa.lie = [](std::uint16_t attribute, std::vector<FakeSa::Record>& records) {
    if (attribute == sa::PortInfoRecord::attribute_id)
      records.insert(records.begin() + 1, 2, FakeSa::Record(records[1]));  // a switch's port 1, three times
  };
  const sa::Records records = bench.ask(everything);
  CHECK(records.torn);
  CHECK_FALSE(bench.told.empty());
  CHECK(records.bytes.size() == all);
}

TEST_CASE("typed tables come whole too, and one record is asked for once") {
  Bench bench;
  bench.sa.cut = true;
  const sa::NodeRecord::Query everything;
  const std::vector<sa::NodeRecord> nodes = bench.loop.run(sa::subn_adm_get_table(bench.tables, everything));
  CHECK(nodes.size() == bench.fabric.size());
  bench.sa.asked.clear();
  sa::NodeRecord::Query one;
  one.lid(Lid{1});
  CHECK(bench.loop.run(sa::subn_adm_get(bench.tables, one)).lid == Lid{1});
  CHECK(bench.sa.asked.size() == 1);
}

TEST_CASE("paths of a MultiPathRecord can not be had in parts: those that arrive are torn from the others") {
  Bench bench;
  bench.sa.cut = true;
  std::vector<Gid> ends;
  for (FakeFabric::NodeId id = 0; id < bench.fabric.size() && ends.size() < 5; ++id) {
    if (!bench.fabric.node(id).is_switch()) ends.push_back(Gid::from(link_local_prefix, bench.fabric.port_guid(id, 1)));
  }
  const sa::MultiPathRecord::Query query;
  const auto paths = bench.loop.run(sa::try_subn_adm_get_multi(bench.tables, query, {ends[0]}, ends));
  REQUIRE(paths);
  CHECK(paths->torn);
  CHECK(paths->records.size() == 2);
  CHECK(bench.sa.asked.size() == 1);
}

TEST_CASE("links that an SA does not find by LID, of a table that comes without its end") {
  Bench bench(ring(40));
  bench.sa.lmc = 3;
  bench.sa.cut = true;
  const auto find = [&bench](unsigned lid, std::uint8_t port) {
    return bench.loop.run(sa::find_link(bench.tables, Lid{static_cast<std::uint16_t>(lid)}, port));
  };
  CHECK(find(1, 3)->to_lid == Lid{42});
  CHECK(find(2, 1)->to_lid == Lid{3});
  CHECK(find(41, 1)->to_lid == Lid{2});  // the only one from a port 1 to a port 3
  CHECK_FALSE(find(39, 1));              // 40 links lead from a port 1 to a port 2
}
