// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The exporter for 10,000 rounds, three and a half days of a clock that jumps, on a fabric in memory. Links break and come back, nodes fall
// silent, the end port goes away, somebody asks for a sweep, hosts swap LIDs, another subnet manager takes over; in each round both pages
// are made. What it shows must be what the fabric counts, and it must neither grow nor keep descriptors open, nor say the same again and
// again.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "async/group.hpp"
#include "base/log.hpp"
#include "iba/text.hpp"
#include "metrics/families.hpp"
#include "soak/soak.hpp"
#include "support/fake_clock.hpp"
#include "support/fake_pma.hpp"
#include "support/fake_sysfs.hpp"
#include "tools/exporter/engine.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/stack.hpp"
#include "tools/frame/world.hpp"

using namespace ib;
using namespace std::chrono_literals;
using ibtest::FakeFabric;

namespace ibtest::soak::exporter {
namespace {

constexpr FakeFabric::NodeId leaf = 1, second_host = 3, third_host = 4, last_leaf = 5;

/// A fabric of a spine and two leaves with three hosts each, and an engine at the first host.
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
    for (FakeFabric::NodeId node = 0; node < fabric.size(); ++node) pmas.push_back(&run_pma(fabric, node));
    world_ = tools::this_host();
    world_.log = &log_;
    world_.open_channel = [this](const sys::EndPort&, mad::GmpCarrier) -> std::unique_ptr<mad::Channel> {
      if (is_port_gone) throw SysError(ENODEV, "open", "/dev/infiniband/umad0");
      return fabric.open();
    };
    tools::CommonOptions options;
    options.skip_sl = true;
    host_ = std::make_unique<tools::Host>(world_, options);
    stack_ = std::make_unique<tools::Stack>(*host_, loop);
    engine =
        std::make_unique<tools::exporter::Engine>(*stack_, tools::exporter::ReaderOptions{true, true, {}, 0}, tools::exporter::Times{});
    group_.spawn(engine->run());
  }

  void run_for(async::Duration time) { loop.run(sleep(loop, time)); }

  /// The page of metrics.
  std::string page() const {
    metrics::Page page(rules_, engine->view(), {});
    std::string all;
    for (std::string text; page.next(text, 65536);) all += text;
    return all;
  }
  long said() const { return std::ftell(err_.get()); }
  void forget() {
    for (ibtest::FakePma* pma : pmas) pma->asked.clear();
    fabric.sets.clear();
  }

  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 3);
  std::vector<ibtest::FakePma*> pmas;
  bool is_port_gone = false;
  ibtest::FakeClock clock;
  async::Loop loop{clock};
  std::unique_ptr<tools::exporter::Engine> engine;

 private:
  static async::Task<> sleep(async::Loop& on, async::Duration time) { co_await on.sleep_for(time); }

  ibtest::FakeSysfs sysfs_;
  tools::World world_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> err_{std::tmpfile(), std::fclose};
  Log log_{err_.get()};
  std::unique_ptr<tools::Host> host_;
  std::unique_ptr<tools::Stack> stack_;
  metrics::PageRules rules_{{.hcas = true, .details = true}, {}};
  async::TaskGroup group_{loop};
};

/// What happens in a round. Each event ends before the next one of its kind.
struct Events {
  bool link_down, node_silent, port_gone, sweep, other_manager, swapped_lids;
  explicit Events(unsigned round)
      : link_down(round % 7 >= 5),
        node_silent(round % 11 >= 8),
        port_gone(round % 50 >= 47),
        sweep(round % 13 == 5),
        other_manager(round % 22 >= 11),
        swapped_lids(round % 10 >= 5) {}
};

/// Which of two hosts runs the master; the other one is on standby. Every port knows its LID.
void set_master(FakeFabric& fabric, FakeFabric::NodeId master, FakeFabric::NodeId standby) {
  for (const FakeFabric::NodeId node : {master, standby}) {
    fabric.node(node).ports[1].info.capability_mask |= 1U << 1;  // IsSM
    if (!fabric.node(node).sm_info) fabric.node(node).sm_info.emplace();
    fabric.node(node).sm_info->sm_state = node == master ? smp::SMState::master : smp::SMState::standby;
  }
  const Lid lid = fabric.node(master).ports[1].info.lid;
  for (FakeFabric::NodeId node = 0; node < fabric.size(); ++node) {
    for (FakeFabric::Port& port : fabric.node(node).ports) port.info.master_sm_lid = lid;
  }
}

/// As a subnet manager does that comes back with another table of LIDs.
void swap_lids(FakeFabric& fabric, FakeFabric::NodeId a, FakeFabric::NodeId b) {
  const Lid lid_a = fabric.node(a).ports[1].info.lid, lid_b = fabric.node(b).ports[1].info.lid;
  for (FakeFabric::NodeId id = 0; id < fabric.size(); ++id) {
    FakeFabric::Node& node = fabric.node(id);
    if (node.is_switch()) std::swap(node.lft[lid_a.value], node.lft[lid_b.value]);
  }
  fabric.node(a).ports[1].info.lid = lid_b;
  fabric.node(b).ports[1].info.lid = lid_a;
}

