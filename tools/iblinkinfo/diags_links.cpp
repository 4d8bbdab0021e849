// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// iblinkinfo of infiniband-diags: a heading for each node and a line for each of its ports, or with -l complete lines without headings.
// Columns, blanks and words are as there. In descriptions, a blank replaces each character that cannot be printed. Descriptions are cut
// to 63 characters. The fields of a port that was not read are zero.
#include "tools/iblinkinfo/diags_links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "mad/transactor.hpp"
#include "path/parse.hpp"
#include "subnet/model/chassis.hpp"
#include "subnet/model/names.hpp"
#include "subnet/model/order.hpp"
#include "subnet/model/rate.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/manners.hpp"
#include "tools/shared/fabric_diff.hpp"
#include "tools/shared/libibnetdisc.hpp"

namespace ib::tools {
namespace {

using subnet::Node;
using subnet::NodeKind;
using subnet::none;
using subnet::Port;

constexpr DiffKey diff_keys[] = {
    {"port", &DiffChecks::ports},
    {"state", &DiffChecks::states},
    {"lid", &DiffChecks::lids},
    {"nodedesc", &DiffChecks::descriptions},
};

struct ShownLinks {
  bool line{};        ///< -l: no headings, a line describes both ends of a link
  bool additional{};  ///< -p
  bool down{};        ///< -d: only ports that are down
  /// --filterdownports: the ports that were down here are not printed if they still are; null: not given
  const subnet::Subnet* hides_down_of{};
};

class DiagsLinks {
 public:
  /// All arguments must outlive the object.
  DiagsLinks(const LibibnetdiscFabric& fabric, const subnet::NodeNameMap& names, const ShownLinks& shown)
      : subnet_(fabric.subnet), names_(names), shown_(shown), grouping_(subnet::group(fabric.subnet, fabric.order)) {}

  /// Prints the lines of the known and wanted ports of a node. Each line begins with `prefix`.
  void node(TextOut& out, NodeIndex at, std::string_view prefix = {}) const {
    const Node& node = subnet_.node(at);
    bool first = true;
    for (unsigned number = 1; number < node.slots && number <= node.info.num_ports; ++number) {
      const Port& of = subnet_.port(node.first_port + number);
      if (!of.is_known() || (shown_.down && of.state() != smp::PortState::down)) continue;
      if (first && !shown_.line) heading(out, at, prefix);
      first = false;
      port(out, node.first_port + number, prefix);
    }
  }

  void heading(TextOut& out, NodeIndex at, std::string_view prefix = {}) const {
    const Node& node = subnet_.node(at);
    if (node.kind() == NodeKind::sw)
      return out.print("{}Switch: 0x{:016x} {}:\n", prefix, subnet_.port_guid(node.first_port).value, name(at));
    const std::string_view kind = node.kind() == NodeKind::ca ? "CA" : node.kind() == NodeKind::router ? "Router" : "??";
    out.print("{}{}: {}:\n", prefix, kind, name(at));
  }

  void port(TextOut& out, PortIndex at, std::string_view prefix = {}) const {
    const Port& port = subnet_.port(at);
    if (port.state() == smp::PortState::down && was_down(at)) return;
    const std::string link_text = link(at), far = far_end(at);
    const std::string guid = fmt::format("0x{:016x} ", subnet_.port_guid(at).value);
    const bool is_switch = subnet_.node(port.node).kind() == NodeKind::sw;
    const std::string begin = shown_.line ? fmt::format("{}\"{}\" ", guid, right(name(port.node), 30))
                              : is_switch ? "      "
                                          : "      " + guid;
    out.print("{}{}{:6} {:4}[{:>2}] =={}==>  {}", prefix, begin, subnet_.lid(at).value, port.number, grouping_.external_text(at), link_text,
              far);
  }

