// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// init_all_ports: sets every link that is in use down, from where it comes back in the state Initialize, which carries
// management alone. Far ports come first, since a link is gone for a while once it was set down.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/log.hpp"
#include "iba/text.hpp"
#include "subnet/discovery.hpp"
#include "subnet/port_setting.hpp"
#include "tools/frame/commands.hpp"
#include "tools/frame/session.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools {
namespace {

constexpr unsigned patient_retries = 10;  // the way may be retraining

struct InitReport final : FabricReport {
  using FabricReport::FabricReport;
  std::size_t ports_set{}, ports_failed{};

  Exit status() const override { return ports_failed != 0 ? Exit::incomplete : FabricReport::status(); }
  void visit(out::Sink& sink) const override {
    sink.value("ports_set", ports_set);
    sink.value("ports_failed", ports_failed);
    visit_failures(sink);
  }
  void text(TextOut& /*out*/) const override {}
};

class InitAllPorts final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.usage("", 0, 0);
    set.notes(
        "This can be used to try and recover a subnet that has deadlock or other\n"
        "fabric issues by dropping all the links back to INIT and thus blocking\n"
        "non-management traffic. It may need to be run multiple times before\n"
        "it completes.");
    add_common(set, common, group_fabric & ~group_sa);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    path::Path start = path::IbDrPath(&session.end_port());
    session.apply_options(start);
    if (!session.options().retries) start.ib().retries = patient_retries;
    mad::Transactor& transactor = session.transactor();
    Fabric fabric;
    subnet::DiscoverOptions how;
    fabric.stats = co_await subnet::discover(transactor, fabric.subnet, start, how);
    print_failures(fabric.subnet, session.options().error_level());
    InitReport report(fabric);
    for (const subnet::NodeIndex node : farthest_first(fabric.subnet)) co_await init_node(session, fabric.subnet, node, start, report);
    emit(report);
  }

 private:
  static std::vector<subnet::NodeIndex> farthest_first(const subnet::Subnet& subnet) {
    std::vector<subnet::NodeIndex> nodes(subnet.nodes().size());
    std::iota(nodes.begin(), nodes.end(), 0U);
    std::stable_sort(nodes.begin(), nodes.end(), [&](auto a, auto b) { return subnet.node(a).hops > subnet.node(b).hops; });
    return nodes;
  }

  /// The ports of a node, that by which it is reached last. Of an adapter only that one: it need not let its other ports be set
  /// by this way, and their links are set down from the other end.
  static async::Task<> init_node(Session& session, const subnet::Subnet& subnet, subnet::NodeIndex at, const path::Path& start,
                                 InitReport& report) {
    const subnet::Node& node = subnet.node(at);
    path::IbDrPath route = *start.directed();
    route.hops = static_cast<std::uint8_t>(subnet::route_to(subnet, at, route.route));
    const path::Path path = route;
    const bool sets_others = node.kind() == subnet::NodeKind::sw;
    for (unsigned number = 1; sets_others && number < node.slots; ++number) {
      if (number != node.entry_port) co_await init_port(session, subnet, node.first_port + number, path, report);
    }
    if (node.entry_port != 0) co_await init_port(session, subnet, node.first_port + node.entry_port, path, report);
  }

  static bool carries_data(smp::PortState state) { return state != smp::PortState::down && state != smp::PortState::init; }

  static async::Task<> init_port(Session& session, const subnet::Subnet& subnet, subnet::PortIndex at, const path::Path& path,
                                 InitReport& report) {
    const subnet::Port& port = subnet.port(at);
    if (!port.has_info || !carries_data(port.info().port_state)) co_return;
    // Asked again: the other end of the link may have been set down since.
    auto info = co_await session.transactor().try_subn_get<smp::PortInfo>(path, port.number);
    if (info && !carries_data(info->port_state)) co_return;
    if (info) {
      smp::PortInfo wanted = subnet::no_change(*info);
      wanted.port_state = smp::PortState::down;
      info = co_await session.transactor().try_subn_set(path, port.number, wanted);
    }
    if (info) {
      ++report.ports_set;
      co_return;
    }
    ++report.ports_failed;
    log::error(fmt::format("Failed to set port state of port {} of {} via {}", port.number, to_text(subnet.node(port.node).guid()),
                           to_text(path)));
    print_error(info.error(), session.options().error_level(), session.options().keys, false);
  }
};

}  // namespace

constinit const CommandInfo rooms::init_all_ports{
    .name = "init_all_ports",
    .group = HelpGroup::config,
    .summary = "Bring every link of the fabric down to Initialize, so that a subnet manager sets it up anew.",
    .make = make_command<InitAllPorts>,
    .changes = true};

}  // namespace ib::tools
