// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// set_port_state: takes links down or up. Every port is reached by a directed route that crosses none of the links in
// question, so that a whole cut through the fabric can be made, from this side of it.
#include <fmt/format.h>

#include <unordered_set>

#include "iba/text.hpp"
#include "subnet/port_setting.hpp"
#include "subnet/routes_around.hpp"
#include "tools/frame/commands.hpp"
#include "tools/frame/session.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools {
namespace {

using subnet::none;

enum class Action { show, disable, enable, init };

/// One port that an operand names.
struct Chosen {
  subnet::PortIndex end_port = none;
  unsigned number{};
  subnet::PortIndex port = none;  ///< port `number` of the end port's node
  path::Path path = path::IbPath{};
  smp::PortInfo info;
};

struct StateReport final : Report {
  struct Port {
    Guid guid;
    unsigned number{};
    std::string path;
  };
  std::string_view action;
  bool done{};
  std::vector<Port> ports;

  void visit(out::Sink& sink) const override {
    if (action.empty()) {
      sink.null("action");
    } else {
      sink.value("action", action);
    }
    sink.value("done", done);
    sink.begin_array("ports");
    for (const Port& port : ports) {
      sink.begin_object();
      sink.value("port_guid", port.guid);
      sink.value("port", port.number);
      sink.value("path", port.path);
      sink.end_object();
    }
    sink.end_array();
  }
  void text(TextOut& out) const override {
    if (done) return;
    for (const Port& port : ports) out.print("Would have changed {}@{} on {}\n", to_text(port.guid), port.number, port.path);
  }
};

class SetPortState final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.usage("[TARGET@PORT_NUM]+", 0, any_number);
    set.notes(
        "This intelligently selects a DR path to disable/enable links in the\n"
        "network. For instance if this command is used to create a partition in\n"
        "the network then it will find DR paths that do not cross the partition\n"
        "and ensure that the arguments are all on this side of the partition.\n\n"
        "Use --disable to turn the ports off, --enable to turn them back on, or\n"
        "--init to reset ports back to INIT.");
    set.action("--disable", "Set the physical port state to disabled.", [this] { action_ = Action::disable; });
    set.action("--enable", "Set the physical port state to polling.", [this] { action_ = Action::enable; });
    set.action("--init", "Take the port down, from where it comes back as initialized.", [this] { action_ = Action::init; });
    set.flag("-n --dry-run --dry_run", dry_run_, "Print what would be set, set nothing.");
    add_discovery(set, discovery_);
    add_common(set, common, group_target);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    session.read_operands({}, 0, OperandKind::target_port);
    Fabric fabric;
    co_await discover(session, discovery_, fabric);
    std::vector<Chosen> chosen;
    std::unordered_set<subnet::PortIndex> avoided;
    for (std::size_t at = 0; at < session.operands().size(); ++at) {
      chosen.push_back(find(fabric.subnet, *session.target(at), session.integer(at)));
      avoided.insert(chosen.back().port);
    }
    const subnet::RoutesAround routes(fabric.subnet, avoided);
    for (Chosen& port : chosen) route(session, fabric.subnet, routes, port);
    mad::Transactor& transactor = session.smp_transactor();
    for (Chosen& port : chosen) {
      port.info = co_await transactor.subn_get<smp::PortInfo>(port.path, port.number);
      check_way_back(fabric.subnet, port);
    }
    const bool acts = action_ != Action::show && !dry_run_;
    if (acts) {  // all at once, at the end: by now nothing but a port can refuse
      for (const Chosen& port : chosen) co_await transactor.subn_set(port.path, port.number, wanted(port.info));
    }
    StateReport report;
    report.action = name(action_);
    report.done = acts;
    for (const Chosen& port : chosen) report.ports.push_back({fabric.subnet.port(port.end_port).guid, port.number, to_text(port.path)});
    emit(report);
  }

 private:
  static std::string_view name(Action action) {
    switch (action) {
      case Action::disable:
        return "disable";
      case Action::enable:
        return "enable";
      case Action::init:
        return "init";
      case Action::show:
        break;
    }
    return {};
  }

  /// The end port at the end of `path`, or none.
  static subnet::PortIndex end_port_at(const subnet::Subnet& subnet, const path::Path& path) {
    const path::IbDrPath* directed = path.directed();
    if (directed == nullptr) {
      const path::IbPath& ib = path.ib();
      return ib.dlid != Lid{} ? subnet.find_lid(ib.dlid) : subnet.find_port(ib.dgid ? ib.dgid->guid() : Guid{});
    }
    subnet::PortIndex at = subnet.start;
    for (unsigned hop = 1; hop <= directed->hops && at != none; ++hop) {
      const subnet::PortIndex out = subnet.port_of(subnet.port(at).node, directed->route[hop]);
      at = out == none ? none : subnet.port(out).peer;
    }
    return at == none ? none : subnet.end_port_of(at);
  }

  static Chosen find(const subnet::Subnet& subnet, const path::Path& target, std::optional<std::int64_t> number) {
    Chosen chosen;
    chosen.end_port = end_port_at(subnet, target);
    if (chosen.end_port == none) throw UsageError(fmt::format("Could not find path {} in the subnet", to_text(target)));
    const subnet::Port& port = subnet.port(chosen.end_port);
    const subnet::Node& node = subnet.node(port.node);
    const bool is_switch = node.kind() == subnet::NodeKind::sw;
    if (!number && is_switch) throw UsageError(fmt::format("Need to have a port index for switch {}", to_text(port.guid)));
    const std::int64_t wanted = number.value_or(port.number);
    if (wanted < 1 || wanted > node.info.num_ports)
      throw UsageError(fmt::format("{} has no port {}: its ports are 1 to {}", to_text(port.guid), wanted, node.info.num_ports));
    chosen.number = static_cast<unsigned>(wanted);
    chosen.port = subnet.port_of(port.node, chosen.number);
    return chosen;
  }

  /// Gives `chosen` its path.
  static void route(Session& session, const subnet::Subnet& subnet, const subnet::RoutesAround& routes, Chosen& chosen) {
    if (auto found = routes.to(chosen.end_port)) {
      found->end_port = &session.end_port();
      chosen.path = *found;
      session.apply_options(chosen.path);
      return;
    }
    std::string text = fmt::format("No DR path exists to {} port {}", to_text(subnet.port(chosen.end_port).guid), chosen.number);
    const subnet::PortIndex peer = subnet.port(chosen.port).peer;
    if (peer != none && routes.to(subnet.end_port_of(peer))) {
      text +=
          fmt::format(" - try using the peer {} port {}", to_text(subnet.port(subnet.end_port_of(peer)).guid), subnet.port(peer).number);
    }
    throw UsageError(text);
  }

  void check_way_back(const subnet::Subnet& subnet, const Chosen& chosen) const {
    if (action_ != Action::disable || !subnet::is_way_in(chosen.info, chosen.number)) return;
    throw UsageError(fmt::format("Port {} of {} is the one by which requests come in: disabled, it leaves no way back", chosen.number,
                                 to_text(subnet.port(chosen.end_port).guid)));
  }

  smp::PortInfo wanted(const smp::PortInfo& read) const {
    smp::PortInfo info = subnet::no_change(read);
    if (action_ == Action::disable) info.port_physical_state = smp::PortPhysicalState::disabled;
    if (action_ == Action::enable) info.port_physical_state = smp::PortPhysicalState::polling;
    if (action_ == Action::init) info.port_state = smp::PortState::down;  // Initialize can not be set (IBA 14.2.5.6)
    return info;
  }

  Action action_ = Action::show;
  bool dry_run_{};
  DiscoveryOptions discovery_;
};

}  // namespace

constinit const CommandInfo rooms::set_port_state{.name = "set_port_state",
                                                  .group = HelpGroup::config,
                                                  .summary = "Enable, disable or reset several ports in one go.",
                                                  .make = make_command<SetPortState>,
                                                  .changes = true};

}  // namespace ib::tools
