// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibhosts, ibswitches, ibrouters and ibnodes list nodes of one kind; ibprintca, ibprintswitch and ibprintrt show one.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "base/escape.hpp"
#include "base/file.hpp"
#include "base/split.hpp"
#include "formats/topology_text.hpp"
#include "iba/text.hpp"
#include "subnet/model/find_port.hpp"
#include "subnet/model/order.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/explanation.hpp"
#include "tools/frame/world.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/libibnetdisc.hpp"
#include "tools/shared/table_options.hpp"

namespace ib::tools {
namespace {

using subnet::NodeIndex;
using subnet::NodeKind;

// ibhosts, ibswitches and ibrouters of infiniband-diags are filters on the text of ibnetdiscover: each line becomes a line of the list, or
// nothing. A topology file written or cut by hand serves as well as a fabric.
//
// A line of a node has the form `Ca<tab>1 "H-0002c90300001490"<tab><tab># "name"`. What stands behind the first '#' goes into the list.

/// The text behind the first '#' and its blanks; the whole line if it has no '#'. For a switch a blank precedes it, or stands once more in
/// the place of the one before the text from the first "port 0" on, which describes that port.
std::string remark_of(std::string_view line, NodeKind kind) {
  if (const auto at = line.find('#'); at != std::string_view::npos)
    line.remove_prefix(std::min(line.find_first_not_of(" \t", at + 1), line.size()));
  if (kind != NodeKind::sw) return std::string(line);
  const auto port = line.find("port 0");
  if (port == std::string_view::npos) return fmt::format(" {}", line);
  return fmt::format("{} {}", line.substr(0, port == 0 ? 0 : port - 1), line.substr(port));
}

std::string_view head_of(NodeKind kind) { return kind == NodeKind::sw ? "Switch" : kind == NodeKind::router ? "Rt" : "Ca"; }

/// Whether a line is an error message of ibnetdiscover. Names may contain any text, so a line with a name is not one.
bool is_complaint(std::string_view line) {
  const auto begins = [line](std::string_view word) { return line.starts_with(word); };
  if (std::ranges::any_of(std::array<std::string_view, 4>{"Ca", "Switch", "Rt", "["}, begins)) return false;
  const auto holds = [line](std::string_view word) { return line.find(word) != std::string_view::npos; };
  return begins("ib") || std::ranges::any_of(std::array<std::string_view, 3>{"ibpanic:", "ibwarn:", "iberror:"}, holds);
}

/// Appends the line of the list for one line of a topology file, which has no line end. Appends nothing if the line does not describe a
/// node of this kind.
void list_topology_line(std::string& out, std::string_view line, NodeKind kind) {
  if (!line.starts_with(head_of(kind))) return;
  std::vector<std::string_view> words = split(line, " \t\n");
  std::erase(words, std::string_view());
  words.resize(std::max<std::size_t>(words.size(), 3));
  const std::string_view guid = words[2].size() > 3 ? words[2].substr(3, 16) : std::string_view();
  out += fmt::format("{}\t: 0x{} ports {} {}\n", words[0], guid, words[1], remark_of(line, kind));
}

/// Appends the line of the list for each line of `text`, and copies the error messages of ibnetdiscover that stand in it.
void list_topology(std::string& out, std::string_view text, NodeKind kind) {
  for (const std::string_view line : split_list(text, "\n")) {
    list_topology_line(out, line, kind);
    if (is_complaint(line)) out += fmt::format("{}\n", line);
  }
}

struct NodesReport final : FabricReport {
  /// `ports`: nodes come with their ports and links, else one a line.
  NodesReport(const Fabric& of, bool ports) : FabricReport(of), with_ports(ports) {}

