// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// set_port_state: takes links down or up. Every port is reached by a directed route that crosses none of the links in
// question, so that a whole cut through the fabric can be made, from this side of it.
#include <fmt/format.h>

#include <unordered_set>

#include "base/escape.hpp"
#include "base/log.hpp"
#include "iba/text.hpp"
#include "path/json.hpp"
#include "subnet/model/find_port.hpp"
#include "subnet/model/port_paths.hpp"
#include "subnet/set/port_setting.hpp"
#include "subnet/set/set_target.hpp"
#include "subnet/sweep/peer.hpp"
#include "tools/frame/commands.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/fabric_report.hpp"

namespace ib::tools {
namespace {

using subnet::none;

struct Action {
  std::string_view name, done;
  smp::PortPhysicalState physical_state = smp::PortPhysicalState::no_change;
  smp::PortState state = smp::PortState::no_change;
};
constexpr Action disable{"disable", "Disabled", smp::PortPhysicalState::disabled};
constexpr Action enable{"enable", "Enabled", smp::PortPhysicalState::polling};
/// Initialize cannot be set: a link that was taken down comes back in it (IBA 14.2.5.6).
constexpr Action init{"init", "Took down", smp::PortPhysicalState::no_change, smp::PortState::down};

struct Chosen {
  subnet::PortIndex end_port = none;
  std::uint8_t number{};
  subnet::PortIndex port = none;  ///< port `number` of the end port's node
  path::Path path = path::IbPath{};
  smp::PortInfo info;
  std::string description;  ///< of its node; empty if the node did not answer it, or if nothing is to be changed
};

/// "0005:…@3 \"leaf1\""
std::string name_of(const subnet::Subnet& subnet, const Chosen& chosen) {
  const std::string name = chosen.description.empty() ? "" : ' ' + in_quotes(chosen.description);
  return fmt::format("{}@{}{}", to_text(subnet.port(chosen.end_port).guid), chosen.number, name);
}

struct StateReport final : FabricReport {
  using FabricReport::FabricReport;
  const Action* action{};
  bool dry_run{};
  std::vector<Chosen> ports;

  void visit(report::Sink& sink) const override {
    sink.text_or_null("operation", action != nullptr ? action->name : "");
    sink.value("dry_run", dry_run);
    sink.objects("ports", ports, [&](const Chosen& port) {
      sink.value("port_guid", fabric.subnet.port(port.end_port).guid);
      sink.value("port_num", port.number);
      path::visit(sink, "path", port.path);
    });
    visit_failures(sink);
  }
  void text(TextOut& out) const override {
    if (!dry_run) return;
    for (const Chosen& port : ports) out.print("Would have changed {} on {}\n", name_of(fabric.subnet, port), to_text(port.path));
  }
};

class SetPortState final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.target_ports("TARGET@PORT_NUM", targets_);
    set.notes(
        "Each port is reached by a directed route over none of the links that are named,\n"
        "so that one command can cut a fabric in two: all ports are then on this side of\n"
        "the cut. Without --disable, --enable or --init nothing is set.");
    add_action(set, disable, "--disable", "Take the links down and keep them down.");
    add_action(set, enable, "--enable", "Let the links come up.");
    add_action(set, init, "--init", "Take the links down; they come back in the state Initialize.");
    set.one_of({"--disable", "--enable", "--init"});
    set.flag("-n --dry-run --dry_run", dry_run_, "Print what would be set, set nothing.");
    add_live_discovery(set, discovery_);
    add_common(set, common, group_target);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    if (action_ != nullptr) session.stack().require_exact_targets();
    discovery_.needs.switch_infos = false;
    discovery_.needs.descriptions = {};
    Fabric fabric;
    co_await discover(session, discovery_, fabric);
    StateReport report(fabric);
    report.action = action_;
    report.dry_run = is_dry_run();
    std::unordered_set<subnet::PortIndex> avoided;
    for (const TargetPort& target : targets_) {
      report.ports.push_back(find(fabric, target));
      avoided.insert(report.ports.back().port);
    }
    const subnet::RoutesAround routes(fabric.subnet, avoided);
    for (Chosen& port : report.ports) route(session.stack(), fabric.subnet, routes, port);
    const std::size_t silent = co_await read(session.stack(), fabric, report.ports);
    // All ports are set at the end: only a port itself can refuse now.
    if (!report.dry_run && silent == 0) co_await set_all(session.stack(), fabric, report.ports);
    if (silent != 0) report.ports.clear();
    emit(report);
  }

 private:
  bool is_dry_run() const { return action_ == nullptr || dry_run_; }

  void add_action(OptionSet& set, const Action& action, std::string_view names, std::string_view help) {
    set.action(names, help, [this, &action] { action_ = &action; });
  }

