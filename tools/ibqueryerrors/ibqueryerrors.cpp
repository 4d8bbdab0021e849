// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibqueryerrors: which ports of the fabric have counted errors, and what else they counted.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/escape.hpp"
#include "base/log.hpp"
#include "base/split.hpp"
#include "iba/text.hpp"
#include "path/parse.hpp"
#include "subnet/model/order.hpp"
#include "tools/frame/commands.hpp"
#include "tools/frame/terminal.hpp"
#include "tools/ibqueryerrors/ibqueryerrors.hpp"
#include "tools/shared/interval.hpp"
#include "tools/shared/survey.hpp"
#include "tools/shared/table_options.hpp"
#include "tools/shared/watched_fabric.hpp"

namespace ib::tools {
namespace ibqueryerrors {
namespace {

using subnet::NodeIndex;

constexpr std::string_view common_error = "PortRcvSwitchRelayErrors";

/// What both command lines have.
void add_thresholds(OptionSet& set, QueryOptions& wanted) {
  set.text({"-T --threshold-file", "--threshold-file"}, wanted.threshold_file, "FILE",
           "Thresholds, the highest counts that are not errors: lines COUNTER=NUMBER.");
}
void add_report_options(OptionSet& set, QueryOptions& wanted, ErrorRules& rules) {
  set.action("-c --suppress-common", "Do not count PortRcvSwitchRelayErrors as errors.", [&rules] { rules.suppress(common_error); });
  set.flag("-r --report-port", wanted.report_port, "Show the links of ports with errors.");
  set.flag("--data", wanted.data, "Show data and packets of ports with errors too.");
  set.flag("--switch", wanted.switches, "Check switches.");
  set.flag("--ca", wanted.cas, "Check channel adapters.");
  set.flag("--router", wanted.routers, "Check routers.");
  set.flag("--details", wanted.details, "Show why packets were discarded, and details of receive errors.");
  set.flag("--counters", wanted.data_only, "Show data and packets of all ports, and no errors.");
  set.flag("-k --clear-errors", wanted.clear_errors, "Clear the error counters after they were read.");
  set.flag("-K --clear-counts", wanted.clear_counts, "Clear the data and packet counters after they were read.");
}

/// What is read of each PMA.
counters::ReadingPlan plan_of(const QueryOptions& wanted, const ErrorRules& applied) {
  counters::ReadingPlan plan;
  using Counts = counters::ReadingPlan::Counts;
  plan.counts = wanted.data_only ? Counts::traffic : wanted.data ? Counts::all : Counts::errors;
  if (wanted.data_only) plan.ports = counters::ReadingPlan::Ports::each;
  const ErrorRules* rules = &applied;
  const auto further = [rules, details = wanted.details](const counters::PmaReading& reading) -> counters::Further {
    const std::vector<std::size_t> errors = rules->errors_of(reading.row);
    const auto has = [&errors](std::string_view counter) { return std::ranges::count(errors, counters::column_of(counter)) != 0; };
    return {.ports = !errors.empty(),
            .discard_details = details && has("port_xmit_discards"),
            .error_details = details && has("port_rcv_errors")};
  };
  if (!wanted.data_only) plan.further = further;
  plan.clear = wanted.clear();
  plan.clear_details = wanted.clears_details();
  return plan;
}

class Ibqueryerrors final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.optional_operands();
    set.target_each("TARGET", checked_.target);
    set.notes("TARGET is one node to be checked; without it all are.");
    set.value("-s --suppress", "COUNTER[,…]", "Counters that are not errors, by their names in the text or in JSON.",
              [this](std::string_view text) {
                for (const std::string_view word : split(text)) suppress(word);
              });
    set.offer([] {
      std::vector<std::string> names;
      for (const auto* counter : error_counters()) names.emplace_back(counter_name(*counter));
      return names;
    });
    add_thresholds(set, wanted_);
    add_report_options(set, wanted_, rules_);
    set.flag("--yes", yes_, "With -k and -K: reset the counters of the whole fabric without a confirmation.");
    for (const char* other : {"--data", "--details", "--suppress", "--suppress-common", "--threshold-file"})
      set.one_of({"--counters", other});
    for (const char* other : {"--details", "--report-port"}) set.one_of({"--interval", other});
    set.flag("-S", ignored_, "No effect: TARGET may be a port GUID without it.");
    set.flag("-R --GNDN", ignored_, "No effect, as in infiniband-diags.");
    add_interval(set, interval_);
    add_discovery(set, checked_.discovery);
    QueryOptions every;
    every.data = every.details = true;
    add_table_options(set, common, table_, keys_of(error_columns(every)));
    add_common(set, common, group_target | group_sl);
  }

