// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Checks the whole fabric. The fabric is swept and compared with two tables of the SA. One survey reads all counters.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <unordered_map>

#include "counters/readings.hpp"
#include "iba-gen/sa.hpp"
#include "iba/wire.hpp"
#include "sa/records.hpp"
#include "subnet/model/port_paths.hpp"
#include "tools/checks/checks.hpp"
#include "tools/frame/terminal.hpp"
#include "tools/shared/check_rows.hpp"
#include "tools/shared/stored_fabric.hpp"
#include "tools/shared/survey.hpp"

namespace ib::tools::checks {
namespace {

using subnet::PortIndex;
using Counters = std::unordered_map<PortIndex, counters::CounterRow>;

/// The records of the SA for all end ports.
struct SaView {
  explicit SaView(subnet::PortPaths from) : paths(std::move(from)) {}
  std::unordered_map<std::uint16_t, Guid> guid_by_lid{};
  bool whole{};                             ///< the table of nodes is complete: the SA does not know a node that is not in it
  bool cut{};                               ///< it came without its end: of a node that is not in it nothing is known
  std::shared_ptr<const Error> not_read{};  ///< the reason why there is no table: no node is checked
  subnet::PortPaths paths;
};

class FabricCheck final : public Command {
 public:
  explicit FabricCheck(Looks looks) : looks_(looks) {}

  void options(OptionSet& set, CommonOptions& common) override {
    set.flag("--up", only_up_, "Leave out the ports that are polling or disabled.");
    set.flag("-N --nocolor", plain_, "Print no colours; without it a terminal gets them.");
    if (looks_.errors)
      set.text("-T --thresholds", thresholds_file_, "FILE", "Read thresholds of error counters, and all of them, from FILE.");
    add_discovery(set, discovery_);
    add_table_options(set, common, table_, keys_of(check_columns()));
    add_common(set, common, looks_.errors ? group_fabric | group_sl : group_fabric);
  }

  std::string_view table_rows() const override { return "checks"; }

  async::Task<> run(Session& session, Emit& emit) override {
    table_.check(check_columns());
    if (looks_.errors) thresholds_ = read_thresholds(session.log(), thresholds_file_);
    discovery_.needs.switch_infos = looks_.ports();  // a port 0 that is not an enhanced one is not checked
    Fabric fabric;
    co_await discover(session, discovery_, fabric);
    const path::Path start = session.here();
    SaView sa{subnet::PortPaths(fabric.subnet, start)};
    if (looks_.node || looks_.errors) {
      co_await session.prepare_sa();
      co_await ask_sa(session, fabric.subnet, sa);
      if (sa.not_read) add_failures(session, fabric, {not_read_failure(sa)});
      if (sa.cut) add_failures(session, fabric, {cut_failure(sa)});
    }
    if (looks_.ports() && is_listing(fabric)) add_failures(session, fabric, {no_states()});
    Counters counters;
    if (looks_.errors) counters = co_await read_counters(session, fabric, sa.paths);
    CheckReport report(fabric);
    report.verbose = session.options().verbosity >= 1;
    report.colour = !plain_ && terminal_of(session.world().out).has_colours;
    for (const PortIndex end : end_ports(fabric.subnet)) check_end_port(fabric.subnet, end, sa, counters, report);
    report.emit(emit, table_, session.world().out);
    note_discovered(session, "all_LIDs, all_NodeDescription, all_NodeInfo, all_PortInfo, all_topology");
  }

 private:
  async::Task<> ask_sa(Session& session, const subnet::Subnet& subnet, SaView& sa) const {
    mad::Transactor& transactor = session.transactor();
    const bool is_known = session.options().use_sa;  // the model is the SA's
    if (looks_.node && is_known) take_nodes(subnet, sa);
    if (looks_.node && !is_known) co_await ask_for_nodes(transactor, sa);
    if (!looks_.node) {
      co_await session.read_service_levels(sa.paths);
      co_return;
    }
    if (session.options().skip_sl) co_return;
    if (sa.not_read) {  // no second query
      sa.paths.do_without(sa.not_read->message());
    } else {
      co_await sa.paths.read_service_levels(transactor);
    }
    if (looks_.errors) session.report_sl_0(sa.paths.why_sl_0());
  }

