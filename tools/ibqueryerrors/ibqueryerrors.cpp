// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibqueryerrors: which ports of the fabric have counted errors, and what else they counted.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <tuple>

#include "base/log.hpp"
#include "mad/rpc.hpp"
#include "path/parse.hpp"
#include "sa/records.hpp"
#include "subnet/error_thresholds.hpp"
#include "subnet/order.hpp"
#include "tools/frame/commands.hpp"
#include "tools/ibqueryerrors/growth.hpp"
#include "tools/ibqueryerrors/report.hpp"
#include "tools/shared/diags_fabric.hpp"
#include "tools/shared/interval.hpp"
#include "tools/shared/link_back.hpp"
#include "tools/shared/stored_fabric.hpp"
#include "tools/shared/sweep_trace.hpp"

namespace ib::tools {
namespace ibqueryerrors {
namespace {

using subnet::NodeIndex;

/// Calls `use` with each word between commas.
template <class Use>
void each_word(std::string_view text, Use use) {
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (!word.empty()) use(word);
  }
}

class Ibqueryerrors final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.optional_operands();
    set.target("TARGET", target_);
    set.notes("TARGET is one node to be checked; without it all are.");
    set.value("-s --suppress", "COUNTER[,…]", "Counters that are no errors, by their names in the text or in JSON.",
              [this](std::string_view text) { each_word(text, [this](std::string_view word) { suppress(word); }); });
    set.action("-c --suppress-common", "The same of PortRcvSwitchRelayErrors.", [this] { rules_.suppress(common_error); });
    set.text("-T --threshold-file", wanted_.threshold_file, "FILE", "The greatest counts that are no errors: lines COUNTER=NUMBER.");
    set.flag("--data", wanted_.data, "Show data and packets of ports with errors too.");
    set.flag("--counters", wanted_.data_only, "Show data and packets of all ports, and no errors.");
    set.flag("--details", wanted_.details, "Show why packets were discarded, and what was wrong with those received.");
    set.flag("-r --report-port", wanted_.report_port, "Show the links of ports with errors.");
    set.flag("--switch", wanted_.switches, "Check switches.");
    set.flag("--ca", wanted_.cas, "Check channel adapters.");
    set.flag("--router", wanted_.routers, "Check routers.");
    set.flag("-k --clear-errors", wanted_.clear_errors, "Set the counters of errors to zero after they were read.");
    set.flag("-K --clear-counts", wanted_.clear_counts, "Set the counters of data and packets to zero after they were read.");
    set.flag("--skip-sl", wanted_.skip_sl, "Use SL 0, and ask the subnet administrator nothing.");
    set.flag("-S", ignored_, "Nothing: TARGET may be a port GUID without it.");
    set.flag("-R --GNDN", ignored_, "Nothing.");
    add_interval(set, interval_);
    add_discovery(set, discovery_);
    add_common(set, common, group_target);
  }

  void diags_options(DiagsOptions& set) override {
    set.value("suppress", 's', "COUNTER,...", "Counters that are no errors.",
              [this](const std::string& text) { each_word(text, [this](std::string_view word) { rules_.suppress(word); }); });
    set.action("suppress-common", 'c', "The same of PortRcvSwitchRelayErrors.", [this] { rules_.suppress(common_error); });
    set.node_name_map();
    const auto node = [this, &set](path::Form form) {
      return [this, &set, form](const std::string& text) {
        set.common().address = form;
        (form == path::Form::direct ? route_ : guid_) = text;
      };
    };
    set.value("port-guid", 'G', "GUID", "Check only the node that has the port of this GUID.", node(path::Form::guid));
    set.value("", 'S', "GUID", "The same.", node(path::Form::guid));
    set.value("Direct", 'D', "ROUTE", "Check only the node at the end of this directed route.", node(path::Form::direct));
    set.flag("skip-sl", 0, wanted_.skip_sl, "Use SL 0, and ask the subnet administrator nothing.");
    set.flag("report-port", 'r', wanted_.report_port, "Show the links of ports with errors.");
    set.value("threshold-file", 0, "FILE", "The greatest counts that are no errors: lines COUNTER=NUMBER.",
              [this](const std::string& file) { wanted_.threshold_file = file; });
    set.flag("GNDN", 'R', ignored_, "Nothing.");
    set.flag("data", 0, wanted_.data, "Show data and packets of ports with errors too.");
    set.flag("switch", 0, wanted_.switches, "Check switches.");
    set.flag("ca", 0, wanted_.cas, "Check channel adapters.");
    set.flag("router", 0, wanted_.routers, "Check routers.");
    set.flag("details", 0, wanted_.details, "Show why packets were discarded, and what was wrong with those received.");
    set.flag("counters", 0, wanted_.data_only, "Show data and packets of all ports, and no errors.");
    set.flag("clear-errors", 'k', wanted_.clear_errors, "Set the counters of errors to zero after they were read.");
    set.flag("clear-counts", 'K', wanted_.clear_counts, "Set the counters of data and packets to zero after they were read.");
    set.value("load-cache", 0, "FILE", "Read the fabric from a file that ibnetdiscover --cache wrote.",
              [this](const std::string& file) { discovery_.load_cache = file; });
    set.outstanding_smps();
    set.without("DGKLnRrSsY");
    set.sends_sa_key();
    discover_as_diags(discovery_);
    as_diags_ = true;
  }

