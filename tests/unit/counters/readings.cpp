// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The counters of a fabric with the fewest MADs: sums first, ports where a sum has errors; details, clears, and PMAs that are
// silent, refuse or can little.
#include "counters/readings.hpp"

#include <algorithm>

#include "counters/difference.hpp"
#include "counters/error_query.hpp"
#include "iba-gen/mad.hpp"
#include "support/catch.hpp"
#include "support/counting_fabric.hpp"
#include "unit/subnet/swept.hpp"

namespace counters_readings_tests {

using namespace ib;
using namespace ib::counters;
using namespace ib::subnet;
using ibtest::FakePma;
using ibtest::Swept;
using namespace std::chrono_literals;

namespace {

constexpr std::uint8_t get = mad::method::get, set = mad::method::set;
constexpr std::uint16_t class_port_info = mad::ClassPortInfo::attribute_id, narrow = pm::PortCounters::attribute_id,
                        wide = pm::PortCountersExt::attribute_id;

bool has(const PmaReading& reading, std::string_view counter) { return reading.row.count(column_of(counter)).value_or(0) > 0; }

/// A switch with four ports, the host of the test at port 1 and a host of two ports at 2 and 3, swept. Only errors of "symbol" count.
struct Bench : ibtest::CountingFabric {
  Swept swept{fabric};
  ReadingPlan plan;
  PmaReadings readings;