  static void take_nodes(const subnet::Subnet& subnet, SaView& sa) {
    for (const PortIndex end : end_ports(subnet)) sa.guid_by_lid.try_emplace(subnet.lid(end).value, subnet.end_port_guid(end));
  }

  static async::Task<> ask_for_nodes(mad::Transactor& transactor, SaView& sa) {
    try {
      const sa::Pattern all(sa::NodeRecord::info());
      const mad::Result<sa::Records> records = co_await sa::try_records(transactor, transactor.sa_path(), all);
      if (!records && !sa::is_no_records(records.error())) {
        sa.not_read = records.shared_error();
        co_return;
      }
      sa.whole = !records || !records->torn;
      sa.cut = !sa.whole;
      if (!records) co_return;
      for (const Bytes row : records->bytes) {
        const auto record = wire::unpack_short<sa::NodeRecord>(row);
        sa.guid_by_lid.try_emplace(record.lid.value, record.node_info.port_guid);
      }
    } catch (const SysError&) {
      throw;
    } catch (const Error& error) {  // an answer that contradicts itself
      sa.not_read = std::make_shared<const Error>(error);
    }
  }

  static subnet::Failure not_read_failure(const SaView& sa) {
    const auto* answer = dynamic_cast<const mad::MadError*>(sa.not_read.get());
    const auto kind = answer != nullptr ? subnet::kind_of(*answer) : subnet::Failure::Kind::false_answer;
    const bool is_stored = kind == subnet::Failure::Kind::not_read;
    std::string why = is_stored ? sa.not_read->message() : "The SA's table of NodeRecords was not read: nodes are not checked.";
    return {.kind = kind, .attribute = "NodeRecord", .why = std::move(why), .error = sa.not_read};
  }

  static subnet::Failure no_states() {
    return {.kind = subnet::Failure::Kind::not_read,
            .attribute = "PortInfo",
            .why = "Topology text has no states of ports, which are not checked; `ibtool snapshot` keeps them.",
            .error = {}};
  }

  static subnet::Failure cut_failure(const SaView& sa) {
    std::string why = fmt::format("The SA's table of NodeRecords came without its end: {} arrived.", sa.guid_by_lid.size());
    return {.kind = subnet::Failure::Kind::no_record, .attribute = "NodeRecord", .why = std::move(why), .error = {}};
  }

  /// Reads the counters of all ports to be checked. Counters that cannot be read become failures of the fabric, which are printed.
  async::Task<Counters> read_counters(Session& session, Fabric& fabric, const subnet::PortPaths& paths) const {
    std::map<subnet::NodeIndex, std::vector<PortIndex>> ports;
    std::vector<subnet::NodeIndex> nodes;
    for (const PortIndex end : end_ports(fabric.subnet)) {
      const subnet::NodeIndex node = fabric.subnet.port(end).node;
      if (!ports.contains(node)) nodes.push_back(node);
      std::ranges::copy(counted_ports(fabric.subnet, end), std::back_inserter(ports[node]));
    }
    subnet::SurveyOptions options = gmp_survey(session, paths);
    counters::ReadingPlan plan;
    plan.owners = owner_transactor(session, discovery_.load_cache);
    plan.ports = counters::ReadingPlan::Ports::each;
    if (std::ranges::any_of(thresholds_.all(), &counters::needs_extended)) plan.counts = counters::ReadingPlan::Counts::all;
    plan.ports_of = [&ports](subnet::NodeIndex node) { return ports.at(node); };
    Counters counters;
    plan.on_node = [&counters](const counters::PmaNode& node) {
      for (const counters::PmaReading& reading : node.ports) {
        if (reading.known()) counters.emplace(reading.port, reading.row);
      }
    };
    counters::PmaReadings found =
        co_await counters::read_pmas(session.transactor(), fabric.subnet, std::move(nodes), std::move(plan), std::move(options));
    if (!looks_.node && !looks_.ports()) require_read(!counters.empty(), found.failures);
    add_failures(session, fabric, std::move(found.failures));
    co_return counters;
  }

  bool is_left_out(const subnet::Port& port) const { return only_up_ && port.is_polling_or_disabled(); }