  async::Task<> run(Session& session, Emit& emit) override {
    check_interval(interval_);
    if (wanted_.clears()) session.require_fabric("A reset of counters");
    if (interval_.repeats() && wanted_.clears()) throw UsageError("--interval resets nothing: it excludes -k and -K");
    if (as_diags_) {
      if (route_ && discovery_.load_cache) throw DiagsExit(diags_failed, "Cannot specify cache and direct route path\n");
      target_.word = route_ ? route_ : guid_;
      open(session);
    }
    Fabric fabric;
    ErrorReport report(fabric, wanted_, rules_);
    report.diags = as_diags_;
    shows_links_ = wanted_.report_port || emit.json();
    discovery_.needs = needs();
    std::vector<NodeIndex> nodes = co_await find_nodes(session, fabric);
    if (as_diags_ && !target_.given()) trace_sweep(session, fabric, emit.text());
    report.has_thresholds = read_thresholds();
    for (const std::string& name : rules_.skipped())
      session.diags_warning("add_suppressed", fmt::format("Maximum (64) fields have been suppressed; skipping {}", name));
    const path::Path start = session.here();
    subnet::PortPaths paths(fabric.subnet, start);
    if (as_diags_) paths.keep_to_base_lids();
    const bool reachable = co_await find_paths(session, paths, fabric, nodes);
    if (!reachable) co_return;
    if (interval_.repeats()) {
      co_await watch(session, emit, fabric, paths, std::move(nodes));
      co_return;
    }
    if (wanted_.report_port) report.grouping = subnet::group(fabric.subnet, diags_order(fabric, asks_fdr10(session)));
    subnet::PmaWanted wanted = pma_wanted();
    wanted.told = [&](const subnet::PmaNode& node) {
      report.count(node);
      if (as_diags_) report.tell_problems(session, node);
      if (emit.json()) return;
      report.node_text(emit.text(), node);
      emit.text().push();
    };
    report.readings = co_await read(session, fabric, paths, std::move(nodes), std::move(wanted));
    if (!as_diags_) add_failures(session, fabric, std::move(report.readings.failures));
    emit(report);
    emit.raise(report.status());
    emit.set_diags_status(report.bad_ports != 0 ? 1 : 0);
  }

 private:
  static constexpr std::string_view common_error = "PortRcvSwitchRelayErrors";

  void suppress(std::string_view word) {
    const subnet::CounterInfo* counter = subnet::find_counter(word);
    if (counter == nullptr || counter->narrow == nullptr) throw OptionError(fmt::format("no counter of PortCounters is called {}", word));
    rules_.suppress(counter_name(*counter));
  }

  static bool asks_fdr10(const Session& session) { return session.options().mlnx_extended_port_info; }

  bool read_thresholds() {
    const bool read = rules_.read_thresholds(wanted_.threshold_file.value_or(subnet::default_error_thresholds_file));
    if (!read && wanted_.threshold_file && !as_diags_)
      throw UsageError(fmt::format("{}: this file can not be read", *wanted_.threshold_file));
    return read;
  }

  /// Discovers, and returns the nodes that are to be checked, in the order in which they are told of.
  async::Task<std::vector<NodeIndex>> find_nodes(Session& session, Fabric& fabric) {
    std::vector<NodeIndex> nodes;
    NodeIndex node = subnet::none;
    bool found = false;
    if (target_.given() && !(as_diags_ && discovery_.load_cache)) {
      try {
        node = co_await discover_target(session, fabric);
        found = true;
      } catch (const DiagsFailure&) {
        session.diags_warning("main", fmt::format("Failed to resolve {}; attempting full scan", target_.text()));
      } catch (const mad::MadError& error) {
        if (!as_diags_) throw;
        tell_silence(session, error);
        found = true;
      }
    }
    if (!found) co_await discover_all(session, fabric);
    if (route_ && node == subnet::none) throw DiagsExit(0, "Failed to query local Node Info\n");
    if (target_.given()) {
      if (as_diags_) node = named_node(session, fabric, node);
      named_ = node;
      if (node != subnet::none) nodes.push_back(node);
    } else {
      nodes = as_diags_ ? diags_order(fabric, asks_fdr10(session)) : subnet::breadth_first(fabric.subnet);
    }
    std::erase_if(nodes, [&](NodeIndex at) { return !is_checked(fabric.subnet.node(at).kind()); });
    co_return nodes;
  }

