// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibfindnodesusing: the hosts whose packets use a link, according to the linear forwarding tables at both ends of the link.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <set>
#include <string_view>

#include "base/escape.hpp"
#include "iba/text.hpp"
#include "routing/tables.hpp"
#include "subnet/model/find_port.hpp"
#include "subnet/model/names.hpp"
#include "subnet/model/port_checks.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/explanation.hpp"
#include "tools/frame/manners.hpp"
#include "tools/ibfindnodesusing/host_list.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/libibnetdisc.hpp"
#include "tools/shared/table_options.hpp"

namespace ib::tools {
namespace using_link {
/// The list begins with an empty name, as in infiniband-diags. This name makes the blank at the beginning of the line. Its number is 0.
std::string host_list(std::vector<std::string> names) {
  const auto digits = [](const std::string& name) {
    return name.substr(name.find_last_not_of("0123456789") + 1);
  };  // all, if it has no others
  const auto number = [&](const std::string& name) { return std::strtod(digits(name).c_str(), nullptr); };
  names.insert(names.begin(), "");
  std::ranges::stable_sort(names, {}, number);
  std::map<std::string, std::vector<std::vector<std::string>>> by_text;  // runs of names
  for (const std::string& name : names) {
    auto& runs = by_text[name.substr(0, name.size() - digits(name).size())];
    if (runs.empty() || number(runs.back().back()) != number(name) - 1) runs.emplace_back();
    runs.back().push_back(name);
  }
  std::string list;
  for (const auto& [text, runs] : by_text) {
    for (const auto& run : runs) list += run.front() + (run.size() == 1 ? "," : "-" + digits(run.back()) + ",");
  }
  // Commas within names are replaced too. Empty names at the end are dropped.
  list.erase(list.find_last_not_of(',') + 1);
  std::ranges::replace(list, ',', ' ');
  return list;
}

namespace {

using subnet::NodeIndex;
using subnet::none;
using subnet::PortIndex;

/// The tables of the switches at the ends of the link; no other tables are read.
struct LinkTables {
  explicit LinkTables(const subnet::Subnet& subnet) : network(subnet), linear(network.switches().size(), network.last_lid()) {}
  routing::Network network;
  routing::LinearTables linear;

  /// The switch of a port, or routing::none.
  routing::SwitchIndex switch_of(PortIndex port) const { return network.switch_of(network.subnet().port(port).node); }
  std::vector<routing::ForwardingEntry> entries(PortIndex port) const { return routing::entries_of(network, linear, switch_of(port)); }
  /// Reads the tables of the switches of `ports`. Returns the blocks that are missing.
  async::Task<subnet::Failures> read(Stack& stack, std::vector<PortIndex> ports) {
    std::vector<routing::SwitchIndex> switches;
    for (const PortIndex port : ports) {
      const routing::SwitchIndex at = switch_of(port);
      if (at != routing::none && std::ranges::find(switches, at) == switches.end()) switches.push_back(at);
    }
    const routing::TablesToRead to{.linear = &linear, .only = std::move(switches)};
    co_return co_await routing::read_tables(stack.transactor(), network, to, stack.here());
  }
};

struct SendingEnd {
  PortIndex port = none;
  std::vector<PortIndex> destinations;
  bool is_switch = false;
  bool is_read = false;  ///< the whole table of the switch
};

/// A row of a table: an end port, and the end of the link that sends packets to it.
struct DestinationLine : PortLine {
  PortIndex from;
};

std::span<const report::Column<DestinationLine>> destination_columns() {
  static const auto columns = [] {
    std::vector<report::Column<DestinationLine>> all{
        {{.key = "from.node_description", .heading = "FROM", .usual = true},
         [](const DestinationLine& line) { return report::text_cell(std::string(line.fabric->subnet.node_of(line.from).description())); }},
        {{.key = "from.port_num", .heading = "PORT", .usual = true},
         [](const DestinationLine& line) { return report::Cell(std::uint64_t{line.fabric->subnet.port(line.from).number}); }}};
    const auto of_port = listed_columns_of<DestinationLine>({"node_description", "node_type", "port_guid", "lid"});
    all.insert(all.end(), of_port.begin(), of_port.end());
    return all;
  }();
  return columns;
}

struct LinkUseReport final : FabricReport {
  SendingEnd near, far;
  bool details{};

  using FabricReport::FabricReport;

