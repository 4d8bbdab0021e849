// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// init_all_ports: takes down every link that is in use. The link comes back in the state Initialize, in which only SMPs pass. The farthest
// ports come first, because a link is gone for a while after it was taken down.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/escape.hpp"
#include "base/log.hpp"
#include "iba/text.hpp"
#include "mad/error.hpp"
#include "path/json.hpp"
#include "subnet/model/names.hpp"
#include "subnet/set/port_setting.hpp"
#include "subnet/set/set_target.hpp"
#include "tools/frame/commands.hpp"
#include "tools/frame/progress.hpp"
#include "tools/frame/terminal.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/fabric_report.hpp"

namespace ib::tools {
namespace {

constexpr unsigned patient_retries = 10;  // the way may be retraining

bool carries_data(smp::PortState state) { return state != smp::PortState::down && state != smp::PortState::init; }

/// One port to set, and the way to its node.
struct PortToSet {
  subnet::PortIndex port = subnet::none;
  path::Path path = path::IbPath{};
};

/// "port 3 of 0005:... \"leaf1\"".
std::string name_of(const Fabric& fabric, subnet::PortIndex at) {
  const subnet::Port& port = fabric.subnet.port(at);
  const subnet::Node& node = fabric.subnet.node(port.node);
  const std::string_view name = subnet::name_of(node, &fabric.names);
  return fmt::format("port {} of {}{}", port.number, to_text(node.guid()), name.empty() ? "" : ' ' + in_quotes(name));
}

struct InitReport final : FabricReport {
  using FabricReport::FabricReport;
  bool dry_run{};
  std::vector<PortToSet> ports;
  std::size_t ports_set{}, ports_failed{};

  void visit(report::Sink& sink) const override {
    sink.value("dry_run", dry_run);
    sink.value("ports_set", ports_set);
    sink.value("ports_failed", ports_failed);
    sink.begin_array("ports");  // in the order in which they are set
    for (const PortToSet& each : ports) {
      const subnet::Port& port = fabric.subnet.port(each.port);
      sink.begin_object();
      sink.value("node_guid", fabric.subnet.node(port.node).guid());
      sink.value("port_num", port.number);
      path::visit(sink, "path", each.path);
      sink.end_object();
    }
    sink.end_array();
    visit_failures(sink);
  }
  void text(TextOut& out) const override {
    if (!dry_run) return;
    for (const PortToSet& each : ports) out.print("Would have set {} down on {}\n", name_of(fabric, each.port), to_text(each.path));
  }
};

class InitAllPorts final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.notes(
        "Every link that carries data is taken down and comes back in the state\n"
        "Initialize, where only management packets pass, until a subnet manager brings\n"
        "it up. ALL TRAFFIC STOPS. Where some ports do not answer, run it again.");
    set.flag("-n --dry-run --dry_run", dry_run_, "Print what would be set, set nothing.");
    set.flag("--yes", yes_, "Do not request a confirmation.");
    set.one_of({"--dry-run", "--yes"});
    add_live_discovery(set, discovery_);
    add_common(set, common, group_fabric);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    const World& world = session.host().world();
    const bool confirms = must_confirm(world, dry_run_ || yes_,
                                       "All traffic of the subnet would stop: give --yes to do it, or --dry-run to see what would be set");
    // Links that train do not answer at a LID.
    if (!discovery_.mode && !session.host().options().use_sa) discovery_.mode = "DR";
    discovery_.retries = session.host().options().retries.value_or(patient_retries);
    discovery_.needs.switch_infos = false;
    Fabric fabric;
    co_await discover(session, discovery_, fabric);
    InitReport report(fabric);
    report.dry_run = dry_run_;
    for (const subnet::NodeIndex node : farthest_first(fabric.subnet)) add_node(session.stack(), fabric.subnet, node, report.ports);
    if (confirms) require_agreement(world, fmt::format("Take {} ports down and stop all traffic of the subnet?", report.ports.size()));
    co_await set_all(session.stack(), fabric, report);
    emit(report);
  }

