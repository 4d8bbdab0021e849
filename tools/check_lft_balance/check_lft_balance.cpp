// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// check_lft_balance: whether the linear forwarding tables use the links between switches equally.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "base/escape.hpp"
#include "base/file.hpp"
#include "base/split.hpp"
#include "iba/text.hpp"
#include "report/sink.hpp"
#include "routing/tables.hpp"
#include "subnet/model/names.hpp"
#include "subnet/model/order.hpp"
#include "tools/check_lft_balance/balance.hpp"
#include "tools/frame/commands.hpp"
#include "tools/shared/diags_fabric.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/libibnetdisc.hpp"
#include "tools/shared/table_options.hpp"

namespace ib::tools {
namespace balance {
namespace {

constexpr unsigned few_ports = 12;  ///< a switch with so few used ports is not examined deeper

/// Whether no port carries more than one LID more than another.
bool is_even(const std::vector<PortUse>& ports) {
  const auto [least, most] = std::ranges::minmax_element(ports, {}, &PortUse::lids);
  return ports.empty() || most->lids <= least->lids + 1;
}

/// The ports that carry at least two LIDs less than the port that carries the most. Without `unused`, only ports that carry LIDs.
std::vector<PortUse> others(const std::vector<PortUse>& ports, bool unused) {
  const unsigned most = std::ranges::max_element(ports, {}, &PortUse::lids)->lids;
  std::vector<PortUse> rest;
  std::ranges::copy_if(ports, std::back_inserter(rest),
                       [&](const PortUse& port) { return port.lids + 1 < most && (unused || port.lids != 0); });
  return rest;
}

bool is_about_half(std::size_t count, unsigned of) {
  const std::size_t half = of / 2;
  return count == half || count == half + 1 || count + 1 == half;
}

}  // namespace

void judge(SwitchUse& of, bool deeper) {
  of.unbalanced = !is_even(of.ports);
  if (!of.unbalanced || !deeper || of.in_use <= few_ports) return;
  const std::vector<PortUse> half = others(of.ports, false);
  if (is_about_half(half.size(), of.in_use) && is_even(half)) of.unbalanced = false;
  const std::vector<PortUse> rest = others(of.ports, true);
  if (std::ranges::all_of(rest, [](const PortUse& port) { return port.lids == 0; })) of.unbalanced = false;
}

namespace {

using subnet::NodeIndex;
using subnet::PortIndex;

constexpr std::size_t longest_file = 1U << 30;

void print(TextOut& out, const SwitchUse& found) {
  out.print("{}Switch Port Usage: {}, {}\n", found.unbalanced ? "Unbalanced " : "", printable_words(found.name),
            printable_words(found.guid));  // from a file
  for (const PortUse& port : found.ports) out.print("Port {:03}: {}\n", port.port, port.lids);
}

struct SwitchBalance {
  NodeIndex node;
  std::optional<SwitchUse> use;  ///< nothing if the table of the switch was not read as a whole
  bool unbalanced() const { return use && use->unbalanced; }
};

/// A row of a table: a port of a switch that leads to another switch.
struct BalanceLine : PortLine {
  bool balanced;
  unsigned lids;
};

std::span<const report::Column<BalanceLine>> balance_columns() {
  static const auto columns = [] {
    auto all = listed_columns_of<BalanceLine>({"node_description", "port_num", "peer.node_description", "peer.port_num"});
    all.push_back(
        {{.key = "balanced", .heading = "BALANCED", .usual = true}, [](const BalanceLine& line) { return report::Cell(line.balanced); }});
    all.push_back({{.key = "routed_lids", .heading = "LIDS", .measure = report::gauge(), .usual = true},
                   [](const BalanceLine& line) { return report::Cell(std::uint64_t{line.lids}); }});
    return all;
  }();
  return columns;
}

struct BalanceReport final : FabricReport {
  std::vector<SwitchBalance> rows;
  bool all{};

  using FabricReport::FabricReport;