  void visit(report::Sink& sink) const override {
    sink.objects("ends", std::array{near, far}, [&](const SendingEnd& end) {
      visit_end_port(sink, end.port);
      sink.value("port_num", fabric.subnet.port(end.port).number);
      if (end.is_switch && end.is_read) {
        sink.objects("destinations", end.destinations, [&](const PortIndex at) { visit_end_port(sink, at); });
      } else {
        sink.null("destinations");
      }
    });
    visit_failures(sink);
  }

  void text(TextOut& out) const override {
    direction(out, near, "==>>");
    out.write("\n");
    direction(out, far, "<<==");
  }

  std::vector<DestinationLine> lines() const {
    std::vector<DestinationLine> lines;
    for (const SendingEnd& end : {near, far})
      for (const PortIndex at : end.destinations) lines.push_back({{&fabric, at}, end.port});
    return lines;
  }

 private:
  void visit_end_port(report::Sink& sink, PortIndex at) const {
    visit_names(sink, fabric.subnet.port(at).node);
    sink.value("port_guid", guid(at));
    sink.lid_or_null("lid", fabric.subnet.lid(at));
  }
  Guid guid(PortIndex at) const { return fabric.subnet.end_port_guid(at); }
  std::string name(PortIndex at) const { return escaped(subnet::name_of(fabric.subnet.node_of(at), &fabric.names)); }
  std::string end_text(const SendingEnd& end) const {
    return fmt::format("{} {} \"{}\"", to_text(guid(end.port)), fabric.subnet.port(end.port).number, name(end.port));
  }
  void direction(TextOut& out, const SendingEnd& end, std::string_view arrow) const {
    out.print("{} {} {}\n", end_text(near), arrow, end_text(far));
    if (!end.is_switch) out.write(" ** Not a switch **\n");
    if (end.is_switch && !end.is_read) out.write(" ** The forwarding table was not read completely **\n");
    for (const PortIndex at : end.destinations) {
      out.print(" {}\n", details ? fmt::format("{} lid {} \"{}\"", to_text(guid(at)), fabric.subnet.lid(at).value, name(at)) : name(at));
    }
  }
};

class Ibfindnodesusing final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.target("TARGET", target_);
    set.integer("PORT", port_);
    set.is_port();
    set.flag("-a --all", all_, "Show all end ports, not only those of channel adapters.");
    set.notes("TARGET is a switch. With -v GUIDs and LIDs are shown too.");
    add_discovery(set, discovery_);
    add_table_options(set, common, table_, keys_of(destination_columns()));
    add_common(set, common, group_target);
  }

  std::string_view table_rows() const override { return table_.given() ? "destinations" : "ends"; }

  async::Task<> run(Session& session, Emit& emit) override {
    table_.refuse_for_json(session.host().options().format, "destinations", "ends of a link");
    report::Table<DestinationLine>(destination_columns(), table_);
    discovery_.needs.switch_infos = false;  // the two ends give theirs with their tables
    Fabric fabric = co_await discover(session, discovery_);
    const NodeIndex at = co_await find_switch(session.stack(), fabric);
    if (!table_.given()) emit.heading(escaped(subnet::name_of(fabric.subnet.node(at), &fabric.names)));
    LinkUseReport report(fabric);
    report.near.port = fabric.subnet.port_of(at, port_);
    report.far.port = report.near.port == none ? none : fabric.subnet.port(report.near.port).peer;
    if (report.far.port == none) throw Error(why_no_far_end(fabric, at, report.near.port));
    LinkTables tables(fabric.subnet);
    std::vector<PortIndex> ends{report.near.port, report.far.port};
    subnet::Failures failures = co_await tables.read(session.stack(), std::move(ends));
    for (SendingEnd* end : {&report.near, &report.far}) find_destinations(fabric, tables, *end);
    require_read(report.near.is_read || report.far.is_read, failures);
    add_failures(session.host(), fabric, std::move(failures));
    report.details = session.host().options().verbosity > 0;
    emit_either(emit, table_, report, "destinations", destination_columns(), [&report] { return report.lines(); });
    note_discovered(session.host(), "all_LIDs, all_NodeDescription, all_NodeInfo, all_topology");
  }