  /// Reads the ports, and refuses those that must not be disabled. Returns how many did not answer.
  async::Task<std::size_t> read(Stack& stack, Fabric& fabric, std::vector<Chosen>& ports) const {
    mad::Transactor& transactor = stack.smp_transactor();
    std::size_t silent = 0;
    for (Chosen& port : ports) {
      // The path of the Set is used: this shows that it works, and the values that are written back are as new as possible.
      const bool was_read = port.port != none && fabric.subnet.port(port.port).has_info;
      const mad::Reason reason = was_read ? subnet::read_before_set : mad::requested;
      mad::Result<smp::PortInfo> info = co_await transactor.try_subn_get<smp::PortInfo>(port.path, port.number, smp::PortInfo(), reason);
      if (!info) {
        report_failed(stack.host(), fabric, port, info.shared_error(), "cannot be read, so nothing is set");
        ++silent;
        continue;
      }
      port.info = *info;
      if (action_ != nullptr && port.description.empty()) {
        const mad::Result<smp::NodeDescription> description = co_await transactor.try_subn_get<smp::NodeDescription>(port.path);
        if (description) port.description = fixed_text(description->node_string);
      }
      // Before any of them is set; each Set does this once more.
      const mad::Result<smp::NodeInfo> at_end = co_await subnet::check_set_target(transactor, port.path);
      if (!at_end) {
        report_failed(stack.host(), fabric, port, at_end.shared_error(), "cannot be read, so nothing is set");
        ++silent;
        continue;
      }
      if (action_ != &disable) continue;
      smp::NodeInfo node = fabric.subnet.node(fabric.subnet.port(port.port).node).info;
      node.local_port_num = 0;  // it is the port on the route that found the node first
      co_await subnet::check_carries_our_smps(transactor, port.path, node, port.number, port.info);
    }
    co_return silent;
  }

  async::Task<> set_all(Stack& stack, Fabric& fabric, std::vector<Chosen>& ports) const {
    std::string changed;
    std::vector<Chosen> done;
    for (const Chosen& port : ports) {
      smp::PortInfo wanted = subnet::no_change(port.info);
      wanted.port_physical_state = action_->physical_state;
      wanted.port_state = action_->state;
      mad::Result<smp::PortInfo> answer = co_await stack.smp_transactor().try_subn_set(port.path, port.number, wanted);
      if (answer) {
        changed += (changed.empty() ? " " : ", ") + name_of(fabric.subnet, port);
        done.push_back(port);
      } else {
        report_failed(stack.host(), fabric, port, answer.shared_error(), "cannot be set");
      }
    }
    ports = std::move(done);
    if (!changed.empty()) stack.host().note(std::string(action_->done) + changed);
  }

  /// Prints the failure of a port on stderr, and adds it to the failures of the fabric.
  static void report_failed(Host& host, Fabric& fabric, const Chosen& chosen, const std::shared_ptr<const mad::MadError>& error,
                            std::string_view what) {
    host.log().error(fmt::format("{} {}", name_of(fabric.subnet, chosen), what));
    host.report(*error, false);
    fabric.failures.push_back(port_failure(fabric.subnet, chosen.port, error));
  }

  Chosen find(const Fabric& fabric, const TargetPort& wanted) const {
    const subnet::Subnet& subnet = fabric.subnet;
    const path::Path& target = *wanted.target.path;
    const subnet::FoundPort found = subnet::find_port(fabric, target);
    if (!found) {
      const std::string text = fmt::format("Could not find path {} in the subnet", to_text(target));
      if (fabric.failures.empty()) throw UsageError(text);
      throw Error(text + ", of which a part did not answer", Exit::incomplete);
    }
    Chosen chosen;
    chosen.end_port = found.port;
    const subnet::Port& port = subnet.port(chosen.end_port);
    const subnet::Node& node = subnet.node(port.node);
    const bool is_switch = node.kind() == subnet::NodeKind::sw;
    if (!wanted.port && is_switch) throw UsageError(fmt::format("{} is a switch: TARGET@PORT says which of its ports", to_text(port.guid)));
    chosen.number = wanted.port.value_or(port.number);
    if (chosen.number < 1 || chosen.number > node.info.num_ports)
      throw UsageError(fmt::format("{} has no port {}: its ports are 1 to {}", to_text(port.guid), chosen.number, node.info.num_ports));
    chosen.port = subnet.port_of(port.node, chosen.number);
    if (action_ != nullptr && node.has_description) chosen.description = node.description();
    return chosen;
  }

  static void route(Stack& stack, const subnet::Subnet& subnet, const subnet::RoutesAround& routes, Chosen& chosen) {
    if (auto found = routes.to(chosen.end_port)) {
      found->end_port = &stack.host().end_port();
      found->expected_node_guid = subnet.node(subnet.port(chosen.end_port).node).guid();
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

  const Action* action_{};
  std::vector<TargetPort> targets_;
  bool dry_run_{};
  DiscoveryOptions discovery_;
};

}  // namespace

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
