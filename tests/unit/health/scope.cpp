// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The links that packets between hosts use, and the findings of these.
#include "health/diagnosis.hpp"

#include "routing/tables.hpp"
#include "support/catch.hpp"
#include "unit/health/patient.hpp"

namespace health_scope_tests {

using namespace ib;
using namespace ib::health;
using ibtest::FakeFabric;
using ibtest::Found;
using ibtest::Patient;

namespace {

/// The tables that the switches of the fabric have.
routing::LinearTables tables_of(const routing::Network& network, FakeFabric& fabric) {
  routing::LinearTables tables(network.switches().size(), Lid{64});
  for (FakeFabric::NodeId id = 0; id < fabric.size(); ++id) {
    const FakeFabric::Node& node = fabric.node(id);
    if (!node.is_switch()) continue;
    const auto at = network.switch_of(network.subnet().find_node(node.info.node_guid));
    tables.clear(at);
    for (unsigned lid = 1; lid < node.lft.size() && lid <= 64; ++lid) {
      if (node.lft[lid] != routing::LinearTables::no_entry) tables.set_entry(at, Lid{static_cast<std::uint16_t>(lid)}, node.lft[lid]);
    }
  }
  return tables;
}

Scope between(Patient& patient, std::initializer_list<FakeFabric::NodeId> hosts) {
  const routing::Network network(patient.swept->subnet);
  std::set<subnet::NodeIndex> nodes;
  for (const FakeFabric::NodeId host : hosts) nodes.insert(patient.swept->subnet.find_node(patient.fabric.node(host).info.node_guid));
  const routing::LinearTables tables = tables_of(network, patient.fabric);
  return scope_between(network, tables, nodes);
}

}  // namespace

TEST_CASE("hosts of one leaf use their own links, hosts of two leaves the spine too") {
  Patient patient;
  patient.sweep();
  const Scope near = between(patient, {Patient::host0, Patient::host1});
  CHECK(std::ranges::count(near.ports, true) == 4);
  CHECK(near.has_port(patient.port(Patient::leaf0, 1)));
  CHECK(near.has_port(patient.port(Patient::host1, 1)));
  CHECK_FALSE(near.has_port(patient.port(Patient::leaf0, 3)));
  const Scope far = between(patient, {Patient::host0, Patient::host3});
  CHECK(std::ranges::count(far.ports, true) == 8);
  CHECK(far.has_port(patient.port(Patient::spine, 2)));
  CHECK(far.has_port(patient.port(Patient::spine, 1)));
  CHECK_FALSE(far.has_port(patient.port(Patient::host2, 1)));
}

TEST_CASE("a wrong entry leads away from the destination, and its link counts") {
  Patient patient;
  const std::uint16_t lid = patient.info(Patient::host1, 1).lid.value;
  patient.fabric.node(Patient::leaf0).lft.at(lid) = 3;  // up, and the spine sends it back: a loop
  patient.sweep();
  const Scope scope = between(patient, {Patient::host0, Patient::host1});
  CHECK(scope.has_port(patient.port(Patient::leaf0, 3)));
  CHECK_FALSE(scope.has_port(patient.port(Patient::leaf1, 3)));
}

TEST_CASE("only findings of the scope are kept") {
  Patient patient;
  patient.sweep();
  patient.count(Patient::leaf0, 1, "symbol_error_counter", 30);
  patient.count(Patient::leaf1, 2, "symbol_error_counter", 30);
  for (auto& [at, of] : patient.counts) patient.input->counts.add(of);
  const Diagnosis diagnosis = examine(*patient.input, {}, between(patient, {Patient::host0, Patient::host1}));
  REQUIRE(Patient::checks_of(diagnosis) == Found{"symbol-errors"});
  CHECK(diagnosis.findings.front().ends.front().port == patient.port(Patient::leaf0, 1));
  CHECK(examine(*patient.input, {}).findings.size() == 2);
  CHECK(examine(*patient.input, {}, scope_around(patient.swept->subnet, patient.input->subnet.port(patient.port(Patient::leaf1, 1)).node))
            .findings.size() == 1);
}

TEST_CASE("groups have only nodes of the scope, and so do the counts of the first line") {
  Patient patient;
  patient.sweep();
  const Scope near = between(patient, {Patient::host0, Patient::host1});
  Finding group = on_ports(patient.swept->subnet, std::array{patient.port(Patient::host3, 1), patient.port(Patient::host1, 1)});
  group.subject = Finding::Subject::group;
  group.evidence.resize(2);
  group.evidence[0].end = 0;
  group.evidence[1].end = 1;
  near.narrow(group);
  REQUIRE(group.ends.size() == 1);
  CHECK(group.ends[0].port == patient.port(Patient::host1, 1));
  REQUIRE(group.evidence.size() == 1);
  CHECK(group.evidence[0].end == 0);
  CHECK(link_count(patient.swept->subnet, near) == 2);
  CHECK(switch_count(patient.swept->subnet, near) == 1);
  CHECK(host_count(patient.swept->subnet, HostNames(), near) == 2);
  CHECK(link_count(patient.swept->subnet, Scope()) == link_count(patient.swept->subnet));
}

}  // namespace health_scope_tests