 private:
  /// Why the port has no other end in the model: no link, or nothing that is known of it.
  std::string why_no_far_end(const Fabric& fabric, NodeIndex node, PortIndex port) const {
    const subnet::Subnet& subnet = fabric.subnet;
    const auto is_unread = [node](const subnet::Failure& failure) { return failure.node == node && failure.attribute == "PortInfo"; };
    const bool is_listed = port != none && subnet.port(port).is_known();
    if (is_listed ? !subnet.port(port).has_info : std::ranges::any_of(fabric.failures, is_unread))
      return fmt::format("It is not known whether port {} has a link: its PortInfo was not read", port_);
    if (!is_listed) return fmt::format("No link on port {}", port_);
    if (!subnet::is_trained(subnet.port(port))) return fmt::format("No link on port {}", port_);
    return fmt::format("Port {} has a link, and it is not known what is behind it", port_);
  }

  /// The switch of TARGET. The NodeInfo of a node that the sweep did not find is requested, so that the error can say that the node is not
  /// a switch.
  async::Task<NodeIndex> find_switch(Stack& stack, const Fabric& fabric) const {
    const subnet::Subnet& subnet = fabric.subnet;
    const subnet::FoundPort found = subnet::find_port(fabric, *target_.path);
    const NodeIndex at = found ? subnet.port(found.port).node : none;
    smp::NodeInfo info;
    if (at != none) info = subnet.node(at).info;
    const auto has_port = [&] { return info.node_type == smp::NodeType::switch_ && port_ >= 1 && port_ <= info.num_ports; };
    if (!has_port()) {
      const Destination node = co_await stack.manners().smp_node(target_);
      if (at == none) info = co_await stack.transactor().subn_get<smp::NodeInfo>(node.path);
      const std::string whom = co_await named_node(stack, node.path);
      if (info.node_type != smp::NodeType::switch_) throw Error(no_table_text(whom, info.node_type));
      if (!has_port()) throw UsageError(no_such_port_text(whom, info, port_));
    }
    if (at == none) throw Error(fmt::format("The sweep did not find {}", to_text(info.node_guid)));
    co_return at;
  }

  void find_destinations(const Fabric& fabric, const LinkTables& tables, SendingEnd& end) const {
    const subnet::Subnet& subnet = fabric.subnet;
    const subnet::Port& port = subnet.port(end.port);
    const routing::SwitchIndex sends = tables.switch_of(end.port);
    end.is_switch = sends != routing::none;
    end.is_read = end.is_switch && tables.linear.is_known(sends);
    std::set<PortIndex> found;
    for (const routing::ForwardingEntry& entry : tables.entries(end.port)) {
      const bool is_wanted = all_ || subnet.node_of(entry.owner).kind() == subnet::NodeKind::ca;
      if (entry.port == port.number && is_wanted) found.insert(entry.owner);
    }
    end.destinations.assign(found.begin(), found.end());
    const auto key = [&](PortIndex at) {
      const subnet::Node& node = subnet.node_of(at);
      return std::make_pair(subnet::name_of(node, &fabric.names), node.guid());
    };
    std::ranges::stable_sort(end.destinations, {}, key);
  }

  Target target_;
  unsigned port_{};
  bool all_{};
  TableOptions table_;
  DiscoveryOptions discovery_;
};

class IbfindnodesusingDiags final : public Command {
 public:
  void diags_options(OptionSet& set, CommonOptions& common) override {
    set.perl_script();
    set.optional_operands();
    set.word("SWITCH_GUID", guid_);
    set.word("PORT", number_);
    set.flag("-R", ignored_, "No effect: the fabric is always read again.");
    add_common(set, common, group_device);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    if (number_.empty()) throw DiagsUsage();
    const std::string wanted = guid_text(guid_);
    LibibnetdiscFabric fabric;
    const LibibnetdiscWanted everything;
    try {
      co_await discover_as_libibnetdisc(session, everything, fabric);
    } catch (const DiagsFailure&) {
      // ibnetdiscover has said why on stderr. The script goes on.
    } catch (const Error& error) {
      print_on_stderr(session.host().world(), error.message() + "\n");
    }
    const auto nodes = fabric.subnet.nodes();
    const auto at = std::ranges::find_if(nodes, [&](const subnet::Node& node) {
      return node.kind() == subnet::NodeKind::sw && fmt::format("{:#018x}", node.guid().value) == wanted;
    });
    if (at == nodes.end()) {
      emit.text().print("Switch \"{}\" not found\n   Try running with the \"-R\" or \"-P\" option.\n", printable_words(wanted));
      emit.set_diags_status(1);
      co_return;
    }
    co_await show(session.stack(), emit, fabric, static_cast<NodeIndex>(at - nodes.begin()));
  }

