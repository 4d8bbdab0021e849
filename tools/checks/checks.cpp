// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The commands ibchecknode, ibcheckport, ibcheckportstate, ibcheckportwidth and ibcheckerrs check one node or one port; ibcheckerrors,
// ibchecknet, ibcheckstate and ibcheckwidth check the whole fabric. The whole fabric is swept and compared with two tables of the SA, and
// one survey reads all counters. A node, and the other end of its link if a check needs it, are read into a small model. Both are judged
// alike. ibidsverify finds LIDs and GUIDs that are zero, or that two ports or nodes share.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/log.hpp"
#include "counters/error_query.hpp"
#include "counters/readings.hpp"
#include "iba/wire.hpp"
#include "mad/error.hpp"
#include "subnet/model/chassis.hpp"
#include "subnet/model/order.hpp"
#include "subnet/model/port_checks.hpp"
#include "subnet/model/port_paths.hpp"
#include "subnet/sweep/peer.hpp"
#include "subnet/sweep/sa_nodes.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/terminal.hpp"
#include "tools/shared/check_rows.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/libibnetdisc.hpp"
#include "tools/shared/one_node.hpp"

namespace ib::tools {
namespace checks {
namespace {

using Counters = std::unordered_map<PortIndex, counters::CounterRow>;
using Counts = counters::ReadingPlan::Counts;

bool is_switch(const subnet::Subnet& subnet, PortIndex port) { return subnet.node(subnet.port(port).node).kind() == subnet::NodeKind::sw; }

/// The checks of a command, of the whole fabric or of what TARGET names.
struct Looks {
  bool one{};   ///< one node or port, not the whole fabric
  bool node{};  ///< end ports against their records in the SA
  subnet::PortChecks ports{};
  bool errors{};  ///< counters against their thresholds
  bool ids{};     ///< of the whole fabric, and nothing else: LIDs and GUIDs
};

class Check final : public Command {
 public:
  explicit Check(Looks looks) : looks_(looks) {}

  void options(OptionSet& set, CommonOptions& common) override {
    if (looks_.one && looks_.errors) {
      counted_.options(set);
    } else {
      if (looks_.one) set.target_each("TARGET", counted_.target);
      if (looks_.one && looks_.ports.any()) {
        set.integer("PORT", counted_.port, {0, path::last_port});
        set.is_port();
      }
      if (!looks_.one && !looks_.ids) {
        set.optional_operands();
        set.target_patterns("TARGET", targets_);
        set.notes("Without TARGET all nodes are checked. TARGET may be a pattern of names, and\nmay name a port: leaf[01-04]/19.");
      }
      if (!looks_.one) set.flag("--up", only_up_, "Leave out the ports that are polling or disabled.");
      set.flag("-N --nocolor", counted_.plain, "Print no colours; without it a terminal gets them.");
      if (looks_.errors)
        set.text("-T --thresholds", counted_.thresholds_file, "FILE", "Read thresholds of error counters, and all of them, from FILE.");
    }
    if (!looks_.one) add_discovery(set, discovery_);
    add_table_options(set, common, table_, keys_of(check_columns()));
    const unsigned usual = looks_.errors ? group_target | group_sl : group_target;
    add_common(set, common, looks_.ids ? group_fabric : usual);
  }

  std::string_view table_rows() const override { return counted_.shows_thresholds ? "thresholds" : "checks"; }

  async::Task<> run(Session& session, Emit& emit) override {
    report::Table<CheckLine>(check_columns(), table_);
    if (looks_.errors) thresholds_ = counters::ErrorThresholds::given_or_usual(counted_.thresholds_file, session.host().log());
    if (counted_.shows_thresholds) co_return emit(ThresholdReport(thresholds_));
    Fabric fabric;
    CheckReport report(fabric);
    report.verbose = session.host().options().verbosity >= 1;
    report.colour = !counted_.plain && terminal_of(session.host().world()).has_colours;
    report.one = looks_.one;
    report.describes = !looks_.one || looks_.errors;
    if (looks_.one) {
      co_await check_one(session.stack(), emit, fabric, report);
    } else {
      discovery_.needs.switch_infos = looks_.ports.any();  // a port 0 that is not an enhanced one is not checked
      if (looks_.ids && !emit.json() && !table_.given()) discovery_.needs.descriptions = {};
      fabric = co_await discover(session, discovery_);
      if (looks_.ids) {
        check_ids(fabric.subnet, report);
      } else {
        co_await check_fabric(session, fabric, report);
      }
      report.emit(emit, table_);
      note_discovered(session.host(), "all_LIDs, all_NodeDescription, all_NodeInfo, all_PortInfo, all_topology");
    }
  }