  /// Opens the end port, or ends as infiniband-diags does.
  static void open(Session& session) {
    try {
      std::ignore = session.lowest_transactor();
    } catch (const DiagsFailure&) {
      throw DiagsFailure({"main", fmt::format("Failed to open port; {}\n", session.diags_port())});
    }
  }

  /// The node of -G or -D does not answer: what libibnetdisc says, and for a route libibmad, which asks it once more.
  void tell_silence(const Session& session, const mad::MadError& error) const {
    const mad::HeaderView request(error.request());
    tell(session.world().err,
         fmt::format("./libibnetdisc/query_smp.c:186; umad ({} Attr 0x{:x}:{}) bad status {}; {}\n", diags_name(error.path()),
                     request.attribute_id(), request.attribute_modifier(), ETIMEDOUT, std::strerror(ETIMEDOUT)));
    if (route_) session.tell_failure(error);
  }

  /// The node of TARGET or -G or -D, with its neighbours where their links are told of. Returns the node.
  async::Task<NodeIndex> discover_target(Session& session, Fabric& fabric) {
    if (route_) {
      const NodeIndex at_route = co_await discover_at_route(session, fabric);
      co_return at_route;
    }
    const NodeIndex found = co_await discover_around(session, discovery_, target_, fabric, shows_links_);
    co_return found;
  }

  /// The node of -D, with those ports of it that libibnetdisc finds. A directed route to a host ends there: for the other end of its link,
  /// and for its other ports, the discovery begins at the node before it.
  async::Task<NodeIndex> discover_at_route(Session& session, Fabric& fabric) {
    const Destination target = co_await session.smp_node(target_);
    const mad::Result<smp::NodeInfo> info = co_await session.transactor().try_subn_get<smp::NodeInfo>(target.path);
    if (!info) info.error().raise();
    subnet::KnownNode known{*info};
    path::IbDrPath start = *target.path.directed();
    if (begins_before(session, *info, start.hops)) {
      known.beyond = start.route[start.hops];
      start.route[start.hops--] = 0;
    }
    co_await discover_from(session, discovery_, start, 1, fabric, known);
    NodeIndex node = fabric.subnet.find_node(info->node_guid);
    if (node == subnet::none && known.beyond != 0) {  // the node before it does not answer
      fabric = Fabric();
      co_await discover_from(session, discovery_, target.path, 1, fabric, subnet::KnownNode{*info});
      node = fabric.subnet.find_node(info->node_guid);
    }
    if (start.hops == 0 && known.beyond == 0) co_await read_link_back(session, fabric, start, 1);
    libibnetdisc_failures(session, fabric, true);
    co_return node;
  }

  /// Whether the discovery begins at the node before the one with that NodeInfo, which a route of that length leads to.
  bool begins_before(Session& session, const smp::NodeInfo& info, unsigned hops) const {
    if (info.node_type == smp::NodeType::switch_ || hops == 0) return false;
    if (wanted_.report_port) return true;
    if (info.num_ports < 2 || hops < 2) return false;
    // From another port of this host libibnetdisc does not find the port that the route leaves by.
    return hops > 2 || info.node_guid != session.end_port().device->node_guid || info.local_port_num == session.end_port().number;
  }

  async::Task<> discover_all(Session& session, Fabric& fabric) {
    const bool diags = as_diags_;
    try {
      co_await discover(session, discovery_, fabric);
    } catch (const CannotLoad& error) {
      session.diags_debug("ibnd_load_fabric", error.message());
      if (!diags) throw;
      throw DiagsExit(diags_failed, "loading cached fabric failed\n");
    } catch (const mad::MadError&) {
      if (!diags) throw;
      throw DiagsExit(diags_failed, "discover failed\n");
    }
  }

  bool is_checked(subnet::NodeKind kind) const { return kind != subnet::NodeKind::other && wanted_.is_wanted(kind); }