/// The samples of `series`, a name and labels, in a page: their value, or nothing.
std::optional<std::uint64_t> value_of(const std::string& page, const std::string& series) {
  const std::size_t at = page.find("\n" + series + " ");
  if (at == std::string::npos) return std::nullopt;
  return std::strtoull(page.c_str() + at + series.size() + 2, nullptr, 10);
}

}  // namespace

void run(unsigned rounds) {
  Site site;
  std::size_t heap_before = 0, descriptors = 0;
  unsigned ready = 0;
  bool were_swapped = false;
  site.pmas[second_host]->count(1, "symbol_error_counter") = 27;
  for (unsigned round = 0; round < rounds; ++round) {
    const Events events(round);
    site.fabric.set_link(last_leaf, 1, !events.link_down);
    site.pmas[last_leaf]->service().faults.silent = events.node_silent;
    if (events.port_gone && !site.is_port_gone) site.fabric.channel().break_down(EIO);
    site.is_port_gone = events.port_gone;
    if (events.sweep) site.engine->sweep_now();
    if (events.swapped_lids != were_swapped) swap_lids(site.fabric, second_host, third_host);
    were_swapped = events.swapped_lids;
    set_master(site.fabric, events.other_manager ? second_host : third_host, events.other_manager ? third_host : second_host);
    site.pmas[leaf]->count(1, "symbol_error_counter") += 1;
    const bool has_settled = !events.port_gone && round % 50 != 0 && round % 11 > 2 && round % 5 > 2;
    site.run_for(30s);
    const std::string page = site.page();
    must(!tools::exporter::front_page(site.engine->view(), site.clock.wall_time()).empty(), "no page for people");
    site.forget();
    must(site.engine->is_ready() == !events.port_gone || round % 50 == 0,
         fmt::format("round {}: ready {}", round, site.engine->is_ready()));
    if (site.engine->is_ready()) ++ready;
    if (site.engine->is_ready() && !events.port_gone) {
      const std::string sample = "infiniband_switch_port_symbol_error_total{guid=\"0x0000000000006000\",port=\"1\"} ";
      const std::size_t at = page.find(sample);
      must(at != std::string::npos, fmt::format("round {}: no errors of the leaf", round));
      const auto shown = std::strtoull(page.c_str() + at + sample.size(), nullptr, 10);
      const std::uint64_t counted = site.pmas[leaf]->count(1, "symbol_error_counter");
      const auto second = value_of(page, "infiniband_hca_port_symbol_error_total{guid=\"0x0000000000100011\",port=\"1\"}");
      const auto third = value_of(page, "infiniband_hca_port_symbol_error_total{guid=\"0x0000000000100021\",port=\"1\"}");
      must(second.value_or(27) == 27 && third.value_or(0) == 0, fmt::format("round {}: errors of one host under another", round));
      must(!has_settled || (second && third), fmt::format("round {}: a host whose LID has changed is not read", round));
      must(!has_settled || value_of(page, fmt::format("infiniband_sm_state_id{{guid=\"{}\",node=\"host{} HCA-1\"}}",
                                                      events.other_manager ? "0x0000000000100011" : "0x0000000000100021",
                                                      events.other_manager ? 1 : 2)) == 3,
           fmt::format("round {}: the master is not known", round));
      must(shown <= counted && shown + 2 >= counted, fmt::format("round {}: {} errors shown of {}", round, shown, counted));
    }
    if (round % 550 == 0 && descriptors == 0 && round >= rounds / 10) heap_before = heap(), descriptors = open_descriptors();
    if (round % 550 == 0 && descriptors != 0) {
      constexpr std::size_t most_growth = 64 * 1024;  // rounds end in different events
      must(open_descriptors() == descriptors, fmt::format("round {}: {} descriptors, then {}", round, descriptors, open_descriptors()));
      must(heap() <= heap_before + most_growth, fmt::format("round {}: {} bytes of heap in use, then {}", round, heap_before, heap()));
    }
  }
  must(descriptors != 0, "too few rounds");
  constexpr long most_said = 60;  // bytes a round: something changes in every second one, and is told of by one line
  must(site.said() <= static_cast<long>(rounds) * most_said, fmt::format("{} bytes of log", site.said()));
  fmt::print("{} rounds, ready in {}; heap {} -> {} bytes, {} descriptors, {} bytes of log, {} sweeps\n", rounds, ready, heap_before,
             heap(), descriptors, site.said(), site.engine->view().exporter.sweeps);
}

}  // namespace ibtest::soak::exporter