 private:
  async::Task<> check_one(Stack& stack, Emit& emit, Fabric& fabric, CheckReport& report) const {
    const subnet::Subnet& subnet = fabric.subnet;
    const Destination node = co_await stack.manners().smp_node(counted_.target);
    const OnePort one = co_await find_one_port(stack, node, fabric, counted_.port);
    bool is_complete = true;
    std::optional<mad::Result<counters::CounterRow>> counted;
    if (looks_.node) {
      co_await add_port(stack.transactor(), node.path, fabric.subnet, one.end);
      const Gid here = stack.host().end_port().default_gid();
      subnet::Mismatches findings = co_await subnet::check_sa_records(stack.transactor(), subnet, one.end, here);
      report.add({.kind = CheckKind::node, .port = one.end, .findings = std::move(findings)});
    } else if (looks_.errors) {
      co_await describe(stack, node, fabric, one);
      counted.emplace(co_await read_counters(stack, fabric, one, counts(Counts::errors)));
      if (*counted) report.show(error_row(one.port, **counted, one.all_ports));  // without a reading nothing is judged
    } else {
      is_complete = co_await read_port(stack, node, fabric, one);
      add_port_row(subnet, one.port, report);
    }
    report.emit(emit, table_);
    if (!is_complete) emit.raise(Exit::incomplete);
    print_errors(stack.host().log(), emit, report);
    if (counted && !*counted) counted->error().raise();
  }

  static void print_errors(Log& log, Emit& emit, const CheckReport& report) {
    for (const CheckRow& row : report.rows()) {
      for (const subnet::Mismatch& finding : row.findings) {
        if (!finding.error) continue;
        emit.text().push();
        log.error(finding.sentence() + (row.kind == CheckKind::node ? "" : ": " + report.place(row)));
      }
    }
  }

  /// Reads what the checks of a port need. Returns false if the other end of the link does not answer, so that a check was not possible.
  async::Task<bool> read_port(Stack& stack, const Destination& node, Fabric& fabric, OnePort one) const {
    mad::Transactor& transactor = stack.transactor();
    subnet::Subnet& subnet = fabric.subnet;
    co_await add_port(transactor, node.path, subnet, one.port);
    if (is_switch(subnet, one.port) && one.port != one.end) co_await add_port(transactor, node.path, subnet, one.end);
    if (is_switch(subnet, one.port) && one.port == one.end) {
      const auto info = co_await transactor.subn_get<smp::SwitchInfo>(node.path);
      subnet.node_of(one.port).set_switch_info(wire::packed(info));
    }
    if (!looks_.ports.needs_peer(subnet.port(one.port))) co_return true;
    try {
      co_await read_peer(stack, node, subnet, one.port);
    } catch (const SysError&) {
      throw;
    } catch (Error& error) {
      error.note("Reading the other end of the link");
      stack.host().report(error);
      co_return false;
    }
    co_return true;
  }

  static async::Task<> read_peer(Stack& stack, const Destination& node, subnet::Subnet& subnet, PortIndex port) {
    mad::Transactor& transactor = stack.transactor();
    const subnet::Port here = subnet.port(port);
    mad::Result<subnet::Peer> found = co_await subnet::find_peer(transactor, node.path, subnet.node(here.node).info, here.number,
                                                                 here.info(), stack.host().options().use_sa);
    const subnet::Peer peer = std::move(found).take();
    const NodeIndex at = co_await add_node(transactor, peer.path, subnet);
    const PortIndex there = subnet.port_of(at, peer.port);
    if (there == subnet::none) throw Error(fmt::format("{} has no port {}", mad::target_text(peer.path), peer.port));
    subnet.set_port_info(there, wire::packed(peer.info));
    const PortIndex end = subnet.end_port_of(there);  // port 0 has the CapabilityMask of all ports of a switch
    if (end != there) co_await add_port(transactor, peer.path, subnet, end);
    subnet.link(port, there);
  }

