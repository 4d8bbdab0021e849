// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/health/fetch.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "async/group.hpp"
#include "base/escape.hpp"
#include "base/file.hpp"
#include "base/split.hpp"
#include "subnet/model/find_port.hpp"
#include "subnet/model/name_search.hpp"
#include "subnet/sweep/mlnx.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/progress.hpp"
#include "tools/shared/vs_keys.hpp"

namespace ib::tools::health {
namespace {

using phy::Part;

std::vector<PortIndex> ports_with_registers(const Subnet& subnet, const Scope& scope) {
  return subnet.ports_where([&](PortIndex at) {
    const subnet::Port& port = subnet.port(at);
    return port.number != 0 && port.has_info && scope.has_port(at) && subnet::is_mellanox(subnet.node(port.node).info);
  });
}

phy::ReadingOptions options_for(HealthRun& run) {
  phy::ReadingOptions options = reading_options(run.stack, run.paths, run.wanted.vs_keys);
  options.silent = &run.silent;
  options.progress = [&run](std::size_t done, std::size_t of) { run.stack.progress().count(done, of, "ports"); };
  return options;
}

std::vector<NodeIndex> nodes_of(const Subnet& subnet, const std::vector<PortIndex>& ports) {
  std::set<NodeIndex> nodes;
  for (const PortIndex at : ports) nodes.insert(subnet.port(at).node);
  return {nodes.begin(), nodes.end()};
}

/// Source::unhealthy, of devices that are known to have MlnxExtPortInfo.
async::Task<> read_unhealthy(HealthRun& run, std::vector<PortIndex> ports) {
  std::erase_if(ports, [&run](PortIndex at) {
    return !subnet::has_mlnx_ext_port_info(run.fabric.subnet.node(run.fabric.subnet.port(at).node).info);
  });
  if (ports.empty()) {
    run.input.skip(Source::unhealthy, "no device is known to have MlnxExtPortInfo");
    co_return;
  }
  const subnet::SurveyOptions options(run.stack.here(), subnet::SurveyWay::smp);
  const subnet::SurveyQuestion<smp::MlnxExtPortInfo> question = [](subnet::SurveyPort port) {
    return port.transactor.try_subn_get<smp::MlnxExtPortInfo>(port.path, port.number);
  };
  const auto found =
      co_await subnet::survey<smp::MlnxExtPortInfo>(run.stack.transactor(), run.fabric.subnet, std::move(ports), options, question);
  std::size_t lost = 0, absent = 0;
  for (const auto& row : found.rows) {
    if (row.value) run.input.unhealthy[row.port] = row.value->unhealthy_reason;
    if (row.value) continue;
    const subnet::Failure::Kind kind = found.failures[row.failure].kind;
    if (kind == subnet::Failure::Kind::not_read) ++absent;
    if (kind != subnet::Failure::Kind::refused) ++lost;
  }
  if (absent != 0 && absent == found.rows.size()) {
    run.input.skip(Source::unhealthy, fmt::format("{} has no MlnxExtPortInfo", run.stack.host().stored().subject()));
  } else if (lost != 0) {
    run.input.not_read(Source::unhealthy, fmt::format("MlnxExtPortInfo of {} of {} ports", run.input.unhealthy.size(), found.rows.size()),
                       !run.input.unhealthy.empty());
  } else if (run.input.unhealthy.empty()) {
    run.input.skip(Source::unhealthy, "no device has MlnxExtPortInfo");
  } else {
    run.input.source(Source::unhealthy) = {};
  }
}

/// Source::planes: how many planes the ports have. What planes are like comes with the registers.
async::Task<> read_planes(HealthRun& run, const std::vector<PortIndex>& ports) {
  const std::vector<NodeIndex> nodes = nodes_of(run.fabric.subnet, ports);
  run.input.planes = co_await phy::read_planes(run.stack.transactor(), run.fabric.subnet, run.stack.here(), nodes);
  const std::size_t unread = run.input.planes.failures.size();
  if (unread != 0 && run.stack.host().options().from) {
    run.input.skip(Source::planes, fmt::format("{} has no planes", run.stack.host().stored().subject()));
  } else if (unread != 0) {
    run.input.not_read(Source::planes, fmt::format("the planes of {} of {} devices", nodes.size() - unread, nodes.size()),
                       !run.input.planes.of_node.empty());
  } else if (run.input.planes.of_node.empty() && run.input.unhealthy.empty()) {
    run.input.skip(Source::planes, "no device has planes");
  } else {
    run.input.source(Source::planes) = {};
  }
}

constexpr std::size_t most_phy_requests = 40;  // of a run without --phy

/// The first of these ports whose requests, and those for the GeneralInfo of their devices, are at most most_phy_requests. Before a VS_Key
/// is sent to a device it is requested to say who it is.
std::vector<PortIndex> affordable(const Subnet& subnet, const phy::VsKeys& keys, const std::vector<PortIndex>& ports) {
  constexpr std::size_t requests_a_port = 4;
  const std::size_t requests_a_device = keys.any() ? 2 : 1;
  std::vector<PortIndex> chosen;
  std::set<NodeIndex> nodes;
  for (const PortIndex at : ports) {
    const NodeIndex node = subnet.port(at).node;
    if (!subnet::is_mellanox(subnet.node(node).info)) continue;
    nodes.insert(node);
    if (nodes.size() * requests_a_device + (chosen.size() + 1) * requests_a_port > most_phy_requests) break;
    chosen.push_back(at);
  }
  return chosen;
}

constexpr std::size_t longest_list = std::size_t{1} << 22;  // bytes

/// Finds the word of --nodes that means a host: its name, in any case, with or without its domain, or a pattern that fits.
class HostWords {
 public:
  explicit HostWords(const std::set<std::string>& words) {
    for (const std::string& word : words) {
      const std::string lower = to_lower(word);
      whole_.emplace(lower, word);
      if (lower.find('.') != std::string::npos) by_host_.emplace(lower.substr(0, lower.find('.')), word);
      if (subnet::NameWord pattern(word); pattern.is_pattern()) patterns_.emplace_back(std::move(pattern), word);
    }
  }
  std::string find(const std::string& host) const {
    const std::string lower = to_lower(host), label = lower.substr(0, lower.find('.'));
    if (const auto same = whole_.find(lower); same != whole_.end()) return same->second;
    const auto& shorter = label == lower ? by_host_ : whole_;
    if (const auto same = shorter.find(label); same != shorter.end()) return same->second;
    const auto fits = [&host](const auto& pattern) { return pattern.first.match(host) != subnet::NameMatch::no_match; };
    const auto pattern = std::ranges::find_if(patterns_, fits);
    return pattern == patterns_.end() ? std::string() : pattern->second;
  }

