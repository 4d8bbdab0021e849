// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Surveys: a value or a failure for each port, side by side; silent agents cost one chain and are one failure each.
#include "subnet/sweep/survey.hpp"

#include "iba-gen/pm.hpp"
#include "subnet/model/port_paths.hpp"
#include "support/catch.hpp"
#include "support/fake_pma.hpp"
#include "unit/subnet/swept.hpp"

namespace subnet_survey_tests {

using namespace ib;
using namespace ib::subnet;
using namespace std::chrono_literals;
using ibtest::FakeFabric;
using ibtest::Swept;

namespace {

constexpr unsigned leaves = 10, spines = 2, hosts = 20;

async::Task<mad::Result<pm::PortCounters>> read_port_counters(SurveyPort port) {
  pm::PortCounters wanted;
  wanted.port_select = port.number;
  mad::Result<pm::PortCounters> counters = co_await port.transactor.try_performance_get(port.path, 0, wanted);
  co_return counters;
}

async::Task<mad::Result<smp::PortInfo>> read_port_info(SurveyPort port) {
  mad::Result<smp::PortInfo> info = co_await port.transactor.try_subn_get<smp::PortInfo>(port.path, port.number);
  co_return info;
}

/// A fat tree of which every node runs a PMA that has counted, for each port, its number; swept.
struct Bench {
  explicit Bench(unsigned retries = 3) : fabric(FakeFabric::fat_tree(leaves, spines, hosts)), sweep(fabric, {}, retries) {
    start.end_port = &fabric.end_port();
    start.sqpn = Qpn{0};
    start.retries = retries;
    for (FakeFabric::NodeId id = 0; id < fabric.size(); ++id) {
      ibtest::FakePma& pma = run_pma(fabric, id);
      for (unsigned port = 1; port < fabric.node(id).ports.size(); ++port) pma.count(port, "port_rcv_pkts") = 1000 + port;
    }
    for (PortIndex i = 0; i < sweep.subnet.ports().size(); ++i) {
      if (sweep.subnet.port(i).peer != none) linked.push_back(i);
    }
  }
  template <class T>
  Surveyed<T> survey(const SurveyQuestion<T>& ask, SurveyOptions options, const std::vector<PortIndex>& ports) {
    const async::Time begin = sweep.clock.now();
    Surveyed<T> found = sweep.loop.run(ib::subnet::survey(*sweep.rpc, sweep.subnet, ports, std::move(options), ask));
    took = sweep.clock.now() - begin;
    return found;
  }
  Surveyed<pm::PortCounters> counters(std::size_t window = 1024) {
    SurveyOptions options(start);
    options.window = window;
    return survey<pm::PortCounters>(read_port_counters, options, linked);
  }
  FakeFabric::Node& spine() { return fabric.node(0); }
  FakeFabric::Faults& pma_faults(FakeFabric::NodeId id) { return fabric.node(id).services.at(mad::mgmt_class::performance).faults; }
  NodeIndex node(FakeFabric::NodeId id) const { return sweep.subnet.find_node(const_cast<FakeFabric&>(fabric).node(id).info.node_guid); }