  void visit(report::Sink& sink) const override {
    with_ports ? visit_nodes(sink, nodes, known_ports()) : report::Table<NodeLine>(node_columns()).visit(sink, "nodes", lines());
    visit_failures(sink);
  }
  void text(TextOut& out) const override {
    const formats::TopologyText text(fabric.subnet, &fabric.names);
    for (const NodeIndex at : nodes) {
      with_ports ? text.node(out.buffer(), at) : text.summary(out.buffer(), at);
      out.write({});
    }
  }
  std::vector<NodeLine> lines() const {
    std::vector<NodeLine> lines;
    for (const NodeIndex at : nodes) lines.push_back({&fabric, at});
    return lines;
  }

  bool with_ports;
  std::vector<NodeIndex> nodes;
};

/// What python-rdma calls the parts of the fabric that are read.
constexpr std::string_view list_read = "all_LIDs, all_NodeDescription, all_NodeInfo, all_topology";

class ListNodes : public Command {
 public:
  explicit ListNodes(subnet::NodeKinds kinds) : kinds_(kinds) {}

  void options(OptionSet& set, CommonOptions& common) override {
    add_discovery(set, discovery_);
    add_table_options(set, common, shown_, keys_of(node_columns()));
    add_common(set, common, group_fabric);
  }

  std::string_view table_rows() const override { return "nodes"; }

  async::Task<> run(Session& session, Emit& emit) override {
    auto table = report::Table<NodeLine>(node_columns(), shown_);
    subnet::DiscoverNeeds& needs = discovery_.needs;  // not the ports of CAs and routers
    needs.descriptions = kinds_;
    needs.switch_infos = kinds_.has(NodeKind::sw);
    needs.end_ports = needs.switch_infos ? subnet::NodeKinds{NodeKind::sw} : subnet::NodeKinds{};
    needs.links = emit.json() || shown_.given();  // the routes
    Fabric fabric = co_await discover(session, discovery_);
    NodesReport report(fabric, false);
    report.nodes = subnet::by_guid(fabric.subnet);
    std::erase_if(report.nodes, [&](NodeIndex at) { return !kinds_.has(fabric.subnet.node(at).kind()); });
    if (shown_.given()) {
      emit(TableReport<NodeLine>(fabric, "nodes", std::move(table), report.lines()));
    } else {
      emit(report);
    }
    note_discovered(session.host(), list_read);
  }

 protected:
  subnet::NodeKinds kinds_;
  DiscoveryOptions discovery_;
  TableOptions shown_;
};

/// ibhosts, ibswitches or ibrouters of infiniband-diags, which are scripts. ibnodes runs two of them, one after the other.
class ListScripts final : public Command {
 public:
  explicit ListScripts(std::vector<NodeKind> scripts) : scripts_(std::move(scripts)) {}

  void diags_options(OptionSet& set, CommonOptions& common) override {
    set.script([this, &common](const std::vector<std::string>& words) { read(words, common); });
  }

  async::Task<> run(Session& session, Emit& emit) override {
    TextOut& out = emit.text();
    if (usage_) {
      for (const NodeKind kind : scripts_)
        out.print("Usage: {} [-h] [FILE | [-y M_KEY] [-C CA] [-P PORT] [-t MILLISECONDS]]\n", name_of(kind));
      emit.set_diags_status(diags_failed);
      co_return;
    }
    if (file_) co_return list_file(session.host(), emit);
    LibibnetdiscFabric fabric;
    if (failure_.empty()) co_await sweep(session, fabric);
    if (failure_.empty()) co_return list_fabric(fabric, out);
    // Error messages have the path by which the scripts call ibnetdiscover.
    const std::string line = failure_line(session.host().world().diags_directory + "/ibnetdiscover", failure_);
    for (const NodeKind kind : scripts_) list_topology(out.buffer(), line, kind);
    emit.set_diags_status(diags_failed);
  }