  void visit(report::Sink& sink) const override {
    sink.begin_array("switches");
    if (!fabric.subnet.nodes().empty())
      report::announce(sink, [this](report::Sink& to) { visit_row(to, {0, SwitchUse{{}, {}, {{1, 0}}, 0, false}}); });
    for (const SwitchBalance& row : rows) visit_row(sink, row);
    sink.end_array();
    visit_failures(sink);
  }
  void text(TextOut& out) const override {
    for (const SwitchBalance& row : rows) {
      if (row.use && (all || row.use->unbalanced)) print(out, *row.use);
    }
  }
  Exit status() const override { return std::ranges::any_of(rows, &SwitchBalance::unbalanced) ? Exit::findings : FabricReport::status(); }
  std::vector<BalanceLine> lines() const {
    std::vector<BalanceLine> lines;
    for (const SwitchBalance& row : rows) {
      if (!row.use || (!all && !row.use->unbalanced)) continue;
      for (const PortUse& port : row.use->ports)
        lines.push_back({{&fabric, fabric.subnet.port_of(row.node, port.port)}, !row.use->unbalanced, port.lids});
    }
    return lines;
  }

 private:
  void visit_row(report::Sink& sink, const SwitchBalance& row) const {
    sink.begin_object();
    visit_names(sink, row.node);
    row.use ? sink.value("balanced", !row.use->unbalanced) : sink.null("balanced");
    if (!row.use) sink.null("ports");
    if (row.use) {
      sink.objects("ports", row.use->ports, [&](const PortUse& port) {
        sink.value("port_num", port.port);
        sink.value("routed_lids", port.lids);
      });
    }
    sink.end_object();
  }
};

constexpr std::string_view deeper_help = "Treat a switch as balanced if its ports form two halves, each balanced in itself.";
constexpr std::string_view all_help = "Show also the switches that are balanced.";

class CheckLftBalance final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.flag("-e --heuristics", deeper_, deeper_help);
    set.flag("-a --all", all_, all_help);
    add_discovery(set, discovery_);
    add_table_options(set, common, table_, keys_of(balance_columns()));
    add_common(set, common, group_fabric);
  }

  std::string_view table_rows() const override { return table_.given() ? "ports" : "switches.ports"; }

  async::Task<> run(Session& session, Emit& emit) override {
    table_.refuse_for_json(session.host().options().format, "ports", "switches");
    table_of<BalanceLine>(balance_columns(), table_);
    discovery_.needs.descriptions = {subnet::NodeKind::sw};
    Fabric fabric;
    co_await discover(session, discovery_, fabric);
    const routing::Network network(fabric.subnet);
    routing::LinearTables tables(network.switches().size(), last_lid(fabric, network));
    const subnet::SurveyOptions options(session.stack().here(), subnet::SurveyWay::smp);
    const routing::TablesToRead to{.linear = &tables};
    std::vector<routing::SwitchIndex> switches = routing::all_switches(network);
    std::vector<subnet::Failure> failures =
        co_await routing::read_tables(session.stack().transactor(), network, std::move(switches), to, options);
    BalanceReport report(fabric);
    report.all = all_ || session.host().options().verbosity > 0;
    for (const NodeIndex at : subnet::breadth_first(fabric.subnet)) {
      const routing::SwitchIndex index = network.switch_of(at);
      if (index == routing::none) continue;
      SwitchBalance row{at, std::nullopt};
      if (tables.is_known(index)) row.use = use_of(fabric, at, routing::entries_of(network, tables, index));
      if (row.unbalanced() && !fabric.failures.empty() && has_unknown_lids(network, tables, index)) row.use.reset();
      report.rows.push_back(std::move(row));
    }
    require_read(std::ranges::any_of(report.rows, [](const SwitchBalance& row) { return row.use.has_value(); }), failures);
    add_failures(session.host(), fabric, std::move(failures));
    emit_either(
        emit, table_, report, "ports", balance_columns(), [&report] { return report.lines(); }, session.host().world().out);
  }

