// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibcheckerrs and ibdatacounts: the counters of one port, or of all ports of a switch together.
#include <fmt/format.h>

#include <algorithm>

#include "counters/difference.hpp"
#include "counters/readings.hpp"
#include "iba-gen/pm.hpp"
#include "iba-gen/smp.hpp"
#include "iba/wire.hpp"
#include "subnet/model/port_checks.hpp"
#include "tools/frame/commands.hpp"
#include "tools/frame/explanation.hpp"
#include "tools/frame/terminal.hpp"
#include "tools/port_counters/traffic_report.hpp"
#include "tools/shared/check_rows.hpp"

namespace ib::tools {
namespace port_counters {
namespace {

using subnet::PortIndex;

class OnePort final : public Command {
 public:
  explicit OnePort(bool checks) : checks_(checks) {}

  void options(OptionSet& set, CommonOptions& common) override {
    set.instead_of_operands("-s");
    set.target_each("TARGET", target_);
    set.optional_operands();
    set.integer("PORT", port_, {0, 255});
    set.is_port();
    set.notes("Without PORT, and with PORT 255, all ports of a switch are meant, and of a host the port of TARGET.");
    set.flag("-s --show_thresholds --show-thresholds", show_thresholds_, "Print the thresholds of errors and nothing else.");
    set.text("-T --thresholds", file_, "FILE", "Read thresholds, and all of them, from FILE.");
    set.flag("-N --nocolor", plain_, "Print no colours; without it a terminal gets them.");
    for (const char* other : {"--columns", "--sort", "--top"}) set.one_of({"-s", other});
    add_table_options(set, common, table_, checks_ ? keys_of(check_columns()) : keys_of(traffic_columns(false)));
    add_common(set, common, group_target | group_sl);
  }

  std::string_view table_rows() const override {
    return show_thresholds_ ? "thresholds" : checks_ ? "checks" : table_.given() ? "ports" : "ports.traffic";
  }

  async::Task<> run(Session& session, Emit& emit) override {
    const counters::ErrorThresholds thresholds = read_thresholds(session.log(), file_);
    if (checks_) {
      table_.check(check_columns());
    } else {
      check_traffic_table(table_, session.options().format, false);
    }
    if (show_thresholds_) {
      show(emit, thresholds);
      co_return;
    }
    Fabric fabric;
    const Destination node = co_await session.smp_node(target_);
    const PortIndex end = co_await read_node(session, node, fabric);
    const subnet::Node& of = fabric.subnet.node(fabric.subnet.port(end).node);
    const bool is_switch = of.kind() == subnet::NodeKind::sw;
    Asked asked;
    asked.all_ports = is_switch && port_.value_or(subnet::all_ports) == subnet::all_ports;
    asked.select = asked.all_ports ? subnet::all_ports : own_port(fabric.subnet, end);
    asked.port = asked.all_ports ? end : fabric.subnet.port_of(fabric.subnet.port(end).node, asked.select);
    if (asked.port == subnet::none) {
      const std::string whom = co_await named_node(session, node.path);
      throw Error(no_such_port_text(whom, of.info, asked.select));
    }
    const path::Path pma = co_await pma_of(session, fabric.subnet, end);
    const mad::Result<counters::CounterRow> reading = co_await read(session, pma, fabric.subnet, end, asked, thresholds);
    if (checks_) {
      check(session, emit, fabric, asked, reading, thresholds);
    } else {
      report_traffic(session, emit, fabric, asked, reading);
    }
    if (!reading) reading.error().raise();
  }

 private:
  /// The counters that are read.
  struct Asked {
    PortIndex port = subnet::none;
    std::uint8_t select{};
    bool all_ports{};
  };

  static void show(Emit& emit, const counters::ErrorThresholds& thresholds) {
    ThresholdReport report;
    for (const auto& threshold : thresholds.all()) report.thresholds.push_back(threshold);
    std::ranges::sort(report.thresholds, {}, [](const auto& threshold) { return threshold.counter->narrow->iba_name; });
    emit(report);
  }

  struct ThresholdReport final : Report {
    std::vector<counters::ErrorThresholds::Threshold> thresholds;
    void visit(report::Sink& sink) const override {
      sink.objects("thresholds", thresholds, [&](const auto& threshold) {
        sink.value("counter", threshold.counter->name);
        sink.value("threshold", threshold.value);
      });
    }
    void text(TextOut& out) const override {
      for (const auto& threshold : thresholds) out.print("{}={}\n", threshold.counter->narrow->iba_name, threshold.value);
    }
  };

  /// Makes a model of this node only. Returns the end port of the node.
  static async::Task<PortIndex> read_node(Session& session, const Destination& node, Fabric& fabric) {
    mad::Transactor& transactor = session.transactor();
    const auto info = co_await transactor.subn_get<smp::NodeInfo>(node.path);
    const subnet::NodeIndex at = fabric.subnet.add_node(info);
    const bool is_switch = info.node_type == smp::NodeType::switch_;
    const PortIndex end = fabric.subnet.port_of(at, is_switch ? 0 : info.local_port_num);
    if (end == subnet::none) throw Error(fmt::format("{} has no port {}", node.name, static_cast<unsigned>(info.local_port_num)));
    const auto port = co_await transactor.subn_get<smp::PortInfo>(node.path, fabric.subnet.port(end).number);
    fabric.subnet.set_port_info(end, wire::packed(port));
    fabric.subnet.set_port_guid(end, info.port_guid);
    const auto description = co_await transactor.subn_get<smp::NodeDescription>(node.path);
    subnet::Node& kept = fabric.subnet.node(at);
    std::ranges::copy(wire::packed(description), kept.description_bytes.begin());
    kept.has_description = true;
    fabric.names = session.node_name_map();
    co_return end;
  }