  void check_ids(const subnet::Subnet& subnet, CheckReport& report) const {
    subnet::IdOwners owners;
    for (const PortIndex end : subnet::end_ports(subnet)) {
      if (subnet.port(end).number == 0 || !is_left_out(subnet.port(end)))
        report.add({.kind = CheckKind::node, .port = end, .findings = subnet::check_ids(subnet, owners, end)});
    }
  }

  async::Task<> check_fabric(Session& session, Fabric& fabric, CheckReport& report) {
    if (!targets_.empty()) chosen_ = chosen_nodes(fabric, targets_);
    subnet::SaNodes sa;
    subnet::PortPaths paths(fabric.subnet, session.stack().here());
    subnet::Failures met;
    if (looks_.node || looks_.errors) {
      co_await session.stack().prepare_sa();
      co_await read_sa(session.stack(), fabric.subnet, sa, paths);
      const bool uses_sl_0 = looks_.errors && !session.host().options().skip_sl;
      met = sa.failures(uses_sl_0 ? ": nodes are not checked, and SL 0 is used." : ": nodes are not checked.");
    }
    if (looks_.ports.any() && is_listing(fabric))
      met.push_back({.kind = subnet::Failure::Kind::not_read,
                     .attribute = "PortInfo",
                     .why = "Topology text has no states of ports, which are not checked; `ibtool snapshot` keeps them."});
    Counters counters;
    if (looks_.errors) counters = co_await read_all_counters(session.stack(), fabric, paths, met);
    add_failures(session.host(), fabric, std::move(met));  // at once: what has one cause is one line
    for (const PortIndex end : subnet::end_ports(fabric.subnet)) {
      if (is_switch(fabric.subnet, end) ? is_wanted(fabric.subnet.port(end).node) : is_wanted(fabric.subnet, end))
        check_end_port(fabric.subnet, end, sa, paths, counters, report);
    }
  }

  bool is_wanted(NodeIndex node) const { return targets_.empty() || std::ranges::find(chosen_, node, &ChosenNode::node) != chosen_.end(); }
  /// Whether the command line names no nodes, or this port or all ports of its node.
  bool is_wanted(const subnet::Subnet& subnet, PortIndex at) const {
    const subnet::Port& port = subnet.port(at);
    const auto names = [&port](const ChosenNode& chosen) {
      return chosen.node == port.node && (!chosen.port || *chosen.port == port.number);
    };
    return targets_.empty() || std::ranges::any_of(chosen_, names);
  }

  async::Task<> read_sa(Stack& stack, const subnet::Subnet& subnet, subnet::SaNodes& sa, subnet::PortPaths& paths) const {
    mad::Transactor& transactor = stack.transactor();
    if (!looks_.node) {
      co_await stack.read_service_levels(paths);
      co_return;
    }
    if (stack.host().options().use_sa) {  // the model is the SA's
      for (const PortIndex end : subnet::end_ports(subnet)) sa.guid_by_lid.try_emplace(subnet.lid(end).value, subnet.end_port_guid(end));
    } else {
      co_await sa.read(transactor);
    }
    if (stack.host().options().skip_sl) co_return;
    if (sa.not_read) {  // no second query
      paths.do_without(sa.not_read->message());
    } else {
      co_await paths.read_service_levels(transactor);
    }
    if (looks_.errors && !sa.not_read) stack.report_sl_0(paths.why_sl_0());
  }