  Bench() {
    plan.further = [](const PmaReading& reading) { return Further{.ports = has(reading, "symbol_error_counter")}; };
  }
  void read(std::vector<NodeIndex> nodes) {
    path::IbDrPath start(&fabric.end_port());
    start.sqpn = Qpn{0};
    start.retries = 1;
    readings = swept.loop.run(read_pmas(*swept.rpc, swept.subnet, std::move(nodes), plan, SurveyOptions(start)));
  }
  const PmaNode& read(NodeIndex node) {
    read(std::vector{node});
    REQUIRE(readings.nodes.size() == 1);
    return readings.nodes.front();
  }
  const PmaNode& read_leaf() { return read(swept.subnet.find_node(Guid{0x100})); }
  const PmaNode& read_other() { return read(swept.subnet.find_node(Guid{0x300})); }
  /// PMAs that can neither sum nor count errors in 64 bits.
  void make_simple(FakePma& one) {
    one.capability_mask = pm::capability_mask::is_extended_width_supported;
    one.capability_mask2 = 0;
  }
};

/// Requests for an attribute, by their ports.
std::vector<unsigned> ports_asked(const FakePma& pma, std::uint16_t attribute, std::uint8_t method = get) {
  std::vector<unsigned> ports;
  for (const FakePma::Asked& one : pma.asked) {
    if (one.attribute == attribute && one.method == method) ports.push_back(one.port);
  }
  std::ranges::sort(ports);
  return ports;
}
using Ports = std::vector<unsigned>;

}  // namespace

TEST_CASE_METHOD(Bench, "of a node without errors only the sum is read") {
  const PmaNode& node = read_leaf();
  REQUIRE(node.all);
  CHECK(node.all->select == all_ports);
  CHECK(node.all->known());
  CHECK(node.ports.empty());
  CHECK(ports_asked(pma, class_port_info).size() == 1);
  CHECK(ports_asked(pma, wide) == Ports{all_ports});
  CHECK(pma.asked.size() == 2);
}

TEST_CASE_METHOD(Bench, "where the sum has errors, each port is read, by number, and nothing twice") {
  pma.count(3, "symbol_error_counter") = 7;
  const PmaNode& node = read_leaf();
  CHECK(node.all->row.count(column_of("symbol_error_counter")) == 7U);
  REQUIRE(node.ports.size() == 4);
  for (unsigned port = 1; port <= 4; ++port) {
    CHECK(node.ports[port - 1].select == port);
    CHECK(node.ports[port - 1].row.count(column_of("symbol_error_counter")) == (port == 3 ? 7U : 0U));
  }
  CHECK(ports_asked(pma, class_port_info).size() == 1);
  CHECK(ports_asked(pma, wide) == Ports{1, 2, 3, 4, all_ports});
  CHECK(pma.asked.size() == 6);
}

TEST_CASE_METHOD(Bench, "without sums each port is read from the first") {
  make_simple(pma);
  pma.count(2, "symbol_error_counter") = 1;
  const PmaNode& node = read_leaf();
  CHECK(!node.all);
  CHECK(node.ports.size() == 4);
  CHECK(ports_asked(pma, narrow) == Ports{1, 2, 3, 4});  // errors have no room in PortCountersExtended here
  CHECK(ports_asked(pma, wide).empty());
}

TEST_CASE_METHOD(Bench, "data comes from the widest attribute, and both attributes where errors and data need both") {
  make_simple(pma);
  pma.count(2, "port_xmit_data") = std::uint64_t{1} << 40;
  constexpr std::size_t data = column_of("port_xmit_data");
  SECTION("with errors") {
    plan.counts = ReadingPlan::Counts::all;
    CHECK(read_leaf().ports.at(1).row.count(data) == std::uint64_t{1} << 40);
    CHECK(ports_asked(pma, narrow) == Ports{1, 2, 3, 4});
  }
  SECTION("without errors") {
    plan.counts = ReadingPlan::Counts::traffic;
    CHECK(read_leaf().ports.at(1).row.count(data) == std::uint64_t{1} << 40);
    CHECK(ports_asked(pma, narrow).empty());
  }
  SECTION("by a PMA that has no wide ones") {
    pma.capability_mask = 0;
    plan.counts = ReadingPlan::Counts::traffic;
    CHECK(read_leaf().ports.at(1).row.is_full(data));
    CHECK(ports_asked(pma, wide).empty());
    return;
  }
  CHECK(ports_asked(pma, wide) == Ports{1, 2, 3, 4});
}

TEST_CASE_METHOD(Bench, "each port can be read without the sum, and the ClassPortInfo of a known PMA is not requested again") {
  plan.ports = ReadingPlan::Ports::each;
  KnownPmas pmas;
  pmas.add(swept.subnet, swept.subnet.find_node(Guid{0x100}), {pma.capability_mask, pma.capability_mask2});
  plan.pmas = &pmas;
  const PmaNode& node = read_leaf();
  CHECK(!node.all);
  CHECK(node.ports.size() == 4);
  CHECK(ports_asked(pma, class_port_info).empty());
  CHECK(pma.asked.size() == 4);
}

TEST_CASE_METHOD(Bench, "hosts can be read port by port while switches give sums") {
  plan.ports = ReadingPlan::Ports::of_hosts;
  CHECK(read_leaf().ports.empty());
  const PmaNode& host = read_other();
  CHECK(!host.all);
  CHECK(host.ports.size() == 2);
  CHECK(ports_asked(other_pma, wide) == Ports{1, 2});
}

TEST_CASE_METHOD(Bench, "port 0 counts where it is an enhanced one") {
  const NodeIndex leaf_node = swept.subnet.find_node(Guid{0x100});
  CHECK(countable_ports(swept.subnet, leaf_node).size() == 4);
  swept.subnet.node(leaf_node).switch_info_bytes[16] |= 0x08;  // IBA 14.2.5.4: EnhancedPort0
  REQUIRE(swept.subnet.node(leaf_node).switch_info().enhanced_port0 != 0);
  CHECK(countable_ports(swept.subnet, leaf_node).size() == 5);
}

TEST_CASE_METHOD(Bench, "details are read where the plan wants them, and only there") {
  pma.count(2, "symbol_error_counter") = 1;
  pma.count(3, "symbol_error_counter") = 1;
  pma.count(3, "port_xmit_discards") = 4;
  pma.count(3, "port_inactive_discards") = 4;
  plan.further = [](const PmaReading& reading) {
    return Further{.ports = true, .discard_details = reading.select != all_ports && has(reading, "port_xmit_discards")};
  };
  const PmaNode& node = read_leaf();
  CHECK(ports_asked(pma, pm::PortXmitDiscardDetails::attribute_id) == Ports{3});
  CHECK(ports_asked(pma, pm::PortRcvErrorDetails::attribute_id).empty());
  constexpr std::size_t inactive = column_of("port_inactive_discards");
  CHECK(node.ports.at(2).row.count(inactive) == 4U);
  CHECK_FALSE(node.ports.at(1).row.is_known(inactive));
}

TEST_CASE_METHOD(Bench, "details that are refused leave the counters known") {
  pma.count(3, "symbol_error_counter") = 1;
  pma.unsupported.insert(pm::PortRcvErrorDetails::attribute_id);
  plan.further = [](const PmaReading&) { return Further{.ports = true, .error_details = true}; };
  const PmaNode& node = read_leaf();
  CHECK(node.ports.at(2).known());
  REQUIRE(node.ports.at(2).problems.size() == 1);
  CHECK(node.ports.at(2).problems[0].attribute == pm::PortRcvErrorDetails::attribute_id);
  CHECK(!node.ports.at(2).problems[0].set);
}

TEST_CASE_METHOD(Bench, "a silent PMA costs one chain of tries and a last one, and is one failure") {
  pma.service().faults.silent = true;
  const PmaNode& node = read_leaf();
  REQUIRE(node.problem);
  CHECK(node.problem->attribute == class_port_info);
  CHECK(mad::is_timeout(*node.problem->error));
  CHECK(node.ports.size() == 4);  // each is reported as unread
  for (const PmaReading& port : node.ports) {
    CHECK(!port.known());
    REQUIRE(port.problems.size() == 1);
    CHECK(port.problems[0].attribute == narrow);
  }
  CHECK(pma.service().requests == 2 + 1);
  REQUIRE(readings.failures.size() == 1);
  CHECK(readings.failures[0].kind == Failure::Kind::no_answer);
  std::uint64_t again = 0;
  for (const auto& [reason, count] : swept.rpc->stats()->first_tries) again += reason == "silent nodes tried again" ? count : 0;
  CHECK(again == 1);
}

TEST_CASE_METHOD(Bench, "a PMA that refuses ClassPortInfo gets the requests for its ports nevertheless") {
  pma.service().faults.status = mad::status::unsupported_method_attribute;
  pma.service().faults.status_attribute = class_port_info;
  const PmaNode& node = read_leaf();
  REQUIRE(node.problem);
  CHECK(!node.support.all_port_select());
  CHECK(node.ports.size() == 4);
  for (const PmaReading& port : node.ports) CHECK(port.known());
  CHECK(ports_asked(pma, narrow) == Ports{1, 2, 3, 4});
}

TEST_CASE_METHOD(Bench, "a PMA that refuses the counters leaves nothing known of them") {
  make_simple(pma);
  pma.unsupported.insert(narrow);
  const PmaNode& node = read_leaf();
  for (const PmaReading& port : node.ports) {
    CHECK(!port.known());
    REQUIRE(port.problems.size() == 1);
    CHECK(port.problems[0].attribute == narrow);
  }
  CHECK(readings.failures.size() == 4);
}

TEST_CASE_METHOD(Bench,
                 "a PMA that answers ClassPortInfo, but not for all ports, is a failure, and gets one more request if it is silent") {
  SECTION("it refuses") {
    pma.unsupported.insert(wide);
    const PmaNode& node = read_leaf();
    CHECK(!node.problem);
    REQUIRE(node.all);
    CHECK(!node.all->known());
    REQUIRE(readings.failures.size() == 1);
    CHECK(readings.failures[0].kind == Failure::Kind::refused);
  }
  SECTION("it misses the tries") {
    unsigned heard = 0;
    pma.service().faults.deaf = [&heard] { return ++heard > 1 && heard < 4; };
    CHECK(read_leaf().all->known());
    CHECK(readings.failures.empty());
  }
}

TEST_CASE_METHOD(Bench, "a counter that the PMA does not count holds nothing") {
  make_simple(pma);
  pma.count(1, "symbol_error_counter") = 1;
  pma.service().faults.lie = [](ibtest::FakeFabric::Answer& answer) {
    if (mad::HeaderView(answer).attribute_id() == narrow) std::fill_n(answer.end() - 4 - 150, 150, std::uint8_t{0xff});
  };
  const PmaNode& node = read_leaf();
  CHECK_FALSE(node.ports.at(0).row.count(column_of("port_xmit_wait")).has_value());
}

TEST_CASE_METHOD(Bench, "counters are cleared in the same go, together where that can be") {
  plan.clear = [](const CounterInfo& counter) { return !counter.traffic && counter.name != "qp1_dropped"; };
  constexpr std::size_t symbol = column_of("symbol_error_counter");
  SECTION("a node without errors by one Set for each attribute") {
    read_leaf();
    CHECK(ports_asked(pma, narrow, set) == Ports{all_ports});
    CHECK(ports_asked(pma, wide, set) == Ports{all_ports});
    CHECK(pma.asked.size() == 2 + 2);
  }
  SECTION("a node with errors after its ports were read") {
    pma.count(3, "symbol_error_counter") = 7;
    const PmaNode& node = read_leaf();
    CHECK(node.ports.at(2).row.count(symbol) == 7U);
    CHECK(ports_asked(pma, wide, set) == Ports{all_ports});
    CHECK(node.clear_problems.empty());
    CHECK(read_leaf().all->row.count(symbol) == 0U);
  }
  SECTION("port by port where the PMA can not do it together") {
    make_simple(pma);
    pma.count(3, "symbol_error_counter") = 7;
    read_leaf();
    CHECK(ports_asked(pma, narrow, set) == Ports{1, 2, 3, 4});
    CHECK(read_leaf().ports.at(2).row.count(symbol) == 0U);
  }
  SECTION("and the refusal of a Set is reported with what was read") {
    make_simple(pma);
    pma.count(3, "symbol_error_counter") = 7;
    const auto served = pma.service().answer;  // it owns the PMA
    pma.service().answer = [served](unsigned in_port, Bytes request) -> std::optional<ibtest::FakeFabric::Answer> {
      if (mad::HeaderView(request).method() == set) return ibtest::answer_to(request, mad::status::unsupported_method_attribute);
      return served(in_port, request);
    };
    const PmaNode& node = read_leaf();
    CHECK(node.ports.at(2).row.count(symbol) == 7U);
    REQUIRE(!node.ports.at(2).problems.empty());
    CHECK(node.ports.at(2).problems.front().set);
    REQUIRE(readings.failures.size() == 4);
    CHECK(readings.failures[0].kind == Failure::Kind::refused);
    CHECK(readings.failures[0].attribute == "PortCounters");
    CHECK(readings.failures[0].port == 1);
  }
}

TEST_CASE_METHOD(Bench, "details are cleared with the errors, and a PMA need not have them") {
  plan.clear = [](const CounterInfo& counter) { return !counter.traffic; };
  plan.clear_details = true;
  pma.unsupported.insert(pm::PortRcvErrorDetails::attribute_id);
  const PmaNode& node = read_leaf();
  CHECK(ports_asked(pma, pm::PortXmitDiscardDetails::attribute_id, set) == Ports{all_ports});
  CHECK(ports_asked(pma, pm::PortRcvErrorDetails::attribute_id, set) == Ports{});  // cannot be read
  CHECK(node.clear_problems.empty());
}

TEST_CASE_METHOD(Bench, "a node is handed over as soon as it is known, with all before it, and before those after it that are silent") {
  std::vector<std::pair<NodeIndex, async::Time>> finished;
  plan.on_node = [&](const PmaNode& node) { finished.emplace_back(node.node, swept.clock.now()); };
  const std::vector<NodeIndex> order{swept.subnet.find_node(Guid{0x100}), swept.subnet.find_node(Guid{0x200}),
                                     swept.subnet.find_node(Guid{0x300})};
  const auto nodes_told = [&] {
    finished.clear();
    read(std::vector(order));
    std::vector<NodeIndex> nodes;
    for (const auto& one : finished) nodes.push_back(one.first);
    return nodes;
  };
  pma.count(3, "symbol_error_counter") = 7;
  CHECK(nodes_told() == order);

  pma.service().faults.silent = true;  // the first: nothing can be handed over before it
  CHECK(nodes_told() == order);
  CHECK(finished[0].second == swept.clock.now());

  pma.service().faults.silent = false;
  other_pma.service().faults.silent = true;
  CHECK(nodes_told() == order);
  CHECK(finished[1].second + 1s < swept.clock.now());
  CHECK(finished[2].second == swept.clock.now());
}

TEST_CASE_METHOD(Bench, "failures stand in the order of the nodes, whenever they were met") {
  make_simple(pma);
  pma.unsupported.insert(narrow);                                                // met at the ports
  other_pma.service().faults.silent = true;                                      // met at ClassPortInfo, and at the second port
  here_pma.service().faults.status = mad::status::unsupported_method_attribute;  // met at once
  here_pma.service().faults.status_attribute = class_port_info;
  read({swept.subnet.find_node(Guid{0x100}), swept.subnet.find_node(Guid{0x300}), swept.subnet.find_node(Guid{0x200})});
  std::vector<std::pair<NodeIndex, int>> where;
  for (const Failure& failure : readings.failures) where.emplace_back(failure.node, failure.port);
  const NodeIndex leaf_node = swept.subnet.find_node(Guid{0x100}), other_node = swept.subnet.find_node(Guid{0x300}),
                  here_node = swept.subnet.find_node(Guid{0x200});
  CHECK(where == std::vector<std::pair<NodeIndex, int>>{
                     {leaf_node, 1}, {leaf_node, 2}, {leaf_node, 3}, {leaf_node, 4}, {other_node, 1}, {other_node, 2}, {here_node, 1}});
}

TEST_CASE_METHOD(Bench, "nodes are handed over or kept, and their failures are the same") {
  plan.clear = [](const CounterInfo& counter) { return !counter.traffic; };
  const auto served = other_pma.service().answer;
  other_pma.service().answer = [served](unsigned in_port, Bytes request) -> std::optional<ibtest::FakeFabric::Answer> {
    if (mad::HeaderView(request).method() == set) return ibtest::answer_to(request, mad::status::unsupported_method_attribute);
    return served(in_port, request);
  };
  const std::vector<NodeIndex> nodes{swept.subnet.find_node(Guid{0x100}), swept.subnet.find_node(Guid{0x300})};
  read(std::vector(nodes));
  CHECK(readings.nodes.size() == 2);
  const std::vector<Failure> failures = readings.failures;
  REQUIRE_FALSE(failures.empty());

  std::vector<NodeIndex> finished;
  plan.on_node = [&finished](const PmaNode& node) {
    if (node.all && node.all->known()) finished.push_back(node.node);
  };
  read(std::vector(nodes));
  CHECK(finished == nodes);
  CHECK(readings.nodes.empty());
  REQUIRE(readings.failures.size() == failures.size());
  CHECK(readings.failures[0].why == failures[0].why);
}

TEST_CASE_METHOD(Bench, "any set of ports is read; a node without any gets no request") {
  const NodeIndex at_leaf = swept.subnet.find_node(Guid{0x100});
  plan.ports = ReadingPlan::Ports::each;
  plan.ports_of = [&](NodeIndex node) {
    return node == at_leaf ? std::vector{swept.subnet.port_of(at_leaf, 2), swept.subnet.port_of(at_leaf, 4)} : std::vector<PortIndex>();
  };
  read(std::vector{at_leaf, swept.subnet.find_node(Guid{0x300})});
  REQUIRE(readings.nodes.size() == 1);
  REQUIRE(readings.nodes[0].ports.size() == 2);
  CHECK(readings.nodes[0].ports[1].select == 4);
  CHECK(readings.failures.empty());
}

TEST_CASE_METHOD(Bench, "a PMA that was silent for a while is read at the end, its ClassPortInfo too") {
  pma.service().faults.drop_next = 2;
  plan.ports = ReadingPlan::Ports::each;
  const PmaNode& node = read_leaf();
  CHECK(readings.failures.empty());
  for (const PmaReading& reading : node.ports) CHECK(reading.known());
}

TEST_CASE_METHOD(Bench, "the change of a counter between two readings comes from the attribute that holds the counter") {
  plan.ports = ReadingPlan::Ports::each;
  plan.counts = ReadingPlan::Counts::all;
  for (const bool is_simple : {false, true}) {
    CAPTURE(is_simple);
    if (is_simple) make_simple(pma);
    const auto row_of_port_2 = [&] {
      const PmaReading& reading = read_leaf().ports.at(1);
      REQUIRE(reading.select == 2);
      return reading.row;
    };
    pma.count(2, "port_xmit_data") = 1000;
    pma.count(2, "symbol_error_counter") = 5;
    const CounterRow before = row_of_port_2();
    pma.count(2, "port_xmit_data") = 1250;
    pma.count(2, "symbol_error_counter") = 9;
    swept.clock.advance(2s);
    const CounterRow now = row_of_port_2();
    const RowDifference difference(&before, now, {});
    CHECK(now.is_wide(column_of("symbol_error_counter")) == !is_simple);
    CHECK(difference.change(column_of("symbol_error_counter")).delta == 4U);
    CHECK(difference.change(column_of("port_xmit_data")).delta == 250U);
    CHECK(difference.change(column_of("link_downed_counter")).delta == 0U);
    CHECK(difference.error_seconds().value_or(0) >= 2);
  }
}

TEST_CASE_METHOD(Bench, "clearing without reading needs no Get of counters, and each end port of a host is cleared by its own PMA") {
  plan = ReadingPlan();
  plan.counts = ReadingPlan::Counts::none;
  plan.ports = ReadingPlan::Ports::each;
  plan.clear = [](const CounterInfo&) { return true; };
  other_pma.count(1, "symbol_error_counter") = other_pma.count(2, "symbol_error_counter") = 7;
  const PmaNode& host = read_other();
  CHECK(ports_asked(other_pma, narrow, set) == Ports{1, 2});
  CHECK(ports_asked(other_pma, wide, set) == Ports{1, 2});
  CHECK(ports_asked(other_pma, narrow).empty());
  CHECK(ports_asked(other_pma, wide).empty());
  CHECK(other_pma.times(class_port_info) == 2);
  REQUIRE(host.ports.size() == 2);
  CHECK_FALSE(host.ports[0].known());
  CHECK(std::ranges::all_of(host.ports, [](const PmaReading& reading) { return reading.problems.empty(); }));

  other_pma.service().faults.silent = true;
  const PmaNode& silent = read_other();
  REQUIRE(readings.failures.size() == 2);  // an agent for each LID
  for (const PmaReading& reading : silent.ports) {
    REQUIRE(reading.problems.size() == 1);
    CHECK_THAT(why_not(reading.problems.front())->message(), ibtest::starts_with("No answer from LID "));
  }
}

}  // namespace counters_readings_tests