  /// The number of lines that were cut. infiniband-diags cuts lines that are longer than its buffer.
  unsigned cut() const { return cut_; }
  /// The invalid widths that were found. infiniband-diags prints a warning for each.
  const std::vector<unsigned>& bad_widths() const { return bad_widths_; }

 private:
  bool was_down(PortIndex at) const {
    if (shown_.hides_down_of == nullptr) return false;
    const subnet::Subnet& before = *shown_.hides_down_of;
    const NodeIndex node = before.find_node(subnet_.node_of(at).guid());
    const PortIndex port = node == none ? node : before.port_of(node, subnet_.port(at).number);
    return port != none && before.port(port).state() == smp::PortState::down;
  }
  std::string name(NodeIndex at) const { return diags_node_name(subnet_.node(at), names_); }
  /// `text`, aligned to the right in a column of `width` bytes.
  static std::string right(const std::string& text, std::size_t width) {
    return std::string(width - std::min(width, text.size()), ' ') + text;
  }

  /// "( 4X 25.78125 Gbps Active/ LinkUp)", in columns. Width and speed are left out for a switch whose port 0 is not known.
  std::string link(PortIndex at) const {
    constexpr unsigned widest_code = 16;  // IBA 14.2.5.6: LinkWidthActive
    const Port& port = subnet_.port(at);
    const smp::PortInfo info = port.info();
    const bool known = subnet_.node(port.node).kind() != NodeKind::sw || subnet_.port(subnet_.end_port_of(at)).has_info;
    const std::string text = diags_link_text(subnet_, at, known);
    if (port.state() == smp::PortState::down) return text;
    const unsigned width = known ? info.link_width_active : 0U;
    if (!std::has_single_bit(width) || width > widest_code) bad_widths_.push_back(width);
    return shown_.additional ? fmt::format("{} (HOQ:{} VL_Stall:{})", text, info.hoq_life, info.vl_stall_count) : text;
  }

  std::string far_end(PortIndex at) const {
    constexpr std::size_t buffer = 255;
    const Port& port = subnet_.port(at);
    if (port.peer == none) return port.state() == smp::PortState::down ? "           [  ] \"\" ( )\n" : "    \"Port not available\"\n";
    const Port& peer = subnet_.port(port.peer);
    const std::string guid = shown_.line ? fmt::format("0x{:016x} ", subnet_.port_guid(port.peer).value) : "";
    const std::string text = fmt::format("{}{:6} {:4}[{:>2}] \"{}\" ({})\n", guid, subnet_.lid(port.peer).value, peer.number,
                                         grouping_.external_text(port.peer), name(peer.node), diags_could_be(subnet_, at));
    if (text.size() > buffer) ++cut_;
    return text.substr(0, buffer);
  }

  const subnet::Subnet& subnet_;
  const subnet::NodeNameMap& names_;
  const ShownLinks& shown_;
  const subnet::Grouping grouping_;  ///< the port numbers on the panels of chassis
  mutable unsigned cut_{};
  mutable std::vector<unsigned> bad_widths_;
};

/// Opens the end port, or ends as infiniband-diags does.
void open(Stack& stack) {
  try {
    std::ignore = stack.lowest_transactor();
  } catch (const DiagsFailure&) {
    throw DiagsExit(
        1, fmt::format("Failed to open {} port {}\n", diags_device(stack.host().options()), diags_port_number(stack.host().options())));
  }
}

bool has_line_board(const subnet::Subnet& subnet) {
  return std::ranges::any_of(subnet.nodes(), [](const subnet::Node& node) {
    return node.info.vendor_id == subnet::voltaire::vendor_id &&
           subnet::voltaire::line_board(node.info.device_id) != subnet::voltaire::Line::none;
  });
}

class PartialScan {
 public:
  std::optional<std::string> route;  ///< -D; takes precedence over the GUID
  std::optional<std::string> guid;   ///< -S and -G
  bool all{};                        ///< -a: print all nodes that were found on the way
  unsigned hops{};                   ///< -n; 0: not given
  std::optional<std::string> file;   ///< --load-cache

