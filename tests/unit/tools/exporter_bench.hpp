// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The exporter's engine on a fabric in memory and a clock that jumps, for tests of what it publishes.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "async/group.hpp"
#include "base/log.hpp"
#include "iba/text.hpp"
#include "metrics/families.hpp"
#include "support/fake_clock.hpp"
#include "support/fake_pma.hpp"
#include "support/fake_sysfs.hpp"
#include "tools/exporter/engine.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/stack.hpp"
#include "tools/frame/world.hpp"

namespace ibtest {

namespace tools = ib::tools;
namespace async = ib::async;

inline constexpr FakeFabric::NodeId leaf0 = 1, host0 = 2, leaf1 = 4, host2 = 5;
inline const std::string leaf0_guid = "0x0000000000006000", leaf1_guid = "0x0000000000006001";

inline tools::CommonOptions without_sa() {
  tools::CommonOptions options;
  options.skip_sl = true;
  return options;
}

/// Two leaves with two hosts each, and a spine; each node has a PMA. The engine runs at leaf 0.
class ExporterBench {
 public:
  explicit ExporterBench(tools::exporter::ReaderOptions options = {true, false, {}, 0}, FakeFabric of = FakeFabric::fat_tree(2, 1, 2))
      : fabric(std::move(of)) {
    add_device("fake0");
    for (FakeFabric::NodeId node = 0; node < fabric.size(); ++node) pmas.push_back(&run_pma(fabric, node));
    world.open_channel = [this](const ib::sys::EndPort&, ib::mad::GmpCarrier) -> std::unique_ptr<ib::mad::Channel> {
      ++opened;
      if (is_port_gone) throw ib::SysError(ENODEV, "open", "/dev/infiniband/umad0");
      return fabric.open();
    };
    world.log = &log_;
    host = std::make_unique<tools::Host>(world, without_sa());
    stack = std::make_unique<tools::Stack>(*host, loop);
    engine = std::make_unique<tools::exporter::Engine>(*stack, std::move(options), tools::exporter::Times{});
  }

  void start() { group_.spawn(engine->run()); }
  void run_for(async::Duration time) { loop.run(sleep(loop, time)); }
  /// This host has one more device, whose port 1 is where the fabric is seen from.
  void add_device(const std::string& name) {
    FakeSysfs::Port port;
    const ib::sys::EndPort& here = fabric.end_port();
    sysfs_.device(name, ib::to_text(here.device->node_guid));
    port.gid = ib::to_text(here.default_gid());
    port.umad = "umad0";
    sysfs_.port(name, port);
    set_lid(here.lid.value, name);
    sysfs_.write(fmt::format("class/infiniband/{}/ports/1/lid_mask_count", name), "0\n");
  }
  void set_state(const std::string& state, const std::string& name = "fake0") {
    sysfs_.write(fmt::format("class/infiniband/{}/ports/1/state", name), state + "\n");
  }
  void set_lid(unsigned lid, const std::string& name = "fake0") {
    sysfs_.write(fmt::format("class/infiniband/{}/ports/1/lid", name), fmt::format("0x{:x}\n", lid));
  }

  /// The page as Prometheus would have it now: "name{labels}" and its value.
  std::map<std::string, std::string> page() const {
    const ib::metrics::PageRules rules(exported, {});
    ib::metrics::Page page(rules, engine->view(), {});
    std::map<std::string, std::string> samples;
    for (std::string text; page.next(text, 1U << 20U);) {
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        const std::string line = text.substr(at, end - at);
        if (!line.starts_with('#')) samples[line.substr(0, line.rfind(' '))] = line.substr(line.rfind(' ') + 1);
        at = end + 1;
      }
    }
    return samples;
  }
  /// The value of a sample of a port of a switch; "none" without one.
  std::string of_port(const std::string& name, const std::string& guid, unsigned port) const {
    return find(fmt::format("infiniband_switch_port_{}{{guid=\"{}\",port=\"{}\"}}", name, guid, port));
  }
  std::string find(const std::string& series) const {
    const auto samples = page();
    const auto found = samples.find(series);
    return found == samples.end() ? "none" : found->second;
  }
  std::size_t count(const std::string& beginning) const {
    std::size_t count = 0;
    for (const auto& [series, value] : page()) count += series.starts_with(beginning) ? 1 : 0;
    return count;
  }
  std::string state(const std::string& guid, const std::string& name, unsigned port) const {
    return find(fmt::format("infiniband_switch_port_state{{guid=\"{}\",switch=\"{}\",port=\"{}\"}}", guid, name, port));
  }
  std::string said() const {
    std::fflush(err_.get());
    std::rewind(err_.get());
    std::string all;
    char buffer[4096];
    for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, err_.get())) > 0;) all.append(buffer, got);
    return all;
  }
  std::uint64_t sent() const { return engine->view().exporter.mads_sent; }

  ib::metrics::Exported exported{.hcas = true};  ///< of page()
  FakeFabric fabric;
  std::vector<FakePma*> pmas;
  bool is_port_gone = false;
  unsigned opened = 0;
  tools::World world = tools::this_host();
  FakeClock clock;
  async::Loop loop{clock};
  std::unique_ptr<tools::Host> host;
  std::unique_ptr<tools::Stack> stack;
  std::unique_ptr<tools::exporter::Engine> engine;

 private:
  static async::Task<> sleep(async::Loop& on, async::Duration time) { co_await on.sleep_for(time); }

  FakeSysfs sysfs_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> err_{std::tmpfile(), std::fclose};
  ib::Log log_{err_.get()};
  async::TaskGroup group_{loop};
};

}  // namespace ibtest
