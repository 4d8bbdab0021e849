// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// check_lft_balance: whether the linear forwarding tables use the links between switches equally.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

#include "base/escape.hpp"
#include "base/file.hpp"
#include "base/split.hpp"
#include "iba/text.hpp"
#include "report/sink.hpp"
#include "routing/unicast.hpp"
#include "subnet/model/names.hpp"
#include "subnet/model/order.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/libibnetdisc.hpp"
#include "tools/shared/table_options.hpp"

namespace ib::tools {
namespace balance {
namespace {

using subnet::NodeIndex;
using subnet::PortIndex;

constexpr std::size_t longest_file = 1U << 30;

/// `name` and `guid` may come from a file.
void print(TextOut& out, std::string_view name, std::string_view guid, const routing::SwitchUse& found, bool unbalanced) {
  out.print("{}Switch Port Usage: {}, {}\n", unbalanced ? "Unbalanced " : "", printable_words(name), printable_words(guid));
  for (const routing::PortUse& port : found.ports) out.print("Port {:03}: {}\n", port.port, port.lids);
}

struct SwitchBalance {
  NodeIndex node;
  std::optional<routing::SwitchUse> use;  ///< nothing if it is not known
  bool unbalanced{};
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
      report::announce(sink, [this](report::Sink& to) { visit_row(to, {0, routing::SwitchUse{{{1, 0}}, 0}}); });
    for (const SwitchBalance& row : rows) visit_row(sink, row);
    sink.end_array();
    visit_failures(sink);
  }
  void text(TextOut& out) const override {
    for (const SwitchBalance& row : rows) {
      const subnet::Node& node = fabric.subnet.node(row.node);
      if (row.use && (all || row.unbalanced))
        print(out, in_quotes(subnet::name_of(node, &fabric.names)), to_text(node.guid()), *row.use, row.unbalanced);
    }
  }
  Exit status() const override { return std::ranges::any_of(rows, &SwitchBalance::unbalanced) ? Exit::findings : FabricReport::status(); }
  std::vector<BalanceLine> lines() const {
    std::vector<BalanceLine> lines;
    for (const SwitchBalance& row : rows) {
      if (!row.use || (!all && !row.unbalanced)) continue;
      for (const routing::PortUse& port : row.use->ports)
        lines.push_back({{&fabric, fabric.subnet.port_of(row.node, port.port)}, !row.unbalanced, port.lids});
    }
    return lines;
  }

