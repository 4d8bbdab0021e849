// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// iblinkinfo: the ports of all switches, or of one, with what each is linked to and whether the link could do better.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/escape.hpp"
#include "iba/text.hpp"
#include "subnet/names.hpp"
#include "subnet/order.hpp"
#include "subnet/rate.hpp"
#include "tools/frame/commands.hpp"
#include "tools/shared/devices_report.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools {
namespace {

using subnet::NodeIndex;
using subnet::PortIndex;

constexpr unsigned polling = 2, link_up = 5;  // IBA 14.2.5.6: PortPhysicalState

struct Shown {
  bool port_guids{}, line{}, additional{}, down{}, up{};
};

struct LinkReport final : FabricReport {
  LinkReport(const Fabric& of, const Shown& what, std::vector<NodeIndex> which)
      : FabricReport(of), shown(what), switches(std::move(which)) {}

  /// As the text: the ports that were asked for, and no switch without one.
  void visit(out::Sink& sink) const override {
    std::vector<NodeIndex> nodes;
    std::ranges::copy_if(switches, std::back_inserter(nodes), [this](NodeIndex at) { return has_shown_port(at); });
    visit_nodes(sink, nodes, [this](PortIndex at) { return is_shown(at); });
    visit_failures(sink);
  }

  void text(TextOut& out) const override {
    for (const NodeIndex at : switches) print_switch(out, at);
  }

  const Shown& shown;
  std::vector<NodeIndex> switches;

 private:
  std::string name(NodeIndex at) const { return quoted(subnet::name_of(fabric.subnet.node(at), &fabric.names)); }

  bool is_shown(PortIndex at) const {
    const subnet::Port& port = fabric.subnet.port(at);
    if (shown.down && port.physical_state() == link_up) return false;
    return !(shown.up && port.physical_state() == polling);
  }

  bool has_shown_port(NodeIndex at) const {
    const subnet::Node& node = fabric.subnet.node(at);
    for (unsigned number = 1; number < node.slots; ++number) {
      if (is_shown(node.first_port + number)) return true;
    }
    return false;
  }

  void print_switch(TextOut& out, NodeIndex at) const {
    const subnet::Node& node = fabric.subnet.node(at);
    const std::string guid = to_text(shown.port_guids ? node.info.port_guid : node.guid());
    bool first = true;
    for (unsigned number = 1; number < node.slots; ++number) {
      const PortIndex index = node.first_port + number;
      if (!is_shown(index)) continue;
      if (shown.line) {
        out.print("{} {} {:<40}==> {}\n", guid, name(at), near_end(index), far_end(index));
        continue;
      }
      if (first) out.print("Switch {} {}:\n", guid, name(at));
      first = false;
      out.print("   {:<40}==> {}\n", near_end(index), far_end(index));
    }
  }

  std::string near_end(PortIndex index) const {
    const subnet::Port& port = fabric.subnet.port(index);
    std::string state = "no answer";
    if (port.has_info) state = link_state_text(port.state()) + '/' + phys_link_state_text(port.physical_state());
    if (port.has_info && port.physical_state() == link_up) {
      const subnet::LinkRate rate = subnet::active_rate(fabric.subnet, index);
      state = fmt::format("{:2}x {} {}", rate.lanes, subnet::name(rate.speed), state);
    }
    std::string text = fmt::format("{:3} {:4}[  ] ==({})", fabric.subnet.lid(index).value, port.number, state);
    if (shown.additional) {
      const smp::PortInfo info = port.info();
      text += fmt::format(" (HOQ:{} VL_Stall:{})", info.hoq_life, info.vl_stall_count);
    }
    return text;
  }

  std::string far_end(PortIndex index) const {
    const subnet::Port& port = fabric.subnet.port(index);
    if (port.peer == subnet::none) return "[  ] \"\" ( )";
    const subnet::Port& peer = fabric.subnet.port(port.peer);
    return fmt::format("{:3} {:4}[  ] {}{}", fabric.subnet.lid(port.peer).value, peer.number, name(peer.node), remark(index));
  }

  /// What both ends could do and do not.
  std::string remark(PortIndex index) const {
    const subnet::LinkRate active = subnet::active_rate(fabric.subnet, index), best = subnet::best_rate(fabric.subnet, index);
    std::string text;
    if (best.lanes > active.lanes) text = fmt::format("Could be {}x", best.lanes);
    if (best.speed > active.speed) text += fmt::format("{}Could be {}", text.empty() ? "" : ",", subnet::name(best.speed));
    return text.empty() ? text : " (" + text + ")";
  }
};

class Iblinkinfo final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.optional_operands();
    set.target("TARGET", target_);
    set.flag("-g --portguids", shown_.port_guids, "Name switches by their port GUID instead of their node GUID.");
    set.flag("-l --line", shown_.line, "Begin each line with the GUID and the name of the switch.");
    set.flag("-p --additional", shown_.additional, "Print also VLStallCount and HOQLife.");
    set.flag("--down", shown_.down, "Print the ports alone whose link is not up.");
    set.flag("--up", shown_.up, "Leave out the ports that are polling.");
    add_discovery(set, discovery_);
    add_common(set, common, group_target);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    Fabric fabric;
    if (!target_.given()) {
      co_await discover(session, discovery_, fabric);
      std::vector<NodeIndex> switches = subnet::breadth_first(fabric.subnet);
      std::erase_if(switches, [&](NodeIndex at) { return fabric.subnet.node(at).kind() != subnet::NodeKind::sw; });
      emit(LinkReport(fabric, shown_, std::move(switches)));
    } else {
      const NodeIndex at = co_await discover_around(session, discovery_, target_, fabric);
      check_switch(fabric, at);
      emit(LinkReport(fabric, shown_, {at}));
    }
    note_discovered(session, "all_LIDs, all_NodeDescription, all_NodeInfo, all_PortInfo, all_topology");
  }

 private:
  static void check_switch(const Fabric& fabric, NodeIndex at) {
    const subnet::Node& node = fabric.subnet.node(at);
    if (node.kind() == subnet::NodeKind::sw) return;
    throw Error(fmt::format("Port {} of node {} (LID {}) is not a switch", node.entry_port, to_text(node.guid()),
                            fabric.subnet.lid(fabric.subnet.start).value));
  }

  Target target_;
  Shown shown_;
  DiscoveryOptions discovery_;
};

}  // namespace

constexpr std::string_view iblinkinfo_aliases[]{"iblinkinfo.pl"};
constinit const CommandInfo rooms::iblinkinfo{
    .name = "iblinkinfo",
    .group = HelpGroup::topology,
    .summary = "Print the links of every switch: state, width, speed, peer.",
    .make = make_command<Iblinkinfo>,
    .aliases = iblinkinfo_aliases,
};

}  // namespace ib::tools
