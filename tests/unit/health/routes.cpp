// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Forwarding tables as a whole.
#include "health/route_analysis.hpp"
#include "routing/table_reader.hpp"
#include "support/catch.hpp"
#include "unit/health/patient.hpp"

namespace health_routes_tests {

using namespace ib;
using namespace ib::health;
using ibtest::Found;
using ibtest::Patient;

namespace {

/// The findings of a fabric whose tables are read.
Diagnosis routed(Patient& patient) {
  patient.sweep();
  const auto analyse = [](Patient& of) -> async::Task<> {
    path::IbDrPath start;
    start.end_port = &of.fabric.end_port();
    start.sqpn = Qpn{0};
    const subnet::SurveyOptions options(start, subnet::SurveyWay::smp);
    const routing::Network network(of.swept->subnet);
    routing::LinearTables tables(network.switches().size(), network.last_lid());
    const routing::TablesToRead to{.linear = &tables};
    std::vector<routing::SwitchIndex> switches = routing::all_switches(network);
    const subnet::Failures failures = co_await routing::read_tables(*of.swept->rpc, network, std::move(switches), to, options);
    CHECK(failures.empty());
    of.input->route_faults = co_await analyse_routes(network, tables, {});
  };
  patient.swept->loop.run(analyse(patient));
  return patient.examine();
}

}  // namespace

TEST_CASE("routes: an entry that is missing, one that leads to a port without a link, a loop") {
  Patient good;
  CHECK(Patient::checks_of(routed(good)).empty());

  Patient missing;
  missing.fabric.node(Patient::leaf0).lft[missing.info(Patient::host3, 1).lid.value] = 255;
  const Diagnosis lost = routed(missing);
  REQUIRE(Patient::checks_of(lost) == Found{"routes"});
  CHECK(lost.findings[0].ends.front() == Place{missing.swept->subnet.port(missing.port(Patient::leaf0, 0)).node, subnet::none});
  CHECK_THAT(lost.findings[0].detail, ibtest::contains("2 pairs lost"));

  Patient circle;
  circle.fabric.node(Patient::spine).lft[circle.info(Patient::host3, 1).lid.value] = 1;  // back to where they came from
  CHECK(Patient::checks_of(routed(circle)) == Found{"routes"});
}

}  // namespace health_routes_tests