 private:
  /// The last LID of which entries are read. Nodes that did not answer may have greater LIDs than the others.
  static Lid last_lid(const Fabric& fabric, const routing::Network& network) {
    Lid last = network.last_lid();
    if (fabric.failures.empty()) return last;
    for (const subnet::Node& node : fabric.subnet.nodes()) {
      if (node.has_switch_info) last.value = std::max(last.value, node.switch_info().linear_fdb_top);
    }
    last.value = std::min<std::uint16_t>(last.value, last_unicast_lid);
    return last;
  }

  /// Whether a switch forwards LIDs of which the owner is not known.
  static bool has_unknown_lids(const routing::Network& network, const routing::LinearTables& tables, routing::SwitchIndex at) {
    for (unsigned value = 1; value <= tables.last().value; ++value) {
      const Lid lid{static_cast<std::uint16_t>(value)};
      const bool is_sent_on = tables.kind(at, lid, network.switches()[at].slots - 1U) == routing::EntryKind::port;
      if (is_sent_on && network.subnet().find_lid(lid) == subnet::none) return true;
    }
    return false;
  }

  SwitchUse use_of(const Fabric& fabric, NodeIndex at, const std::vector<routing::Entry>& entries) const {
    const subnet::Node& node = fabric.subnet.node(at);
    std::vector<unsigned> lids(node.slots);
    for (const routing::Entry& entry : entries) {
      if (fabric.subnet.node_of(entry.owner).kind() != subnet::NodeKind::sw) ++lids[entry.port];
    }
    SwitchUse found{in_quotes(subnet::name_of(node, &fabric.names)), to_text(node.guid()), {}, 0, false};
    for (unsigned number = 1; number < node.slots; ++number) {
      const subnet::Port& port = fabric.subnet.port(node.first_port + number);
      if (lids[number] == 0 && port.peer == subnet::none) continue;
      ++found.in_use;
      const bool is_direct = port.peer != subnet::none && fabric.subnet.node_of(port.peer).kind() != subnet::NodeKind::sw;
      if (!is_direct) found.ports.push_back({number, lids[number]});
    }
    judge(found, deeper_);
    return found;
  }

