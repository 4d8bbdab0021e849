// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibidsverify: finds LIDs and GUIDs that are zero, or that two ports or nodes share.
#include <fmt/format.h>

#include <span>
#include <utility>

#include "subnet/model/chassis.hpp"
#include "subnet/model/port_checks.hpp"
#include "tools/frame/commands.hpp"
#include "tools/frame/terminal.hpp"
#include "tools/shared/check_rows.hpp"
#include "tools/shared/libibnetdisc.hpp"

namespace ib::tools {
namespace {

using subnet::NodeIndex;
using subnet::NodeKind;
using subnet::PortIndex;

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
      check_all(box.spines, NodeKind::sw);
      check_all(box.lines, NodeKind::sw);
      for (const NodeKind kind : {NodeKind::sw, NodeKind::ca}) check_all(box.others, kind);
    }
    std::vector<NodeIndex> ungrouped = fabric_.order;
    std::erase_if(ungrouped, [&](NodeIndex at) { return grouping.grouped(at); });
    for (const NodeKind kind : {NodeKind::sw, NodeKind::ca, NodeKind::router}) check_all(ungrouped, kind);
    return std::move(complaints_);
  }

 private:
  void check_all(std::span<const NodeIndex> nodes, NodeKind kind) {
    for (const NodeIndex at : nodes) {
      if (at == subnet::none || subnet_.node(at).kind() != kind) continue;
      const subnet::Node& node = subnet_.node(at);
      if (kind == NodeKind::sw) check("switch", node.first_port, node.info.port_guid, true);
      bool is_first = true;
      for (unsigned number = 1; kind != NodeKind::sw && number < node.slots; ++number) {
        const PortIndex port = node.first_port + number;
        if (subnet_.port(port).peer == subnet::none) continue;
        check(kind == NodeKind::ca ? "ca" : "router", port, subnet_.port(port).guid, std::exchange(is_first, false));
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
  void options(OptionSet& set, CommonOptions& common) override {
    set.flag("--up", only_up_, "Leave out the ports that are polling or disabled.");
    set.flag("-N --nocolor", plain_, "Print no colours; without it a terminal gets them.");
    add_discovery(set, discovery_);
    add_table_options(set, common, table_, keys_of(check_columns()));
    add_common(set, common, group_fabric);
  }

  void diags_options(OptionSet& set, CommonOptions& common) override {
    as_diags_ = true;
    set.perl_script();
    set.action("-R", "No effect: the fabric is always read again.", [] {});
    add_common(set, common, group_device);
  }

  std::string_view table_rows() const override { return "checks"; }

  async::Task<> run(Session& session, Emit& emit) override {
    if (as_diags_) co_return co_await run_as_diags(session, emit);
    table_of<CheckLine>(check_columns(), table_);
    Fabric fabric;
    discovery_.needs.switch_infos = false;
    if (!emit.json() && !table_.given()) discovery_.needs.descriptions = {};
    co_await discover(session, discovery_, fabric);
    CheckReport report(fabric);
    report.verbose = session.host().options().verbosity > 0;
    report.colour = !plain_ && terminal_of(session.host().world()).has_colours;
    subnet::IdOwners owners;
    for (const PortIndex port : end_ports(fabric.subnet)) {
      const bool is_of_switch = fabric.subnet.port(port).number == 0;
      if (!only_up_ || is_of_switch || !fabric.subnet.port(port).is_polling_or_disabled())
        report.add({.kind = CheckKind::node, .port = port, .findings = subnet::check_ids(fabric.subnet, owners, port)});
    }
    report.emit(emit, table_, session.host().world().out);
    note_discovered(session.host(), "all_LIDs, all_NodeDescription, all_NodeInfo, all_PortInfo, all_topology");
  }

 private:
  static async::Task<> run_as_diags(Session& session, Emit& emit) {
    LibibnetdiscFabric fabric;
    const LibibnetdiscWanted everything;
    co_await discover_as_libibnetdisc(session, everything, fabric);
    const std::string complaints = DiagsIdsCheck(fabric).complaints();
    emit.text().write(complaints);
    if (!complaints.empty()) emit.set_diags_status(1);
  }

  DiscoveryOptions discovery_;
  TableOptions table_;
  bool only_up_{}, plain_{}, as_diags_{};
};

}  // namespace

constinit const CommandInfo rooms::ibidsverify{
    .name = "ibidsverify",
    .group = HelpGroup::topology,
    .summary = "Check that no LID or GUID is zero or used twice.",
    .make = make_command<Ibidsverify>,
    .make_diags = make_command<Ibidsverify>,
    .alias = "ibidsverify.pl",
};

}  // namespace ib::tools