 private:
  static std::vector<subnet::NodeIndex> farthest_first(const subnet::Subnet& subnet) {
    std::vector<subnet::NodeIndex> nodes(subnet.nodes().size());
    std::iota(nodes.begin(), nodes.end(), 0U);
    std::stable_sort(nodes.begin(), nodes.end(), [&](auto a, auto b) { return subnet.node(a).hops > subnet.node(b).hops; });
    return nodes;
  }

  /// The ports of a node; the port by which the node is reached comes last. Of an adapter only that port: it need not allow its other ports
  /// to be set by this path, and their links are taken down from the other end.
  void add_node(Stack& stack, const subnet::Subnet& subnet, subnet::NodeIndex at, std::vector<PortToSet>& ports) const {
    const subnet::Node& node = subnet.node(at);
    path::IbDrPath route(&stack.host().end_port());
    if (discovery_.retries) route.retries = *discovery_.retries;
    route.hops = static_cast<std::uint8_t>(subnet::route_to(subnet, at, route.route));
    route.expected_node_guid = node.guid();
    path::Path path = route;
    stack.apply_options(path);
    const auto add = [&](unsigned number) {
      const subnet::Port& port = subnet.port(node.first_port + number);
      if (port.has_info && carries_data(port.info().port_state)) ports.push_back({node.first_port + number, path});
    };
    const bool sets_others = node.kind() == subnet::NodeKind::sw;
    for (unsigned number = 1; sets_others && number < node.slots; ++number) {
      if (number != node.entry_port) add(number);
    }
    if (node.entry_port != 0) add(node.entry_port);
  }

  /// Sets the ports down one by one. In a dry run finds out which ports would be set. The report then lists these ports.
  static async::Task<> set_all(Stack& stack, Fabric& fabric, InitReport& report) {
    std::size_t done = 0;
    std::vector<PortToSet> wanted;
    for (const PortToSet& each : report.ports) {
      stack.progress().count(done++, report.ports.size(), "ports");
      const unsigned number = fabric.subnet.port(each.port).number;
      mad::Result<bool> was_set = co_await set_down(stack.smp_transactor(), each.path, static_cast<std::uint8_t>(number), report.dry_run);
      if (was_set) {
        if (*was_set) wanted.push_back(each);
        if (*was_set && !report.dry_run) ++report.ports_set;
        continue;
      }
      ++report.ports_failed;
      stack.host().log().error(
          fmt::format("Failed to set port state of {} by {}", name_of(fabric, each.port), mad::target_text(each.path)));
      stack.host().report(was_set.error(), false);
      fabric.failures.push_back(port_failure(fabric.subnet, each.port, was_set.shared_error()));
    }
    if (report.dry_run) {
      report.ports = std::move(wanted);
      co_return;
    }
    stack.host().note(fmt::format("Took down {} of {} ports that carried data", report.ports_set, report.ports.size()));
  }

  /// False if nothing was set, because the link has been taken down from its other end since.
  static async::Task<mad::Result<bool>> set_down(mad::Transactor& transactor, path::Path path, std::uint8_t number, bool dry_run) {
    // The sweep has read it, but a Set at the other end may have changed it since.
    const mad::Result<smp::PortInfo> info =
        co_await transactor.try_subn_get<smp::PortInfo>(path, number, smp::PortInfo(), subnet::read_before_set);
    if (!info) co_return info.shared_error();
    if (!carries_data(info->port_state)) co_return false;
    if (dry_run) {  // without a dry run each Set checks this
      const mad::Result<smp::NodeInfo> node = co_await subnet::check_set_target(transactor, path);
      if (!node) co_return node.shared_error();
      co_return true;
    }
    smp::PortInfo wanted = subnet::no_change(*info);
    wanted.port_state = smp::PortState::down;
    const mad::Result<smp::PortInfo> answer = co_await transactor.try_subn_set(path, number, wanted);
    if (!answer) co_return answer.shared_error();
    co_return true;
  }

  bool dry_run_{}, yes_{};
  DiscoveryOptions discovery_;
};

}  // namespace

constinit const CommandInfo rooms::init_all_ports{
    .name = "init_all_ports",
    .group = HelpGroup::config,
    .summary = "Bring every link of the fabric down to Initialize, so that a subnet manager sets it up anew.",
    .make = make_command<InitAllPorts>,
    .changes = true,
    .reports_changes = true,
    .needs_fabric = true,
};

}  // namespace ib::tools
