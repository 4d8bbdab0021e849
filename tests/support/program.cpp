// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "support/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>

#include "base/error.hpp"
#include "iba/text.hpp"
#include "support/fake_clock.hpp"
#include "support/full_disk.hpp"
#include "tools/frame/run.hpp"

namespace ibtest {
namespace {

std::string text_of(std::FILE* file) {
  std::rewind(file);
  std::string all;
  char buffer[4096];
  for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, file)) > 0;) all.append(buffer, got);
  return all;
}

Outcome run(std::vector<std::string> words, const Outside& outside, ib::tools::World world) {
  const File in(std::tmpfile(), std::fclose), err(std::tmpfile(), std::fclose);
  const File out = outside.full_disk ? open_full_disk() : File(std::tmpfile(), std::fclose);
  std::fwrite(outside.in.data(), 1, outside.in.size(), in.get());
  std::rewind(in.get());
  world.in = in.get();
  world.out = outside.out != nullptr ? outside.out : out.get();
  world.err = outside.err != nullptr ? outside.err : err.get();
  world.node_name_maps = outside.node_name_maps;
  world.diags_release = outside.diags_release;
  world.executable = outside.executable;
  world.read_link = [&outside](const std::string& path) {
    const auto link = outside.links.find(path);
    return link == outside.links.end() ? std::nullopt : std::optional(link->second);
  };
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  Outcome outcome;
  outcome.status = ib::tools::run(argv, world);
  if (!outside.full_disk) outcome.out = text_of(out.get());
  outcome.err = text_of(err.get());
  return outcome;
}

/// The sysfs of a host with the one port `here`. It is made once, for the thousands of command lines that run in a test program.
const SysfsTree& host_sysfs(const FakeFabric& fabric, const Outside& outside) {
  static std::map<std::string, SysfsTree> trees;
  const ib::sys::EndPort& here = fabric.end_port();
  const bool has_umad = outside.open_failure != 0;
  FakeSysfs::Port port;
  if (fabric.is_cut_off()) {
    port.state = "1: DOWN";
    port.phys_state = "2: Polling";
  }
  if (!outside.port_state.empty()) port.state = outside.port_state;
  if (!outside.port_phys_state.empty()) port.phys_state = outside.port_phys_state;
  port.number = here.number;
  port.gid = ib::to_text(here.default_gid());
  port.umad = "umad0";
  const std::string node_guid = ib::to_text(here.device->node_guid), lid = fmt::format("0x{:x}\n", here.lid.value);
  const auto [at, is_new] =
      trees.try_emplace(fmt::format("{} {} {} {} {} {} {}", node_guid, port.number, port.gid, lid, has_umad, port.state, port.phys_state));
  SysfsTree& tree = at->second;
  if (!is_new) return tree;
  tree.device("fake0", node_guid);
  tree.port("fake0", port);
  const std::string dir = fmt::format("class/infiniband/fake0/ports/{}/", here.number);
  tree.write(dir + "lid", lid);
  tree.write(dir + "lid_mask_count", "0\n");
  if (has_umad) tree.write("class/infiniband_mad/abi_version", "5\n");
  return tree;
}

/// A clock that jumps, with the date of this host: a file that a run has written is older than the next run.
struct DatedClock final : FakeClock {
  std::chrono::system_clock::time_point wall_time() const override { return std::chrono::system_clock::now(); }
};

Outcome run_on(FakeFabric& fabric, std::vector<std::string> words, const Outside& outside) {
  const SysfsInUse in_use(host_sysfs(fabric, outside));
  FakeClock clock;
  DatedClock dated;
  ib::tools::World world = ib::tools::this_host();
  world.open_channel = [&fabric](const ib::sys::EndPort&, ib::mad::GmpCarrier) { return fabric.open(); };
  if (outside.open_failure != 0) {
    world.open_channel = [code = outside.open_failure](const ib::sys::EndPort&, ib::mad::GmpCarrier) -> std::unique_ptr<ib::mad::Channel> {
      throw ib::SysError(code, "open", "/dev/infiniband/umad0");
    };
  }
  // Runs that keep what they read date their files. All others have the date of the clock that jumps, and print the same each time.
  const auto keeps = [](const std::string& word) { return word == "snapshot" || word.starts_with("--cache"); };
  const bool is_dated = !outside.cache.empty() || std::ranges::any_of(words, keeps);
  FakeClock& own = is_dated ? dated : clock;
  world.clock = outside.clock != nullptr ? outside.clock : &own;
  if (!outside.cache.empty()) world.cache = outside.cache;
  if (!outside.from.empty()) world.from = outside.from;
  return run(std::move(words), outside, world);
}

std::vector<std::string> ours(std::vector<std::string> words) {
  words.insert(words.begin(), "ibtool");
  return words;
}

}  // namespace

Outcome ibtool(FakeFabric& fabric, std::vector<std::string> words, const Outside& outside) {
  return run_on(fabric, ours(std::move(words)), outside);
}

Outcome diags(FakeFabric& fabric, std::vector<std::string> words, const Outside& outside) {
  return run_on(fabric, std::move(words), outside);
}

Outcome ibtool(std::vector<std::string> words, const Outside& outside) {
  return run(ours(std::move(words)), outside, ib::tools::this_host());
}

Outcome diags(std::vector<std::string> words, const Outside& outside) { return run(std::move(words), outside, ib::tools::this_host()); }

}  // namespace ibtest