 private:
  std::map<std::string, std::string> whole_, by_host_;  ///< in lower case; the host names of words with a domain
  std::vector<std::pair<subnet::NameWord, std::string>> patterns_;
};

/// Warns of names that several machines have, all of which are looked at.
void report_shared_names(const Host& host, const Subnet& subnet, const HealthRequest& wanted, const std::set<NodeIndex>& nodes) {
  const Machines machines(subnet, wanted.host_names);
  std::map<std::string, std::set<Guid>> systems;
  for (const NodeIndex at : nodes) systems[machines.of(at).name].insert(machines.of(at).system);
  for (const auto& [name, guids] : systems) {
    if (guids.size() == 1) continue;
    host.log().warning(fmt::format("--nodes: {} machines are called {} (by SystemImageGUID), and all of them are looked at", guids.size(),
                                   in_quotes(name)));
  }
}

async::Task<Scope> scope_of_hosts(Stack& stack, Fabric& fabric, const HealthRequest& wanted) {
  std::set<NodeIndex> nodes;
  std::set<std::string> missing = wanted.hosts;
  const HostWords words(wanted.hosts);
  for (NodeIndex at = 0; at < fabric.subnet.nodes().size(); ++at) {
    const std::string host = wanted.host_names.host_of(fabric.subnet.node(at));
    const std::string word = host.empty() ? std::string() : words.find(host);
    if (word.empty()) continue;
    nodes.insert(at);
    missing.erase(word);
  }
  const bool is_whole = fabric.failures.empty();
  if (nodes.empty() && !is_whole)
    throw Error("--nodes: none of these hosts answers; parts of the fabric did not, and may be theirs (see also --host-regex)");
  if (nodes.empty()) throw UsageError("--nodes: none of these hosts is in the fabric (see --host-regex)");
  report_shared_names(stack.host(), fabric.subnet, wanted, nodes);
  subnet::Failures failures;
  for (const std::string& host : missing) {
    std::string why = fmt::format("the host {} {}is not in the fabric", in_quotes(host), is_whole ? "" : "does not answer, or ");
    failures.push_back({.kind = subnet::Failure::Kind::no_record, .attribute = "NodeDescription", .why = std::move(why), .error = {}});
  }

  const routing::Network network(fabric.subnet);
  routing::LinearTables tables(network.switches().size(), network.last_lid());
  const routing::TablesToRead to{.linear = &tables};
  subnet::Failures unread = co_await routing::read_tables(stack.transactor(), network, to, stack.here());
  std::ranges::move(unread, std::back_inserter(failures));
  add_failures(stack.host(), fabric, std::move(failures));
  co_return scope_between(network, tables, nodes);
}

// The physical layer: registers of ports, temperatures and fans, planes, and whether ports were taken out of use. Failures of these
// requests are printed, and are no failures of the fabric: a device that is protected by a VS_Key drops them, and is well.

/// Reads the counters of registers, as the earlier of two readings: Input::phy_before.
async::Task<> read_phy_before(HealthRun& run) {
  std::vector<PortIndex> ports = ports_with_registers(run.fabric.subnet, run.scope);
  if (ports.empty()) co_return;
  co_await read_service_levels_once(run);
  phy::ReadingOptions options = options_for(run);
  options.parts = phy::parts_of(Part::physical, Part::statistics);
  phy::Reading found = co_await phy::read_phy(run.stack.transactor(), run.fabric.subnet, std::move(ports), std::move(options));
  run.input.phy_before = {std::make_shared<const phy::Reading>(std::move(found)), run.fabric.subnet};
}

/// Fills the sources of the physical layer as far as checks need them. Returns the reading; null if nothing can be read.
async::Task<LastPhy> read_phy_sources(HealthRun& run) {
  std::vector<PortIndex> ports = ports_with_registers(run.fabric.subnet, run.scope);
  if (ports.empty()) {
    for (const Source source : sources_of_phy) run.input.skip(source, "no device is NVIDIA's");
    co_return nullptr;
  }
  if (run.needs(Source::unhealthy) || run.needs(Source::planes)) co_await read_unhealthy(run, ports);
  if (run.needs(Source::planes)) co_await read_planes(run, ports);
  co_await read_service_levels_once(run);
  run.input.phy_ports = ports;
  run.input.environment_nodes = nodes_of(run.fabric.subnet, ports);
  std::erase_if(run.input.environment_nodes, [&run](NodeIndex at) { return run.fabric.subnet.node(at).kind() != NodeKind::sw; });
  phy::ReadingOptions options = options_for(run);
  options.wanted = phy::ReadingScope::ports_and_environment;
  options.planes = &run.input.planes;
  options.plane_parts = phy::parts_of(Part::operation, Part::module);
  phy::Reading found = co_await phy::read_phy(run.stack.transactor(), run.fabric.subnet, std::move(ports), std::move(options));
  const auto is_unread = [](phy::DeviceState of) { return of == phy::DeviceState::not_read || of == phy::DeviceState::other_vendor; };
  if (run.stack.host().options().from && std::ranges::all_of(found.devices, is_unread, &phy::DeviceRow::state)) {
    run.input.phy_ports.clear();
    run.input.environment_nodes.clear();
    for (const Source source : {Source::phy, Source::environment})
      run.input.skip(source, fmt::format("{} has no registers (ibtool snapshot --also phy)", run.stack.host().stored().subject()));
    co_return nullptr;
  }
  print_failures(run.stack.host(), run.fabric.subnet, found.failures);
  const auto reading = std::make_shared<const phy::Reading>(std::move(found));
  run.input.phy = {reading, run.fabric.subnet};
  run.input.source(Source::phy) = run.input.source(Source::environment) = {};
  if (std::ranges::none_of(reading->ports, &phy::PortRow::is_known)) run.input.not_read(Source::phy, "no device gave its registers");
  if (run.input.environment_nodes.empty()) {
    run.input.skip(Source::environment, "no switch is NVIDIA's");
  } else if (reading->environments.empty()) {
    run.input.not_read(Source::environment, "no switch gave its temperatures");
  }
  co_return reading;
}

/// Reads why the ports of findings are down, their ratios and modules, the worst finding first, by at most most_phy_requests requests of
/// one try each, and adds these to the findings.
async::Task<> explain_by_phy(HealthRun& run, Diagnosis& diagnosis) {
  std::vector<PortIndex> ports = affordable(run.fabric.subnet, run.wanted.vs_keys, ports_of(diagnosis.findings, run.input));
  if (ports.empty()) co_return;
  co_await read_service_levels_once(run);
  phy::ReadingOptions options = options_for(run);
  options.parts = phy::parts_of(Part::troubleshooting, Part::module, Part::link_down);
  const auto is_up = [&run](PortIndex at) { return run.fabric.subnet.port(at).is_link_up(); };
  if (std::ranges::any_of(ports, is_up)) options.parts = static_cast<phy::Parts>(options.parts | phy::parts_of(Part::statistics));
  options.most_requests = most_phy_requests;
  options.tries_once = true;
  phy::Reading found = co_await phy::read_phy(run.stack.transactor(), run.fabric.subnet, std::move(ports), std::move(options));
  run.input.phy = {std::make_shared<const phy::Reading>(std::move(found)), run.fabric.subnet};
  add_layer(diagnosis.findings, run.input);
}

/// One reading of the counters, into the table of `input` if `is_last`.
async::Task<> read_counters(HealthRun& run, CounterReadings& readings, bool is_last) {
  subnet::SurveyOptions options = gmp_survey(run.stack, run.paths);
  subnet::Failures failures =
      co_await readings.read(run.stack, run.fabric.subnet, run.scope, std::move(options), is_last ? &run.input.counts : nullptr);
  add_failures(run.stack.host(), run.fabric, std::move(failures));
  if (is_last) readings.name_former_peers(run.fabric.subnet, run.input.former_peers);
}

bool reads_twice(const HealthRun& run) {
  return run.earlier == nullptr && !run.stack.host().options().from && !run.wanted.since && run.wanted.interval != 0.0;
}

/// The number of readings of the counters: 0, 1 or 2. Sets the reason if it is not 2.
unsigned count_readings(HealthRun& run) {
  if (run.wanted.since || reads_twice(run)) return 2;
  run.input.skip(Source::window, run.wanted.interval == 0.0 ? "--interval 0 takes one reading"
                                                            : "one snapshot has states only: give an earlier one with --since");
  return lacks_part(run, "counters", Source::counters, "counters") && lacks_part(run, "counters", Source::window, "counters") ? 0 : 1;
}

void judge_counters(Input& input) {
  constexpr const char* silent = "no counters could be read";
  const auto all = input.counts.all();
  if (all.empty()) input.not_read(Source::counters, silent);
  const bool any_window = std::ranges::any_of(all, [](const PortChanges& of) { return of.seconds.has_value(); });
  if (!any_window && input.source(Source::window).state == CheckState::done)
    input.not_read(Source::window, all.empty() ? silent : "no port was read twice");
}

/// Reads the counters `count` times. With `earlier` the window goes back to the reading before.
async::Task<> read_windows(HealthRun& run, unsigned count) {
  const HealthRequest& wanted = run.wanted;
  CounterReadings own(wanted.is_local);
  CounterReadings& readings = run.earlier != nullptr ? run.earlier->counters : own;
  const bool has_window = count == 2 || readings.any();
  if ((run.earlier != nullptr || count == 2) && run.needs(Source::blocks)) readings.read_blocks_of(run.fabric.subnet, run.input.fec_modes);
  if (wanted.since) co_await readings.read_snapshot(run.stack, *wanted.since, run.fabric.subnet);
  if (!wanted.since && count == 2) {
    co_await read_counters(run, readings, false);
    const auto interval =
        std::chrono::duration_cast<async::Duration>(std::chrono::duration<double>(wanted.interval.value_or(usual_interval)));
    co_await run.stack.loop().sleep_for(interval);  // from now on: no port is watched for less
  }
  if (run.earlier != nullptr && !has_window) run.input.skip(Source::window, "this is the first reading");
  run.input.counter_ports = ports_in(run.scope, run.fabric.subnet);
  if (has_window) run.input.window_ports = readings.known_ports(run.input.counter_ports, run.fabric.subnet);
  co_await read_counters(run, readings, true);
  if (wanted.since && run.input.baseline == nullptr && run.scope.is_all)
    add_failures(run.stack.host(), run.fabric, readings.find_gone(run.fabric.subnet));
  judge_counters(run.input);
  if (!readings.has_blocks()) run.input.skip(Source::blocks, "no port counts FEC blocks");
}

async::Task<> read_fec(HealthRun& run) {
  std::vector<PortIndex> ports = subnet::ports_with_fec(run.fabric.subnet);
  if (ports.empty()) {
    run.input.skip(Source::fec, "no link reports its FEC modes");
    co_return;
  }
  run.input.fec_ports = ports;
  subnet::SurveyOptions options(run.stack.here(), subnet::SurveyWay::smp);
  subnet::FecReading found =
      co_await subnet::read_fec_modes(run.stack.transactor(), run.fabric.subnet, std::move(ports), std::move(options));
  run.input.fec_modes = std::move(found.modes);
  run.input.fec_unread = std::move(found.unread);
  add_failures(run.stack.host(), run.fabric, std::move(found.failures));
  if (run.input.fec_modes.empty()) run.input.not_read(Source::fec, "no FEC mode could be read");
}

/// Reads the sources of --phy. Two readings of registers count blocks as the PMA does.
async::Task<> read_registers(HealthRun& run) {
  std::optional<subnet::Counterparts> pairs;
  if (run.earlier != nullptr && run.earlier->phy != nullptr && run.earlier->model != nullptr) {
    pairs.emplace(run.fabric.subnet, *run.earlier->model);
    for (const phy::DeviceRow& device : run.earlier->phy->devices) {
      const NodeIndex node = device.state == phy::DeviceState::silent ? pairs->node_now(device.node) : subnet::none;
      if (node != subnet::none) run.silent.insert(node);
    }
  }
  LastPhy now = co_await read_phy_sources(run);
  if (pairs) run.input.phy_before = {run.earlier->phy, run.fabric.subnet, *pairs};
  if (run.earlier != nullptr) run.earlier->phy_now = std::move(now);
  if (run.input.phy_before.is_read() && run.input.source(Source::window).state == CheckState::done) run.input.source(Source::blocks) = {};
}

async::Task<> read_managers_once(HealthRun& run, const std::optional<EarlierManagers>& before) {
  EarlierManagers now = co_await read_managers(run, before);
  if (run.earlier != nullptr) run.earlier->managers.add(std::move(now));
}

async::Task<> read_sources(HealthRun& run) {
  const HealthRequest& wanted = run.wanted;
  if (run.input.baseline != nullptr && wanted.selection.has(*find_check("changed")))
    run.needed |= health::needs(Source::pkeys, Source::managers);  // compared if both fabrics have them
  const auto needs = [&run](Source source) { return run.needs(source); };
  if (needs(Source::fec) || needs(Source::blocks)) co_await read_fec(run);
  std::optional<EarlierManagers> managers;
  const bool watches_managers = reads_twice(run) && wanted.interval.value_or(usual_interval) >= least_window.count();
  if (needs(Source::activity)) {
    if (wanted.since) {
      managers = co_await managers_in_file(run.stack, *wanted.since);
    } else if (run.earlier != nullptr) {
      managers = run.earlier->managers.before(run.stack.loop().now());
    } else if (watches_managers) {
      managers = co_await managers_now(run.stack, run.fabric);
    }
  }
  const bool reads_phy = wanted.phy && std::ranges::any_of(sources_of_phy, needs);
  if (reads_phy && needs(Source::blocks) && reads_twice(run)) co_await read_phy_before(run);
  unsigned readings = 0;
  if (needs(Source::counters) || needs(Source::window)) readings = run.earlier != nullptr ? 1 : count_readings(run);
  if (readings > 0 && !wanted.is_local) co_await read_service_levels_once(run);
  // A manager that hangs is waited for while the window passes.
  async::TaskGroup beside(run.stack.loop());
  if (needs(Source::managers)) co_await run.stack.prepare_sa();
  if (needs(Source::managers) && !watches_managers) beside.spawn(read_managers_once(run, managers));
  if (readings > 0) co_await read_windows(run, readings);
  if (reads_phy) co_await read_registers(run);
  co_await beside.join();
  if (needs(Source::managers) && watches_managers) co_await read_managers_once(run, managers);
  if (needs(Source::pkeys)) co_await read_pkeys(run);
  if (run.input.baseline != nullptr) {
    if (run.earlier != nullptr && run.earlier->firmware) {
      run.input.firmware = *run.earlier->firmware;
    } else {
      co_await read_firmware(run);
      if (run.earlier != nullptr) run.earlier->firmware = run.input.firmware;
    }
  }
  if (needs(Source::groups)) co_await read_broadcast_groups(run);
  if (needs(Source::routes)) co_await read_routes(run);
  if (!wanted.is_local) co_await trace_lost_requests(run);
}

}  // namespace

std::set<std::string> read_hosts(const std::string& text) {
  struct stat status {};
  const bool is_file = text.find('/') != std::string::npos || (::stat(text.c_str(), &status) == 0 && S_ISREG(status.st_mode));
  std::set<std::string> hosts = expand_hosts(is_file ? read_regular_file(text, longest_list) : text);
  if (hosts.empty()) throw UsageError("--nodes: no host is named");
  return hosts;
}

async::Task<Scope> find_scope(Stack& stack, Fabric& fabric, const HealthRequest& wanted) {
  if (!wanted.hosts.empty()) co_return co_await scope_of_hosts(stack, fabric, wanted);
  if (wanted.target.given()) co_return scope_around(fabric.subnet, target_node(fabric, wanted));
  co_return Scope();
}

NodeIndex target_node(const Fabric& fabric, const HealthRequest& wanted) {
  return fabric.subnet.port(subnet::get_port(fabric, *wanted.target.path)).node;
}

bool lacks_part(HealthRun& run, std::string_view part, Source source, std::string_view what) {
  Host& host = run.stack.host();
  if (!host.options().from || host.stored().has_part(part)) return false;
  run.input.skip(source, fmt::format("{} has no {}", host.stored().subject(), what));
  return true;
}

async::Task<> read_service_levels_once(HealthRun& run) {
  if (!run.paths.has_service_levels() && run.paths.why_sl_0().empty()) co_await run.stack.read_service_levels(run.paths);
}

async::Task<Diagnosis> diagnose(HealthRun& run) {
  co_await read_sources(run);
  const HealthRequest& wanted = run.wanted;
  // Of this host's link only the counters are of a part.
  Diagnosis diagnosis = wanted.is_local ? examine(run.input, wanted.selection) : examine(run.input, wanted.selection, run.scope);
  const bool is_first = run.earlier == nullptr || run.earlier->model == nullptr;
  if (wanted.explains && !wanted.phy && !wanted.is_local && is_first && !run.stack.host().options().from)
    co_await explain_by_phy(run, diagnosis);
  co_return diagnosis;
}

}  // namespace ib::tools::health