  /// Reads the counters of all ports to be checked. Adds the failures of counters that cannot be read to `met`.
  async::Task<Counters> read_all_counters(Stack& stack, const Fabric& fabric, const subnet::PortPaths& paths, subnet::Failures& met) const {
    counters::ReadingPlan plan;
    plan.owners = owner_transactor(stack, discovery_.load_cache);
    plan.ports = counters::ReadingPlan::Ports::each;
    plan.counts = counts(Counts::errors);
    plan.ports_of = [this, &subnet = fabric.subnet](NodeIndex node) { return counted_ports(subnet, node); };
    Counters counters;
    plan.on_node = [&counters](const counters::PmaNode& node) {
      for (const counters::PmaReading& reading : node.ports) {
        if (reading.known()) counters.emplace(reading.port, reading.row);
      }
    };
    counters::PmaReadings found = co_await counters::read_pmas(stack.transactor(), fabric.subnet, subnet::breadth_first(fabric.subnet),
                                                               std::move(plan), gmp_survey(stack, paths));
    std::ranges::move(found.failures, std::back_inserter(met));
    co_return counters;
  }

  std::vector<PortIndex> counted_ports(const subnet::Subnet& subnet, NodeIndex node) const {
    std::vector<PortIndex> ports = counters::countable_ports(subnet, node);
    std::erase_if(ports, [&](PortIndex port) {
      return is_left_out(subnet.port(port)) || !is_wanted(subnet, port) || (subnet.port(port).number == 0 && is_switch(subnet, port));
    });
    return ports;
  }

  void check_end_port(const subnet::Subnet& subnet, PortIndex end, const subnet::SaNodes& sa, const subnet::PortPaths& paths,
                      const Counters& counters, CheckReport& report) const {
    if (looks_.node && !sa.not_read && !is_left_out(subnet.port(end)))
      report.add({.kind = CheckKind::node, .port = end, .findings = sa.check(subnet, end, &paths)});
    const subnet::Node& node = subnet.node(subnet.port(end).node);
    std::vector<PortIndex> ports{end};
    for (unsigned number = 1; is_switch(subnet, end) && number <= node.info.num_ports && number < node.slots; ++number)
      ports.push_back(node.first_port + number);
    std::erase_if(ports, [&](PortIndex port) { return is_left_out(subnet.port(port)) || !is_wanted(subnet, port); });
    for (const PortIndex port : ports) {
      const bool has_state = subnet.port(port).has_info && !node.is_listed;
      if (looks_.ports.any() && has_state) add_port_row(subnet, port, report);
    }
    if (looks_.errors) check_errors(subnet, end, ports, counters, report);
  }

  /// A switch without problems is one row. If a port has a problem, each port of the switch is a row.
  void check_errors(const subnet::Subnet& subnet, PortIndex end, const std::vector<PortIndex>& ports, const Counters& counters,
                    CheckReport& report) const {
    std::vector<CheckRow> rows;
    counters::CounterRow sum;
    bool failed = false;
    for (const PortIndex port : ports) {
      const auto reading = counters.find(port);
      if (reading == counters.end()) continue;
      sum.add(reading->second);
      rows.push_back(error_row(port, reading->second));
      failed = failed || rows.back().failed();
    }
    if (rows.empty()) return;
    if (!is_switch(subnet, end)) return report.add(std::move(rows.front()));
    CheckRow all{.kind = CheckKind::errors, .port = end, .all_ports = true};
    if (failed) all.findings = counters::check_counters(sum, thresholds_);
    report.add(std::move(all));
    for (const CheckRow& row : rows) report.count(row);
    if (failed) std::ranges::for_each(rows, [&report](CheckRow& row) { report.show(std::move(row)); });
  }

  bool is_left_out(const subnet::Port& port) const { return only_up_ && port.is_polling_or_disabled(); }

  /// `usual`, unless a threshold is greater than the maximum of its field of PortCounters.
  Counts counts(Counts usual) const { return std::ranges::any_of(thresholds_.all(), &counters::needs_extended) ? Counts::all : usual; }

  CheckRow error_row(PortIndex port, const counters::CounterRow& row, bool all_ports = false) const {
    return {.kind = CheckKind::errors, .port = port, .all_ports = all_ports, .findings = counters::check_counters(row, thresholds_)};
  }