  std::string_view table_rows() const override {
    if (table_.given()) return "ports";
    if (interval_.repeats()) return wanted_.data_only ? "readings.ports.traffic" : "readings.ports.errors";
    return wanted_.data_only ? "nodes.ports.traffic" : "nodes.ports.errors";
  }

  async::Task<> run(Session& session, Emit& emit) override {
    check_interval(interval_);
    require_one_target(session.targets(), interval_);
    if (table_.given() && interval_.repeats()) throw UsageError("--interval prints what has grown, and no table of columns");
    table_.refuse_for_json(session.host().options().format, "ports", "nodes");
    auto table = table_of<ErrorLine>(error_columns(wanted_), table_);
    if (wanted_.clears()) prepare_clear(session.stack());
    RoundFabric read;
    Fabric& fabric = read.fabric;
    checked_.shows_links = wanted_.report_port || emit.json() || table_.given();
    read.nodes = co_await checked_.find(session, fabric);
    if (confirms_) require_agreement(session.host().world(), fmt::format("Reset counters of {} nodes?", read.nodes.size()));
    const std::optional<std::string>& file = wanted_.threshold_file;
    rules_.take(file ? counters::ErrorThresholds::given(*file) : counters::ErrorThresholds::of_site(session.host().log()));
    subnet::PortPaths& paths = read.paths.emplace(fabric.subnet, session.stack().here());
    co_await checked_.find_paths(session.stack(), paths, fabric, read.nodes);
    if (interval_.repeats()) {
      co_await watch(session, emit, read);
    } else {
      co_await check(session.stack(), emit, fabric, paths, std::move(read.nodes), std::move(table));
    }
  }

 private:
  /// The number of ports of a node whose counters were not read. Of a switch that has more ports than were found, these are among them.
  static std::size_t unread_ports(const subnet::Subnet& subnet, const counters::PmaNode& node) {
    if (node.ports.empty()) return any_read(node) ? 0 : counters::countable_ports(subnet, node.node).size();
    const auto unread =
        static_cast<std::size_t>(std::ranges::count_if(node.ports, [](const counters::PmaReading& reading) { return !reading.known(); }));
    const subnet::Node& of = subnet.node(node.node);
    const auto external = static_cast<std::size_t>(
        std::ranges::count_if(node.ports, [](const counters::PmaReading& reading) { return reading.select != 0; }));
    const bool is_switch = of.kind() == subnet::NodeKind::sw;
    return unread + (is_switch && of.info.num_ports > external ? of.info.num_ports - external : 0);
  }

  /// Says which ports of a node were reset: "all ports", "ports 1, 3". A reset prints nothing else.
  static void note_reset(const Host& host, const subnet::Subnet& subnet, const counters::PmaNode& node) {
    const auto was_reset = [](const std::vector<counters::PmaProblem>& problems) {
      return std::ranges::none_of(problems, &counters::PmaProblem::set);
    };
    const bool at_once = node.support.all_port_select() && counters::all_ports_read(subnet, node);
    std::vector<unsigned> numbers;
    for (const counters::PmaReading& reading : node.ports) {
      if (!at_once && reading.known() && was_reset(reading.problems)) numbers.push_back(reading.select);
    }
    if (at_once ? !was_reset(node.clear_problems) : numbers.empty()) return;
    const std::string ports = fmt::format("port{} {}", numbers.size() == 1 ? "" : "s", fmt::join(numbers, ", "));
    const subnet::Node& of = subnet.node(node.node);
    host.note(
        fmt::format("Reset the counters of {} {} {}", in_quotes(of.description()), to_text(of.guid()), at_once ? "all ports" : ports));
  }

  void suppress(std::string_view word) {
    if (word.empty()) return;
    const counters::CounterInfo* counter = counters::find_counter(word);
    if (counter == nullptr || counter->narrow == nullptr) throw OptionError(fmt::format("no counter of PortCounters is called {}", word));
    rules_.suppress(counter_name(*counter));
  }

