// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A process that lives for months, in a minute: 10,000 rounds on a fabric in memory, on a clock that jumps. Each round sweeps, reads all
// counters and compares them with those before. Nodes come and go, the process loses its port and finds it again, the SM moves to another
// LID. It must count exactly what the fabric counts, name what is silent in the rounds in which it is, and neither grow nor keep
// descriptors open.
#include <fmt/format.h>

#include <cstdlib>
#include <iterator>
#include <stdexcept>
#include <string>

#include "counters/difference.hpp"
#include "counters/readings.hpp"
#include "iba/text.hpp"
#include "soak/soak.hpp"
#include "subnet/sweep/discovery.hpp"
#include "support/fake_clock.hpp"
#include "support/fake_fabric.hpp"
#include "support/fake_pma.hpp"
#include "support/fake_sysfs.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/stack.hpp"
#include "tools/frame/world.hpp"

using namespace ib;
using namespace std::chrono_literals;
using ibtest::FakeFabric;

namespace ibtest::soak::long_running {
namespace {

constexpr std::uint64_t errors_a_round = 3;

/// What the process sees of itself: one end port in sysfs, whose device can be missing.
class Site {
 public:
  Site() {
    ibtest::FakeSysfs::Port port;
    const sys::EndPort& here = fabric.end_port();
    sysfs_.device("fake0", to_text(here.device->node_guid));
    port.gid = to_text(here.default_gid());
    port.umad = "umad0";
    sysfs_.port("fake0", port);
    sysfs_.write("class/infiniband/fake0/ports/1/lid", fmt::format("0x{:x}\n", here.lid.value));
    sysfs_.write("class/infiniband/fake0/ports/1/lid_mask_count", "0\n");
    world = tools::this_host();
    world.open_channel = [this](const sys::EndPort&, mad::GmpCarrier) -> std::unique_ptr<mad::Channel> {
      if (is_port_gone) throw SysError(ENODEV, "open", "/dev/infiniband/umad0");
      return fabric.open();
    };
  }
  void set_sm_lid(unsigned lid) { sysfs_.write("class/infiniband/fake0/ports/1/sm_lid", fmt::format("0x{:x}\n", lid)); }

  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 3);
  bool is_port_gone = false;
  tools::World world;

 private:
  ibtest::FakeSysfs sysfs_;
};

/// The process.
class Watcher {
 public:
  explicit Watcher(Site& site) : host_(site.world, {}), stack_(host_, loop) {}

  /// One round. What goes wrong with the port ends it; the next one begins with a new stack.
  async::Task<> round() {
    failures.clear();
    grown = 0;
    bool is_lost = false;
    try {
      async::Task<> read = read_once();
      co_await std::move(read);
    } catch (const SysError&) {
      is_lost = true;
    }
    was_read = !is_lost;
    if (!is_lost) co_return;
    stack_.close();
    co_await loop.sleep_for(1s);
    host_.reread();
  }

  ibtest::FakeClock clock;
  async::Loop loop{clock};
  bool was_read{};
  std::uint64_t grown{};      ///< errors that all ports have counted since the round before
  subnet::Failures failures;  ///< of this round alone
  subnet::Subnet subnet;
  counters::CounterHistory history;
  Lid sm_lid() { return host_.end_port().sm_lid; }
  void reopen() {
    stack_.close();
    host_.reread();
  }

 private:
  async::Task<> read_once() {
    const path::Path start = stack_.here();
    subnet::Discovered discovered = co_await subnet::discover(stack_.lowest_transactor(), subnet, start, {});
    failures = std::move(discovered.failures);
    history.keep_nodes_of(subnet);
    std::vector<subnet::NodeIndex> nodes;
    for (subnet::NodeIndex at = 0; at < subnet.nodes().size(); ++at) nodes.push_back(at);
    counters::ReadingPlan plan;
    plan.ports = counters::ReadingPlan::Ports::each;
    plan.on_node = [this](const counters::PmaNode& node) { take(node); };
    subnet::SurveyOptions options(start);
    counters::PmaReadings readings =
        co_await counters::read_pmas(stack_.transactor(), subnet, std::move(nodes), std::move(plan), std::move(options));
    std::ranges::move(readings.failures, std::back_inserter(failures));
  }