  /// Fills `fabric`. Returns the port GUID of the only node to print, or nothing for all nodes. Throws DiagsExit if nothing can be read.
  async::Task<std::optional<Guid>> read(Session& session, LibibnetdiscFabric& fabric) const {
    std::optional<Guid> wanted;
    if (guid && !all) wanted = Guid{c_number(*guid)};
    if (file) {
      co_await read_stored(session, fabric);
      co_return wanted;
    }
    open(session.stack());
    std::ignore = session.manners().node_name_map();
    std::optional<path::Path> start = co_await resolve(session.stack());
    std::optional<smp::NodeInfo> known;
    if (route && start) {
      const mad::Result<smp::NodeInfo> info = co_await session.stack().transactor().try_subn_get<smp::NodeInfo>(*start);
      if (!info && !all) session.manners().report_failure(info.error());
      if (info) known = *info;
      if (info && !all && !wanted) wanted = info->port_guid;
    }
    if (route && !all && !wanted) throw DiagsExit(1, "Failed to get local Node Info\n");
    if (start) {
      co_await read_around(session, *start, known, fabric);
    } else {
      LibibnetdiscWanted bounded;
      bounded.max_hops = hops;
      bounded.silent = true;
      co_await discover_as_libibnetdisc(session, bounded, fabric);
    }
    libibnetdisc_failures(session.host(), fabric, !start);
    co_return wanted;
  }

