// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Paths that the model tells. That packets really arrive by them is seen in sweeps and surveys.
#include "subnet/model/port_paths.hpp"

#include "counters/row.hpp"
#include "subnet/sweep/survey.hpp"

#include "support/catch.hpp"
#include "support/fake_pma.hpp"
#include "support/fake_sa.hpp"
#include "unit/subnet/swept.hpp"

namespace subnet_port_paths_tests {

using namespace ib;
using namespace ib::subnet;
using namespace std::chrono_literals;
using ibtest::FakeFabric;
using ibtest::Swept;

namespace {

path::IbDrPath start_of(const FakeFabric& fabric) {
  path::IbDrPath start;
  start.end_port = &fabric.end_port();
  start.sqpn = Qpn{0};
  start.m_key = 7;
  start.retries = 5;
  start.timeout = 70ms;
  return start;
}

}  // namespace

TEST_CASE("GMPs for a port of a switch go to the LID of the switch, for one of a CA to its own") {
  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 2);
  const Swept swept(fabric);
  const path::IbDrPath start = start_of(fabric);
  const PortIndex leaf_port = swept.subnet.port_of(swept.subnet.find_node(Guid{0x6001}), 2);
  const PortIndex host_port = swept.subnet.port(leaf_port).peer;
  for (const PortIndex port : {leaf_port, host_port}) {
    const std::optional<path::Path> path = gmp_path(swept.subnet, port, start);
    REQUIRE(path);
    CHECK(path->directed() == nullptr);
    CHECK(path::complete(*path));
    CHECK(path->ib().dlid == swept.subnet.lid(port));
    CHECK(path->ib().slid == fabric.end_port().lid);
    CHECK(path->ib().dqpn == Qpn{1});
    CHECK(path->ib().qkey == path::qp1_qkey);
    CHECK(path->ib().sl == 0);
    CHECK(path->ib().retries == 5);
    CHECK(path->ib().timeout == 70ms);
  }
  CHECK(gmp_path(swept.subnet, leaf_port, start)->ib().dlid ==
        swept.subnet.lid(swept.subnet.port_of(swept.subnet.port(leaf_port).node, 0)));
  CHECK(lid_path(swept.subnet, host_port, start, Qpn{0})->ib().qkey == 0U);
}

TEST_CASE("SMPs go by the route of the sweep; the start is reached as the sweep reached it") {
  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 2);
  const Swept swept(fabric);
  const path::IbDrPath start = start_of(fabric);
  path::Path first = smp_path(swept.subnet, swept.subnet.port(swept.subnet.start).node, start);
  CHECK(first.ib().expected_node_guid == swept.subnet.node(swept.subnet.port(swept.subnet.start).node).guid());
  first.ib().expected_node_guid = {};
  CHECK(first == path::Path(start));
  const path::Path path = smp_path(swept.subnet, swept.subnet.find_node(Guid{0x6001}), start);  // leaf, spine, leaf
  REQUIRE(path.directed() != nullptr);
  CHECK(path.ib().expected_node_guid == Guid{0x6001});
  CHECK(path.directed()->hops == 3);
  CHECK(path.directed()->route[1] == 1);
  CHECK(path.directed()->route[2] == 3);
  CHECK(path.directed()->route[3] == 2);
  CHECK(path.ib().m_key == 7);
}

TEST_CASE("a LID that another port claimed before does not lead to the counters of that port") {
  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 2);
  fabric.node(3).ports[1].info.lid = fabric.node(2).ports[1].info.lid;
  const Swept swept(fabric);
  std::size_t reachable = 0;
  for (const FakeFabric::NodeId id : {2U, 3U}) {
    const PortIndex port = swept.subnet.port_of(swept.subnet.find_node(fabric.node(id).info.node_guid), 1);
    reachable += gmp_path(swept.subnet, port, start_of(fabric)) ? 1U : 0U;
  }
  CHECK(reachable == 1);
}

namespace {

/// A swept fat tree with an SA.
struct WithSa {
  explicit WithSa(void (*change)(FakeFabric&) = nullptr) : fabric(FakeFabric::fat_tree(2, 1, 2)) {
    if (change != nullptr) change(fabric);
    sa = std::make_unique<ibtest::FakeSa>(fabric);
    sa->path_lie = [](sa::PathRecord& record) { record.sl = static_cast<std::uint8_t>(record.dlid.value % 16); };
    sweep = std::make_unique<Swept>(fabric);
    paths = std::make_unique<PortPaths>(sweep->subnet, path::Path(start_of(fabric)));
  }
  void ask() { sweep->loop.run(paths->read_service_levels(*sweep->rpc)); }
  PortIndex port(FakeFabric::NodeId id, unsigned number) {
    return sweep->subnet.port_of(sweep->subnet.find_node(fabric.node(id).info.node_guid), number);
  }
  /// The ports of switches and adapters that GMPs reach.
  std::size_t reached() const {
    std::size_t count = 0;
    for (PortIndex at = 0; at < sweep->subnet.ports().size(); ++at) {
      if (sweep->subnet.end_port_of(at) == at && paths->gmp(at)) ++count;
    }
    return count;
  }
  FakeFabric fabric;
  std::unique_ptr<ibtest::FakeSa> sa;
  std::unique_ptr<Swept> sweep;
  std::unique_ptr<PortPaths> paths;
};

}  // namespace