  static bool any_read(const counters::PmaNode& node) {
    return (node.all && node.all->known()) || std::ranges::any_of(node.ports, &counters::PmaReading::known);
  }

  void prepare_clear(Stack& stack) {
    stack.require_fabric("A reset of counters");
    if (interval_.repeats()) throw UsageError("--interval resets nothing: it excludes -k and -K");
    stack.require_exact_targets();
    checked_.refuse_stored_fabric();
    confirms_ = !checked_.target.given() && confirms_reset(stack.host().world(), yes_ || stack.host().options().dry_run);
    if (wanted_.clear_counts)
      stack.host().log().warning("-K resets the counters of data and packets here: in other commands it shows keys");
  }

  /// Reads each port once.
  async::Task<> check(Stack& stack, Emit& emit, Fabric& fabric, const subnet::PortPaths& paths, std::vector<NodeIndex> nodes,
                      report::Table<ErrorLine> table) {
    ErrorReport report(fabric, wanted_, rules_);
    if (wanted_.report_port) report.group_ports();
    counters::ReadingPlan plan = plan_of(wanted_, rules_);
    plan.owners = owner_transactor(stack, checked_.discovery.load_cache);
    std::vector<counters::PmaNode> kept;  // for JSON
    TableWriter<ErrorLine> writer(emit, "ports", std::move(table), stack.host().world().out);
    bool any = false;
    std::size_t unread = 0;
    plan.on_node = [&](counters::PmaNode node) {
      any |= any_read(node);
      unread += unread_ports(fabric.subnet, node);
      report.count(node);
      if (table_.given()) {
        report.each_reported_port(node, [&](const counters::PmaReading& reading) {
          writer.add({{&fabric, reading.port}, &report, reading.row});
        });
      } else if (!emit.json()) {
        report.node_text(emit.text(), node);
        emit.text().push();
      }
      if (wanted_.clears()) note_reset(stack.host(), fabric.subnet, node);
      if (emit.json() && !table_.given()) kept.push_back(std::move(node));
    };
    report.readings =
        co_await counters::read_pmas(stack.transactor(), fabric.subnet, std::move(nodes), std::move(plan), gmp_survey(stack, paths));
    report.readings.nodes = std::move(kept);
    require_read(any, report.readings.failures);
    add_failures(stack.host(), fabric, std::move(report.readings.failures));
    if (wanted_.clears() && unread != 0)
      stack.host().log().warning(
          fmt::format("The counters of {} {} were not reset, since they could not be read", unread, unread == 1 ? "port" : "ports"));
    if (!table_.given()) {
      emit(report);
    } else {
      writer.end(fabric);
      emit.raise(report.status());
    }
  }

  /// Reads each port again and again.
  async::Task<> watch(Session& session, Emit& emit, const RoundFabric& first) {
    WatchedFabric watched(session, checked_.discovery, first, node_chooser(first));
    const auto once = [&](Round round) { return watch_once(session.stack(), emit, watched, std::move(round)); };
    if (emit.json()) emit.sink().begin_array("readings");
    co_await repeat(session.stack(), interval_, once);
    if (emit.json()) emit.sink().end_array();
  }

  /// TARGET is looked up at first. From then on the node is known by its GUID.
  WatchedFabric::ChooseNodes node_chooser(const RoundFabric& first) const {
    if (!checked_.target.given()) return [this](const Fabric& of) { return wanted_.wanted_of(of, subnet::breadth_first(of.subnet)); };
    const Guid target = first.nodes.empty() ? Guid{} : first.fabric.subnet.node(first.nodes.front()).guid();
    return [target](const Fabric& fabric) {
      const NodeIndex node = fabric.subnet.find_node(target);
      return node == subnet::none ? std::vector<NodeIndex>() : std::vector{node};
    };
  }

  async::Task<> watch_once(Stack& stack, Emit& emit, WatchedFabric& watched, Round round) {
    co_await watched.renew();
    const RoundFabric& of = watched.now();
    GrowthReport report(of.fabric, wanted_, rules_);
    report.round = std::move(round);
    counters::ReadingPlan plan = plan_of(wanted_, rules_);  // which clears nothing with --interval
    plan.further = {};
    plan.owners = owner_transactor(stack);
    plan.ports = counters::ReadingPlan::Ports::each;
    plan.on_node = [&](const counters::PmaNode& node) { report.take(node, watched.history(), emit.json() ? nullptr : &emit.text()); };
    counters::PmaReadings readings = co_await watched.read(std::move(plan));
    report.add_failures(stack.host(), std::move(readings.failures));
    emit(report);
    emit.raise(of.nodes.empty() ? Exit::incomplete : report.status());
    emit.flush();  // at once
  }