  /// Adds the row of a port, whose PortInfo must be known. Not where nothing was found, and the other end of its link is not known, by
  /// which its width and speed are judged.
  void add_port_row(const subnet::Subnet& subnet, PortIndex port, CheckReport& report) const {
    subnet::Mismatches findings = subnet::check_port(subnet, port, looks_.ports);
    const PortIndex peer = subnet.port(port).peer;
    if (findings.empty() && looks_.ports.needs_peer(subnet.port(port)) && (peer == subnet::none || !subnet.port(peer).has_info)) return;
    report.add({.kind = CheckKind::port, .port = port, .findings = std::move(findings)});
  }

  Looks looks_;
  CountedPort counted_;  ///< of one port, and of the fabric as far as it applies
  std::vector<TargetPort> targets_;
  std::vector<ChosenNode> chosen_;  ///< the nodes of `targets_`
  TableOptions table_;
  bool only_up_{};
  counters::ErrorThresholds thresholds_;
  DiscoveryOptions discovery_;
};

/// The complaints of infiniband-diags' ibidsverify, which reads the text of ibnetdiscover from its top: all switches, and the linked ports
/// of the other nodes. An id of zero has no owner.
class DiagsIdsCheck {
 public:
  explicit DiagsIdsCheck(const LibibnetdiscFabric& fabric) : fabric_(fabric), subnet_(fabric.subnet) {}

  std::string complaints() {
    const subnet::Grouping grouping = subnet::group(subnet_, fabric_.order);
    // A board that is not a switch is printed in the form of a switch, which ibidsverify does not read.
    for (const subnet::Chassis& box : grouping.chassis) {
      if (box.number == 0) continue;
      check_all(box.spines, subnet::NodeKind::sw);
      check_all(box.lines, subnet::NodeKind::sw);
      for (const subnet::NodeKind kind : {subnet::NodeKind::sw, subnet::NodeKind::ca}) check_all(box.others, kind);
    }
    std::vector<NodeIndex> ungrouped = fabric_.order;
    std::erase_if(ungrouped, [&](NodeIndex at) { return grouping.grouped(at); });
    for (const subnet::NodeKind kind : {subnet::NodeKind::sw, subnet::NodeKind::ca, subnet::NodeKind::router}) check_all(ungrouped, kind);
    return std::move(complaints_);
  }

 private:
  void check_all(std::span<const NodeIndex> nodes, subnet::NodeKind kind) {
    for (const NodeIndex at : nodes) {
      if (at == subnet::none || subnet_.node(at).kind() != kind) continue;
      const subnet::Node& node = subnet_.node(at);
      if (kind == subnet::NodeKind::sw) check("switch", node.first_port, node.info.port_guid, true);
      bool is_first = true;
      for (unsigned number = 1; kind != subnet::NodeKind::sw && number < node.slots; ++number) {
        const PortIndex port = node.first_port + number;
        if (subnet_.port(port).peer == subnet::none) continue;
        check(kind == subnet::NodeKind::ca ? "ca" : "router", port, subnet_.port(port).guid, std::exchange(is_first, false));
      }
    }
  }

  void check(std::string_view type, PortIndex port, Guid port_guid, bool is_first) {
    const auto node_of = [this](PortIndex of) { return subnet_.node(subnet_.port(of).node).guid(); };
    const unsigned lid = subnet_.lid(port).value;
    const Guid node_guid = node_of(port);
    if (lid == 0) {
      complain("LID 0 found for {} NodeGUID 0x{:x}", type, node_guid.value);
    } else if (const PortIndex other = subnet::IdOwners::before(owners_.lids, lid, port); other != subnet::none) {
      complain("LID {} already defined for NodeGUID 0x{:x}", lid, node_of(other).value);
    }
    if (is_first) check_guid("Node", type, owners_.node_guids, node_guid, port);
    if (check_guid("Port", type, owners_.port_guids, port_guid, port) && node_guid != port_guid && owners_.node_guids.contains(port_guid))
      complain("PortGUID 0x{:x} is an invalid duplicate of a NodeGUID", port_guid.value);
  }