  FakeFabric fabric;
  Swept sweep;
  path::IbDrPath start;
  std::vector<PortIndex> linked;
  async::Duration took{};
};

template <class T>
std::size_t values(const Surveyed<T>& found) {
  return static_cast<std::size_t>(std::ranges::count_if(found.rows, [](const auto& row) { return row.value.has_value(); }));
}

}  // namespace

TEST_CASE("a survey gives a value for each port, in the order given, by GMPs and by SMPs") {
  Bench bench;
  std::ranges::reverse(bench.linked);
  REQUIRE(bench.linked.size() == 2 * (leaves * spines + leaves * hosts));
  const auto found = bench.counters();
  CHECK(found.complete());
  REQUIRE(found.rows.size() == bench.linked.size());
  for (std::size_t i = 0; i < found.rows.size(); ++i) {
    REQUIRE(found.rows[i].port == bench.linked[i]);
    REQUIRE(found.rows[i].value);
    CHECK(found.rows[i].value->port_rcv_pkts == 1000U + bench.sweep.subnet.port(bench.linked[i]).number);
  }
  const SurveyOptions by_smp(bench.start, SurveyWay::smp);
  const auto infos = bench.survey<smp::PortInfo>(read_port_info, by_smp, bench.linked);
  CHECK(infos.complete());
  for (const auto& row : infos.rows) {
    REQUIRE(row.value);
    CHECK(row.value->lid == bench.sweep.subnet.port(row.port).info().lid);
  }
  const auto nothing = bench.survey<smp::PortInfo>(read_port_info, by_smp, {});
  CHECK(nothing.complete());
  CHECK(nothing.rows.empty());
}

TEST_CASE("a survey of 300 ports takes a round trip for each window of the engine, and one for each port where one is open") {
  Bench bench;
  bench.linked.resize(300);
  const std::uint64_t before = bench.sweep.sent();
  CHECK(bench.counters().complete());
  CHECK(bench.sweep.sent() - before == 300);
  // The engine's window grows as 8, 16, 32, 64, 128, 128.
  CHECK(bench.took <= 7 * bench.fabric.network.delay);
  CHECK(bench.counters(1).complete());
  CHECK(bench.took == 300 * bench.fabric.network.delay);
}

TEST_CASE("of a survey no more questions are open than the engine sends, but for those that wait for the silent") {
  Bench bench;
  std::size_t open = 0, most = 0;
  const auto counted = [&](SurveyPort port) -> async::Task<mad::Result<pm::PortCounters>> {
    most = std::max(most, ++open);
    mad::Result<pm::PortCounters> counters = co_await read_port_counters(port);
    --open;
    co_return counters;
  };
  const SurveyQuestion<pm::PortCounters> ask = counted;
  const SurveyOptions options(bench.start);
  REQUIRE(bench.linked.size() > 2 * options.young);
  CHECK(bench.survey(ask, options, bench.linked).complete());
  CHECK(most == options.young);

  // Nodes that are all silent wait side by side, though they are more.
  for (FakeFabric::NodeId id = 0; id < bench.fabric.size(); ++id) bench.pma_faults(id).silent = true;
  Bench one;
  one.pma_faults(0).silent = true;
  one.linked = {one.sweep.subnet.port_of(one.node(0), 1)};
  CHECK_FALSE(one.counters().complete());
  most = 0;
  CHECK(values(bench.survey(ask, options, bench.linked)) == 0);
  CHECK(most > 2 * options.young);
  CHECK(bench.took < one.took * 3 / 2);
}

TEST_CASE("a silent PMA costs a survey one chain of tries and is one failure, all others are read") {
  Bench one;
  one.pma_faults(0).silent = true;
  one.linked = {one.sweep.subnet.port_of(one.node(0), 1)};
  CHECK_FALSE(one.counters().complete());
  const async::Duration chain = one.took;

  for (const std::size_t window : {1024U, 128U}) {
    Bench bench;
    for (const FakeFabric::NodeId id : {0U, 2U, 3U}) bench.pma_faults(id).silent = true;  // a spine, a leaf, a host
    const std::uint64_t before = bench.fabric.node(0).services.at(4).requests;
    const auto found = bench.counters(window);
    CAPTURE(window);
    CHECK_FALSE(found.complete());
    CHECK(values(found) == bench.linked.size() - leaves - (hosts + spines) - 1);
    REQUIRE(found.failures.size() == 3);
    CHECK(bench.took < chain * 3 / 2);
    CHECK(bench.fabric.node(0).services.at(4).requests - before <= 4 + leaves);  // one of them at the end
    for (const auto& row : found.rows) {
      REQUIRE(row.value.has_value() == (row.failure == none));
      if (row.failure != none) CHECK(found.failures.at(row.failure).node == bench.sweep.subnet.port(row.port).node);
    }
    // In the order of the rows: the sweep's first node is the host that asks.
    for (const Failure& failure : found.failures) {
      CHECK(failure.kind == Failure::Kind::no_answer);
      CHECK(failure.attribute == "PortCounters");
      CHECK(failure.port == (bench.sweep.subnet.node(failure.node).kind() == NodeKind::sw ? -1 : 1));
      REQUIRE(failure.error);
      CHECK(dynamic_cast<const mad::MadTimeout&>(*failure.error).tries() > 0);
    }
    // The SMA is another agent, and another way.
    CHECK(bench.survey<smp::PortInfo>(read_port_info, SurveyOptions(bench.start, SurveyWay::smp), bench.linked).complete());
  }
}

TEST_CASE("a silent PMA gets one more try at the end") {
  // It misses a whole chain of tries and is back for the last one; all its ports are read then.
  Bench back(2);
  back.pma_faults(0).drop_next = 3;
  back.pma_faults(2).drop_next = 3;
  const std::uint64_t before = back.fabric.node(0).services.at(4).requests;

  CHECK(back.counters(1).complete());
  CHECK(back.fabric.node(0).services.at(4).requests - before == 3 + 1 + leaves);  // one for ClassPortInfo, which every PMA has

  Bench gone(2);
  gone.pma_faults(0).silent = true;
  const auto found = gone.counters(1);
  CHECK(found.failures.size() == 1);
  CHECK(gone.fabric.node(0).services.at(4).requests == 3 + 1);
  for (const auto& row : found.rows) CHECK((row.failure == 0) == !row.value);

  // It answers that one try and two more, and falls silent for good: what it told is kept, the rest is one failure.
  Bench again(2);
  unsigned deaf = 3, heard = 0;
  again.pma_faults(0).deaf = [&] {
    if (deaf > 0) return deaf-- > 0;
    return ++heard > 3;
  };
  const auto part = again.counters(1);
  CHECK(part.failures.size() == 1);
  CHECK(values(part) == again.linked.size() - leaves + 2);
}

TEST_CASE("a PMA that does not answer one attribute is not silent, and the attribute is given up at once") {
  Bench bench(2);
  bench.pma_faults(0).ignores = pm::PortCounters::attribute_id;
  const auto found = bench.counters();
  REQUIRE(found.failures.size() == 1);
  CHECK(found.failures[0].attribute == "PortCounters");
  CHECK(found.failures[0].kind == Failure::Kind::no_answer);
  CHECK(values(found) == bench.linked.size() - leaves);
  for (const auto& row : found.rows) CHECK_FALSE(row.silent);
  CHECK(bench.fabric.node(0).services.at(4).requests < 3 * leaves);

  Bench gone(2);
  gone.pma_faults(0).silent = true;
  for (const auto& row : gone.counters().rows) CHECK(row.silent == !row.value);
}

TEST_CASE("an attribute that a node does not answer, while it answers others, is not waited for the whole time again") {
  Bench bench;
  bench.spine().faults.ignores = smp::PortInfo::attribute_id;
  const std::vector<PortIndex> ports{bench.sweep.subnet.node(bench.node(0)).first_port + 1};
  const SurveyOptions by_smp(bench.start, SurveyWay::smp);
  REQUIRE(bench.survey<smp::PortInfo>(read_port_info, by_smp, ports).failures.size() == 1);
  const async::Duration took = bench.took;
  bench.spine().faults.silent = true;  // one chain of tries, and one try
  REQUIRE(bench.survey<smp::PortInfo>(read_port_info, by_smp, ports).failures.size() == 1);
  CHECK(took < bench.took * 3 / 2);
}

TEST_CASE("a PMA that refuses is a failure of each port that it refuses") {
  Bench bench;
  bench.pma_faults(0).status = mad::status::invalid_attribute_or_modifier;
  const auto found = bench.counters();
  REQUIRE(found.failures.size() == leaves);
  for (const Failure& failure : found.failures) {
    CHECK(failure.kind == Failure::Kind::refused);
    CHECK(failure.node == bench.node(0));
    CHECK(failure.port > 0);
  }
  CHECK(values(found) == bench.linked.size() - leaves);
}

TEST_CASE("a tenth of all MADs lost leaves a survey complete") {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    Bench bench(7);
    bench.fabric.network.loss = 0.1;
    bench.fabric.seed(seed);
    CAPTURE(seed);
    CHECK(bench.counters().complete());
  }
}

