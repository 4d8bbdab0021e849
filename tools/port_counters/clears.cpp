// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibclearcounters and ibclearerrors: set counters of all ports of the fabric to zero.
#include <fmt/format.h>

#include <map>

#include "base/escape.hpp"
#include "counters/readings.hpp"
#include "iba/text.hpp"
#include "subnet/model/find_port.hpp"
#include "subnet/model/names.hpp"
#include "subnet/model/order.hpp"
#include "subnet/model/port_paths.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/targets.hpp"
#include "tools/frame/terminal.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/fabric_report.hpp"

namespace ib::tools {
namespace port_counters {
namespace {

/// What became of the counters of end ports. For a switch, these are the counters of all its ports.
struct ClearReport final : FabricReport {
  explicit ClearReport(const Fabric& of) : FabricReport(of) {}

  bool is_switch(PortIndex end) const { return fabric.subnet.node(fabric.subnet.port(end).node).kind() == subnet::NodeKind::sw; }

  void visit(report::Sink& sink) const override {
    sink.objects("ports", ends, [&](PortIndex end) {
      visit_names(sink, fabric.subnet.port(end).node);
      sink.value("lid", fabric.subnet.lid(end));
      is_switch(end) ? sink.null("port_num") : sink.value("port_num", fabric.subnet.port(end).number);
      sink.value("cleared", !reasons.contains(end) && !dry_run);
      sink.text_or_null("error", reasons.contains(end) ? reasons.at(end)->message() : "");
    });
    visit_failures(sink);
  }

  void text(TextOut& out) const override {
    for (const PortIndex end : ends) {
      const bool is_cleared = !reasons.contains(end);
      if ((!names_each || dry_run) && is_cleared) continue;
      const subnet::Port& port = fabric.subnet.port(end);
      const subnet::Node& node = fabric.subnet.node(port.node);
      const std::string called = escaped(subnet::name_of(node, &fabric.names));
      const std::string number = is_switch(end) ? "all ports" : fmt::format("port {}", port.number);
      out.print("Clear counters lid {} ({}{}) {}: {}\n", fabric.subnet.lid(end).value, called.empty() ? "" : called + ", ",
                to_text(node.guid()), number, is_cleared ? "OK" : "FAILED");
      if (!is_cleared) out.print("#error: {}\n", reasons.at(end)->message());
    }
    if (dry_run) return;
    out.write("## Summary: 0 nodes checked, 0 bad nodes found\n");
    out.print("##          {} port counters cleared.\n", ends.size() - reasons.size());
  }

  std::vector<PortIndex> ends;
  std::map<PortIndex, std::shared_ptr<const Error>> reasons;  ///< of the end ports that were not cleared
  bool names_each{};                                          ///< print a line also for each port that was cleared
  bool dry_run{};
};

class Clear final : public Command {
 public:
  explicit Clear(bool errors_only) : errors_only_(errors_only) {}

  void options(OptionSet& set, CommonOptions& common) override {
    set.optional_operands();
    set.target("TARGET", target_);
    set.notes(
        "TARGET is a switch, all of whose ports are cleared, or one port of another node.\nWithout it the whole fabric is cleared, which "
        "needs --yes.");
    set.flag("--yes", yes_, "Clear the whole fabric without a confirmation.");
    set.flag("--up", only_up_, "Leave out the ports of hosts that are polling or disabled.");
    set.flag("-N --nocolor", plain_, "Accepted for compatibility: it left out colours, which this command never prints.");
    add_live_discovery(set, discovery_);
    add_common(set, common, group_target | group_sl);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    session.stack().require_exact_targets();
    const bool whole = !target_.given();
    const bool confirms = whole && must_confirm(session.host().world(), yes_ || session.host().options().dry_run, lost_counters);
    Fabric fabric;
    std::vector<PortIndex> chosen;
    if (whole) {
      fabric = co_await discover(session, discovery_);
      chosen = subnet::end_ports(fabric.subnet);
    } else {
      const PortIndex named = co_await find_target(session, fabric);
      chosen.push_back(named);
    }
    if (confirms) require_agreement(session.host().world(), fmt::format("Clear the counters of {} nodes and ports?", chosen.size()));
    std::erase_if(chosen, [&](PortIndex end) { return only_up_ && fabric.subnet.port(end).is_polling_or_disabled(); });
    ClearReport report(fabric);
    report.names_each = !whole || session.host().options().error_level() >= 1;
    report.dry_run = session.host().options().dry_run;
    subnet::PortPaths paths(fabric.subnet, session.stack().here());
    co_await session.stack().read_service_levels(paths);
    const counters::CounterChoice choice = [errors_only = errors_only_](const counters::CounterInfo& counter) {
      return !errors_only || !counter.traffic;
    };
    counters::ClearedEndPorts cleared =
        co_await counters::clear_end_ports(session.stack().transactor(), fabric.subnet, chosen, choice, gmp_survey(session.stack(), paths));
    report.ends = std::move(chosen);
    report.reasons = std::move(cleared.reasons);
    add_failures(session.host(), fabric, std::move(cleared.failures));
    emit(report);
    note_discovered(session.host(), "all_LIDs, all_NodeDescription, all_NodeInfo, all_PortInfo, all_topology");
  }

 private:
  /// The end port that TARGET names; only its node is read.
  async::Task<PortIndex> find_target(Session& session, Fabric& fabric) const {
    const NodeIndex node = co_await discover_around(session, discovery_, target_, fabric, false);
    co_await check_meant_node(session.stack(), target_, fabric.subnet, node);
    const PortIndex first = fabric.subnet.node(node).first_port;
    if (fabric.subnet.node(node).kind() == subnet::NodeKind::sw) co_return first;
    const subnet::FoundPort named = subnet::find_port(fabric, *target_.path);
    co_return named&& fabric.subnet.port(named.port).node == node ? named.port : first + fabric.subnet.node(node).entry_port;
  }

  Target target_;
  DiscoveryOptions discovery_;
  bool errors_only_, only_up_{}, plain_{}, yes_{};
};

}  // namespace
}  // namespace port_counters

constinit const CommandInfo rooms::ibclearcounters{
    .name = "ibclearcounters",
    .group = HelpGroup::counters,
    .summary = "Set all counters of a port, of a switch, or of the whole fabric to zero.",
    .make = make_command<port_counters::Clear, false>,
    .changes = true,
    .reports_changes = true,
    .needs_fabric = true,
};
constinit const CommandInfo rooms::ibclearerrors{
    .name = "ibclearerrors",
    .group = HelpGroup::counters,
    .summary = "Set the counters of errors of a port, of a switch, or of the whole fabric to zero.",
    .make = make_command<port_counters::Clear, true>,
    .changes = true,
    .reports_changes = true,
    .needs_fabric = true,
};

}  // namespace ib::tools