  /// The node of -G or -D: one that a GUID names is looked for in what was discovered.
  NodeIndex named_node(const Session& session, const Fabric& fabric, NodeIndex at_route) const {
    NodeIndex node = at_route;
    if (!route_) {
      const subnet::PortIndex port = fabric.subnet.find_port(Guid{c_number(*guid_)});
      node = port == subnet::none ? port : fabric.subnet.port(port).node;
    }
    if (node == subnet::none) tell(session.world().err, fmt::format("Failed to find node: {}\n", target_.text()));
    return node;
  }

  /// What is used of the nodes, besides those that are checked: of the others what is told of links.
  subnet::DiscoverNeeds needs() const {
    subnet::NodeKinds kinds;
    for (const subnet::NodeKind kind : {subnet::NodeKind::ca, subnet::NodeKind::sw, subnet::NodeKind::router}) {
      if (is_checked(kind)) kinds |= {kind};
    }
    subnet::DiscoverNeeds needs;
    needs.switch_infos = kinds.has(subnet::NodeKind::sw);
    if (!shows_links_ && !target_.given()) needs.descriptions = needs.end_ports = kinds;
    return needs;
  }

  /// The paths to the PMAs of one node alone, end port by end port. infiniband-diags asks by a table, which may be empty: SL 0 is used
  /// then.
  async::Task<> find_paths_to(Session& session, subnet::PortPaths& paths, const Fabric& fabric, NodeIndex node) const {
    const path::IbPath& sa = session.transactor().sa_path().ib();
    if (sa.dlid == Lid{} && !sa.has_grh) co_return paths.do_without("no subnet administrator is known");
    std::vector<subnet::PortIndex> ends;
    for (const subnet::PortIndex port : subnet::countable_ports(fabric.subnet, node)) ends.push_back(fabric.subnet.end_port_of(port));
    ends.erase(std::ranges::unique(ends).begin(), ends.end());
    for (const subnet::PortIndex end : ends) {
      // Some SAs have no path to the requesting port itself. infiniband-diags asks for that of -D all the same.
      if (!route_ && fabric.subnet.lid(end) == session.end_port().lid) continue;
      const path::Path to = address_of(session, fabric.subnet, end);
      try {
        const path::Path path = co_await session.gmp_path(&to);
        paths.use(end, path);
      } catch (const SysError&) {
        throw;
      } catch (const Error& error) {
        const auto* answer = dynamic_cast<const mad::MadError*>(&error);
        const std::optional<path::Path> plain = subnet::gmp_path(fabric.subnet, end, session.here());
        if (as_diags_ && plain && answer != nullptr && sa::is_no_records(*answer)) {
          paths.use(end, *plain);
          continue;
        }
        paths.do_without(error.message());
        if (route_) break;  // it is told of once
      }
    }
  }

  /// How the SA is asked for the path to an end port: by its GUID where it was asked for that before, else by its LID.
  path::Path address_of(Session& session, const subnet::Subnet& subnet, subnet::PortIndex end) const {
    path::IbPath to;
    to.end_port = &session.end_port();
    std::optional<Gid> known;
    if (target_.path) known = target_.path->ib().dgid;
    if (guid_) {
      const GidPrefix prefix = session.end_port().default_gid().prefix();
      known = Gid::from(prefix.value != 0 ? prefix : link_local_prefix, Guid{c_number(*guid_)});
    }
    if (known && known->guid() == subnet.port_guid(end)) {
      to.dgid = known;
    } else {
      to.dlid = subnet.lid(end);
    }
    return to;
  }

  /// Asks for the service levels. False where infiniband-diags ends for want of them: it asks for none of the node of -G, and if there is
  /// no node of -D.
  async::Task<bool> find_paths(Session& session, subnet::PortPaths& paths, const Fabric& fabric, const std::vector<NodeIndex>& nodes) {
    if (wanted_.skip_sl) co_return true;
    co_await session.prepare_sa();
    if (!target_.given()) {
      co_await paths.read_service_levels(session.transactor());
    } else if (const NodeIndex node = route_ ? named_ : nodes.empty() ? subnet::none : nodes.front(); node != subnet::none) {
      co_await find_paths_to(session, paths, fabric, node);
    }
    if (paths.why_sl_0().empty()) co_return true;
    if (!as_diags_) {
      log::warning(fmt::format("SL 0 is used: {}", paths.why_sl_0()));
      co_return true;
    }
    if (paths.has_service_levels() || guid_ || (route_ && named_ == subnet::none)) co_return true;
    if (session.transactor().sa_path().ib().dlid == Lid{}) {
      session.diags_warning("sa_get_handle", fmt::format("No SM/SA found on port {}", session.diags_port()));
    } else {
      tell(session.world().err, fmt::format("Query SA failed: {}; sa call path_query failed\n", paths.why_sl_0()));
    }
    co_return false;
  }