  /// False if there is a complaint.
  bool check_guid(std::string_view what, std::string_view type, std::unordered_map<Guid, PortIndex>& owners, Guid guid, PortIndex port) {
    if (guid == Guid{}) {
      complain("{} GUID 0x0 found with LID {}", type, subnet_.lid(port).value);
      return false;
    }
    const PortIndex other = subnet::IdOwners::before(owners, guid, port);
    if (other != subnet::none) complain("{}GUID 0x{:x} already defined for LID {}", what, guid.value, subnet_.lid(other).value);
    return other == subnet::none;
  }

  template <class... T>
  void complain(fmt::format_string<T...> format, T&&... values) {
    complaints_ += fmt::format(format, std::forward<T>(values)...) + "\n";
  }

  const LibibnetdiscFabric& fabric_;
  const subnet::Subnet& subnet_;
  subnet::IdOwners owners_;
  std::string complaints_;
};

class Ibidsverify final : public Command {
 public:
  void diags_options(OptionSet& set, CommonOptions& common) override {
    set.perl_script();
    set.action("-R", "No effect: the fabric is always read again.", [] {});
    add_common(set, common, group_device);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    LibibnetdiscFabric fabric;
    const LibibnetdiscWanted everything;
    co_await discover_as_libibnetdisc(session, everything, fabric);
    const std::string complaints = DiagsIdsCheck(fabric).complaints();
    emit.text().write(complaints);
    if (!complaints.empty()) emit.set_diags_status(1);
  }
};

template <Looks looks>
constexpr CommandInfo info(std::string_view name, HelpGroup group, std::string_view summary) {
  return {.name = name, .group = group, .summary = summary, .make = make_command<Check, looks>};
}

}  // namespace
}  // namespace checks

constinit const CommandInfo rooms::ibcheckerrors = checks::info<checks::Looks{.node = true, .ports = {.state = true}, .errors = true}>(
    "ibcheckerrors", HelpGroup::counters, "Check every node, the state of every link, and error counters.");
constinit const CommandInfo rooms::ibcheckerrs = checks::info<checks::Looks{.one = true, .errors = true}>(
    "ibcheckerrs", HelpGroup::counters, "Check the error counters of a port, or of all ports of a switch.");
constinit const CommandInfo rooms::ibchecknode = checks::info<checks::Looks{.one = true, .node = true}>(
    "ibchecknode", HelpGroup::topology, "Check that the SA knows a node as it is, and a path to it.");
constinit const CommandInfo rooms::ibcheckport =
    checks::info<checks::Looks{.one = true, .ports = {.state = true, .width = true, .speed = true}}>(
        "ibcheckport", HelpGroup::topology, "Check the state, width, speed and LIDs of a port.");
constinit const CommandInfo rooms::ibcheckportstate = checks::info<checks::Looks{.one = true, .ports = {.state = true}}>(
    "ibcheckportstate", HelpGroup::topology, "Check that the link of a port is up and active.");
constinit const CommandInfo rooms::ibcheckportwidth = checks::info<checks::Looks{.one = true, .ports = {.width = true}}>(
    "ibcheckportwidth", HelpGroup::topology, "Check that a link is as wide as both of its ends can be.");
constinit const CommandInfo rooms::ibchecknet =
    checks::info<checks::Looks{.node = true, .ports = {.state = true, .width = true, .speed = true}, .errors = true}>(
        "ibchecknet", HelpGroup::topology, "Check every node, port and error counter of the fabric.");
constinit const CommandInfo rooms::ibcheckstate = checks::info<checks::Looks{.node = true, .ports = {.state = true}}>(
    "ibcheckstate", HelpGroup::topology, "Check every node, and that every link is up and active.");
constinit const CommandInfo rooms::ibcheckwidth = checks::info<checks::Looks{.node = true, .ports = {.width = true}}>(
    "ibcheckwidth", HelpGroup::topology, "Check every node, and the width of every link.");
constinit const CommandInfo rooms::ibidsverify{
    .name = "ibidsverify",
    .group = HelpGroup::topology,
    .summary = "Check that no LID or GUID is zero or used twice.",
    .make = make_command<checks::Check, checks::Looks{.ids = true}>,
    .make_diags = make_command<checks::Ibidsverify>,
    .alias = "ibidsverify.pl",
};

}  // namespace ib::tools