TEST_CASE("ports without a LID of their own get no requests by LID, and are one failure a node") {
  Bench bench;
  bench.fabric.node(0).ports[0].info.lid = {};
  const Swept again(bench.fabric);
  const PortIndex first = again.subnet.port_of(again.subnet.find_node(bench.spine().info.node_guid), 1);
  CHECK_FALSE(gmp_path(again.subnet, first, bench.start));
  SurveyOptions options(bench.start);
  const SurveyQuestion<pm::PortCounters> ask = read_port_counters;
  async::Loop& loop = const_cast<Swept&>(again).loop;
  const auto found = loop.run(ib::subnet::survey(*again.rpc, again.subnet, {first, first + 1}, options, ask));
  REQUIRE(found.failures.size() == 1);
  CHECK(found.failures[0].error == nullptr);
  CHECK(found.rows[0].failure == 0);
  CHECK(found.rows[1].failure == 0);
}

TEST_CASE("a survey reports its progress; an exception of a question ends it") {
  Bench bench;
  std::vector<std::size_t> seen;
  SurveyOptions options(bench.start);
  options.progress = [&](std::size_t done, std::size_t of) {
    CHECK(of == bench.linked.size());
    seen.push_back(done);
  };
  CHECK(bench.survey<pm::PortCounters>(read_port_counters, options, bench.linked).complete());
  REQUIRE(seen.size() == bench.linked.size());
  CHECK(std::ranges::is_sorted(seen));
  CHECK(seen.back() == bench.linked.size());
  const auto broken = [](SurveyPort port) -> async::Task<mad::Result<pm::PortCounters>> {
    if (port.number == 3) throw Error("enough");
    return read_port_counters(port);
  };
  const SurveyQuestion<pm::PortCounters> ask = broken;
  CHECK_THROWS_AS(bench.survey(ask, options, bench.linked), Error);
}