 private:
  /// A GUID in the form that infiniband-diags compares.
  static std::string guid_text(std::string word) {
    for (char& letter : word) letter = letter >= 'A' && letter <= 'F' ? static_cast<char>(letter - 'A' + 'a') : letter;
    const std::size_t at = word.find("0x");
    if (at != std::string::npos) word = word.substr(at + 2);
    return fmt::format("0x{:0>16}", word);
  }

  async::Task<> show(Stack& stack, Emit& emit, Fabric& fabric, NodeIndex at) const {
    const subnet::Subnet& subnet = fabric.subnet;
    PortIndex far = none;
    for (unsigned port = 1; port < subnet.node(at).slots; ++port) {
      if (std::to_string(port) == number_) far = subnet.port(subnet.node(at).first_port + port).peer;
    }
    std::vector<PortIndex> ends{subnet.node(at).first_port};
    if (far != none) ends.push_back(far);
    LinkTables tables(subnet);
    subnet::Failures failures = co_await tables.read(stack, std::move(ends));
    add_failures(stack.host(), fabric, std::move(failures));
    const subnet::Node& node = subnet.node(at);
    const std::string near_text = fmt::format("{:#018x} {} (\"{}\" {})", node.guid().value, printable_words(number_),
                                              diags_node_name(fabric.names, node.guid(), node.description()),
                                              node.switch_info().enhanced_port0 != 0 ? "enhanced" : "base");
    std::string far_text = "  ()";
    if (far != none) {
      const subnet::Node& peer = subnet.node_of(far);
      const std::string name = diags_node_name(fabric.names, peer.guid(), peer.description());
      // If a name has quotes, infiniband-diags uses only the text after the last quote.
      far_text = fmt::format("{:#018x} {} ({})", peer.guid().value, subnet.port(far).number, name.substr(name.rfind('"') + 1));
    }
    const double port = std::strtod(number_.c_str(), nullptr);
    warn_of_path(stack, subnet, at);
    emit.text().print("{}  ==>>  {}\n{}\n\n", near_text, far_text, hosts(fabric, tables, node.first_port, port));
    if (far != none) warn_of_path(stack, subnet, subnet.port(far).node);
    const double far_port = far == none ? -1 : subnet.port(far).number;
    emit.text().print("{}  <<==  {}\n{}\n", near_text, far_text, far == none ? "" : hosts(fabric, tables, far, far_port));
  }

  /// Prints what ibroute prints, by which the script looks for either end of the link, if the subnet administrator has no path to the GUID
  /// of the node. It knows only the GUIDs of end ports, and most channel adapters have others than their node.
  static void warn_of_path(Stack& stack, const subnet::Subnet& subnet, NodeIndex at) {
    const bool is_managed = stack.transactor().sa_path().ib().dlid != Lid{};
    if (!is_managed) warn(stack.host().world(), "sa_rpc_call", "only lid routes are supported");
    if (!is_managed || subnet.find_port(subnet.node(at).guid()) == none)
      warn(stack.host().world(), "ib_path_query_via", "sa call path_query failed");
  }

  /// The channel adapters to which a switch sends by `port`. Only the first LID of an adapter in the table counts.
  static std::string hosts(const Fabric& fabric, const LinkTables& tables, PortIndex at, double port) {
    const subnet::Subnet& subnet = fabric.subnet;
    std::vector<std::string> names;
    unsigned last = 0;
    for (const routing::ForwardingEntry& entry : tables.entries(at)) {
      if (entry.lid.value <= last) continue;
      if (subnet.lmc(entry.owner) > 0) last = subnet.lid(entry.owner).value + (1U << subnet.lmc(entry.owner)) - 1;
      const subnet::Node& node = subnet.node_of(entry.owner);
      if (node.kind() == subnet::NodeKind::ca && entry.port == port)
        names.push_back(diags_node_name(fabric.names, node.guid(), node.description()));
    }
    return host_list(std::move(names));
  }

  std::string guid_, number_;
  bool ignored_{};
};

}  // namespace
}  // namespace using_link

constinit const CommandInfo rooms::ibfindnodesusing{
    .name = "ibfindnodesusing",
    .group = HelpGroup::forwarding,
    .summary = "Show whose packets go over a link, by the tables of the switches at its ends.",
    .make = make_command<using_link::Ibfindnodesusing>,
    .make_diags = make_command<using_link::IbfindnodesusingDiags>,
    .alias = "ibfindnodesusing.pl",
};

}  // namespace ib::tools