 private:
  /// A script takes a topology file in the place of the fabric, or options of ibnetdiscover, which it passes on.
  void read(const std::vector<std::string>& words, CommonOptions& common) {
    constexpr std::array<std::string_view, 8> with_value{"-y", "--m_key", "-P", "--Port", "-C", "--Ca", "-t", "--timeout"};
    std::vector<std::string> passed;
    for (std::size_t at = 0; at < words.size(); ++at) {
      const bool takes_value = std::ranges::find(with_value, words[at]) != with_value.end();
      if (takes_value && at + 1 < words.size() && !words[at + 1].starts_with('-')) {
        passed.insert(passed.end(), {words[at], words[at + 1]});
        ++at;
      } else if (words[at].starts_with('-') || file_) {
        usage_ = true;
      } else {
        file_ = words[at];
      }
    }
    if (usage_ || file_) return;
    OptionSet set("ibnetdiscover");
    set.without("DGKLs");
    std::vector<char*> argv;
    for (std::string& word : passed) argv.push_back(word.data());
    try {
      read_diags_line(set, common, argv);
    } catch (const DiagsFailure& failure) {
      failure_ = failure.message();
    }
  }

  static std::string_view name_of(NodeKind kind) {
    return kind == NodeKind::ca ? "ibhosts" : kind == NodeKind::sw ? "ibswitches" : "ibrouters";
  }

  async::Task<> sweep(Session& session, LibibnetdiscFabric& fabric) {
    for (std::size_t script = 0; script < scripts_.size(); ++script) {  // each prints why it cannot open the port
      try {
        open_for_libibnetdisc(session.stack());
        break;
      } catch (const DiagsFailure& failure) {
        failure_ = failure.message();
      }
    }
    if (!failure_.empty()) co_return;
    const LibibnetdiscWanted everything;
    try {
      co_await discover_as_libibnetdisc(session, everything, fabric);
    } catch (const DiagsFailure& failure) {
      failure_ = failure.message();
    }
  }

  void list_fabric(const LibibnetdiscFabric& fabric, TextOut& out) const {
    const formats::DiagsTopology topology(fabric.subnet, &fabric.names);
    std::string head;
    for (const NodeKind kind : scripts_) {
      for (const NodeIndex at : fabric.order) {
        if (fabric.subnet.node(at).kind() != kind) continue;
        head.clear();
        topology.detail(head, at);
        list_topology_line(out.buffer(), head, kind);
        out.write({});
      }
    }
  }

  void list_file(const Host& host, Emit& emit) const {
    constexpr std::size_t longest = std::size_t{1} << 30;
    for (const NodeKind kind : scripts_) {
      try {
        const std::string text = read_regular_file(*file_, longest);
        std::string list;
        list_topology(list, text, kind);
        emit.text().write(printable_words(list));  // behind the columns, which cut words at bytes
      } catch (const SysError& error) {
        // In the words of cat, which the scripts use to read it.
        print_on_stderr(host.world(), fmt::format("cat: {}: {}\n", printable_words(*file_), std::strerror(error.code())));
        emit.set_diags_status(1);
      } catch (const Error& error) {
        print_on_stderr(host.world(), fmt::format("{}: {}\n", name_of(kind), error.what()));
        emit.set_diags_status(1);
      }
    }
  }

  std::vector<NodeKind> scripts_;  ///< what they list
  bool usage_{};                   ///< the words are wrong: print the usage
  std::optional<std::string> file_;
  std::string failure_;  ///< what ibnetdiscover prints before it gives up
};

class PrintNode final : public ListNodes {
 public:
  explicit PrintNode(NodeKind kind) : ListNodes({kind}), kind_(kind) {}

  void options(OptionSet& set, CommonOptions& common) override {
    set.target_patterns("TARGET", targets_);
    set.flag("-l --list", list_, "List all nodes of the kind instead.");
    set.instead_of_operands("-l");
    add_discovery(set, discovery_);
    add_common(set, common, group_target);
  }
  std::string_view table_rows() const override { return list_ ? "nodes" : "nodes.ports"; }

  async::Task<> run(Session& session, Emit& emit) override {
    if (list_) co_return co_await ListNodes::run(session, emit);
    discovery_.needs.switch_infos = kind_ == NodeKind::sw;
    Fabric fabric = co_await discover(session, discovery_);
    NodesReport report(fabric, true);
    for (const TargetPort& one : targets_)
      one.target.path ? report.nodes.push_back(find(fabric, one.target)) : add_matches(fabric, one, report.nodes);
    emit(report);
    note_discovered(session.host(), list_read);
  }

