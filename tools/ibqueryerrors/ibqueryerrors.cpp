// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibqueryerrors: which ports of the fabric have counted errors, and what else they counted.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/escape.hpp"
#include "base/split.hpp"
#include "iba/dialects.hpp"
#include "iba/text.hpp"
#include "path/parse.hpp"
#include "subnet/model/order.hpp"
#include "tools/frame/terminal.hpp"
#include "tools/ibqueryerrors/ibqueryerrors.hpp"
#include "tools/shared/interval.hpp"
#include "tools/shared/table_options.hpp"
#include "tools/shared/watched_fabric.hpp"

namespace ib::tools {
namespace ibqueryerrors {
namespace {

/// Writes the rows of CSV and TSV as they come, and keeps those that are sorted and those of a text, whose columns are measured.
class RowWriter {
 public:
  RowWriter(Emit& emit, std::string_view member, report::Table<ErrorLine> table)
      : emit_(emit), list_(member, std::move(table), {}), streams_(emit.json() && !list_.table.layout().sorts()) {}

  void add(ErrorLine row) {
    if (!streams_) return list_.rows.push_back(std::move(row));
    begin();
    if (written_ < list_.table.layout().most_rows()) list_.table.visit_row(emit_.sink(), row);
    ++written_;
  }
  void end() {
    if (streams_) {
      begin();
      emit_.sink().end_array();
    } else {
      list_.table.arrange(list_.rows);
      emit_(list_);
    }
  }

 private:
  void begin() {
    if (!std::exchange(has_begun_, true)) list_.table.layout().begin(emit_.sink(), list_.key);
  }

  Emit& emit_;
  ListReport<ErrorLine> list_;
  bool streams_, has_begun_{};
  std::size_t written_{};
};

/// --interval: which ports counted errors since the reading before, as one of several readings. In JSON an element of the list that is
/// open.
class GrowthReport final : public FabricReport {
 public:
  GrowthReport(const Fabric& of, const QueryOptions& what) : FabricReport(of), wanted_(what) {}

  /// Adds the ports of `node` that have counted something since the readings in `history`, which gets these. In text they are printed to
  /// `out`, if that is given, and not kept.
  void take(const counters::PmaNode& node, counters::CounterHistory& history, TextOut* out) {
    std::vector<counters::PortChanges> grown = summary_.add_growth(fabric.subnet, node, wanted_, history);
    if (out == nullptr) {
      std::ranges::move(grown, std::back_inserter(grown_ports_));
    } else if (!grown.empty()) {
      const subnet::Node& of = fabric.subnet.node(node.node);
      const std::string_view what = wanted_.data_only ? "Data Counters" : "Errors";
      out->print("{} for {} {}\n", what, to_text(of.guid()), in_quotes(subnet::name_of(of, &fabric.names)));
      for (const counters::PortChanges& port : grown) port_text(*out, port);
    }
  }

  void visit(report::Sink& sink) const override {
    if (!fabric.subnet.ports().empty()) {
      counters::PortChanges example;
      example.port = 0;
      for (const char* name : {"symbol_error_counter", "port_xmit_data"})
        example.changes.push_back({.counter = counters::find_counter(name)->narrow});
      report::announce(sink, [&](report::Sink& to) { visit(to, {example}); });
    }
    visit(sink, grown_ports_);
  }
  void text(TextOut& out) const override { summary_text(out, summary_); }
  Exit status() const override { return summary_.bad_ports != 0 ? Exit::findings : FabricReport::status(); }

  Round round;

 private:
  void port_text(TextOut& out, const counters::PortChanges& port) const {
    std::string words;
    for (const counters::CounterChange& change : port.changes) words += growth_words(dialects_of(*change.counter).libibmad, change);
    out.print("   GUID {} port {}:{}\n", to_text(fabric.subnet.port_guid(port.port)), fabric.subnet.port(port.port).number, words);
  }