 private:
  async::Task<std::optional<path::Path>> resolve(Stack& stack) const {
    if (!route && !guid) co_return std::nullopt;
    Target target;
    target.word = route ? *route : *guid;
    try {
      const Destination node = co_await stack.manners().smp_node(target);
      co_return node.path;
    } catch (const DiagsFailure&) {
      warn(stack.host().world(), "main", fmt::format("Failed to resolve {}; attempting full scan{}", *target.word, route ? "" : "\n"));
    }
    co_return std::nullopt;
  }
  /// A file is always read as a whole. No port of this host is needed for it.
  async::Task<> read_stored(Session& session, LibibnetdiscFabric& fabric) const {
    if (route) throw DiagsExit(1, "Cannot specify cache and direct route path\n");
    LibibnetdiscWanted stored;
    stored.load_cache = file;
    try {
      co_await discover_as_libibnetdisc(session, stored, fabric);
    } catch (const CannotLoad&) {
      throw DiagsExit(1, "loading cached fabric failed\n");
    }
  }
  async::Task<> read_around(Session& session, path::Path start, std::optional<smp::NodeInfo> known, LibibnetdiscFabric& fabric) const {
    const unsigned bound = std::max(hops, 1U);
    const path::IbDrPath* directed = start.directed();
    const std::uint8_t length = directed != nullptr ? directed->hops : std::uint8_t{0};
    subnet::LegacyScan bounds;
    bounds.max_hops = bound;
    bounds.start_hops = length;
    bounds.by_lid = directed == nullptr;
    bounds.mlnx = session.host().options().mlnx_extended_port_info;
    // An end node does not forward directed routes. The sweep begins at the switch before it.
    const bool from_end_node = known && known->node_type != smp::NodeType::switch_ && length > 1;
    std::optional<subnet::KnownNode> first;
    if (known) first = subnet::KnownNode{*known};
    if (from_end_node) {
      path::IbDrPath before = *directed;
      first->beyond = before.retreat();
      start = before;
    }
    bool cuts = all;
    const unsigned radius = radius_for_libibnetdisc(bound);
    co_await discover_part_as_libibnetdisc(session, start, all ? radius : bound, fabric, first);
    if (!all && has_line_board(fabric.subnet)) {
      // The panel number of a line board's port depends on the spine board to which it is wired. This spine may be one link too far.
      fabric = LibibnetdiscFabric();
      cuts = true;
      co_await discover_part_as_libibnetdisc(session, start, radius, fabric, first);
    }
    if (!cuts && known && directed != nullptr && length == 0)
      co_await read_link_back(session.stack().lowest_transactor(), fabric, start, bound, bounds.mlnx);
    if (bounds.by_lid && is_cut_off(fabric)) bounds.start = co_await read_all_for(session, fabric);
    fabric.compute_sweep(session.host());
    if (!cuts || fabric.subnet.start == none) co_return;
    if (from_end_node) {
      const subnet::PortIndex port = fabric.subnet.port_of(fabric.subnet.port(fabric.subnet.start).node, first->beyond);
      if (port == none || fabric.subnet.port(port).peer == none) co_return;
      bounds.start = fabric.subnet.port(port).peer;
    }
    fabric.keep(subnet::legacy_sweep(fabric.subnet, bounds));
  }
  /// If a switch does not answer directed routes that begin at its LID, sweeps the whole subnet for it. Returns the port 0 of the switch.
  async::Task<subnet::PortIndex> read_all_for(Session& session, LibibnetdiscFabric& fabric) const {
    const Guid wanted = fabric.subnet.node_of(fabric.subnet.start).guid();
    fabric = LibibnetdiscFabric();
    LibibnetdiscWanted whole;
    whole.silent = true;
    co_await discover_as_libibnetdisc(session, whole, fabric);
    const subnet::NodeIndex node = fabric.subnet.find_node(wanted);
    if (node == none) co_return none;
    if (!all) std::erase_if(fabric.failures, [node](const subnet::Failure& failure) { return failure.node != node; });
    co_return fabric.subnet.node(node).first_port;
  }
};

class IblinkinfoDiags final : public Command {
 public:
  void diags_options(OptionSet& set, CommonOptions& common) override {
    const auto port_guid = [this, &set, &common](const Spelling& spelling) {
      set.value(spelling, "PORT_GUID", "Show only the node with this port GUID.", [this, &common](const std::string& word) {
        scan_.guid = word;
        if (!scan_.route) common.address = path::Form::guid;
      });
    };
    add_node_name_map(set, common);
    port_guid("-S --switch");
    port_guid("-G --port-guid");
    set.value("-D --Direct", "ROUTE", "Show only the node at the end of this directed route.", [this, &common](const std::string& word) {
      scan_.route = word;
      common.address = path::Form::direct;
    });
    set.flag("-a --all", scan_.all, "Show all nodes that were found around the node of -S, -G or -D.");
    set.value("-n --hops", "N", "How many hops around that node, or around this host, to sweep.",
              [this](const std::string& text) { scan_.hops = static_cast<unsigned>(c_number(text)); });
    set.flag("-d --down", shown_.down, "Print only the ports that are down.");
    set.flag("-l --line", shown_.line, "Print all of a link in its line, without headings.");
    set.flag("-p --additional", shown_.additional, "Print also HOQLife and VLStallCount.");
    set.text("--load-cache", scan_.file, "FILE", "Read this file of ibnetdiscover --cache, and no fabric.");
    add_diff(set, diff_);
    set.text("--filterdownports", without_down_, "FILE", "Leave out the ports that were down in this file of ibnetdiscover --cache.");
    add_outstanding_smps(set, common);
    set.action("--switches-only", "Show only switches.", [this] { only_kind_ = NodeKind::sw; });
    set.action("--cas-only", "Show only channel adapters.", [this] { only_kind_ = NodeKind::ca; });
    set.without("aDdGgKLlnpRS");
  }