  subnet::PmaWanted pma_wanted() const {
    subnet::PmaWanted wanted;
    wanted.traffic = wanted_.data;
    wanted.traffic_only = wanted.each_port = wanted_.data_only;
    const ErrorRules* rules = &rules_;
    if (!wanted_.data_only) wanted.tells = [rules](const subnet::PmaReading& reading) { return !rules->errors_of(reading).empty(); };
    if (wanted_.details) {
      wanted.wants_discard_details = [rules](const auto& reading) { return rules->is_error(reading, "port_xmit_discards"); };
      wanted.wants_error_details = [rules](const auto& reading) { return rules->is_error(reading, "port_rcv_errors"); };
    }
    if (wanted_.clears()) {
      const bool errors = wanted_.clear_errors, counts = wanted_.clear_counts;
      wanted.clear = [errors, counts](const subnet::CounterInfo& counter) {
        return counter.traffic ? counts : errors && counter.name != "qp1_dropped";
      };
    }
    wanted.clear_details = wanted_.clear_errors && wanted_.details;
    return wanted;
  }

  async::Task<subnet::PmaReadings> read(Session& session, const Fabric& fabric, const subnet::PortPaths& paths,
                                        std::vector<NodeIndex> nodes, subnet::PmaWanted wanted) {
    const path::Path start = session.here();
    subnet::SurveyOptions options(start);
    options.paths = &paths;
    options.progress = [&session](std::size_t done, std::size_t of) { session.progress().count(done, of, "ports"); };
    subnet::PmaReadings readings =
        co_await subnet::read_pmas(session.transactor(), fabric.subnet, std::move(nodes), std::move(wanted), std::move(options));
    co_return readings;
  }

  /// Reads each port again and again.
  async::Task<> watch(Session& session, Emit& emit, Fabric& fabric, const subnet::PortPaths& paths, std::vector<NodeIndex> nodes) {
    std::map<subnet::PortIndex, subnet::PmaReading> before;
    const std::vector<subnet::Failure> of_sweep = fabric.subnet.failures;
    const auto once = [&](std::optional<double> seconds) -> async::Task<> {
      fabric.subnet.failures = of_sweep;
      return watch_once(session, emit, fabric, paths, nodes, before, seconds);
    };
    if (emit.json()) emit.sink().begin_array("readings");
    co_await repeat(session, interval_, once);
    if (emit.json()) emit.sink().end_array();
  }

  async::Task<> watch_once(Session& session, Emit& emit, Fabric& fabric, const subnet::PortPaths& paths,
                           const std::vector<NodeIndex>& nodes, std::map<subnet::PortIndex, subnet::PmaReading>& before,
                           std::optional<double> seconds) {
    subnet::PmaWanted wanted;
    wanted.each_port = true;
    wanted.traffic = wanted_.data;
    wanted.traffic_only = wanted_.data_only;
    wanted.known_support = [this](NodeIndex node) {
      const auto known = supports_.find(node);
      return known == supports_.end() ? std::nullopt : std::optional(known->second);
    };
    subnet::PmaReadings readings = co_await read(session, fabric, paths, nodes, std::move(wanted));
    for (const subnet::PmaNode& node : readings.nodes) {
      if (!node.problem) supports_[node.node] = node.support;
    }
    GrowthReport report(fabric, wanted_, rules_);
    report.seconds = seconds;
    report.take(readings, before);
    add_failures(session, fabric, std::move(readings.failures));
    emit(report);
    emit.raise(report.status());
    emit.flush();  // at once
  }

  Wanted wanted_;
  ErrorRules rules_;
  DiscoveryOptions discovery_;
  Target target_;
  Interval interval_;
  std::map<NodeIndex, subnet::PmaSupport> supports_;  ///< of nodes that are asked again
  std::optional<std::string> guid_, route_;           ///< of infiniband-diags: -G and -S, -D
  NodeIndex named_ = subnet::none;                    ///< the node of TARGET, -G or -D, whether it is checked or not
  bool ignored_{}, as_diags_{};
  bool shows_links_{};  ///< in text or JSON
};

}  // namespace
}  // namespace ibqueryerrors

constinit const CommandInfo rooms::ibqueryerrors{
    .name = "ibqueryerrors",
    .group = HelpGroup::counters,
    .summary = "Print the ports that have counted errors, with what they counted; or the data of all ports.",
    .make = make_command<tools::ibqueryerrors::Ibqueryerrors>,
    .changes = true,
    .diags = true,
};

}  // namespace ib::tools