TEST_CASE("one query gives the service levels of the paths to all ports") {
  WithSa bench;
  CHECK(bench.paths->gmp(bench.port(4, 2))->ib().sl == 0);  // nobody asked yet
  CHECK_FALSE(bench.paths->has_service_levels());
  CHECK(bench.paths->why_sl_0().empty());
  bench.ask();
  REQUIRE(bench.sa->asked.size() == 1);
  const auto query = sa::PathRecord::unpack(bench.sa->asked[0].record);
  CHECK(bench.sa->asked[0].method == mad::method::get_table);
  CHECK(bench.sa->asked[0].component_mask == (1U << 3 | 1U << 11 | 1U << 12));  // SGID, Reversible, NumbPath
  CHECK(query.sgid == bench.fabric.end_port().default_gid());
  CHECK(query.reversible == 1);
  CHECK(query.numb_path == 1);
  CHECK(bench.paths->has_service_levels());
  CHECK(bench.paths->why_sl_0().empty());
  CHECK(bench.reached() == 7);
  for (const auto& [id, number] : {std::pair(0U, 1U), std::pair(4U, 2U), std::pair(5U, 1U)}) {
    const std::optional<path::Path> path = bench.paths->gmp(bench.port(id, number));
    REQUIRE(path);
    CHECK(path->ib().sl == id + 1);
    CHECK(path->ib().dlid.value == id + 1);
    CHECK(path->ib().packet_life_time == 17);
    CHECK(path->ib().dqpn == Qpn{1});
    CHECK(path->ib().retries == 5);
  }
  CHECK(bench.paths->smp(bench.port(4, 2)) ==
        smp_path(bench.sweep->subnet, bench.sweep->subnet.port(bench.port(4, 2)).node, path::Path(start_of(bench.fabric))));
}

TEST_CASE("as in infiniband-diags, each port gets requests at its own LID") {
  WithSa bench;
  bench.sa->path_lie = [](sa::PathRecord& record) {
    record.sl = static_cast<std::uint8_t>(record.dlid.value);
    if (record.dlid == Lid{5}) record.dlid = Lid{6};  // no path to LID 5
  };
  bench.ask();
  CHECK_FALSE(bench.paths->gmp(bench.port(4, 2)));
  bench.paths->keep_to_base_lids();
  const std::optional<path::Path> path = bench.paths->gmp(bench.port(4, 2));
  REQUIRE(path);
  CHECK(path->ib().dlid == Lid{5});
  CHECK(path->ib().sl == 0);
  CHECK(bench.paths->gmp(bench.port(0, 1))->ib().sl == 1);
  CHECK(bench.reached() == 7);

  WithSa shared([](FakeFabric& fabric) {
    for (FakeFabric::Port& port : fabric.node(5).ports) port.info.lid = Lid{5};
  });
  CHECK(shared.reached() == 6);
  shared.paths->keep_to_base_lids();
  CHECK(shared.reached() == 7);
}

TEST_CASE("without an SA the service levels are 0, and the reason is reported") {
  WithSa silent;
  silent.sa->silent = true;
  silent.ask();
  CHECK_FALSE(silent.paths->has_service_levels());
  CHECK_FALSE(silent.paths->why_sl_0().empty());
  CHECK(silent.reached() == 7);
  CHECK(silent.paths->gmp(silent.port(4, 2))->ib().sl == 0);

  WithSa no_sa([](FakeFabric& fabric) {
    for (FakeFabric::NodeId id = 0; id < fabric.size(); ++id) {
      for (FakeFabric::Port& port : fabric.node(id).ports) port.info.master_sm_lid = {};
    }
    fabric.attach(2);
  });
  no_sa.ask();
  CHECK(no_sa.sa->asked.empty());
  CHECK(no_sa.paths->why_sl_0() == "no subnet administrator is known");
  CHECK(no_sa.reached() == 7);

  for (const std::uint16_t status : {std::uint16_t{0x0300}, std::uint16_t{0x0200}}) {
    WithSa refusing;
    refusing.sa->status = status;
    refusing.ask();
    CHECK_FALSE(refusing.paths->why_sl_0().empty());
    CHECK(refusing.reached() == 7);
  }
  WithSa cut;
  cut.sa->cut = true;
  cut.ask();
  CHECK(cut.sa->asked.size() == 1);
  CHECK(cut.paths->why_sl_0() == "the subnet administrator's table of paths did not arrive whole");
  CHECK(cut.reached() == 7);
}

TEST_CASE("a port to which the SA knows no path gets no GMPs; false records are not used") {
  WithSa bench;
  bench.sa->path_lie = [](sa::PathRecord& record) {
    if (record.dlid == Lid{6} || record.dlid == Lid{3}) record.dlid = Lid{0xc000};  // a host, and this one
    if (record.dlid == Lid{7}) record.dlid = Lid{500};
    record.sl = 3;
  };
  bench.ask();
  CHECK(bench.reached() == 5);
  CHECK_FALSE(bench.paths->gmp(bench.port(5, 1)));
  CHECK(bench.paths->why_no_gmp(bench.port(5, 1)) == "The SA knows no path: no GMPs are sent.");
  CHECK(bench.paths->gmp(bench.port(2, 1))->ib().sl == 0);  // to oneself
  run_pma(bench.fabric, 5);
  SurveyOptions options(start_of(bench.fabric));
  options.paths = bench.paths.get();
  const SurveyQuestion<counters::PmaSupport> ask = [](SurveyPort port) { return counters::read_pma_support(port.transactor, port.path); };
  const auto found = bench.sweep->loop.run(survey(*bench.sweep->rpc, bench.sweep->subnet, {bench.port(5, 1)}, options, ask));
  REQUIRE(found.failures.size() == 1);
  CHECK(found.failures[0].why == bench.paths->why_no_gmp(bench.port(5, 1)));
}

}  // namespace subnet_port_paths_tests
