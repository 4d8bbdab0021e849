// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The analysis of check_routes on a fabric of 1250 hosts lets the loop run between its slices, and ends at the next one after Ctrl-C.
#include <algorithm>
#include <csignal>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/group.hpp"
#include "async/loop.hpp"
#include "async/signals.hpp"
#include "support/catch.hpp"
#include "tools/check_routes/routes.hpp"
#include "unit/routing/made_fabric.hpp"

using namespace ib;
using ibtest::MadeFabric;
using tools::routes::analyse;

namespace {

constexpr unsigned switch_count = 5, hosts_a_switch = 250;

/// Switches in a ring, port 1 leads to the next one, port 2 to the one before. Packets go at most two links forwards, else backwards, so
/// that ports wait for each other in circles.
struct BigRing : MadeFabric {
  BigRing() {
    for (unsigned at = 0; at < switch_count; ++at) add_switch(2 + hosts_a_switch);
    for (unsigned at = 0; at < switch_count; ++at) {
      link_switches(at, 1, (at + 1) % switch_count, 2);
      for (unsigned host = 0; host < hosts_a_switch; ++host) add_host(at, 3 + host, lid_of(at, host));
    }
    for (unsigned at = 0; at < switch_count; ++at) {
      for (unsigned to = 0; to < switch_count; ++to) {
        const unsigned links = (to + switch_count - at) % switch_count;
        for (unsigned host = 0; host < hosts_a_switch; ++host) lft[{at, lid_of(to, host)}] = links == 0 ? 3 + host : links <= 2 ? 1 : 2;
      }
    }
  }
  static unsigned lid_of(unsigned at, unsigned host) { return 1 + at * hosts_a_switch + host; }
};

/// One analysis. Ctrl-C comes in its pause number `interrupted_at`.
class Analysis {
 public:
  explicit Analysis(const BigRing& ring, std::size_t interrupted_at = 0)
      : tables_(ring.subnet, false), found_(tables_), interrupted_at_(interrupted_at) {
    tables_.linear = ring.tables();
    for (const std::uint16_t mlid : {std::uint16_t{0xc000}, std::uint16_t{0xc001}, std::uint16_t{0xc002}})
      tables_.groups.members[mlid] = {};
    wanted_.sls = 1;
    tables_.levels = routing::ServiceLevels(*wanted_.sls);
  }

  void run() {
    async::Interrupt interrupt(loop_);
    loop_.run(async::until_interrupted(loop_, interrupt, work()));
  }

  const tools::routes::RouteFindings& found() const { return found_; }
  bool ended = false;
  std::size_t pauses = 0;  ///< slices that ended
  std::size_t turns = 0;   ///< of another task of the loop
  std::set<std::string> units;

 private:
  async::Task<> work() {
    async::TaskGroup others(loop_);
    others.spawn(take_turns());
    const routing::Pause pause = [this](std::size_t done, std::size_t of, std::string_view of_what) {
      return this->pause(done, of, of_what);
    };
    const routing::ReadLanes lanes = [this](std::vector<routing::WantedLanes> ports) { return read_lanes(std::move(ports)); };
    async::Task<> analysis = analyse(wanted_, tables_, lanes, pause, found_);
    co_await std::move(analysis);
    ended = true;
  }

  async::Task<> take_turns() {
    for (;;) {
      co_await loop_.yield();
      ++turns;
    }
  }

  /// As the commands pause.
  async::Task<> pause(std::size_t done, std::size_t of, std::string_view of_what) {
    CHECK(done > 0);
    CHECK(done <= of);
    units.emplace(of_what);
    if (++pauses == interrupted_at_) CHECK(std::raise(SIGINT) == 0);
    co_await loop_.yield();
  }

  /// All packets travel on one VL.
  async::Task<> read_lanes(std::vector<routing::WantedLanes> ports) {
    for (const routing::WantedLanes& of : ports) {
      const unsigned slots = tables_.network.switches()[of.at].slots;
      for (const std::uint8_t in : of.in) tables_.lanes.set(of.at, slots, in, of.out, {});
    }
    co_return;
  }

  async::Loop loop_;
  tools::routes::RouteChecks wanted_;
  tools::routes::Tables tables_;
  tools::routes::RouteFindings found_;
  std::size_t interrupted_at_;
};

}  // namespace

TEST_CASE("An analysis of routes gives way to others after each slice, and Ctrl-C ends it there") {
  const BigRing ring;
  Analysis whole(ring);
  whole.run();
  REQUIRE(whole.ended);
  REQUIRE(whole.found().loops);
  CHECK(whole.found().loops->verdict == routing::Verdict::found);
  CHECK(whole.found().unicast.pairs() == std::uint64_t{1250} * 1249);
  CHECK(whole.units == std::set<std::string>{"destinations", "groups"});
  // The ways are found at least once for what arrives and once for the lanes, in slices of 256 destinations.
  const std::size_t slices = 1250 / routing::destinations_a_slice;
  REQUIRE(whole.pauses >= 2 * slices + 3);
  CHECK(whole.turns >= whole.pauses);

  const std::size_t step = std::max<std::size_t>(1, whole.pauses / 8);
  for (std::size_t at = 1; at + 2 < whole.pauses; at += step) {
    CAPTURE(at, whole.pauses);
    Analysis interrupted(ring, at);
    interrupted.run();
    CHECK_FALSE(interrupted.ended);
    CHECK(interrupted.pauses >= at);
    CHECK(interrupted.pauses <= at + 1);  // a slice that had begun when the signal was seen
    if (at < slices) CHECK_FALSE(interrupted.found().loops);
  }
}
