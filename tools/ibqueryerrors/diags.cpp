// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// infiniband-diags' ibqueryerrors: which nodes it checks, what it prints on stderr meanwhile, and its words for names and GUIDs.
#include <fmt/format.h>

#include <tuple>

#include "base/split.hpp"
#include "iba-gen/pm.hpp"
#include "path/parse.hpp"
#include "subnet/model/names.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/manners.hpp"
#include "tools/ibqueryerrors/ibqueryerrors.hpp"
#include "tools/shared/libibnetdisc.hpp"

namespace ib::tools::ibqueryerrors {
namespace {

/// The function of the program that requests an attribute, and its word for the attribute.
std::pair<std::string_view, std::string_view> words_for(std::uint16_t attribute, bool data_only) {
  if (attribute == pm::PortXmitDiscardDetails::attribute_id) return {"query_and_dump", "PortXmitDiscardDetails"};
  if (attribute == pm::PortRcvErrorDetails::attribute_id) return {"query_and_dump", "PortRcvErrorDetails"};
  return {data_only ? "print_data_cnts" : "print_errors",
          attribute == pm::PortCountersExt::attribute_id ? "IB_GSI_PORT_COUNTERS_EXT" : "IB_GSI_PORT_COUNTERS"};
}

class DiagsErrorReport final : public ErrorReport {
 public:
  DiagsErrorReport(const Fabric& of, const QueryOptions& what, const Host& host) : ErrorReport(of, what, true), host_(host) {}

  /// The lines of a node, and on stderr the requests to its PMA that failed.
  void print_node(TextOut& out, const counters::PmaNode& node) const {
    if (node.problem) report_problem({"query_cap_mask", "classportinfo"}, node, node.first, fabric.subnet.port(node.first).number);
    if (node.all) report_reading(node, *node.all);
    for (const counters::PmaReading& reading : node.ports) report_reading(node, reading);
    for (const counters::PmaProblem& problem : node.clear_problems) report_clear(problem.attribute, node, node.first, subnet::all_ports);
    node_text(out, node);
  }
  void diags_text(TextOut& out) const override { text(out); }

 private:
  std::string name_of(const counters::PmaNode& node) const { return diags_node_name(fabric.subnet.node(node.node), fabric.names); }
  void report_problem(std::pair<std::string_view, std::string_view> words, const counters::PmaNode& node, PortIndex port,
                      unsigned select) const {
    warn(host_.world(), words.first,
         fmt::format("{} query failed on {}, Lid {} port {}", words.second, name_of(node), fabric.subnet.lid(port).value, select));
  }
  void report_clear(std::uint16_t attribute, const counters::PmaNode& node, PortIndex port, unsigned select) const {
    const bool extended = attribute == pm::PortCountersExt::attribute_id;
    print_on_stderr(host_.world(), extended ? fmt::format("Failed to reset extended data counters {}, Lid {} port {}\n", name_of(node),
                                                          fabric.subnet.lid(port).value, select)
                                            : fmt::format("Failed to reset errors {} port {}\n", name_of(node), select));
  }
  void report_reading(const counters::PmaNode& node, const counters::PmaReading& reading) const {
    for (const counters::PmaProblem& problem : reading.problems) {
      if (problem.set && problem.whose && !node.clear_problems.empty()) continue;  // the node's one Set was not sent
      if (problem.set) {
        report_clear(problem.attribute, node, reading.port, reading.select);
      } else {
        report_problem(words_for(problem.attribute, wanted.data_only), node, reading.port, reading.select);
      }
    }
    // What could not be read was not cleared either.
    if (wanted.clears() && !reading.known() && !reading.problems.empty() && !reading.problems.back().set)
      report_clear(pm::PortCounters::attribute_id, node, reading.port, reading.select);
  }

