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

  std::string_view table_rows() const override { return interval_.repeats() ? "readings.ports.traffic" : "ports.traffic"; }

  async::Task<> run(Session& session, Emit& emit) override {
    check_interval(interval_);
    Fabric fabric;
    co_await discover(session, discovery_, fabric);
    const path::Path start = session.here();
    subnet::PortPaths paths(fabric.subnet, start);
    co_await session.read_service_levels(paths);
    if (interval_.repeats()) {
      if (emit.json()) emit.sink().begin_array("readings");
      const auto once = [&](Round round) { return read_once(session, emit, fabric, paths, std::move(round)); };
      co_await repeat(session, interval_, once);
      if (emit.json()) emit.sink().end_array();
    } else {
      co_await read_once(session, emit, fabric, paths, Round());
    }
    note_discovered(session, "all_LIDs, all_NodeDescription, all_NodeInfo, all_PortInfo, all_topology");
  }

 private:
  async::Task<> read_once(Session& session, Emit& emit, Fabric& fabric, const subnet::PortPaths& paths, Round round) {
    const path::Path start = session.here();
    TrafficReport report(fabric);
    report.verbose = session.options().error_level() >= 1;
    report.int_names = session.options().int_names;
    report.element = interval_.repeats();
    report.round = std::move(round);
    subnet::PmaReadings readings = co_await read(session, fabric, paths, start);
    fill(report, fabric.subnet, readings);
    require_read(std::ranges::any_of(report.rows, [](const TrafficRow& row) { return row.failure.empty(); }), readings.failures);
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
        Growing growing;
        if (node.all) add(row, growing, *node.all);
        for (const subnet::PmaReading& reading : node.ports) add(row, growing, reading);
        report.rows.push_back(with(std::move(row), growing));
        continue;
      }
      for (const subnet::PmaReading& reading : node.ports) {
        if (is_left_out(subnet.port(reading.port))) continue;
        TrafficRow row;
        row.port = reading.port;
        Growing growing;
        add(row, growing, reading);
        report.rows.push_back(with(std::move(row), growing));
      }
    }
  }

  /// What the readings of a row have counted since those before, while they are added up.
  struct Growing {
    std::array<std::uint64_t, traffic_counters.size()> delta{};
    std::array<double, traffic_counters.size()> rate{};
    std::array<bool, traffic_counters.size()> unknown{};  ///< of one of them at least
    bool timeless{};                                      ///< no time has passed for one of them
  };

  /// Adds a reading to a row, and compares it with the one before of the same ports.
  void add(TrafficRow& row, Growing& growing, const subnet::PmaReading& reading) {
    if (!reading.known()) {
      const auto& error = reading.problems.back().error;
      row.failure = error ? error->message() : "GMPs do not reach it.";
      return;
    }
    const auto last = last_.find({reading.port, reading.select});
    const std::optional<double> seconds =
        last == last_.end() ? std::nullopt : seconds_between(last->second.traffic_time(), reading.traffic_time());
    growing.timeless = growing.timeless || !seconds;
    for (std::size_t at = 0; at < traffic_counters.size(); ++at) {
      const auto counter = std::ranges::find(subnet::counter_infos(), traffic_counters.at(at), &subnet::CounterInfo::name);
      const subnet::CounterValue now = reading.traffic_count(*counter);
      const subnet::CounterValue before = last == last_.end() ? subnet::CounterValue() : last->second.traffic_count(*counter);
      const std::optional<std::uint64_t> delta = subnet::least_growth(before, now);
      row.counts.at(at) = sum_of(row.counts.at(at), now);
      growing.unknown.at(at) = growing.unknown.at(at) || !delta;
      growing.delta.at(at) += delta.value_or(0);
      if (delta && seconds) growing.rate.at(at) += static_cast<double>(*delta) / *seconds;
    }
    last_[{reading.port, reading.select}] = reading;
  }

  static TrafficRow with(TrafficRow row, const Growing& growing) {
    for (std::size_t at = 0; at < traffic_counters.size(); ++at) {
      if (!row.failure.empty() || growing.unknown.at(at)) continue;
      row.deltas.at(at) = growing.delta.at(at);
      if (!growing.timeless) row.rates.at(at) = growing.rate.at(at);
    }
    return row;
  }

  DiscoveryOptions discovery_;
  Interval interval_;
  bool only_up_{}, plain_{};
  std::map<subnet::NodeIndex, subnet::PmaSupport> supports_;
  std::map<std::pair<PortIndex, std::uint8_t>, subnet::PmaReading> last_;  // by port and PortSelect
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
