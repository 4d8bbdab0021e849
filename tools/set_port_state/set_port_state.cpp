// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Set the states of many ports, each by a directed route. set_port_state takes links down or up; its routes cross none of the links in
// question, so that a whole cut through the fabric can be made, from this side of it. init_all_ports takes down every link that is in use.
// The link comes back in the state Initialize, in which only SMPs pass. The farthest ports come first, because a link is gone for a while
// after it was taken down.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <unordered_set>

#include "base/escape.hpp"
#include "base/log.hpp"
#include "iba/text.hpp"
#include "mad/error.hpp"
#include "subnet/model/find_port.hpp"
#include "subnet/model/names.hpp"
#include "subnet/model/port_paths.hpp"
#include "subnet/set/port_setting.hpp"
#include "subnet/set/set_target.hpp"
#include "subnet/sweep/peer.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/progress.hpp"
#include "tools/frame/targets.hpp"
#include "tools/frame/terminal.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/fabric_report.hpp"

namespace ib::tools {
namespace {

using subnet::none;

struct PortToSet {
  subnet::PortIndex port = none;  ///< port `number` of its node
  std::uint8_t number{};
  path::Path path = path::IbPath{};
  std::string name{};                 ///< in messages
  subnet::PortIndex end_port = none;  ///< of set_port_state: what TARGET names
  smp::PortInfo info{};
};

struct StateChange {
  std::string_view name, option, help, done;
  smp::PortPhysicalState physical_state = smp::PortPhysicalState::no_change;
  smp::PortState state = smp::PortState::no_change;

  smp::PortInfo applied(const smp::PortInfo& read) const {
    return subnet::PortChange{.state = state, .physical_state = physical_state}.applied(read);
  }
};
constexpr StateChange state_changes[]{
    {"disable", "--disable", "Take the links down and keep them down.", "Disabled", smp::PortPhysicalState::disabled},
    {"enable", "--enable", "Let the links come up.", "Enabled", smp::PortPhysicalState::polling},
    // Initialize cannot be set: a link that was taken down comes back in it (IBA 14.2.5.6).
    {"init", "--init", "Take the links down; they come back in the state Initialize.", "Took down", smp::PortPhysicalState::no_change,
     smp::PortState::down}};
constexpr const StateChange &disable = state_changes[0], &init = state_changes[2];

struct PortStateReport final : FabricReport {
  PortStateReport(const Fabric& of, bool is_dry_run, bool all) : FabricReport(of), dry_run(is_dry_run), all_ports(all) {}

  bool dry_run, all_ports;  ///< the latter: of init_all_ports
  const StateChange* action{};
  std::vector<PortToSet> ports;  ///< in the order in which they are set
  std::size_t ports_set{}, ports_failed{};

