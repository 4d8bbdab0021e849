// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibhosts, ibswitches, ibrouters and ibnodes list nodes of one kind; ibprintca, ibprintswitch and ibprintrt show one.
#include <fmt/format.h>

#include "base/escape.hpp"
#include "iba/text.hpp"
#include "subnet/order.hpp"
#include "subnet/topology_text.hpp"
#include "tools/frame/commands.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools {
namespace {

using subnet::NodeIndex;
using subnet::NodeKind;

struct ListingReport final : FabricReport {
  ListingReport(const Fabric& of, std::vector<NodeIndex> which) : FabricReport(of), nodes(std::move(which)) {}

  void visit(out::Sink& sink) const override {
    visit_nodes(sink, nodes);
    visit_failures(sink);
  }
  void text(TextOut& out) const override {
    const subnet::TopologyText text(fabric.subnet, &fabric.names);
    for (const NodeIndex at : nodes) {
      text.summary(out.buffer(), at);
      out.write({});
    }
  }

  std::vector<NodeIndex> nodes;
};

struct NodeReport final : FabricReport {
  NodeReport(const Fabric& of, NodeIndex which) : FabricReport(of), at(which) {}

  void visit(out::Sink& sink) const override {
    visit_nodes(sink, {at}, known_ports());
    visit_failures(sink);
  }
  void text(TextOut& out) const override {
    subnet::TopologyText(fabric.subnet, &fabric.names).node(out.buffer(), at);
    out.write({});
  }

  NodeIndex at;
};

/// The nodes of `kind`, or all CAs and switches where it is absent.
std::vector<NodeIndex> nodes_of(const subnet::Subnet& subnet, std::optional<NodeKind> kind) {
  std::vector<NodeIndex> nodes = subnet::by_guid(subnet, kind);
  if (kind) return nodes;
  std::erase_if(nodes, [&](NodeIndex at) { return subnet.node(at).kind() != NodeKind::ca && subnet.node(at).kind() != NodeKind::sw; });
  return nodes;
}

class ListNodes final : public Command {
 public:
  explicit ListNodes(std::optional<NodeKind> kind) : kind_(kind) {}

  void options(OptionSet& set, CommonOptions& common) override {
    add_discovery(set, discovery_);
    add_common(set, common, group_fabric);
  }
  async::Task<> run(Session& session, Emit& emit) override {
    Fabric fabric;
    co_await discover(session, discovery_, fabric);
    emit(ListingReport(fabric, nodes_of(fabric.subnet, kind_)));
    note_discovered(session, "all_LIDs, all_NodeDescription, all_NodeInfo, all_topology");
  }

 private:
  std::optional<NodeKind> kind_;
  DiscoveryOptions discovery_;
};

class PrintNode final : public Command {
 public:
  explicit PrintNode(NodeKind kind) : kind_(kind) {}

  void options(OptionSet& set, CommonOptions& common) override {
    set.operand("NODE_GUID", [this](std::string_view word) {
      guid_ = parse_guid(word);
      if (!guid_) throw UsageError(fmt::format("{} is not a valid GUID", quoted(word)));
    });
    set.flag("-l --list", list_, "List all nodes of the kind instead.");
    set.instead_of_operands("-l");
    add_discovery(set, discovery_);
    add_common(set, common, group_fabric);
  }
  async::Task<> run(Session& session, Emit& emit) override {
    Fabric fabric;
    co_await discover(session, discovery_, fabric);
    if (list_) {
      emit(ListingReport(fabric, nodes_of(fabric.subnet, kind_)));
    } else {
      show(fabric, *guid_, emit);
    }
    note_discovered(session, "all_LIDs, all_NodeDescription, all_NodeInfo, all_topology");
  }

 private:
  void show(const Fabric& fabric, Guid guid, Emit& emit) const {
    const NodeIndex at = fabric.subnet.find_node(guid);
    if (at == subnet::none) throw Error(fmt::format("Could not find node {}", to_text(guid)));
    const subnet::Node& node = fabric.subnet.node(at);
    if (node.kind() != kind_) {
      throw Error(fmt::format("Node {} was type {} not {}", to_text(guid), static_cast<unsigned>(node.info.node_type),
                              static_cast<unsigned>(kind_)));
    }
    emit(NodeReport(fabric, at));
  }

  NodeKind kind_;
  bool list_{};
  std::optional<Guid> guid_;
  DiscoveryOptions discovery_;
};

}  // namespace

constinit const CommandInfo rooms::ibhosts{
    .name = "ibhosts",
    .group = HelpGroup::topology,
    .summary = "List the channel adapters: node GUID, ports, description.",
    .make = []() -> std::unique_ptr<Command> { return std::make_unique<ListNodes>(NodeKind::ca); },
};
constinit const CommandInfo rooms::ibswitches{
    .name = "ibswitches",
    .group = HelpGroup::topology,
    .summary = "List the switches: node GUID, ports, description.",
    .make = []() -> std::unique_ptr<Command> { return std::make_unique<ListNodes>(NodeKind::sw); },
};
constinit const CommandInfo rooms::ibrouters{
    .name = "ibrouters",
    .group = HelpGroup::topology,
    .summary = "List the routers: node GUID, ports, description.",
    .make = []() -> std::unique_ptr<Command> { return std::make_unique<ListNodes>(NodeKind::router); },
};
constinit const CommandInfo rooms::ibnodes{
    .name = "ibnodes",
    .group = HelpGroup::topology,
    .summary = "List the channel adapters and the switches.",
    .make = []() -> std::unique_ptr<Command> { return std::make_unique<ListNodes>(std::nullopt); },
};
constexpr std::string_view ibprintca_aliases[]{"ibprintca.pl"};
constinit const CommandInfo rooms::ibprintca{
    .name = "ibprintca",
    .group = HelpGroup::topology,
    .summary = "Print a channel adapter with its ports and links, or list all.",
    .make = []() -> std::unique_ptr<Command> { return std::make_unique<PrintNode>(NodeKind::ca); },
    .aliases = ibprintca_aliases,
};
constexpr std::string_view ibprintswitch_aliases[]{"ibprintswitch.pl"};
constinit const CommandInfo rooms::ibprintswitch{
    .name = "ibprintswitch",
    .group = HelpGroup::topology,
    .summary = "Print a switch with its ports and links, or list all.",
    .make = []() -> std::unique_ptr<Command> { return std::make_unique<PrintNode>(NodeKind::sw); },
    .aliases = ibprintswitch_aliases,
};
constexpr std::string_view ibprintrt_aliases[]{"ibprintrt.pl"};
constinit const CommandInfo rooms::ibprintrt{
    .name = "ibprintrt",
    .group = HelpGroup::topology,
    .summary = "Print a router with its ports and links, or list all.",
    .make = []() -> std::unique_ptr<Command> { return std::make_unique<PrintNode>(NodeKind::router); },
    .aliases = ibprintrt_aliases,
};

}  // namespace ib::tools