TEST_CASE("requests that follow from answers are sent before waiting ones; an agent that falls silent meanwhile gets one more try too") {
  Bench bench(2);
  SurveyOptions options(bench.start);
  options.window = 1;
  std::vector<std::pair<std::size_t, PortIndex>> asked;
  std::vector<std::size_t> ended;
  Survey* running = nullptr;
  const PortIndex spine = bench.sweep.subnet.port_of(bench.node(0), 1), leaf = bench.sweep.subnet.port_of(bench.node(2), 1);
  const auto ask = [&](std::size_t question, SurveyPort port) -> async::Task<std::shared_ptr<const mad::MadError>> {
    asked.emplace_back(question, port.index);
    const mad::Result<pm::PortCounters> answer = co_await read_port_counters(port);
    if (!answer) co_return answer.shared_error();
    co_return nullptr;
  };
  const auto end = [&](std::size_t question) {
    ended.push_back(question);
    if (question != 0) return;
    CHECK(running->add_next(spine + 1) == 2);
    CHECK(running->add(spine + 2) == 3);
  };
  Survey survey(*bench.sweep.rpc, bench.sweep.subnet, options, ask, end);
  running = &survey;
  survey.add(spine);
  survey.add(leaf);
  const auto run = [&] { bench.sweep.loop.run(survey.run()); };

  SECTION("all answer") {
    run();
    CHECK(ended == std::vector<std::size_t>{0, 2, 1, 3});
  }
  SECTION("the first is silent until it is asked once more, and what it brings finds another silent") {
    bench.pma_faults(0).drop_next = 3;
    unsigned heard = 0;
    bench.pma_faults(2).deaf = [&heard] { return ++heard <= 3; };
    run();
    CHECK(ended.size() == 4);
    for (std::size_t question = 0; question < 4; ++question) CHECK(!survey.has_failed(question));
  }
  SECTION("a failure ends once, when it is final") {
    bench.pma_faults(2).silent = true;
    run();
    CHECK(ended == std::vector<std::size_t>{0, 2, 3, 1});
    CHECK(survey.has_failed(1));
    CHECK(survey.failure(1).node == bench.node(2));
    std::vector<Failure> failures;
    CHECK(survey.settle(0, failures) == none);
    CHECK(survey.settle(1, failures) == 0);
    CHECK(survey.settle(1, failures) == 0);
    CHECK(failures.size() == 1);
  }
}

}  // namespace subnet_survey_tests
