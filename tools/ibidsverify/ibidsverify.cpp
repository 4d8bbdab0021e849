// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibidsverify: finds LIDs and GUIDs that are zero, or that two ports or nodes share.
#include <fmt/format.h>

#include <cstdio>
#include <unordered_map>

#include "iba/text.hpp"
#include "report/member_names.hpp"
#include "subnet/model/order.hpp"
#include "tools/frame/commands.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/terminal.hpp"
#include "tools/ibidsverify/topology_ids.hpp"
#include "tools/shared/diags_topology.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/libibnetdisc.hpp"

namespace ib::tools {
namespace {

using subnet::NodeIndex;
using subnet::NodeKind;
using subnet::PortIndex;

/// An end port and the problems of its LIDs and GUIDs.
struct CheckedPort {
  PortIndex port;
  std::vector<std::string> findings;
};

struct IdsReport final : FabricReport {
  explicit IdsReport(const Fabric& of) : FabricReport(of) {}

  void visit(report::Sink& sink) const override {
    sink.begin_array("checks");
    if (!fabric.subnet.ports().empty()) report::announce(sink, [this](report::Sink& to) { visit_row(to, {0, {}}); });
    for (const CheckedPort& row : rows) {
      if (verbose || !row.findings.empty()) visit_row(sink, row);
    }
    sink.end_array();
    sink.begin_array("summary");
    sink.begin_object();
    sink.value("check", "node");
    sink.value("checked", rows.size());
    sink.value("bad", bad());
    sink.end_object();
    sink.end_array();
    visit_failures(sink);
  }

  void text(TextOut& out) const override {
    for (const CheckedPort& row : rows) {
      if (verbose || !row.findings.empty()) print_row(out, row);
    }
    out.print("## Summary: {} nodes checked, {} bad nodes found\n", rows.size(), bad());
  }

  Exit status() const override { return bad() != 0 ? Exit::findings : FabricReport::status(); }

  std::vector<CheckedPort> rows;
  bool verbose{}, colour{};

 private:
  std::size_t bad() const {
    std::size_t count = 0;
    for (const CheckedPort& row : rows) count += row.findings.empty() ? 0 : 1;
    return count;
  }

  void visit_row(report::Sink& sink, const CheckedPort& row) const {
    const subnet::Port& port = fabric.subnet.port(row.port);
    sink.begin_object();
    sink.value("check", "node");
    sink.value("verdict", row.findings.empty() ? "ok" : "failed");
    visit_names(sink, port.node);
    const Lid lid = fabric.subnet.lid(row.port);
    sink.lid_or_null("lid", lid);
    sink.value("port_num", port.number);
    sink.objects("findings", row.findings, [&](const std::string& finding) {
      sink.value("severity", "error");
      sink.value("message", finding);
    });
    sink.end_object();
  }

  void print_row(TextOut& out, const CheckedPort& row) const {
    constexpr std::string_view red = "\x1b[1;31m", green = "\x1b[1;32m", plain = "\x1b[0m";
    const subnet::Port& port = fabric.subnet.port(row.port);
    const subnet::Node& node = fabric.subnet.node(port.node);
    const unsigned lid = fabric.subnet.lid(row.port).value;
    const std::string type = std::string(smp::to_text(node.info.node_type));
    out.print("# Checking {}: nodeguid {} lid {}", type.empty() ? "Node" : type, to_text(node.guid()), lid);
    if (node.kind() != NodeKind::sw) out.print(" port {}", port.number);
    const std::string_view verdict = row.findings.empty() ? "OK" : "FAILED";
    const std::string_view begin = !colour ? "" : row.findings.empty() ? green : red, end = colour ? plain : "";
    out.print("\nNode check lid {}: {}{}{}\n", lid, begin, verdict, end);
    for (const std::string& finding : row.findings) out.print("{}#error: {}{}\n", colour ? red : "", finding, end);
  }
};

/// Finds LIDs and GUIDs that several end ports have.
class IdsCheck {
 public:
  explicit IdsCheck(const subnet::Subnet& subnet) : subnet_(subnet) {}

  CheckedPort check(PortIndex at) {
    CheckedPort row{at, {}};
    check_lids(row);
    check_node_guid(row);
    check_port_guid(row);
    return row;
  }

