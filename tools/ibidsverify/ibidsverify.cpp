// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibidsverify: finds LIDs and GUIDs that are zero, or that two ports or nodes share.
#include <fmt/format.h>

#include <unordered_map>
#include <utility>

#include "iba/text.hpp"
#include "tools/frame/commands.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/terminal.hpp"
#include "tools/ibidsverify/topology_ids.hpp"
#include "tools/shared/check_rows.hpp"
#include "tools/shared/diags_topology.hpp"
#include "tools/shared/libibnetdisc.hpp"

namespace ib::tools {
namespace {

using subnet::NodeIndex;
using subnet::PortIndex;

/// Finds LIDs and GUIDs that several end ports have.
class IdsCheck {
 public:
  explicit IdsCheck(const subnet::Subnet& subnet) : subnet_(subnet) {}

  CheckRow check(PortIndex at) {
    CheckRow row{.kind = CheckKind::node, .port = at};
    check_lids(row);
    check_node_guid(row);
    check_port_guid(row);
    return row;
  }

 private:
  std::string place(PortIndex at) const { return fmt::format("lid {} port {}", subnet_.lid(at).value, subnet_.port(at).number); }
  static void add(CheckRow& row, std::string words) {
    subnet::Finding& finding = row.findings.emplace_back();
    finding.error = true;
    finding.words = std::move(words);
  }

  void check_lids(CheckRow& row) {
    if (!subnet_.port(row.port).has_info) return;
    const unsigned base = subnet_.lid(row.port).value;
    if (base == 0) add(row, fmt::format("The LID is 0, at {}", place(row.port)));
    const unsigned end = base == 0 ? 0 : base + (1U << subnet_.lmc(row.port));
    for (unsigned lid = base; lid < end; ++lid) {
      const auto [known, is_new] = lids_.try_emplace(lid, row.port);
      if (is_new) continue;
      return add(row, fmt::format("Duplicate LIDs found, {} {}, at {}", to_text(subnet_.end_port_guid(known->second)),
                                  to_text(subnet_.end_port_guid(row.port)), place(row.port)));
    }
  }

  void check_node_guid(CheckRow& row) {
    const NodeIndex at = subnet_.port(row.port).node;
    const Guid guid = subnet_.node(at).guid();
    const auto [known, is_new] = node_guids_.try_emplace(guid, at);
    if (guid.value == 0) {
      add(row, fmt::format("The node GUID is 0, at {}", place(row.port)));
    } else if (known->second != at) {
      add(row, fmt::format("Duplicate node GUIDs found, GUID {} at {}", to_text(guid), place(row.port)));
    }
  }

  void check_port_guid(CheckRow& row) {
    const Guid guid = subnet_.end_port_guid(row.port);
    const auto [known, is_new] = port_guids_.try_emplace(guid, row.port);
    if (guid.value == 0) {
      add(row, fmt::format("The port GUID is 0, at {}", place(row.port)));
    } else if (!is_new) {
      add(row, fmt::format("Duplicate port GUIDs found, GUID {} at {}", to_text(guid), place(row.port)));
    }
  }

  const subnet::Subnet& subnet_;
  std::unordered_map<unsigned, PortIndex> lids_;
  std::unordered_map<Guid, NodeIndex> node_guids_;
  std::unordered_map<Guid, PortIndex> port_guids_;
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

  std::string_view table_rows() const override { return "checks"; }

  async::Task<> run(Session& session, Emit& emit) override {
    table_of<CheckLine>(check_columns(), table_);
    Fabric fabric;
    discovery_.needs.switch_infos = false;
    if (!emit.json() && !table_.given()) discovery_.needs.descriptions = {};
    co_await discover(session, discovery_, fabric);
    CheckReport report(fabric);
    report.verbose = session.host().options().verbosity > 0;
    report.colour = !plain_ && terminal_of(session.host().world()).has_colours;
    IdsCheck check(fabric.subnet);
    for (const PortIndex port : end_ports(fabric.subnet)) {
      const bool is_of_switch = fabric.subnet.port(port).number == 0;
      if (!only_up_ || is_of_switch || !fabric.subnet.port(port).is_polling_or_disabled()) report.add(check.check(port));
    }
    report.emit(emit, table_, session.host().world().out);
    note_discovered(session.host(), "all_LIDs, all_NodeDescription, all_NodeInfo, all_PortInfo, all_topology");
  }

 private:
  DiscoveryOptions discovery_;
  TableOptions table_;
  bool only_up_{}, plain_{};
};

class IbidsverifyDiags final : public Command {
 public:
  void diags_options(OptionSet& set, CommonOptions& common) override {
    set.perl_script();
    set.flag("-R", ignored_, "No effect: the fabric is always read again.");
    add_common(set, common, group_device);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    LibibnetdiscFabric fabric;
    const LibibnetdiscWanted everything;
    co_await discover_as_libibnetdisc(session, everything, fabric);
    const TopologyIds ids = read_ids(fabric);
    emit.text().write(ids.complaints());
    if (!ids.complaints().empty()) emit.set_diags_status(1);
  }

 private:
  static TopologyIds read_ids(const LibibnetdiscFabric& fabric) {
    TopologyIds ids;
    const subnet::Grouping grouping = subnet::group(fabric.subnet, fabric.order);
    DiagsTopology topology(fabric.subnet, fabric.names);
    topology.grouping = &grouping;
    std::string text;
    topology.topology(text, fabric.order, [&] {
      ids.read(text);
      text.clear();
    });
    return ids;
  }

  bool ignored_{};
};

}  // namespace

constinit const CommandInfo rooms::ibidsverify{
    .name = "ibidsverify",
    .group = HelpGroup::topology,
    .summary = "Check that no LID or GUID is zero or used twice.",
    .make = make_command<Ibidsverify>,
    .make_diags = make_command<IbidsverifyDiags>,
    .alias = "ibidsverify.pl",
};

}  // namespace ib::tools