  void visit(report::Sink& sink, const std::vector<counters::PortChanges>& ports) const {
    begin_round(sink, round);
    sink.objects("ports", ports, [&](const counters::PortChanges& port) {
      visit_names(sink, fabric.subnet.port(port.port).node);
      visit_port_members(sink, port.port);
      sink.value("seconds", port.seconds);
      const auto errors = counters::ErrorQuery::errors_in(port);
      if (!wanted_.data_only) {
        sink.array("errors", errors, [&](const counters::CounterChange& error) {
          visit_growth(sink, error, {.threshold = wanted_.threshold_of(error.counter->name)});
        });
      }
      if (!wanted_.data && !wanted_.data_only) return;
      sink.array("traffic", std::span(port.changes).subspan(errors.size()),
                 [&](const counters::CounterChange& change) { visit_growth(sink, change); });
    });
    visit_summary(sink, summary_);
    visit_failures(sink);
    sink.end_object();
  }

  const QueryOptions& wanted_;
  std::vector<counters::PortChanges> grown_ports_;  ///< by node; empty in text
  counters::ErrorSummary summary_;
};

class Ibqueryerrors final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.optional_operands();
    set.target_each("TARGET", target_);
    set.notes("TARGET is one node to be checked; without it all are.");
    set.value("-s --suppress", "COUNTER[,…]", "Counters that are not errors, by their names in the text or in JSON.",
              [this](std::string_view text) {
                for (const std::string_view word : split(text)) suppress(word);
              });
    set.offer(counters::error_counters(), [](const auto* counter) { return counters::libibmad_name(*counter); });
    add_thresholds(set, wanted_);
    add_report_options(set, wanted_);
    set.flag("--yes", yes_, "With -k and -K: reset the counters of the whole fabric without a confirmation.");
    for (const char* other : {"--data", "--details", "--suppress", "--suppress-common", "--threshold-file"})
      set.one_of({"--counters", other});
    for (const char* other : {"--details", "--report-port"}) set.one_of({"--interval", other});
    set.flag("-S", ignored_, "No effect: TARGET may be a port GUID without it.");
    set.flag("-R --GNDN", ignored_, "No effect, as in infiniband-diags.");
    add_interval(set, interval_);
    add_discovery(set, discovery_);
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
    if (table_.given()) rows_.emplace(emit, "ports", report::Table<ErrorLine>(error_columns(wanted_), table_));
    if (wanted_.clears()) prepare_clear(session.stack());
    RoundFabric read;
    Fabric& fabric = read.fabric;
    shows_links_ = wanted_.report_port || emit.json() || table_.given();
    read.nodes = co_await find(session, fabric);
    if (confirms_) require_agreement(session.host().world(), fmt::format("Reset counters of {} nodes?", read.nodes.size()));
    wanted_.take(counters::ErrorThresholds::given_or_usual(wanted_.threshold_file, session.host().log(), {}));
    subnet::PortPaths& paths = read.paths.emplace(fabric.subnet, session.stack().here());
    co_await find_paths(session.stack(), paths, fabric, read.nodes);
    if (interval_.repeats()) {
      co_await watch(session, emit, read);
    } else {
      co_await check(session.stack(), emit, fabric, paths, std::move(read.nodes));
    }
  }

 private:
  /// Discovers what is needed of the fabric, and returns the nodes to be checked in print order.
  async::Task<std::vector<NodeIndex>> find(Session& session, Fabric& fabric) {
    discovery_.needs = needs();
    if (!target_.given()) {
      fabric = co_await discover(session, discovery_);
      co_return wanted_.wanted_of(fabric, subnet::breadth_first(fabric.subnet));
    }
    const NodeIndex node = co_await discover_around(session, discovery_, target_, fabric, shows_links_);
    if (wanted_.clears()) co_await check_meant_node(session.stack(), target_, fabric.subnet, node);
    co_return wanted_.wanted_of(fabric, {node});
  }

  /// The attributes that are needed of nodes. Of nodes that are not checked, only those that are printed with links.
  subnet::DiscoverNeeds needs() const {
    subnet::DiscoverNeeds needs;
    needs.switch_infos = wanted_.is_wanted(subnet::NodeKind::sw);
    if (!shows_links_ && !target_.given()) needs.descriptions = needs.end_ports = wanted_.checked_kinds();
    return needs;
  }

  async::Task<> find_paths(Stack& stack, subnet::PortPaths& paths, const Fabric& fabric, const std::vector<NodeIndex>& nodes) const {
    if (stack.host().options().skip_sl) co_return;
    if (!target_.given()) {
      co_await stack.read_service_levels(paths);
    } else if (!nodes.empty()) {
      PathQuery query;
      if (target_.path) query.known = target_.path->ib().dgid;
      co_await find_paths_to(stack, paths, fabric, nodes.front(), query);
      stack.report_sl_0(paths.why_sl_0());
    }
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
    wanted_.suppress(counters::libibmad_name(*counter));
  }