  const Host& host_;
};

class IbqueryerrorsDiags final : public Command {
 public:
  void diags_options(OptionSet& set, CommonOptions& common) override {
    set.value("-s --suppress", "COUNTER,...", "Counters that are not errors.", [this](const std::string& text) {
      for (const std::string_view word : split(text)) wanted_.suppress(word);
    });
    add_node_name_map(set, common);
    const auto node = [this, &common](path::Form form) {
      return [this, &common, form](const std::string& text) {
        common.address = form;
        (form == path::Form::direct ? route_ : guid_) = text;
      };
    };
    set.value("-G --port-guid", "GUID", "Check only the node that has the port of this GUID.", node(path::Form::guid));
    set.value("-S", "GUID", "As --port-guid.", node(path::Form::guid));
    set.value("-D --Direct", "ROUTE", "Check only the node at the end of this directed route.", node(path::Form::direct));
    set.flag("--skip-sl", common.skip_sl, "Use SL 0, and request nothing from the subnet administrator.");
    add_thresholds(set, wanted_);
    set.flag("-R --GNDN", ignored_, "No effect, as in infiniband-diags.");
    add_report_options(set, wanted_);
    set.text("--load-cache", discovery_.load_cache, "FILE", "Read this file of ibnetdiscover --cache, and no fabric.");
    add_outstanding_smps(set, common);
    set.without("DGKLnRrSsY");
    common.sends_sa_key = true;
  }

  async::Task<> run(Session& session, Emit& emit) override {
    Stack& stack = session.stack();
    if (wanted_.clears()) stack.require_fabric("A reset of counters");
    prepare(stack);
    LibibnetdiscFabric fabric;
    std::vector<NodeIndex> nodes = co_await find(session, fabric);
    DiagsErrorReport report(fabric, wanted_, session.host());
    report.has_thresholds = wanted_.read_thresholds(wanted_.threshold_file.value_or(counters::default_error_thresholds_file));
    for (const std::string& name : wanted_.skipped)
      warn(session.host().world(), "add_suppressed", fmt::format("Maximum (64) fields have been suppressed; skipping {}", name));
    subnet::PortPaths paths(fabric.subnet, stack.here());
    paths.keep_to_base_lids();
    const bool reachable = co_await find_paths(stack, paths, fabric, nodes);
    if (!reachable) co_return;
    if (wanted_.report_port) report.group_ports();
    counters::ReadingPlan plan = wanted_.plan();
    plan.owners = owner_transactor(stack, discovery_.load_cache);
    plan.takes_any_select = true;
    plan.on_node = [&](const counters::PmaNode& node) {
      report.summary.add(fabric.subnet, node, wanted_, true);
      report.print_node(emit.text(), node);
      emit.text().push();
    };
    report.readings =
        co_await counters::read_pmas(stack.transactor(), fabric.subnet, std::move(nodes), std::move(plan), gmp_survey(stack, paths));
    emit(report);
    emit.set_diags_status(report.summary.bad_ports != 0 ? 1 : 0);
  }

 private:
  void prepare(Stack& stack) {
    if (route_ && discovery_.load_cache) throw DiagsExit(diags_failed, "Cannot specify cache and direct route path\n");
    target_.word = route_ ? route_ : guid_;
    try {
      std::ignore = stack.lowest_transactor();
    } catch (const DiagsFailure&) {
      throw DiagsFailure(fmt::format("Failed to open port; {}\n", diags_port(stack.host().options())));
    }
  }

  /// Discovers what is needed of the fabric, and returns the nodes to be checked in print order: all, or the one of -G, -S or -D.
  async::Task<std::vector<NodeIndex>> find(Session& session, LibibnetdiscFabric& fabric) {
    NodeIndex node = subnet::none;
    bool found = false;
    if (target_.given() && !discovery_.load_cache) {
      try {
        if (route_) {
          node = co_await discover_at_route(session, fabric);
        } else {
          const DiscoveryOptions options = libibnetdisc_discovery(session.host());
          node = co_await discover_around(session, options, target_, fabric);
        }
        libibnetdisc_failures(session.host(), fabric, false);
        found = true;
      } catch (const DiagsFailure&) {
        warn(session.host().world(), "main", fmt::format("Failed to resolve {}; attempting full scan", target_.text()));
      } catch (const mad::MadError& error) {
        session.manners().report_failure(error);
        found = true;
      }
    }
    if (!found) {
      try {
        co_await discover_as_libibnetdisc(session, discovery_, fabric);
      } catch (const CannotLoad&) {
        throw DiagsExit(diags_failed, "loading cached fabric failed\n");
      } catch (const mad::MadError&) {
        throw DiagsExit(diags_failed, "discover failed\n");
      }
    }
    if (route_ && node == subnet::none) throw DiagsExit(0, "Failed to query local Node Info\n");
    if (!target_.given()) co_return wanted_.wanted_of(fabric, fabric.order);
    named_ = node;
    if (!route_) {  // a node that a GUID names is looked for in what was discovered
      const PortIndex port = fabric.subnet.find_port(Guid{c_number(*guid_)});
      named_ = port == subnet::none ? port : fabric.subnet.port(port).node;
    }
    std::vector<NodeIndex> nodes;
    if (named_ != subnet::none) nodes.push_back(named_);
    if (nodes.empty()) print_on_stderr(session.host().world(), fmt::format("Failed to find node: {}\n", target_.text()));
    co_return wanted_.wanted_of(fabric, std::move(nodes));
  }