  DiscoveryOptions discovery_;
  TableOptions table_;
  bool deeper_{}, all_{};
};

constexpr unsigned last_port = 36;  // the last port that infiniband-diags reads

bool has(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

/// The value of a text as a number in Perl: the digits at its beginning, or 0.
double number(const std::string& text) {
  const std::size_t sign = text.find_first_not_of(" \t\n\r\f\v");
  const std::string_view digits = sign == std::string::npos ? std::string_view() : std::string_view(text).substr(sign);
  const std::string_view unsigned_digits = digits.substr(digits.starts_with('-') || digits.starts_with('+') ? 1 : 0);
  if (unsigned_digits.starts_with("0x") || unsigned_digits.starts_with("0X")) return 0;
  return std::strtod(text.c_str(), nullptr);
}

/// The word before " : (" of a row.
std::string port_word(std::string_view text, std::size_t colon) {
  const std::size_t blank = text.substr(0, colon).rfind(' ');
  if (colon == std::string_view::npos || blank == std::string_view::npos || blank == 0 || blank + 1 == colon) return "";
  return std::string(text.substr(blank + 1, colon - blank - 1));
}

struct LinkLine {
  bool down{}, active{};
};
/// Finds a port of a switch. The GUID has the form of the file. Returns nothing if the listing has no such port.
using FindLink = std::function<std::optional<LinkLine>(std::string_view guid, unsigned port)>;

/// The output of dump_lfts. Lines are recognized and counted exactly as infiniband-diags does it. This includes its faults.
class DumpFile {
 public:
  /// `find` is called while the file is read.
  DumpFile(FindLink find, bool deeper) : find_(std::move(find)), deeper_(deeper) {}

  void line(std::string_view text) {
    if (has(text, "Unicast")) {
      heading(text);
    } else if (has(text, "Channel") || has(text, "Router")) {
      end_port(text);
    } else if (has(text, "path")) {
      further_lid(text);
    } else if (lids_per_port_ != 0) {
      ++counted_;
    }
  }
  void end() {
    if (!host_ports_.empty()) end_of_host();
    end_of_switch();
  }
  const std::vector<SwitchUse>& switches() const { return switches_; }

 private:
  void heading(std::string_view text) {
    if (!host_ports_.empty()) end_of_host();
    if (name_) end_of_switch();
    const std::size_t close = text.rfind(')');
    const std::size_t open = close == std::string_view::npos || close < 3 ? std::string_view::npos : text.rfind(" (", close - 3);
    constexpr std::string_view before_guid = " guid ";
    const std::size_t guid = open == std::string_view::npos || open < before_guid.size() + 1
                                 ? std::string_view::npos
                                 : text.rfind(before_guid, open - before_guid.size() - 1);
    const auto names_path = [&](std::string_view words) {
      const std::size_t begin = text.find("Unicast lids ");
      const std::size_t at = text.rfind(words, guid);
      return begin != std::string_view::npos && at != std::string_view::npos && at > begin + 13 && at + words.size() < guid;
    };
    if (guid != std::string_view::npos && (names_path(" of switch DR path slid ") || names_path(" of switch Lid "))) {
      guid_ = text.substr(guid + before_guid.size(), open - guid - before_guid.size());
      name_ = text.substr(open + 2, close - open - 2);
    }
    direct_hosts_.clear();
    counts_.clear();
    host_ports_.clear();
    lids_per_port_ = counted_ = 0;
  }
  void end_port(std::string_view text) {
    const std::size_t colon = text.rfind(" : (");
    const std::size_t name = text.rfind(": '"), end = text.rfind("')");
    const bool is_row = colon != std::string_view::npos && has(text.substr(colon), " portguid ") && name != std::string_view::npos &&
                        end != std::string_view::npos && end > name + 3;
    std::string port = is_row ? port_word(text, colon) : "";
    host_ = port.empty() ? "" : std::string(text.substr(name + 3, end - name - 3));
    ++counts_[port];
    if (!host_ports_.empty()) end_of_host();
    host_ports_ = {std::move(port)};
    ++(lids_per_port_ == 0 ? lids_per_port_ : counted_);
  }
  /// "0x0005 001 : (path #2 out of 4: portguid 0x0002c90300001491)". Like infiniband-diags, this reads numbers of one digit only.
  void further_lid(std::string_view text) {
    constexpr std::string_view before = " : (path #", between = " out of ", behind = ": portguid ";
    const std::size_t colon = text.rfind(before);
    std::string port;
    if (colon != std::string_view::npos) {
      const std::string_view rest = text.substr(colon + before.size());
      const bool is_row = rest.size() > 2 + between.size() + behind.size() && rest.substr(1).starts_with(between) &&
                          rest.substr(2 + between.size()).starts_with(behind) && rest.find(')') != std::string_view::npos;
      if (is_row) port = port_word(text, colon);
    }
    ++counts_[port];
    if (counted_ == 0) ++lids_per_port_;
    host_ports_.push_back(std::move(port));
  }
  void end_of_host() {
    if (host_ports_.size() != lids_per_port_) return;
    for (const std::string& port : host_ports_) {
      if (number(port) != number(host_ports_.front())) return;
    }
    direct_hosts_.push_back(host_);
  }
  void end_of_switch() {
    SwitchUse found{name_.value_or(""), guid_, {}, 0, false};
    for (unsigned number = 1; number <= last_port; ++number) {
      const std::string port = fmt::format("{:03}", number);
      const unsigned lids = counts_[port];
      if (lids == 0) {
        const auto link = find_(guid_, number);
        if (!link || link->down) continue;
      }
      ++found.in_use;
      if (!is_direct(port)) found.ports.push_back({number, lids});
    }
    judge(found, deeper_);
    switches_.push_back(std::move(found));
  }
  /// Whether an end port is at the other end of the link. infiniband-diags tries to compare names here. In fact it compares numbers: the
  /// digits at the beginning of a name, or 0.
  bool is_direct(const std::string& port) const {
    const auto count = counts_.find(port);
    if (count == counts_.end() || count->second != lids_per_port_ || direct_hosts_.empty()) return false;
    const auto link = find_(guid_, static_cast<unsigned>(number(port)));
    if (!link || !link->active) return false;
    for (const std::string& host : direct_hosts_) {
      if (number(host) == 0) return true;
    }
    return false;
  }

  FindLink find_;
  bool deeper_;
  std::vector<SwitchUse> switches_;
  std::optional<std::string> name_;
  std::string guid_, host_;
  std::map<std::string, unsigned> counts_;  ///< the key is the port, in the form of the file
  std::vector<std::string> host_ports_;     ///< the output ports for the LIDs of one end port
  std::vector<std::string> direct_hosts_;   ///< end ports whose LIDs all leave by one port
  unsigned lids_per_port_ = 0, counted_ = 0;
};

/// Reads files, and no fabric.
class CheckLftBalanceDiags final : public Command {
 public:
  void diags_options(OptionSet& set, CommonOptions& /*common*/) override {
    set.perl_script();
    set.text("-l", routes_, "FILE", "The output of dump_lfts.");
    set.text("-i", cache_, "FILE", "The file of ibnetdiscover --cache.");
    set.flag("-e", deeper_, deeper_help);
    set.flag("-v", all_, all_help);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    if (!routes_) throw DiagsUsage("Must specify dump lfts file\n");
    if (!cache_) throw DiagsUsage("Must specify ibnetdiscover cache\n");
    LibibnetdiscFabric fabric;
    LibibnetdiscWanted stored;
    stored.load_cache = cache_;
    try {
      co_await discover_as_libibnetdisc(session, stored, fabric);
    } catch (const Error& error) {
      print_on_stderr(session.host().world(), fmt::format("{}\n", error.message()));
    }
    DumpFile file([&fabric](std::string_view guid, unsigned port) { return find_link(fabric, guid, port); }, deeper_);
    read_lines(session.host(), *routes_, file);
    for (const SwitchUse& found : file.switches()) {
      if (found.unbalanced || all_) print(emit.text(), found);
    }
  }

 private:
  static void read_lines(const Host& host, const std::string& name, DumpFile& file) {
    std::string text;
    try {
      text = read_regular_file(name, longest_file);
    } catch (const SysError& error) {
      print_on_stderr(host.world(), fmt::format("Couldn't open dump lfts file: {}: {}\n", name, std::strerror(error.code())));
    } catch (const Error& error) {
      print_on_stderr(host.world(), fmt::format("Couldn't open dump lfts file: {}\n", error.message()));
    }
    for (const std::string_view line : split_list(text, "\n")) file.line(line);
    file.end();
  }

  /// The part of iblinkinfo's line for a port.
  static std::optional<LinkLine> find_link(const Fabric& fabric, std::string_view guid, unsigned number) {
    const PortIndex any = fabric.subnet.find_port(Guid{c_number(std::string(guid))});
    if (any == subnet::none) return std::nullopt;
    const PortIndex at = fabric.subnet.port_of(fabric.subnet.port(any).node, number);
    if (at == subnet::none || number == 0 || !fabric.subnet.port(at).has_info) return std::nullopt;
    const subnet::Port& port = fabric.subnet.port(at);
    std::string name;
    if (port.peer != subnet::none) {
      const subnet::Node& remote = fabric.subnet.node_of(port.peer);
      name = diags_node_name(fabric.names, remote.guid(), remote.description());
    }
    const auto says = [&](std::string_view word) { return name.find(word) != std::string::npos; };
    return LinkLine{port.state() == smp::PortState::down || says("Down"), port.state() == smp::PortState::active || says("Active")};
  }

  std::optional<std::string> routes_, cache_;
  bool deeper_{}, all_{};
};

}  // namespace
}  // namespace balance

constinit const CommandInfo rooms::check_lft_balance{
    .name = "check_lft_balance",
    .group = HelpGroup::forwarding,
    .summary = "Show the switches whose links to others carry more LIDs than the rest.",
    .make = make_command<balance::CheckLftBalance>,
    .make_diags = make_command<balance::CheckLftBalanceDiags>,
    .alias = "check_lft_balance.pl",
};

}  // namespace ib::tools