 private:
  void visit_row(report::Sink& sink, const SwitchBalance& row) const {
    sink.begin_object();
    visit_names(sink, row.node);
    sink.value_or_null("balanced", row.use.has_value(), !row.unbalanced);
    if (!row.use) sink.null("ports");
    if (row.use) {
      sink.objects("ports", row.use->ports, [&](const routing::PortUse& port) {
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
    report::Table<BalanceLine>(balance_columns(), table_);
    discovery_.needs.descriptions = {subnet::NodeKind::sw};
    Fabric fabric = co_await discover(session, discovery_);
    const routing::Network network(fabric.subnet);
    Lid last = network.last_lid();
    for (const subnet::Node& node : fabric.subnet.nodes()) {  // nodes that did not answer may have greater LIDs than the others
      if (!fabric.failures.empty() && node.has_switch_info)
        last.value = std::clamp(node.switch_info().linear_fdb_top, last.value, last_unicast_lid);
    }
    routing::LinearTables tables(network.switches().size(), last);
    const routing::TablesToRead to{.linear = &tables};
    subnet::Failures failures = co_await routing::read_tables(session.stack().transactor(), network, to, session.stack().here());
    BalanceReport report(fabric);
    report.all = all_ || session.host().options().verbosity > 0;
    for (const NodeIndex at : subnet::breadth_first(fabric.subnet)) {
      const routing::SwitchIndex index = network.switch_of(at);
      if (index == routing::none) continue;
      SwitchBalance row{at, routing::switch_use(network, tables, index)};
      row.unbalanced = row.use && routing::is_unbalanced(*row.use, deeper_);
      if (row.unbalanced && !fabric.failures.empty() && routing::has_unknown_lids(network, tables, index)) row = {at, std::nullopt};
      report.rows.push_back(std::move(row));
    }
    require_read(std::ranges::any_of(report.rows, [](const SwitchBalance& row) { return row.use.has_value(); }), failures);
    add_failures(session.host(), fabric, std::move(failures));
    emit_either(emit, table_, report, "ports", balance_columns(), [&report] { return report.lines(); });
  }

 private:
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
/// The part of iblinkinfo's line for a port of a switch, whose GUID has the form of the file. Nothing if the fabric has no such port.
std::optional<LinkLine> find_link(const Fabric& fabric, const std::string& guid, unsigned number) {
  const PortIndex any = fabric.subnet.find_port(Guid{c_number(guid)});
  if (any == subnet::none) return std::nullopt;
  const PortIndex at = fabric.subnet.port_of(fabric.subnet.port(any).node, number);
  if (at == subnet::none || number == 0 || !fabric.subnet.port(at).has_info) return std::nullopt;
  const subnet::Port& port = fabric.subnet.port(at);
  const std::string name = port.peer == subnet::none ? "" : diags_node_name(fabric.subnet.node_of(port.peer), fabric.names);
  return LinkLine{port.state() == smp::PortState::down || has(name, "Down"), port.state() == smp::PortState::active || has(name, "Active")};
}

/// The output of dump_lfts. Lines are recognized and counted exactly as infiniband-diags does it. This includes its faults.
class DumpFile {
 public:
  struct Switch {
    std::string name, guid;
    routing::SwitchUse use;
  };

  /// `fabric` must outlive this.
  explicit DumpFile(const Fabric& fabric) : fabric_(fabric) {}

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
  const std::vector<Switch>& switches() const { return switches_; }

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
    const double first = number(host_ports_.front());
    if (std::ranges::all_of(host_ports_, [first](const std::string& port) { return number(port) == first; }))
      direct_hosts_.push_back(host_);
  }
  void end_of_switch() {
    routing::SwitchUse found;
    for (unsigned number = 1; number <= last_port; ++number) {
      const std::string port = fmt::format("{:03}", number);
      const unsigned lids = counts_[port];
      if (lids == 0) {
        const auto link = find_link(fabric_, guid_, number);
        if (!link || link->down) continue;
      }
      ++found.in_use;
      if (!is_direct(port)) found.ports.push_back({number, lids});
    }
    switches_.push_back({name_.value_or(""), guid_, std::move(found)});
  }
  /// Whether an end port is at the other end of the link. infiniband-diags tries to compare names here. In fact it compares numbers: the
  /// digits at the beginning of a name, or 0.
  bool is_direct(const std::string& port) const {
    const auto count = counts_.find(port);
    if (count == counts_.end() || count->second != lids_per_port_ || direct_hosts_.empty()) return false;
    const auto link = find_link(fabric_, guid_, static_cast<unsigned>(number(port)));
    if (!link || !link->active) return false;
    return std::ranges::any_of(direct_hosts_, [](const std::string& host) { return number(host) == 0; });
  }

  const Fabric& fabric_;
  std::vector<Switch> switches_;
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
    std::string text;
    const auto complain = [&](std::string_view why) {
      print_on_stderr(session.host().world(), fmt::format("Couldn't open dump lfts file: {}\n", why));
    };
    try {
      text = read_regular_file(*routes_, longest_file);
    } catch (const SysError& error) {
      complain(fmt::format("{}: {}", *routes_, std::strerror(error.code())));
    } catch (const Error& error) {
      complain(error.message());
    }
    DumpFile file(fabric);
    for (const std::string_view line : split_list(text, "\n")) file.line(line);
    file.end();
    for (const auto& [name, guid, use] : file.switches()) {
      const bool unbalanced = routing::is_unbalanced(use, deeper_);
      if (unbalanced || all_) print(emit.text(), name, guid, use, unbalanced);
    }
  }

 private:
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