  /// The node of -D, with those ports of it that libibnetdisc finds. A directed route to a host ends there: for the other end of its link,
  /// and for its other ports, the discovery begins at the node before it.
  async::Task<NodeIndex> discover_at_route(Session& session, LibibnetdiscFabric& fabric) const {
    const Destination destination = co_await session.manners().smp_node(target_);
    const mad::Result<smp::NodeInfo> info = co_await session.stack().lowest_transactor().try_subn_get<smp::NodeInfo>(destination.path);
    if (!info) info.error().raise();
    path::IbDrPath start = *destination.path.directed();
    subnet::KnownNode known{*info};
    if (begins_before(session.host(), *info, start.hops)) known.beyond = start.retreat();
    co_await discover_part_as_libibnetdisc(session, start, 1, fabric, known);
    NodeIndex node = fabric.subnet.find_node(info->node_guid);
    if (node == subnet::none && known.beyond != 0) {
      fabric = LibibnetdiscFabric();
      const subnet::KnownNode itself{*info};
      co_await discover_part_as_libibnetdisc(session, destination.path, 1, fabric, itself);
      node = fabric.subnet.find_node(info->node_guid);
    }
    if (start.hops == 0 && known.beyond == 0) {
      const bool mlnx = session.host().options().mlnx_extended_port_info;
      co_await read_link_back(session.stack().lowest_transactor(), fabric, start, 1, mlnx);
    }
    co_return node;
  }

  /// Whether the discovery begins at the node before the one with that NodeInfo, which a route of that length leads to.
  bool begins_before(Host& host, const smp::NodeInfo& info, unsigned hops) const {
    if (info.node_type == smp::NodeType::switch_ || hops == 0) return false;
    if (wanted_.report_port) return true;
    if (info.num_ports < 2 || hops < 2) return false;
    // From another port of this host libibnetdisc does not find the port that the route leaves by.
    return hops > 2 || info.node_guid != host.end_port().device->node_guid || info.local_port_num == host.end_port().number;
  }

  /// Queries the service levels. Returns false if the program ends without them: infiniband-diags queries none for the node of -G, and none
  /// if there is no node of -D.
  async::Task<bool> find_paths(Stack& stack, subnet::PortPaths& paths, const Fabric& fabric, const std::vector<NodeIndex>& nodes) const {
    if (stack.host().options().skip_sl) co_return true;
    if (!target_.given()) {
      co_await stack.read_service_levels(paths);
    } else if (const NodeIndex node = route_ ? named_ : nodes.empty() ? subnet::none : nodes.front(); node != subnet::none) {
      PathQuery query;
      query.of_route = route_.has_value();
      query.plain_if_none = true;  // it queries by a table, which may be empty
      if (guid_) {
        const GidPrefix prefix = stack.host().end_port().default_gid().prefix();
        query.known = Gid::from(prefix.value != 0 ? prefix : link_local_prefix, Guid{c_number(*guid_)});
      }
      co_await find_paths_to(stack, paths, fabric, node, query);
    }
    if (paths.why_sl_0().empty() || paths.has_service_levels() || guid_ || (route_ && named_ == subnet::none)) co_return true;
    if (stack.transactor().sa_path().ib().dlid == Lid{}) {
      warn(stack.host().world(), "sa_get_handle", fmt::format("No SM/SA found on port {}", diags_port(stack.host().options())));
    } else {
      print_on_stderr(stack.host().world(), fmt::format("Query SA failed: {}; sa call path_query failed\n", paths.why_sl_0()));
    }
    co_return false;
  }

  QueryOptions wanted_;
  std::optional<std::string> guid_, route_;  ///< -G and -S, -D
  LibibnetdiscWanted discovery_;             ///< which file is read
  Target target_;                            ///< the node of -G or -D
  NodeIndex named_ = subnet::none;           ///< of `target_`, whether it is checked or not
  bool ignored_{};
};

}  // namespace

std::unique_ptr<Command> make_ibqueryerrors_diags() { return std::make_unique<IbqueryerrorsDiags>(); }

}  // namespace ib::tools::ibqueryerrors