  void take(const counters::PmaNode& node) {
    for (const counters::PmaReading& reading : node.ports) {
      if (!reading.known()) continue;
      const std::optional<counters::CounterRow> before =
          history.take(counters::counter_key(subnet, node.node, reading.select), reading.row);
      if (before) grown += counters::RowDifference(&*before, reading.row, {}).errors().delta("symbol_error_counter");
    }
  }

  tools::Host host_;
  tools::Stack stack_;
};

/// What happens in a round. Each event ends before the next one of its kind.
struct Events {
  bool node_gone, node_silent, port_gone, sm_moves;
  explicit Events(unsigned round)
      : node_gone(round % 7 >= 5), node_silent(round % 11 == 3), port_gone(round % 50 >= 47), sm_moves(round % 100 == 60) {}
};

}  // namespace

void run(unsigned rounds) {
  Site site;
  Watcher watcher(site);
  ibtest::FakePma& leaf = run_pma(site.fabric, 0);
  std::vector<ibtest::FakePma*> pmas{&leaf};
  for (FakeFabric::NodeId node = 1; node < site.fabric.size(); ++node) pmas.push_back(&run_pma(site.fabric, node));
  const FakeFabric::NodeId last = site.fabric.size() - 1;
  std::size_t heap_before = 0, descriptors = 0;
  unsigned read = 0, lost = 0, missed = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    const Events events(round);
    site.fabric.set_link(last, 1, !events.node_gone);
    site.fabric.node(last).faults.silent = events.node_silent;
    if (events.port_gone && !site.is_port_gone) site.fabric.channel().break_down(EIO);
    site.is_port_gone = events.port_gone;
    if (events.sm_moves) {
      site.set_sm_lid(round % 40 + 1);
      watcher.reopen();
    }
    leaf.count(1, "symbol_error_counter") += errors_a_round;
    watcher.clock.advance(30s);
    watcher.loop.run(watcher.round());
    for (ibtest::FakePma* pma : pmas) pma->asked.clear();
    site.fabric.sets.clear();
    must(watcher.was_read == !events.port_gone, fmt::format("round {}: read {}, port gone {}", round, watcher.was_read, events.port_gone));
    if (!watcher.was_read) {
      ++lost, ++missed;
      continue;
    }
    ++read;
    const bool is_whole = !events.node_gone && !events.node_silent;
    must(watcher.failures.empty() == (is_whole || events.node_gone), fmt::format("round {}: {} failures", round, watcher.failures.size()));
    must(watcher.subnet.nodes().size() == site.fabric.size() - (is_whole ? 0 : 1),
         fmt::format("round {}: {} nodes", round, watcher.subnet.nodes().size()));
    const std::uint64_t expected = read == 1 ? 0 : errors_a_round * (missed + 1);
    must(watcher.grown == expected, fmt::format("round {}: {} errors in place of {}", round, watcher.grown, expected));
    missed = 0;
    if (events.sm_moves) must(watcher.sm_lid().value == round % 40 + 1, fmt::format("round {}: the SM has not moved", round));
    if (descriptors == 0 && round >= rounds / 10) heap_before = heap(), descriptors = open_descriptors();
  }
  const std::size_t heap_after = heap();
  constexpr std::size_t most_growth = 64 * 1024;  // what the two ends of a run may differ by: rounds end in different events
  must(open_descriptors() == descriptors, fmt::format("{} descriptors, then {}", descriptors, open_descriptors()));
  must(heap_after <= heap_before + most_growth, fmt::format("{} bytes of heap in use, then {}", heap_before, heap_after));
  fmt::print("{} rounds read, {} without a port; heap {} -> {} bytes, {} descriptors\n", read, lost, heap_before, heap_after, descriptors);
}

}  // namespace ibtest::soak::long_running
