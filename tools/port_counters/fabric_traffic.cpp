// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibdatacounters: data and packets of all ports of the fabric. All ports of a switch are one row.
#include <algorithm>
#include <map>

#include "base/log.hpp"
#include "subnet/pma_readings.hpp"
#include "subnet/port_paths.hpp"
#include "tools/frame/commands.hpp"
#include "tools/port_counters/traffic_report.hpp"
#include "tools/shared/check_rows.hpp"
#include "tools/shared/interval.hpp"

namespace ib::tools {
namespace port_counters {
namespace {

using subnet::PortIndex;

subnet::CounterValue sum_of(subnet::CounterValue a, subnet::CounterValue b) {
  if (!a.known() || !b.known()) return a.known() ? a : b;
  return {a.value + b.value, std::max(a.bits, b.bits)};
}

class Ibdatacounters final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.flag("--up", only_up_, "Leave out the ports of hosts that are polling or disabled.");
    set.flag("-N --nocolor", plain_, "Nothing: no colours are printed.");
    set.value("-T", "FILE", "Nothing: no errors are looked at.", [](std::string_view) {});
    add_interval(set, interval_);
    add_discovery(set, discovery_);
    add_common(set, common, group_fabric | group_sl);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    check_interval(interval_);
    Fabric fabric;
    co_await discover(session, discovery_, fabric);
    const path::Path start = session.here();
    subnet::PortPaths paths(fabric.subnet, start);
    co_await session.read_service_levels(paths);
    if (interval_.repeats()) {
      if (emit.json()) emit.sink().begin_array("readings");
      const auto once = [&](std::optional<double> seconds) { return read_once(session, emit, fabric, paths, seconds); };
      co_await repeat(session, interval_, once);
      if (emit.json()) emit.sink().end_array();
    } else {
      co_await read_once(session, emit, fabric, paths, std::nullopt);
    }
    note_discovered(session, "all_LIDs, all_NodeDescription, all_NodeInfo, all_PortInfo, all_topology");
  }

 private:
  async::Task<> read_once(Session& session, Emit& emit, Fabric& fabric, const subnet::PortPaths& paths, std::optional<double> seconds) {
    const path::Path start = session.here();
    TrafficReport report(fabric);
    report.verbose = session.options().error_level() >= 1;
    report.int_names = session.options().int_names;
    report.element = interval_.repeats();
    report.seconds = seconds;
    subnet::PmaReadings readings = co_await read(session, fabric, paths, start);
    fill(report, fabric.subnet, readings);
    add_failures(session, fabric, std::move(readings.failures));
    emit(report);
    emit.raise(report.status());
    if (report.element) emit.flush();  // each reading is visible immediately
  }

  async::Task<subnet::PmaReadings> read(Session& session, const Fabric& fabric, const subnet::PortPaths& paths, path::Path start) {
    subnet::SurveyOptions options(start);
    options.paths = &paths;
    options.progress = [&session](std::size_t done, std::size_t of) { session.progress().count(done, of, "ports"); };
    subnet::PmaWanted wanted;
    wanted.traffic_only = wanted.each_host_port = true;
    wanted.known_support = [this](subnet::NodeIndex node) {
      const auto known = supports_.find(node);
      return known == supports_.end() ? std::nullopt : std::optional(known->second);
    };
    std::vector<subnet::NodeIndex> nodes;
    for (const PortIndex end : end_ports(fabric.subnet)) {
      const subnet::NodeIndex node = fabric.subnet.port(end).node;
      if (nodes.empty() || nodes.back() != node) nodes.push_back(node);
    }
    subnet::PmaReadings readings =
        co_await subnet::read_pmas(session.transactor(), fabric.subnet, std::move(nodes), std::move(wanted), std::move(options));
    for (const subnet::PmaNode& node : readings.nodes) {
      if (!node.problem) supports_[node.node] = node.support;
    }
    co_return readings;
  }

  bool is_left_out(const subnet::Port& port) const { return only_up_ && port.is_polling_or_disabled(); }

  void fill(TrafficReport& report, const subnet::Subnet& subnet, const subnet::PmaReadings& readings) {
    for (const subnet::PmaNode& node : readings.nodes) {
      if (subnet.node(node.node).kind() == subnet::NodeKind::sw) {
        TrafficRow row;
        row.port = node.first;
        row.all_ports = true;
        if (node.all) add(row, *node.all);
        for (const subnet::PmaReading& reading : node.ports) add(row, reading);
        keep(report, std::move(row));
        continue;
      }
      for (const subnet::PmaReading& reading : node.ports) {
        if (is_left_out(subnet.port(reading.port))) continue;
        TrafficRow row;
        row.port = reading.port;
        add(row, reading);
        keep(report, std::move(row));
      }
    }
  }

  static void add(TrafficRow& row, const subnet::PmaReading& reading) {
    if (!reading.known()) {
      const auto& error = reading.problems.back().error;
      row.failure = error ? error->message() : "GMPs do not reach it.";
      return;
    }
    for (std::size_t at = 0; at < traffic_counters.size(); ++at) {
      const auto counter = std::ranges::find(subnet::counter_infos(), traffic_counters.at(at), &subnet::CounterInfo::name);
      row.counts.at(at) = sum_of(row.counts.at(at), reading.traffic_count(*counter));
    }
  }

  /// Adds a row. Its values in the reading before are added to it.
  void keep(TrafficReport& report, TrafficRow row) {
    if (const auto last = last_.find(row.port); last != last_.end()) row.before = last->second;
    if (row.failure.empty()) last_[row.port] = row.counts;
    report.rows.push_back(std::move(row));
  }

  DiscoveryOptions discovery_;
  Interval interval_;
  bool only_up_{}, plain_{};
  std::map<subnet::NodeIndex, subnet::PmaSupport> supports_;
  std::map<PortIndex, decltype(TrafficRow::counts)> last_;
};

}  // namespace
}  // namespace port_counters

constinit const CommandInfo rooms::ibdatacounters{
    .name = "ibdatacounters",
    .group = HelpGroup::counters,
    .summary = "Print data and packets of all ports of the fabric, or how fast they grow.",
    .make = make_command<port_counters::Ibdatacounters>,
};

}  // namespace ib::tools