  /// The ports with counters that belong to an end port: all ports of a switch except port 0, or the end port itself.
  std::vector<PortIndex> counted_ports(const subnet::Subnet& subnet, PortIndex end) const {
    std::vector<PortIndex> ports = ports_behind(subnet, end);
    const bool is_switch = subnet.node(subnet.port(end).node).kind() == subnet::NodeKind::sw;
    std::erase_if(ports, [&](PortIndex port) { return is_switch && port == end; });
    return ports;
  }

  /// The ports that belong to an end port: all ports of a switch, or the end port itself.
  std::vector<PortIndex> ports_behind(const subnet::Subnet& subnet, PortIndex end) const {
    const subnet::Node& node = subnet.node(subnet.port(end).node);
    std::vector<PortIndex> ports;
    if (node.kind() == subnet::NodeKind::sw) {
      for (unsigned number = 0; number <= node.info.num_ports && number < node.slots; ++number) ports.push_back(node.first_port + number);
    } else {
      ports.push_back(end);
    }
    std::erase_if(ports, [&](PortIndex port) { return is_left_out(subnet.port(port)); });
    return ports;
  }

  void check_end_port(const subnet::Subnet& subnet, PortIndex end, const SaView& sa, const Counters& counters, CheckReport& report) const {
    if (looks_.node && !sa.not_read && !is_left_out(subnet.port(end)))
      report.add({.kind = CheckKind::node, .port = end, .findings = check_node(subnet, end, sa)});
    if (looks_.ports()) {
      for (const PortIndex port : ports_behind(subnet, end)) {
        const bool has_state = subnet.port(port).has_info && !subnet.node(subnet.port(port).node).is_listed;
        if (has_state) report.add({.kind = CheckKind::port, .port = port, .findings = check_port(subnet, port, looks_)});
      }
    }
    if (looks_.errors) check_errors(subnet, end, counters, report);
  }

  static subnet::Findings check_node(const subnet::Subnet& subnet, PortIndex end, const SaView& sa) {
    const Guid own = subnet.end_port_guid(end);
    const auto by_sa = sa.guid_by_lid.find(subnet.lid(end).value);
    if (by_sa == sa.guid_by_lid.end()) {
      if (sa.whole) return {subnet::no_node_record(subnet.lid(end))};
    } else if (own != Guid{} && by_sa->second != own) {
      return {subnet::other_port_guid(by_sa->second, own)};
    }
    if (sa.paths.has_service_levels() && !sa.paths.gmp(end)) return {subnet::no_sa_path(own)};
    return {};
  }

  /// A switch without problems is one row. If a port has a problem, each port of the switch is a row.
  void check_errors(const subnet::Subnet& subnet, PortIndex end, const Counters& counters, CheckReport& report) const {
    std::vector<CheckRow> rows;
    counters::CounterRow sum;
    bool failed = false;
    for (const PortIndex port : counted_ports(subnet, end)) {
      const auto reading = counters.find(port);
      if (reading == counters.end()) continue;
      sum.add(reading->second);
      rows.push_back({.kind = CheckKind::errors, .port = port, .findings = counters::check_counters(reading->second, thresholds_)});
      failed = failed || rows.back().failed();
    }
    if (rows.empty()) return;
    if (subnet.node(subnet.port(end).node).kind() == subnet::NodeKind::sw) {
      CheckRow all{.kind = CheckKind::errors, .port = end, .all_ports = true};
      if (failed) all.findings = counters::check_counters(sum, thresholds_);
      report.add(std::move(all));
      for (const CheckRow& row : rows) report.count(row);
      if (!failed) return;
      for (CheckRow& row : rows) report.show(std::move(row));
      return;
    }
    report.add(std::move(rows.front()));
  }

  Looks looks_;
  TableOptions table_;
  bool only_up_{}, plain_{};
  std::optional<std::string> thresholds_file_;
  counters::ErrorThresholds thresholds_;
  DiscoveryOptions discovery_;
};

}  // namespace

std::unique_ptr<Command> make_fabric(Looks looks) { return std::make_unique<FabricCheck>(looks); }

}  // namespace ib::tools::checks
