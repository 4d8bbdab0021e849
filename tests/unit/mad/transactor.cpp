// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One shape for every class: what the calls of a Transactor put into a request, by type and by descriptor.
#include "mad/transactor.hpp"

#include "iba-gen/cc.hpp"
#include "iba-gen/mlx.hpp"
#include "iba-gen/ofa.hpp"
#include "iba-gen/pm.hpp"
#include "iba-gen/smp.hpp"
#include "iba/registry.hpp"
#include "support/catch.hpp"
#include "support/fake_channel.hpp"
#include "support/fake_clock.hpp"

namespace mad_transactor_tests {

using namespace ib;
using namespace ib::mad;

namespace {

/// Keeps each request as the MAD that it would be, and answers with it.
class Echo final : public Transactor {
 public:
  using Transactor::Transactor;
  Task<Result<Reply>> try_call(const Request& request) override {
    asked.push_back(to_mad(request));
    reasons.emplace_back(request.reason);
    Reply reply;
    reply.bytes = asked.back();
    co_return reply;
  }
  std::vector<std::vector<std::uint8_t>> asked;
  std::vector<std::string> reasons;
};

struct Bench {
  path::Path lid_path() const {
    path::IbPath path;
    path.end_port = &host.port;
    path.dlid = Lid{2};
    return path;
  }
  ibtest::FakeHost host;
  ibtest::FakeClock clock;
  async::Loop loop{clock};
  Echo echo{host.port};
  const path::Path directed = path::IbDrPath(&host.port), lid = lid_path();

  /// Class, class version, method and attribute of the last request.
  std::array<unsigned, 4> last() const {
    const HeaderView header(echo.asked.back());
    return {header.mgmt_class(), header.class_version(), header.method(), header.attribute_id()};
  }
  std::uint32_t modifier() const { return HeaderView(echo.asked.back()).attribute_modifier(); }
};

}  // namespace

TEST_CASE("requests of all classes have one shape, and the class follows from the attribute and the path") {
  Bench bench;
  pm::PortCounters counters;
  counters.port_select = 7;
  CHECK(*bench.loop.run(bench.echo.try_performance_get(bench.lid, 3, counters)) == counters);
  CHECK(bench.last() == std::array{4U, 1U, 1U, 0x12U});
  CHECK(bench.modifier() == 3);
  bench.loop.run(taken(bench.echo.try_set(bench.lid, pm::PortCounters::info(), 4, {})));
  CHECK(bench.last() == std::array{4U, 1U, 2U, 0x12U});
  CHECK(bench.modifier() == 4);
  smp::PortInfo info;
  info.lid = Lid{9};
  CHECK(bench.loop.run(bench.echo.subn_set(bench.lid, 2, info)) == info);
  CHECK(bench.last() == std::array{1U, 1U, 2U, 0x15U});
  CHECK(bench.loop.run(bench.echo.subn_get<smp::PortInfo>(bench.directed, 2)) == smp::PortInfo{});
  CHECK(bench.last() == std::array{0x81U, 1U, 1U, 0x15U});
  bench.loop.run(taken(bench.echo.try_get(bench.lid, mlx::GeneralInfo::info())));
  CHECK(bench.last() == std::array{0x0aU, 1U, 1U, 0x17U});
  bench.loop.run(taken(bench.echo.try_get(bench.lid, cc::CongestionInfo::info())));
  CHECK(bench.last() == std::array{0x21U, 2U, 1U, 0x11U});
}

TEST_CASE("a request by descriptor equals the request by type") {
  Bench bench;
  smp::SMInfo mine;
  mine.sm_key = 0x1234;
  std::array<std::uint8_t, smp::SMInfo::wire_size> bytes{};
  mine.pack(bytes);
  CHECK(bench.loop.run(bench.echo.subn_get(bench.lid, 5, mine, "probe")) == mine);
  const std::vector<std::uint8_t> typed = bench.echo.asked.back();
  const std::vector<std::uint8_t> answer = bench.loop.run(taken(bench.echo.try_get(bench.lid, smp::SMInfo::info(), 5, bytes, "probe")));
  CHECK(bench.echo.asked.back() == typed);
  CHECK(bench.echo.reasons == std::vector<std::string>{"probe", "probe"});
  CHECK(answer.size() == 64);  // all of an SMP's data
  CHECK(smp::SMInfo::unpack(answer) == mine);
  bench.loop.run(bench.echo.subn_set(bench.lid, 5, mine));
  const std::vector<std::uint8_t> set = bench.echo.asked.back();
  bench.loop.run(taken(bench.echo.try_set(bench.lid, smp::SMInfo::info(), 5, bytes)));
  CHECK(bench.echo.asked.back() == set);
}

TEST_CASE("a vendor's attribute goes with the OUI of its class") {
  Bench bench;
  bench.loop.run(taken(bench.echo.try_get(bench.lid, ofa::SysStatPing::info())));
  CHECK(mad_oui(bench.echo.asked.back()) == ofa::SysStatPing::vendor_oui);
}

TEST_CASE("an attribute of several classes is read in the class that the function names") {
  Bench bench;
  CHECK(bench.loop.run(bench.echo.try_performance_get<ClassPortInfo>(bench.lid)));
  CHECK(bench.last() == std::array{4U, 1U, 1U, 1U});
  CHECK_THROWS_AS(bench.loop.run(taken(bench.echo.try_get(bench.lid, ClassPortInfo::info()))), std::invalid_argument);
  CHECK_THROWS_AS(bench.loop.run(taken(bench.echo.try_get(bench.lid, smp::LidPortBlock::info()))), std::invalid_argument);
}

}  // namespace mad_transactor_tests