  void visit(report::Sink& sink) const override {
    if (!all_ports) sink.text_or_null("operation", action != nullptr ? action->name : "");
    sink.value("dry_run", dry_run);
    if (all_ports) sink.value("ports_set", ports_set);
    if (all_ports) sink.value("ports_failed", ports_failed);
    sink.objects("ports", ports, [&](const PortToSet& each) {
      const subnet::Port& port = fabric.subnet.port(all_ports ? each.port : each.end_port);
      sink.value(all_ports ? "node_guid" : "port_guid", all_ports ? fabric.subnet.node(port.node).guid() : port.guid);
      sink.value("port_num", each.number);
      path::visit(sink, "path", each.path);
    });
    visit_failures(sink);
  }
  void text(TextOut& out) const override {
    if (!dry_run) return;
    for (const PortToSet& port : ports)
      out.print("Would have {} {}{} on {}\n", all_ports ? "set" : "changed", port.name, all_ports ? " down" : "", to_text(port.path));
  }
};

/// Prints the failure of a port on stderr, and adds it to the failures of the fabric.
void report_failed(Host& host, Fabric& fabric, const PortToSet& port, const std::shared_ptr<const mad::MadError>& error,
                   std::string_view what) {
  host.log().error(what);
  host.report(*error, false);
  const subnet::Port& at = fabric.subnet.port(port.port);
  fabric.failures.push_back(subnet::failure_of(error, at.node, at.number, false, "PortInfo", at.number));
}

/// Warns if the subnet manager of this port does not answer: it would have to activate the links again. To be called before ports are set,
/// while the route to it carries SMPs.
async::Task<> report_missing_manager(Stack& stack, const subnet::Subnet& subnet) {
  constexpr unsigned few_retries = 1;
  constexpr std::string_view follows = "the ports stay in Initialize until a subnet manager activates them";
  const Lid lid = stack.host().end_port().sm_lid;
  if (!lid.is_unicast()) {
    stack.warn(fmt::format("No subnet manager is known: {}", follows));
    co_return;
  }
  const subnet::PortIndex at = subnet.find_lid(lid);
  path::Path path = at == none ? stack.smp_path_to(lid) : subnet::sma_path(subnet, at, stack.here());
  path.ib().retries = few_retries;
  const mad::Result<smp::SMInfo> answer = co_await stack.smp_transactor().try_subn_get<smp::SMInfo>(path);
  if (answer) co_return;
  const std::string whom = fmt::format("LID {}", lid.value);
  // Without a subnet manager the attribute is not supported there. Any other error says what it is.
  const bool has_none = answer.error().status() == mad::status::unsupported_method_attribute;
  stack.warn(fmt::format("{}: {}", has_none ? "No subnet manager runs at " + whom : mad::plain_text(answer.error(), whom), follows));
}

class SetPortState final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.target_ports("TARGET@PORT_NUM", targets_);
    set.notes(
        "Each port is reached by a directed route over none of the links that are named,\n"
        "so that one command can cut a fabric in two: all ports are then on this side of\n"
        "the cut. Without --disable, --enable or --init nothing is set.");
    for (const StateChange& change : state_changes) set.action(change.option, change.help, [this, &change] { action_ = &change; });
    set.one_of({"--disable", "--enable", "--init"});
    set.flag("-n --dry-run --dry_run", dry_run_, "Print what would be set, set nothing.");
    add_live_discovery(set, discovery_);
    add_common(set, common, group_target);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    if (action_ != nullptr) session.stack().require_exact_targets();
    discovery_.needs.switch_infos = false;
    discovery_.needs.descriptions = {};
    Fabric fabric = co_await discover(session, discovery_);
    PortStateReport report(fabric, action_ == nullptr || dry_run_, false);
    report.action = action_;
    std::unordered_set<subnet::PortIndex> avoided;
    for (const TargetPort& target : targets_) {
      report.ports.push_back(find(fabric, target));
      avoided.insert(report.ports.back().port);
    }
    const subnet::RoutesAround routes(fabric.subnet, avoided);
    for (PortToSet& port : report.ports) route(session.stack(), fabric.subnet, routes, port);
    bool all_answered = true;
    for (PortToSet& port : report.ports) {
      const std::shared_ptr<const mad::MadError> error = co_await read(session.stack().smp_transactor(), fabric.subnet, port);
      if (!error) continue;
      report_failed(session.host(), fabric, port, error, port.name + " cannot be read, so nothing is set");
      all_answered = false;
    }
    // All ports are set at the end: only a port itself can refuse now.
    if (!report.dry_run && all_answered) {
      if (action_ != &disable) co_await report_missing_manager(session.stack(), fabric.subnet);
      co_await set_all(session.stack(), fabric, report.ports);
    }
    if (!all_answered) report.ports.clear();
    emit(report);
  }

 private:
  /// Reads a port, and refuses one that must not be disabled. Returns the error of a node that did not answer.
  async::Task<std::shared_ptr<const mad::MadError>> read(mad::Transactor& transactor, const subnet::Subnet& subnet, PortToSet& port) const {
    // The path of the Set is used: this shows that it works, and the values that are written back are as new as possible.
    const bool was_read = port.port != none && subnet.port(port.port).has_info;
    const mad::Reason reason = was_read ? subnet::read_before_set : mad::requested;
    const mad::Result<smp::PortInfo> info =
        co_await transactor.try_subn_get<smp::PortInfo>(port.path, port.number, smp::PortInfo(), reason);
    if (!info) co_return info.shared_error();
    port.info = *info;
    const subnet::Node& known = subnet.node(subnet.port(port.end_port).node);
    if (action_ != nullptr && !known.has_description) {
      const std::string description = co_await description_at(transactor, port.path);
      if (!description.empty()) port.name += ' ' + in_quotes(description);
    }
    // Before any of them is set; each Set does this once more.
    const mad::Result<smp::NodeInfo> at_end = co_await subnet::check_set_target(transactor, port.path);
    if (!at_end) co_return at_end.shared_error();
    if (action_ != &disable) co_return nullptr;
    smp::NodeInfo node = known.info;
    node.local_port_num = 0;  // it is the port on the route that found the node first
    co_await subnet::check_carries_our_smps(transactor, port.path, node, port.number, port.info);
    co_return nullptr;
  }