  /// The port, if one port is meant.
  std::uint8_t own_port(const subnet::Subnet& subnet, PortIndex end) const {
    const std::uint8_t port = port_.value_or(subnet::all_ports);
    return port == subnet::all_ports ? subnet.port(end).number : port;
  }

  /// The path to the PMA, from the SA.
  static async::Task<path::Path> pma_of(Session& session, const subnet::Subnet& subnet, PortIndex end) {
    path::IbPath to;
    to.dlid = subnet.lid(end);
    if (!to.dlid.is_unicast())
      to.dgid = Gid::from(session.end_port().default_gid().prefix(), subnet.node(subnet.port(end).node).info.port_guid);
    const path::Path wanted = to;
    co_return co_await session.gmp_path(&wanted);
  }

  using Reading = mad::Result<counters::CounterRow>;

  /// Reads the counters with as few MADs as possible. Error counters are read from PortCounters, unless a threshold is greater than the
  /// maximum of its field.
  async::Task<Reading> read(Session& session, path::Path pma, const subnet::Subnet& subnet, PortIndex end, Asked asked,
                            const counters::ErrorThresholds& thresholds) const {
    mad::Transactor& transactor = session.transactor();
    const bool needs_wide = std::ranges::any_of(thresholds.all(), &counters::needs_extended);
    counters::PmaSupport support = every_counter;
    if (asked.all_ports || (checks_ && needs_wide)) {
      const mad::Result<counters::PmaSupport> told = co_await counters::read_pma_support(transactor, pma);
      if (!told) co_return told.shared_error();
      support = *told;
    }
    if (checks_ && !needs_wide) support = without_extended(support);
    const bool has_all = support.all_port_select();
    if (!asked.all_ports || has_all) co_return co_await read_port(transactor, pma, asked.select, support);
    counters::CounterRow sum;
    const unsigned ports = subnet.node(subnet.port(end).node).info.num_ports;
    for (unsigned port = 1; port <= ports; ++port) {
      Reading reading = co_await read_port(transactor, pma, static_cast<std::uint8_t>(port), support);
      if (!reading) co_return reading.shared_error();
      sum.add(*reading);
    }
    co_return sum;
  }

  /// The capabilities of a PMA whose ClassPortInfo was not read: everything is requested.
  static constexpr counters::PmaSupport every_counter{0xffff, 0};

  static counters::PmaSupport without_extended(counters::PmaSupport support) {
    constexpr unsigned extended =
        pm::capability_mask::is_extended_width_supported | pm::capability_mask::is_extended_width_no_ietf_supported;
    support.capability_mask = static_cast<std::uint16_t>(support.capability_mask & ~extended);
    return support;
  }

  async::Task<Reading> read_port(mad::Transactor& transactor, path::Path pma, std::uint8_t select, counters::PmaSupport support) const {
    counters::ReadingPlan plan;
    plan.counts = checks_ ? counters::ReadingPlan::Counts::all : counters::ReadingPlan::Counts::traffic;
    counters::PmaReading reading = co_await counters::read_pma(transactor, pma, select, support, plan);
    // ClassPortInfo was not read, so it is not known whether the PMA has PortCountersExtended.
    const bool is_refused = !checks_ && support.extended() && !reading.known() && !mad::tries_in_vain(*reading.problems.back().error);
    if (is_refused) reading = co_await counters::read_pma(transactor, pma, select, without_extended(support), plan);
    if (!reading.known()) co_return reading.problems.back().error;
    co_return reading.row;
  }

  /// Without a reading the report is empty: counters that were not read are not judged.
  void check(Session& session, Emit& emit, const Fabric& fabric, const Asked& asked, const mad::Result<counters::CounterRow>& reading,
             const counters::ErrorThresholds& thresholds) const {
    CheckReport report(fabric);
    report.verbose = session.options().error_level() >= 1;
    report.colour = !plain_ && terminal_of(session.world().out).has_colours;
    report.summary = false;
    CheckRow row;
    row.kind = CheckKind::errors;
    row.port = asked.port;
    row.all_ports = asked.all_ports;
    if (reading) {
      row.findings = counters::check_counters(*reading, thresholds);
      report.show(std::move(row));
    }
    report.emit(emit, table_, session.world().out);
    emit.raise(report.status());
  }

  void report_traffic(Session& session, Emit& emit, const Fabric& fabric, const Asked& asked,
                      const mad::Result<counters::CounterRow>& reading) const {
    TrafficReport report(fabric);
    report.single = true;
    report.verbose = session.options().error_level() >= 1;
    report.int_names = session.options().int_names;
    counters::PortChanges row;
    row.port = asked.port;
    row.all_ports = asked.all_ports;
    if (!reading) row.failure = reading.shared_error();
    if (reading) add_traffic(row, counters::RowDifference(nullptr, *reading, {}));
    report.rows.push_back(std::move(row));
    report.emit(emit, table_, session.world().out);
  }

  bool checks_;
  Target target_;
  std::optional<std::uint8_t> port_;
  std::optional<std::string> file_;
  bool show_thresholds_{}, plain_{};
  TableOptions table_;
};

}  // namespace
}  // namespace port_counters

constinit const CommandInfo rooms::ibcheckerrs{
    .name = "ibcheckerrs",
    .group = HelpGroup::counters,
    .summary = "Check the error counters of a port, or of all ports of a switch.",
    .make = make_command<port_counters::OnePort, true>,
};
constinit const CommandInfo rooms::ibdatacounts{
    .name = "ibdatacounts",
    .group = HelpGroup::counters,
    .summary = "Print data and packets of a port, or of all ports of a switch.",
    .make = make_command<port_counters::OnePort, false>,
};

}  // namespace ib::tools