  void prepare_clear(Stack& stack) {
    stack.require_fabric("A reset of counters");
    if (interval_.repeats()) throw UsageError("--interval resets nothing: it excludes -k and -K");
    stack.require_exact_targets();
    const std::string_view given = discovery_.cache           ? "--cache"
                                   : discovery_.load_cache    ? "--load-cache"
                                   : discovery_.refresh_cache ? "--refresh-cache"
                                   : discovery_.cache_age     ? "--cache-age"
                                                              : "";
    if (!given.empty()) throw UsageError(fmt::format("{} excludes -k and -K: what is reset is looked for in the fabric itself", given));
    discovery_.has_cache = false;
    confirms_ = !target_.given() && must_confirm(stack.host().world(), yes_ || stack.host().options().dry_run, lost_counters);
    if (wanted_.clear_counts)
      stack.host().log().warning("-K resets the counters of data and packets here: in other commands it shows keys");
  }

  async::Task<> check(Stack& stack, Emit& emit, Fabric& fabric, const subnet::PortPaths& paths, std::vector<NodeIndex> nodes) {
    ErrorReport report(fabric, wanted_);
    if (wanted_.report_port) report.group_ports();
    counters::ReadingPlan plan = wanted_.plan();
    plan.owners = owner_transactor(stack, discovery_.load_cache);
    std::vector<counters::PmaNode> kept;  // for JSON
    bool any = false;
    std::size_t unread = 0;
    plan.on_node = [&](counters::PmaNode node) {
      any |= node.any_read();
      unread += counters::unread_ports(fabric.subnet, node);
      report.summary.add(fabric.subnet, node, wanted_);
      if (table_.given()) {
        report.each_reported_port(node, [&](const counters::PmaReading& reading) {
          rows_->add({{&fabric, reading.port}, &report, reading.row});
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
    if (!table_.given()) co_return emit(report);
    rows_->end();
    emit.raise(report.status());
  }

  async::Task<> watch(Session& session, Emit& emit, const RoundFabric& first) {
    WatchedFabric watched(session, discovery_, first, node_chooser(first));
    const auto once = [&](Round round) { return watch_once(session.stack(), emit, watched, std::move(round)); };
    co_await repeat(session.stack(), emit, interval_, once);
  }

  /// TARGET is looked up at first. From then on the node is known by its GUID.
  WatchedFabric::ChooseNodes node_chooser(const RoundFabric& first) const {
    if (!target_.given()) return [this](const Fabric& of) { return wanted_.wanted_of(of, subnet::breadth_first(of.subnet)); };
    const Guid target = first.nodes.empty() ? Guid{} : first.fabric.subnet.node(first.nodes.front()).guid();
    return [target](const Fabric& fabric) {
      const NodeIndex node = fabric.subnet.find_node(target);
      return node == subnet::none ? std::vector<NodeIndex>() : std::vector{node};
    };
  }

  async::Task<> watch_once(Stack& stack, Emit& emit, WatchedFabric& watched, Round round) {
    co_await watched.renew();
    const RoundFabric& of = watched.now();
    GrowthReport report(of.fabric, wanted_);
    report.round = std::move(round);
    counters::ReadingPlan plan = wanted_.plan();  // which clears nothing with --interval
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
  Target target_;
  DiscoveryOptions discovery_;
  bool shows_links_{};  ///< in text or JSON
  Interval interval_;
  TableOptions table_;
  std::optional<RowWriter> rows_;
  bool ignored_{}, yes_{};
  bool confirms_{};  ///< before it resets the counters of the whole fabric
};

}  // namespace
}  // namespace ibqueryerrors

constinit const CommandInfo rooms::ibqueryerrors{
    .name = "ibqueryerrors",
    .group = HelpGroup::counters,
    .summary = "Print the ports that have counted errors, with what they counted; or the data of all ports.",
    .make = make_command<tools::ibqueryerrors::Ibqueryerrors>,
    .make_diags = tools::ibqueryerrors::make_ibqueryerrors_diags,
    .changes = true,
    .reports_changes = true,
};

}  // namespace ib::tools