  async::Task<> set_all(Stack& stack, Fabric& fabric, std::vector<PortToSet>& ports) const {
    std::string changed;
    std::vector<PortToSet> done;
    for (const PortToSet& port : ports) {
      mad::Result<smp::PortInfo> answer = co_await stack.smp_transactor().try_subn_set(port.path, port.number, action_->applied(port.info));
      if (answer) {
        changed += (changed.empty() ? " " : ", ") + port.name;
        done.push_back(port);
      } else {
        report_failed(stack.host(), fabric, port, answer.shared_error(), port.name + " cannot be set");
      }
    }
    ports = std::move(done);
    if (!changed.empty()) stack.host().note(std::string(action_->done) + changed);
  }

  PortToSet find(const Fabric& fabric, const TargetPort& wanted) const {
    const subnet::Subnet& subnet = fabric.subnet;
    const path::Path& target = *wanted.target.path;
    const subnet::FoundPort found = subnet::find_port(fabric, target);
    const bool is_by_gid = target.directed() == nullptr && target.ib().dgid;
    const std::string several = !found && is_by_gid ? subnet::several_text(subnet, target.ib().dgid->guid()) : std::string();
    if (!several.empty()) throw UsageError(several);
    if (!found) {
      const std::string text = fmt::format("Could not find path {} in the subnet", to_text(target));
      if (fabric.failures.empty()) throw UsageError(text);
      throw Error(text + ", of which a part did not answer", Exit::incomplete);
    }
    PortToSet chosen;
    chosen.end_port = found.port;
    const subnet::Port& port = subnet.port(chosen.end_port);
    const subnet::Node& node = subnet.node(port.node);
    const bool is_switch = node.kind() == subnet::NodeKind::sw;
    if (!wanted.port && is_switch) throw UsageError(fmt::format("{} is a switch: TARGET@PORT says which of its ports", to_text(port.guid)));
    chosen.number = wanted.port.value_or(port.number);
    if (chosen.number < 1 || chosen.number > node.info.num_ports)
      throw UsageError(fmt::format("{} has no port {}: its ports are 1 to {}", to_text(port.guid), chosen.number, node.info.num_ports));
    chosen.port = subnet.port_of(port.node, chosen.number);
    chosen.name = fmt::format("{}@{}", to_text(port.guid), chosen.number);
    if (action_ != nullptr && node.has_description) chosen.name += ' ' + in_quotes(node.description());
    return chosen;
  }

  static void route(Stack& stack, const subnet::Subnet& subnet, const subnet::RoutesAround& routes, PortToSet& chosen) {
    if (auto found = routes.to(chosen.end_port)) {
      found->end_port = &stack.host().end_port();
      found->expected_node_guid = subnet.node_of(chosen.end_port).guid();
      chosen.path = *found;
      stack.apply_options(chosen.path);
      return;
    }
    std::string text = fmt::format("No DR path exists to {} port {}", to_text(subnet.port(chosen.end_port).guid), chosen.number);
    const subnet::PortIndex peer = subnet.port(chosen.port).peer;
    if (peer == subnet.start) {
      text += " - it is linked to this host, which does not reach the fabric without it";
    } else if (peer != none && routes.to(subnet.end_port_of(peer))) {
      text +=
          fmt::format(" - try using the peer {} port {}", to_text(subnet.port(subnet.end_port_of(peer)).guid), subnet.port(peer).number);
    }
    throw UsageError(text);
  }

  const StateChange* action_{};
  std::vector<TargetPort> targets_;
  bool dry_run_{};
  DiscoveryOptions discovery_;
};

constexpr unsigned patient_retries = 10;  // the way may be retraining

