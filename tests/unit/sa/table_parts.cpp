// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Tables that only come cut, asked for in parts: they are what they would have been whole.
#include "sa/table_parts.hpp"

#include <algorithm>

#include "iba-gen/sa.hpp"
#include "mad/rpc.hpp"
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

std::vector<std::vector<std::uint8_t>> sorted(const sa::Records& records) {
  std::vector<std::vector<std::uint8_t>> all;
  for (const Bytes record : records.bytes) all.emplace_back(record.begin(), record.end());
  std::ranges::sort(all);
  return all;
}

struct Bench {
  explicit Bench(FakeFabric of = FakeFabric::fat_tree(3, 2, 16)) : fabric(std::move(of)) {}
  sa::Records ask(const sa::Pattern& pattern) {
    mad::Result<sa::Records> result = loop.run(sa::try_records(rpc, rpc.sa_path(), pattern));
    return std::move(result).take();
  }
  /// The records with and without an SA whose tables come cut, in one order.
  void compare(const sa::Pattern& pattern) {
    sa.cut = false;
    sa::Records whole = ask(pattern);
    sa.cut = true;
    sa::Records parts = ask(pattern);
    CHECK_FALSE(whole.cut);
    CHECK_FALSE(parts.cut);
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
    CHECK(records.cut);
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
  CHECK(records.cut);
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
  CHECK(records.cut);
  CHECK(records.in_parts);
  CHECK(records.bytes.size() == all);
}