  QueryOptions wanted_;
  ErrorRules rules_;
  CheckedNodes checked_{wanted_};
  Interval interval_;
  TableOptions table_;
  bool ignored_{}, yes_{};
  bool confirms_{};  ///< before it resets the counters of the whole fabric
};

class IbqueryerrorsDiags final : public Command {
 public:
  void diags_options(OptionSet& set, CommonOptions& common) override {
    set.value("-s --suppress", "COUNTER,...", "Counters that are not errors.", [this](const std::string& text) {
      for (const std::string_view word : split(text)) rules_.suppress(word);
    });
    add_node_name_map(set, common);
    const auto node = [this, &common](path::Form form) {
      return [this, &common, form](const std::string& text) {
        common.address = form;
        (form == path::Form::direct ? checked_.route : checked_.guid) = text;
      };
    };
    set.value("-G --port-guid", "GUID", "Check only the node that has the port of this GUID.", node(path::Form::guid));
    set.value("-S", "GUID", "As --port-guid.", node(path::Form::guid));
    set.value("-D --Direct", "ROUTE", "Check only the node at the end of this directed route.", node(path::Form::direct));
    set.flag("--skip-sl", common.skip_sl, "Use SL 0, and request nothing from the subnet administrator.");
    add_thresholds(set, wanted_);
    set.flag("-R --GNDN", ignored_, "No effect, as in infiniband-diags.");
    add_report_options(set, wanted_, rules_);
    set.text("--load-cache", checked_.discovery.load_cache, "FILE", "Read this file of ibnetdiscover --cache, and no fabric.");
    add_outstanding_smps(set, common);
    set.without("DGKLnRrSsY");
    common.sends_sa_key = true;
  }

  async::Task<> run(Session& session, Emit& emit) override {
    if (wanted_.clears()) session.stack().require_fabric("A reset of counters");
    checked_.prepare(session.stack());
    LibibnetdiscFabric fabric;
    std::vector<NodeIndex> nodes = co_await checked_.find(session, fabric);
    DiagsErrorReport report(fabric, wanted_, rules_, session.host());
    report.has_thresholds = rules_.read_thresholds(wanted_.threshold_file.value_or(counters::default_error_thresholds_file));
    for (const std::string& name : rules_.skipped())
      warn(session.host().world(), "add_suppressed", fmt::format("Maximum (64) fields have been suppressed; skipping {}", name));
    subnet::PortPaths paths(fabric.subnet, session.stack().here());
    paths.keep_to_base_lids();
    const bool reachable = co_await checked_.find_paths(session.stack(), paths, fabric, nodes);
    if (!reachable) co_return;
    if (wanted_.report_port) report.group_ports();
    counters::ReadingPlan plan = plan_of(wanted_, rules_);
    plan.owners = owner_transactor(session.stack(), checked_.discovery.load_cache);
    plan.takes_any_select = true;
    plan.on_node = [&](const counters::PmaNode& node) {
      report.count(node);
      report.print_node(emit.text(), node);
      emit.text().push();
    };
    Stack& stack = session.stack();
    report.readings =
        co_await counters::read_pmas(stack.transactor(), fabric.subnet, std::move(nodes), std::move(plan), gmp_survey(stack, paths));
    emit(report);
    emit.set_diags_status(report.summary.bad_ports != 0 ? 1 : 0);
  }

 private:
  QueryOptions wanted_;
  ErrorRules rules_;
  DiagsNodes checked_{wanted_};
  bool ignored_{};
};

}  // namespace
}  // namespace ibqueryerrors

constinit const CommandInfo rooms::ibqueryerrors{
    .name = "ibqueryerrors",
    .group = HelpGroup::counters,
    .summary = "Print the ports that have counted errors, with what they counted; or the data of all ports.",
    .make = make_command<tools::ibqueryerrors::Ibqueryerrors>,
    .make_diags = make_command<tools::ibqueryerrors::IbqueryerrorsDiags>,
    .changes = true,
    .reports_changes = true,
};

}  // namespace ib::tools
