// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/health/fetch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "async/group.hpp"
#include "snapshot/stored_fabric.hpp"
#include "subnet/model/port_paths.hpp"
#include "subnet/sweep/survey.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/stack.hpp"
#include "tools/shared/survey.hpp"

namespace ib::tools::health {
namespace {

using subnet::PortIndex;

/// One reading of the counters, into the table of `input` if `is_last`.
async::Task<> read_counters(Stack& stack, Fabric& fabric, const Extent& extent, CounterReadings& readings, Input& input, bool is_last) {
  subnet::SurveyOptions options = gmp_survey(stack, extent.paths);
  subnet::Failures failures =
      co_await readings.read(stack, fabric.subnet, extent.scope, std::move(options), is_last ? &input.counts : nullptr);
  add_failures(stack.host(), fabric, std::move(failures));
  if (is_last) readings.name_former_peers(fabric.subnet, input.former_peers);
}

/// The number of readings of the counters: 0, 1 or 2. Sets the reason if it is not 2.
unsigned count_readings(Host& host, const HealthRequest& wanted, Input& input) {
  if (wanted.since) return 2;
  const bool is_stored = host.options().from.has_value();
  if (!is_stored && wanted.interval != 0.0) return 2;
  input.skip(Source::window,
             wanted.interval == 0.0 ? "--interval 0 takes one reading" : "one snapshot has states only: give an earlier one with --since");
  return lacks_part(host, "counters", Source::counters, "counters", input) &&
                 lacks_part(host, "counters", Source::window, "counters", input)
             ? 0
             : 1;
}

void judge_counters(Input& input) {
  constexpr const char* silent = "no counters could be read";
  bool any_window = false;
  for (const PortChanges& counts : input.counts.all()) any_window = any_window || counts.seconds.has_value();
  if (input.counts.all().empty()) {
    input.not_read(Source::counters, silent);
    if (input.source(Source::window).state == CheckState::done) input.not_read(Source::window, silent);
  } else if (!any_window && input.source(Source::window).state == CheckState::done) {
    input.not_read(Source::window, "no port was read twice");
  }
}

/// Reads the counters `count` times. With `earlier` the window goes back to the reading before.
async::Task<> read_windows(Stack& stack, Fabric& fabric, Extent& extent, Input& input, EarlierRounds* earlier, unsigned count) {
  const HealthRequest& wanted = extent.wanted;
  CounterReadings own(wanted.is_local ? CounterReadings::Cost::least : CounterReadings::Cost::usual);
  CounterReadings& readings = earlier != nullptr ? earlier->counters : own;
  const bool has_window = count == 2 || readings.any();
  if ((earlier != nullptr || count == 2) && wanted.selection.needs().test(static_cast<std::size_t>(Source::blocks)))
    readings.read_blocks_of(fabric.subnet, input.fec_modes);
  if (wanted.since) co_await readings.read_snapshot(stack, *wanted.since, fabric.subnet);
  if (!wanted.since && count == 2) {
    co_await read_counters(stack, fabric, extent, readings, input, false);
    const auto interval =
        std::chrono::duration_cast<async::Duration>(std::chrono::duration<double>(wanted.interval.value_or(usual_interval)));
    co_await stack.loop().sleep_for(interval);  // from now on: no port is watched for less
  }
  if (earlier != nullptr && !has_window) input.skip(Source::window, "this is the first reading");
  input.counter_ports = ports_in(extent.scope, fabric.subnet);
  if (has_window) input.window_ports = readings.known_ports(input.counter_ports, fabric.subnet);
  co_await read_counters(stack, fabric, extent, readings, input, true);
  if (wanted.since && input.baseline == nullptr && extent.scope.is_all)
    add_failures(stack.host(), fabric, readings.find_gone(fabric.subnet));
  judge_counters(input);
  if (!readings.has_blocks()) input.skip(Source::blocks, "no port counts FEC blocks");
}

async::Task<> read_fec(Stack& stack, Fabric& fabric, Input& input) {
  std::vector<PortIndex> ports = subnet::ports_with_fec(fabric.subnet);
  if (ports.empty()) {
    input.skip(Source::fec, "no link reports its FEC modes");
    co_return;
  }
  input.fec_ports = ports;
  subnet::SurveyOptions options(stack.here(), subnet::SurveyWay::smp);
  subnet::FecReading found = co_await subnet::read_fec_modes(stack.transactor(), fabric.subnet, std::move(ports), std::move(options));
  input.fec_modes = std::move(found.modes);
  input.fec_unread = std::move(found.unread);
  add_failures(stack.host(), fabric, std::move(found.failures));
  if (input.fec_modes.empty()) input.not_read(Source::fec, "no FEC mode could be read");
}

/// Whether registers are read before the window and after it.
bool reads_twice(Host& host, const HealthRequest& wanted, const EarlierRounds* earlier) {
  return earlier == nullptr && !host.options().from && !wanted.since && wanted.interval != 0.0;
}

void add_silent(const phy::Reading& before, const subnet::Counterparts& pairs, std::set<subnet::NodeIndex>& silent) {
  for (const phy::DeviceRow& device : before.devices) {
    const subnet::NodeIndex node = device.state == phy::DeviceState::silent ? pairs.node_now(device.node) : subnet::none;
    if (node != subnet::none) silent.insert(node);
  }
}

/// Reads the sources of --phy. Two readings of registers count blocks as the PMA does.
async::Task<> read_registers(Stack& stack, const Fabric& fabric, Extent& extent, Sources needed, Input& input, EarlierRounds* earlier) {
  std::optional<subnet::Counterparts> pairs;
  if (earlier != nullptr && earlier->phy != nullptr && earlier->model != nullptr) {
    pairs.emplace(fabric.subnet, *earlier->model);
    add_silent(*earlier->phy, *pairs, extent.silent);
  }
  LastPhy now = co_await read_phy_sources(stack, fabric, extent, needed, input);
  if (pairs) input.phy_before = {earlier->phy, fabric.subnet, *pairs};
  if (earlier != nullptr) earlier->phy_now = std::move(now);
  if (input.phy_before.is_read() && input.source(Source::window).state == CheckState::done) input.source(Source::blocks) = {};
}

async::Task<> read_managers_once(Stack& stack, const Fabric& fabric, const std::optional<EarlierManagers>& before, EarlierRounds* earlier,
                                 const subnet::PortPaths& paths, Input& input) {
  EarlierManagers now = co_await read_managers(stack, fabric, before, paths.is_sa_silent(), input);
  if (earlier != nullptr) earlier->managers.add(std::move(now));
}

async::Task<> read_sources(Stack& stack, Fabric& fabric, Extent& extent, Input& input, EarlierRounds* earlier) {
  const HealthRequest& wanted = extent.wanted;
  input.host_names = &wanted.host_names;
  Sources needed = wanted.selection.needs();
  if (input.baseline != nullptr && wanted.selection.has(*find_check("changed")))
    needed |= needs(Source::pkeys, Source::managers);  // compared if both fabrics have them
  const auto needs = [&needed](Source source) { return needed.test(static_cast<std::size_t>(source)); };
  if (needs(Source::fec) || needs(Source::blocks)) co_await read_fec(stack, fabric, input);
  std::optional<EarlierManagers> managers;
  const bool watches_managers = earlier == nullptr && !stack.host().options().from && !wanted.since &&
                                wanted.interval.value_or(usual_interval) >= least_window.count();
  if (needs(Source::activity)) {
    if (wanted.since) {
      managers = co_await managers_in_file(stack, *wanted.since);
    } else if (earlier != nullptr) {
      managers = earlier->managers.before(stack.loop().now());
    } else if (watches_managers) {
      managers = co_await managers_now(stack, fabric);
    }
  }
  const bool reads_phy = wanted.phy && std::ranges::any_of(sources_of_phy, needs);
  if (reads_phy && needs(Source::blocks) && reads_twice(stack.host(), wanted, earlier))
    co_await read_phy_before(stack, fabric, extent, input);
  unsigned readings = 0;
  if (needs(Source::counters) || needs(Source::window)) readings = earlier != nullptr ? 1 : count_readings(stack.host(), wanted, input);
  if (readings > 0 && !wanted.is_local) co_await read_service_levels_once(stack, extent.paths);
  // A manager that hangs is waited for while the window passes.
  async::TaskGroup beside(stack.loop());
  if (needs(Source::managers)) co_await stack.prepare_sa();
  if (needs(Source::managers) && !watches_managers) beside.spawn(read_managers_once(stack, fabric, managers, earlier, extent.paths, input));
  if (readings > 0) co_await read_windows(stack, fabric, extent, input, earlier, readings);
  if (reads_phy) co_await read_registers(stack, fabric, extent, needed, input, earlier);
  co_await beside.join();
  if (needs(Source::managers) && watches_managers) co_await read_managers_once(stack, fabric, managers, earlier, extent.paths, input);
  if (needs(Source::pkeys)) co_await read_pkeys(stack, fabric, input);
  if (input.baseline != nullptr) {
    if (earlier != nullptr && earlier->firmware) {
      input.firmware = *earlier->firmware;
    } else {
      co_await read_firmware(stack, fabric, extent, input);
      if (earlier != nullptr) earlier->firmware = input.firmware;
    }
  }
  GroupRecords groups;
  if (needs(Source::groups)) co_await read_broadcast_groups(stack, extent.paths.is_sa_silent(), groups, input);
  if (needs(Source::routes)) co_await read_routes(stack, fabric, wanted, extent.paths.is_sa_silent(), groups, input);
  if (!wanted.is_local) co_await trace_lost_requests(stack, fabric, input);
}

}  // namespace

bool lacks_part(Host& host, std::string_view part, Source source, std::string_view what, Input& input) {
  if (!host.options().from || host.stored().has_part(part)) return false;
  input.skip(source, fmt::format("{} has no {}", host.stored().subject(), what));
  return true;
}

async::Task<> read_service_levels_once(Stack& stack, subnet::PortPaths& paths) {
  if (!paths.has_service_levels() && paths.why_sl_0().empty()) co_await stack.read_service_levels(paths);
}

async::Task<Diagnosis> diagnose(Stack& stack, Fabric& fabric, const HealthRequest& wanted, const Scope& scope, Input& input,
                                EarlierRounds* earlier) {
  subnet::PortPaths paths(fabric.subnet, stack.here());
  Extent extent{wanted, scope, paths};
  co_await read_sources(stack, fabric, extent, input, earlier);
  // Of this host's link only the counters are those of a part.
  Diagnosis diagnosis = wanted.is_local ? examine(input, wanted.selection) : examine(input, wanted.selection, scope);
  const bool is_first = earlier == nullptr || earlier->model == nullptr;
  if (wanted.explains && !wanted.phy && !wanted.is_local && is_first && !stack.host().options().from)
    co_await explain_by_phy(stack, fabric, extent, input, diagnosis);
  co_return diagnosis;
}

}  // namespace ib::tools::health