 private:
  std::string place(PortIndex at) const { return fmt::format("lid {} port {}", subnet_.lid(at).value, subnet_.port(at).number); }

  void check_lids(CheckedPort& row) {
    if (!subnet_.port(row.port).has_info) return;
    const unsigned base = subnet_.lid(row.port).value;
    if (base == 0) row.findings.push_back(fmt::format("The LID is 0, at {}", place(row.port)));
    const unsigned end = base == 0 ? 0 : base + (1U << subnet_.lmc(row.port));
    for (unsigned lid = base; lid < end; ++lid) {
      const auto [known, is_new] = lids_.try_emplace(lid, row.port);
      if (is_new) continue;
      row.findings.push_back(fmt::format("Duplicate LIDs found, {} {}, at {}", to_text(subnet_.end_port_guid(known->second)),
                                         to_text(subnet_.end_port_guid(row.port)), place(row.port)));
      return;
    }
  }

  void check_node_guid(CheckedPort& row) {
    const NodeIndex at = subnet_.port(row.port).node;
    const Guid guid = subnet_.node(at).guid();
    const auto [known, is_new] = node_guids_.try_emplace(guid, at);
    if (guid.value == 0) {
      row.findings.push_back(fmt::format("The node GUID is 0, at {}", place(row.port)));
    } else if (known->second != at) {
      row.findings.push_back(fmt::format("Duplicate node GUIDs found, GUID {} at {}", to_text(guid), place(row.port)));
    }
  }

  void check_port_guid(CheckedPort& row) {
    const Guid guid = subnet_.end_port_guid(row.port);
    const auto [known, is_new] = port_guids_.try_emplace(guid, row.port);
    if (guid.value == 0) {
      row.findings.push_back(fmt::format("The port GUID is 0, at {}", place(row.port)));
    } else if (!is_new) {
      row.findings.push_back(fmt::format("Duplicate port GUIDs found, GUID {} at {}", to_text(guid), place(row.port)));
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
    add_common(set, common, group_fabric);
  }

  std::string_view table_rows() const override { return "checks"; }

  async::Task<> run(Session& session, Emit& emit) override {
    Fabric fabric;
    discovery_.needs.switch_infos = false;
    if (!emit.json()) discovery_.needs.descriptions = {};
    co_await discover(session, discovery_, fabric);
    IdsReport report(fabric);
    report.verbose = session.options().verbosity > 0;
    report.colour = !plain_ && terminal_of(session.world()).has_colours;
    IdsCheck check(fabric.subnet);
    for (const NodeIndex at : subnet::breadth_first(fabric.subnet)) {
      for (const PortIndex port : end_ports(fabric.subnet, at)) report.rows.push_back(check.check(port));
    }
    emit(report);
    note_discovered(session, "all_LIDs, all_NodeDescription, all_NodeInfo, all_PortInfo, all_topology");
  }

 private:
  /// The end ports of a node: port 0 of a switch, and the linked ports of other nodes.
  std::vector<PortIndex> end_ports(const subnet::Subnet& subnet, NodeIndex at) const {
    const subnet::Node& node = subnet.node(at);
    const auto wanted = [&](PortIndex port) { return !only_up_ || !subnet.port(port).is_polling_or_disabled(); };
    if (node.kind() == NodeKind::sw) return {node.first_port};
    std::vector<PortIndex> ports;
    for (unsigned number = 1; number < node.slots; ++number) {
      const PortIndex port = node.first_port + number;
      const bool there = subnet.port(port).has_info || subnet.port(port).peer != subnet::none;
      if (there && wanted(port)) ports.push_back(port);
    }
    return ports;
  }

  DiscoveryOptions discovery_;
  bool only_up_{}, plain_{};
};

class IbidsverifyDiags final : public Command {
 public:
  void diags_options(OptionSet& set, CommonOptions& common) override {
    set.perl_script();
    set.flag("-R", ignored_, "No effect: the fabric is always read anew.");
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
    .summary = "Check that no LID and no GUID is zero or is there twice.",
    .make = make_command<Ibidsverify>,
    .make_diags = make_command<IbidsverifyDiags>,
    .alias = "ibidsverify.pl",
};

}  // namespace ib::tools