  async::Task<> run(Session& session, Emit& emit) override {
    if (diff_.file) stored_.load(session.host(), *diff_.file, "diff");
    if (without_down_) {
      down_before_.load(session.host(), *without_down_, "filterdownports");
      shown_.hides_down_of = &down_before_.subnet;
    }
    const std::optional<Guid> wanted = co_await scan_.read(session, fabric_);
    if (wanted) {
      const NodeIndex at = node_of(*wanted);
      if (at == none) {
        print_on_stderr(session.host().world(), fmt::format("Failed to find port: {}\n", scan_.guid ? *scan_.guid : *scan_.route));
        co_return;
      }
      only_node_ = fabric_.subnet.node(at).guid();
    }
    const std::vector<NodeIndex> nodes = shown_nodes(fabric_.subnet, fabric_.order);
    const DiagsLinks links(fabric_, fabric_.names, shown_);
    if (diff_.file) {
      print_differences(emit.text(), links, nodes);
    } else {
      for (const NodeIndex at : nodes) links.node(emit.text(), at);
    }
    for (const unsigned width : links.bad_widths()) warn(session.host().world(), "mad_dump_linkwidth", fmt::format("bad width {}", width));
    for (unsigned i = 0; i < links.cut(); ++i) print_on_stderr(session.host().world(), "WARN: string buffer overflow\n");
  }

 private:
  NodeIndex node_of(Guid guid) const {
    const PortIndex port = fabric_.subnet.find_port(guid);
    if (port == none || !fabric_.subnet.port(port).has_info) return none;
    const NodeIndex at = fabric_.subnet.port(port).node;
    return only_kind_ && fabric_.subnet.node(at).kind() != *only_kind_ ? none : at;
  }

  std::vector<NodeIndex> shown_nodes(const subnet::Subnet& subnet, std::vector<NodeIndex> nodes) const {
    std::erase_if(nodes, [&](NodeIndex at) {
      const subnet::Node& node = subnet.node(at);
      return (only_kind_ && node.kind() != *only_kind_) || (only_node_ && node.guid() != *only_node_);
    });
    return nodes;
  }

  /// infiniband-diags compares a single node with itself: the node is printed only if the stored fabric lacks it.
  void print_differences(TextOut& out, const DiagsLinks& is, const std::vector<NodeIndex>& nodes) const {
    if (only_node_ && stored_.subnet.find_node(*only_node_) != none) return;
    const DiagsLinks was(stored_, fabric_.names, shown_);
    const DiffSide before{stored_.subnet, shown_nodes(stored_.subnet, stored_.order), {}}, after{fabric_.subnet, nodes, {}};
    for (const NodeDifference& found : differences(before, after, diff_.checks, DiffWay::links)) {
      if (found.after == none) {
        was.node(out, found.before, old_side);
      } else if (found.before == none) {
        is.node(out, found.after, new_side);
      } else {
        print_changes(out, was, is, found);
      }
    }
  }

  void print_changes(TextOut& out, const DiagsLinks& was, const DiagsLinks& is, const NodeDifference& found) const {
    if (found.head && !shown_.line) {
      was.heading(out, found.before, old_side);
      is.heading(out, found.after, new_side);
    } else if (!shown_.line && (found.num_ports || !found.ports.empty())) {
      was.heading(out, found.before);
    }
    if (found.num_ports) {
      out.print("{}numports = {}\n", old_side, stored_.subnet.node(found.before).info.num_ports);
      out.print("{}numports = {}\n", new_side, fabric_.subnet.node(found.after).info.num_ports);
    }
    for (const PortDifference& port : found.ports) {
      if (port.before != none) was.port(out, port.before, old_side);
      if (port.after != none) is.port(out, port.after, new_side);
    }
  }

  ShownLinks shown_;
  std::optional<NodeKind> only_kind_;
  PartialScan scan_;
  DiffOptions diff_{diff_keys, {.ports = true, .states = true}};
  std::optional<std::string> without_down_;
  LibibnetdiscFabric fabric_, stored_, down_before_;  ///< the fabric, the fabric of --diff, the fabric of --filterdownports
  std::optional<Guid> only_node_;                     ///< the only node to print
};

}  // namespace

std::unique_ptr<Command> make_iblinkinfo_diags() { return std::make_unique<IblinkinfoDiags>(); }

}  // namespace ib::tools