bool carries_data(smp::PortState state) { return state != smp::PortState::down && state != smp::PortState::init; }

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
    Fabric fabric = co_await discover(session, discovery_);
    PortStateReport report(fabric, dry_run_, true);
    std::vector<subnet::NodeIndex> farthest_first(fabric.subnet.nodes().size());
    std::iota(farthest_first.begin(), farthest_first.end(), 0U);
    std::ranges::stable_sort(farthest_first, std::greater(), [&](subnet::NodeIndex at) { return fabric.subnet.node(at).hops; });
    for (const subnet::NodeIndex node : farthest_first) add_node(session.stack(), fabric, node, report.ports);
    if (dry_run_ && report.ports.empty()) session.host().note("No port carries data: nothing would be set");
    if (!dry_run_ && !report.ports.empty()) co_await report_missing_manager(session.stack(), fabric.subnet);
    if (confirms) require_agreement(world, fmt::format("Take {} ports down and stop all traffic of the subnet?", report.ports.size()));
    co_await set_all(session.stack(), fabric, report);
    emit(report);
  }

 private:
  /// The ports of a node; the port by which the node is reached comes last. Of an adapter only that port: it need not allow its other ports
  /// to be set by this path, and their links are taken down from the other end.
  void add_node(Stack& stack, const Fabric& fabric, subnet::NodeIndex at, std::vector<PortToSet>& ports) const {
    const subnet::Node& node = fabric.subnet.node(at);
    path::Path path = subnet::smp_path(fabric.subnet, at, stack.here());
    path.ib().retries = *discovery_.retries;
    const std::string_view name = subnet::name_of(node, &fabric.names);
    const auto add = [&](std::uint8_t number) {
      const subnet::Port& port = fabric.subnet.port(node.first_port + number);
      if (port.has_info && carries_data(port.info().port_state))
        ports.push_back({node.first_port + number, number, path,
                         fmt::format("port {} of {}{}", number, to_text(node.guid()), name.empty() ? "" : ' ' + in_quotes(name))});
    };
    for (unsigned number = 1; node.kind() == subnet::NodeKind::sw && number < node.slots; ++number)
      if (number != node.entry_port) add(static_cast<std::uint8_t>(number));
    if (node.entry_port != 0) add(node.entry_port);
  }

  /// Sets the ports down one by one. In a dry run finds out which ports would be set. The report then lists these ports.
  static async::Task<> set_all(Stack& stack, Fabric& fabric, PortStateReport& report) {
    mad::Transactor& transactor = stack.smp_transactor();
    std::vector<PortToSet> wanted;
    for (std::size_t done = 0; done < report.ports.size(); ++done) {
      const PortToSet& port = report.ports[done];
      stack.progress().count(done, report.ports.size(), "ports");
      // The sweep has read it, but a Set at the other end may have taken the link down since.
      const mad::Result<smp::PortInfo> info =
          co_await transactor.try_subn_get<smp::PortInfo>(port.path, port.number, smp::PortInfo(), subnet::read_before_set);
      std::shared_ptr<const mad::MadError> error = info ? nullptr : info.shared_error();
      if (info && !carries_data(info->port_state)) continue;
      if (info && report.dry_run) {  // without a dry run each Set checks this
        const mad::Result<smp::NodeInfo> node = co_await subnet::check_set_target(transactor, port.path);
        if (!node) error = node.shared_error();
      } else if (info) {
        const mad::Result<smp::PortInfo> answer = co_await transactor.try_subn_set(port.path, port.number, init.applied(*info));
        if (!answer) error = answer.shared_error();
      }
      if (!error) {
        wanted.push_back(port);
        continue;
      }
      ++report.ports_failed;
      report_failed(stack.host(), fabric, port, error,
                    fmt::format("Failed to set port state of {} by {}", port.name, mad::target_text(port.path)));
    }
    if (report.dry_run) {
      report.ports = std::move(wanted);
      co_return;
    }
    report.ports_set = wanted.size();
    stack.host().note(fmt::format("Took down {} of {} ports that carried data", report.ports_set, report.ports.size()));
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

constinit const CommandInfo rooms::set_port_state{
    .name = "set_port_state",
    .group = HelpGroup::config,
    .summary = "Enable, disable or reset several ports in one go.",
    .make = make_command<SetPortState>,
    .changes = true,
    .reports_changes = true,
    .needs_fabric = true,
};

}  // namespace ib::tools