 private:
  /// The node of TARGET. The GUID of a node comes first, also a short one (0x400), and needs none of its ports to be known.
  NodeIndex find(const Fabric& fabric, const Target& target) const {
    const path::Path& path = *target.path;
    const Guid guid = parse_guid(target.text()).value_or(path.ib().dgid.value_or(Gid{}).guid());
    NodeIndex found = guid == Guid{} ? subnet::none : fabric.subnet.find_node(guid);
    if (found == subnet::none) {
      found = fabric.subnet.port(subnet::get_port(fabric, path)).node;
    } else if (std::string several = subnet::several_text(fabric.subnet, guid); !several.empty()) {
      throw Error(std::move(several));
    }
    const subnet::Node& node = fabric.subnet.node(found);
    if (node.kind() == kind_) return found;
    path::IbPath way;
    way.dlid = fabric.subnet.lid(fabric.subnet.end_port_of(node.first_port + node.entry_port));
    throw Error(fmt::format("{} is {}, not {}", called(node.description(), way), kind_text(node.info.node_type),
                            kind_text(static_cast<smp::NodeType>(kind_))));
  }

  void add_matches(const Fabric& fabric, const TargetPort& pattern, std::vector<NodeIndex>& nodes) const {
    const std::size_t before = nodes.size();
    for (const ChosenNode& fitting : chosen_nodes(fabric, {pattern})) {
      if (fabric.subnet.node(fitting.node).kind() == kind_) nodes.push_back(fitting.node);
    }
    if (nodes.size() == before)
      throw Error(
          fmt::format("No node whose name fits {} is {}", in_quotes(pattern.target.text()), kind_text(static_cast<smp::NodeType>(kind_))));
  }

  NodeKind kind_;
  bool list_{};
  std::vector<TargetPort> targets_;
};

template <class T, NodeKind... kinds>
std::unique_ptr<Command> make() {
  return std::make_unique<T>(std::initializer_list<NodeKind>{kinds...});
}

/// A command that lists the nodes of some kinds, and the script of infiniband-diags with its name.
template <NodeKind... kinds>
constexpr CommandInfo list_of(std::string_view name, std::string_view summary) {
  return {.name = name,
          .group = HelpGroup::topology,
          .summary = summary,
          .make = make<ListNodes, kinds...>,
          .make_diags = make<ListScripts, kinds...>};
}

/// A command that prints nodes of a kind. `alias` is its name in python-rdma.
template <NodeKind kind>
constexpr CommandInfo print_of(std::string_view name, std::string_view alias, std::string_view summary) {
  return {.name = name, .group = HelpGroup::topology, .summary = summary, .make = make_command<PrintNode, kind>, .alias = alias};
}

}  // namespace

constinit const CommandInfo rooms::ibhosts = list_of<NodeKind::ca>("ibhosts", "List the channel adapters: node GUID, ports, description.");
constinit const CommandInfo rooms::ibswitches = list_of<NodeKind::sw>("ibswitches", "List the switches: node GUID, ports, description.");
constinit const CommandInfo rooms::ibrouters = list_of<NodeKind::router>("ibrouters", "List the routers: node GUID, ports, description.");
constinit const CommandInfo rooms::ibnodes = list_of<NodeKind::ca, NodeKind::sw>("ibnodes", "List the channel adapters and the switches.");
constinit const CommandInfo rooms::ibprintca =
    print_of<NodeKind::ca>("ibprintca", "ibprintca.pl", "Print a channel adapter with its ports and links, or list all.");
constinit const CommandInfo rooms::ibprintswitch =
    print_of<NodeKind::sw>("ibprintswitch", "ibprintswitch.pl", "Print a switch with its ports and links, or list all.");
constinit const CommandInfo rooms::ibprintrt =
    print_of<NodeKind::router>("ibprintrt", "ibprintrt.pl", "Print a router with its ports and links, or list all.");

}  // namespace ib::tools
