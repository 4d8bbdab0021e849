// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The reports of saquery, and what it requests in ibtool's dialect: nodes by name, LID or GUID.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/escape.hpp"
#include "iba-gen/sa.hpp"
#include "iba/text.hpp"
#include "sa/records.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/name_match.hpp"
#include "tools/frame/session.hpp"
#include "tools/frame/stack.hpp"
#include "tools/frame/targets.hpp"
#include "tools/frame/world.hpp"
#include "tools/saquery/saquery.hpp"

namespace ib::tools::saquery {
namespace {

struct NamedNode {
  sa::NodeRecord record;
  std::optional<std::string> mapped;  ///< the name in the node name map of the site

  std::string name() const { return mapped ? *mapped : description_of(record); }
  std::string diags_name() const { return mapped ? printable_words(*mapped) : printable(description_of(record)); }
};

using report::Column;

const std::array<Column<NamedNode>, 7> node_list_columns{{
    {{.key = "node_guid", .heading = "GUID"}, [](const NamedNode& node) { return node.record.node_info.node_guid; }},
    {{.key = "node_type", .heading = "TYPE", .usual = true, .coded = true},
     [](const NamedNode& node) { return report::coded_cell(true, node.record.node_info.node_type); }},
    {{.key = "node_description", .heading = "NODE", .usual = true}, [](const NamedNode& node) { return description_of(node.record); }},
    {{.key = "node_name", .heading = "NAME"}, [](const NamedNode& node) { return report::text_cell(node.mapped.value_or("")); }},
    {{.key = "port_guid", .heading = "PORT GUID", .usual = true}, [](const NamedNode& node) { return node.record.node_info.port_guid; }},
    {{.key = "port_num", .heading = "PORT", .usual = true}, [](const NamedNode& node) { return node.record.node_info.local_port_num; }},
    {{.key = "lid", .heading = "LID", .usual = true}, [](const NamedNode& node) { return node.record.lid.value; }},
}};

struct NodesReport final : Report {
  ListKind what = ListKind::adapters;
  std::vector<NamedNode> nodes;
  bool torn = false;
  report::Table<NamedNode> table{std::span<const Column<NamedNode>>(node_list_columns)};
  std::optional<std::size_t> most_width;  ///< of a table, where one is wanted

  void visit(report::Sink& sink) const override {
    sink.value("complete", !torn);
    table.visit(sink, "nodes", nodes);
  }
  void text(TextOut& out) const override {
    if (most_width) return out.write(table.text(nodes, *most_width));
    print(out, false);
  }
  void diags_text(TextOut& out) const override { print(out, true); }
  Exit status() const override { return torn ? Exit::incomplete : Exit::ok; }

 private:
  void print(TextOut& out, bool as_diags) const {
    if (what == ListKind::adapters) out.write("   LID \"name\"\n================\n");
    for (const NamedNode& node : nodes) {
      const Guid guid = node.record.node_info.port_guid;
      const unsigned lid = node.record.lid.value;
      if (what == ListKind::adapters) {
        out.print("{:6}  {}\n", lid, as_diags ? fmt::format("\"{}\"", node.diags_name()) : in_quotes(node.name()));
      } else if (what == ListKind::guids) {
        out.print("{}\n", as_diags ? fmt::format("0x{:016x}", guid.value) : to_text(guid));
      } else if (what == ListKind::name_of_lid || what == ListKind::name_of_guid) {
        out.print("{}\n", as_diags ? node.diags_name() : escaped(node.name()));
      } else {
        out.print("{}\n", lid);
      }
    }
  }
};

/// The nodes with the name `name`: the whole description, else what the name means as a target (the best matches).
async::Task<sa::Nodes> named(Session& session, std::string name) {
  if (session.manners().node_name_map().empty() && name.size() <= smp::NodeDescription::wire_size) {
    sa::Nodes nodes = co_await sa::find_nodes_by_name(session.stack().transactor(), name);
    if (!nodes.records.empty()) co_return nodes;
  }
  mad::Result<sa::Nodes> nodes = co_await session.targets().nodes_called(std::move(name), Targets::NameRule::target);
  co_return std::move(nodes).take();
}

/// The names in the SA's table that are like `name`, as a question.
async::Task<std::string> near_to(Targets& targets, std::string name) {
  const mad::Result<sa::Nodes> table = co_await targets.node_table();
  std::vector<std::string> names;
  if (!table) co_return "";
  for (const sa::NodeRecord& node : table->records) names.push_back(description_of(node));
  co_return nearest_names(name, names);
}

async::Task<sa::Nodes> matching(Stack& stack, std::string_view member, std::string_view text) {
  sa::Pattern pattern(sa::NodeRecord::info());
  pattern.match(member, text);
  co_return co_await sa::find_nodes(stack.transactor(), pattern);
}

async::Task<sa::Nodes> find(Session& session, ListKind list, std::string_view word) {
  if (list == ListKind::adapters) co_return co_await matching(session.stack(), "nodeInfo.nodeType", "1");
  if (list == ListKind::name_of_lid) co_return co_await matching(session.stack(), "LID", word);
  if (list == ListKind::name_of_guid) {
    sa::Nodes nodes = co_await matching(session.stack(), "nodeInfo.portGUID", word);
    if (!nodes.records.empty()) co_return nodes;
    co_return co_await matching(session.stack(), "nodeInfo.nodeGUID", word);
  }
  co_return co_await named(session, std::string(word));
}

/// The ports whose CapabilityMask has a bit for a subnet manager.
struct ManagersReport final : Report {
  FormedReport active, disabled;
  bool all = false;  ///< the list includes disabled subnet managers

  explicit ManagersReport(Stack& stack) : active(stack, with("IsSM")), disabled(stack, with("IsSMdisabled")) {
    active.form = disabled.form = &port_summary_form;
  }
  void visit(report::Sink& sink) const override {
    sink.value("attribute", active.records.type->iba_name);
    sink.value("complete", !active.records.torn && !disabled.records.torn);
    active.visit_records(sink, "is_sm");
    disabled.visit_records(sink, "is_sm_disabled");
  }
  void text(TextOut& out) const override {
    out.write("IsSM ports\n");
    active.text(out);
    out.write("\nIsSMdisabled ports\n");
    disabled.text(out);
  }
  void diags_text(TextOut& out) const override {
    out.write("IsSM ports\n");
    active.diags_text(out);
    if (!all) return;
    out.write("\nIsSMdisabled ports\n");
    disabled.diags_text(out);
  }
  Exit status() const override { return active.records.torn || disabled.records.torn ? Exit::incomplete : Exit::ok; }

 private:
  static sa::Pattern with(std::string_view capability) {
    sa::Pattern pattern(sa::PortInfoRecord::info());
    pattern.match("portInfo.capabilityMask", capability);
    return pattern;
  }
};

struct Divisions {
  std::vector<TwoEnds> exact;    ///< both ends are addresses or whole words of a name
  std::vector<TwoEnds> inexact;  ///< the others

  const std::vector<TwoEnds>& best() const { return exact.empty() ? inexact : exact; }
};

enum class EndKind { none, inexact, exact };

async::Task<EndKind> kind_of(Targets& targets, std::string word, bool may_sweep) {
  constexpr std::size_t guid_colons = 3, guid_size = 19;
  if (word.empty()) co_return EndKind::exact;
  // A GUID has four digits in each group here: 3:0000:0000:0000 is not a GUID, but a LID and the beginning of a GUID.
  if (std::ranges::count(word, ':') == guid_colons && word.size() < guid_size) co_return EndKind::none;
  const Targets::Meaning meaning = co_await targets.meaning(std::move(word), may_sweep);
  if (!meaning.path) co_return EndKind::none;
  co_return meaning.is_exact ? EndKind::exact : EndKind::inexact;
}

async::Task<Divisions> divide(Targets& targets, std::string text, bool may_sweep) {
  Divisions found;
  for (std::size_t at = text.find(':'); at != std::string::npos; at = text.find(':', at + 1)) {
    TwoEnds ends{text.substr(0, at), text.substr(at + 1)};
    const EndKind source = co_await kind_of(targets, ends.source, may_sweep);
    if (source == EndKind::none) continue;
    const EndKind destination = co_await kind_of(targets, ends.destination, may_sweep);
    if (destination == EndKind::none) continue;
    const bool is_exact = source == EndKind::exact && destination == EndKind::exact;
    (is_exact ? found.exact : found.inexact).push_back(std::move(ends));
  }
  co_return found;
}

}  // namespace

NodeKey node_key(ListKind list) {
  switch (list) {
    case ListKind::lids:
    case ListKind::one_lid:
    case ListKind::guids:
      return NodeKey::name;
    case ListKind::name_of_lid:
      return NodeKey::lid;
    case ListKind::name_of_guid:
      return NodeKey::guid;
    default:
      return NodeKey::none;
  }
}

FormedReport::FormedReport(Stack& stack, const sa::Pattern& wanted)
    : RecordsReport(wanted), style{stack.manners().node_name_map(), stack.host().options().keys} {
  const CommonOptions& options = stack.host().options();
  style.new_fields = stack.host().world().diags_release->new_fields;
  names = options.int_names || options.error_level() >= 2 ? RecordNames::internal : RecordNames::saquery;
  keys = options.keys;
  records.type = &pattern.answer();
}

void FormedReport::diags_text(TextOut& out) const {
  for (const Bytes record : records.bytes) {
    if (!shown || shown(record)) out.write(record_text(*form, record, style));
  }
}

async::Task<> fetch_records(Stack& stack, RecordsReport& report, std::uint8_t method, std::uint32_t modifier) {
  mad::Transactor& transactor = stack.transactor();
  mad::Result<sa::Records> tried = co_await sa::try_records(transactor, transactor.sa_path(), report.pattern, method, modifier);
  if (tried) {
    report.records = std::move(*tried);
    if (report.records.torn) warn_torn(stack.host().log(), report.records.bytes.size());
    co_return;
  }
  report.none = sa::is_no_records(tried.error());
  if (!report.none) tried.error().raise();
}

std::string description_of(const sa::NodeRecord& node) { return std::string(fixed_text(node.node_description.node_string)); }

bool is_called(Manners& manners, const sa::NodeRecord& node, std::string_view name) {
  return is_whole_name(name, description_of(node), manners.node_name_map().find(node.node_info.node_guid));
}

async::Task<sa::Nodes> find_nodes(Session& session, ListKind list, std::string word) {
  sa::Nodes nodes = co_await find(session, list, word);
  if (!nodes.records.empty() || list == ListKind::adapters) co_return nodes;
  std::string near;
  if (node_key(list) == NodeKey::name) near = co_await near_to(session.targets(), word);
  throw Error(fmt::format("The SA knows no node {}{}", in_quotes(word), near));
}

std::vector<std::string> node_list_keys() { return keys_of(node_list_columns); }

void emit_nodes(Stack& stack, Emit& emit, ListKind list, sa::Nodes nodes, const TableOptions& table) {
  if (list == ListKind::one_lid && !nodes.records.empty()) nodes.records.resize(1);
  NodesReport report;
  report.what = list;
  report.torn = nodes.torn;
  for (const sa::NodeRecord& node : nodes.records) {
    const auto mapped = stack.manners().node_name_map().find(node.node_info.node_guid);
    report.nodes.push_back({node, mapped ? std::optional(std::string(*mapped)) : std::nullopt});
  }
  if (nodes.torn) warn_torn(stack.host().log(), nodes.records.size());
  if (table.given()) {
    report.table = table_of<NamedNode>(node_list_columns, table);
    report.table.arrange(report.nodes);
    report.most_width = table_width(stack.host().world().out);
  }
  emit(report);
}

async::Task<> list_managers(Stack& stack, Emit& emit, FetchRecords fetch) {
  constexpr std::uint32_t any_bit = 1U << 31;  // a record matches if it has the bits of the mask (IBA 15.2.5.3)
  ManagersReport report(stack);
  co_await fetch(stack, report.active, mad::method::get_table, any_bit);
  try {
    co_await fetch(stack, report.disabled, mad::method::get_table, any_bit);
  } catch (const Error&) {
    emit.so_far(report);
    throw;
  }
  report.all = true;
  emit(report);
}

async::Task<std::optional<Lid>> lid_of(Session& session, std::string text) {
  if (const auto lid = parse_lid(text)) co_return *lid;
  if (std::ranges::none_of(text, [](unsigned char c) { return std::isalpha(c) != 0 || c == ':'; })) co_return std::nullopt;
  path::Path path = co_await session.targets().path(std::move(text));
  if (!path.ib().dlid.is_unicast() || path.directed() != nullptr) path = co_await session.stack().gmp_path(&path);
  co_return path.ib().dlid;
}

async::Task<TwoEnds> two_ends(Targets& targets, std::string text) {
  const std::size_t first = text.find(':');
  if (text.find(':', first + 1) == std::string::npos) {  // what is wrong with an end is said where it is used
    TwoEnds only{text.substr(0, first), text.substr(first + 1)};
    co_return only;
  }
  Divisions found = co_await divide(targets, text, false);
  if (found.best().empty()) found = co_await divide(targets, text, true);
  if (found.best().empty())
    throw UsageError(
        fmt::format("--src-to-dst: {} has no colon with a target on either side (a LID, a GUID or the name of a node)", in_quotes(text)));
  if (found.best().size() > 1) {
    std::string list;
    for (const TwoEnds& ends : found.best())
      list += fmt::format("{}{} to {}", list.empty() ? "" : ", or ", in_quotes(ends.source), in_quotes(ends.destination));
    throw UsageError(fmt::format("--src-to-dst: {} can be divided in several ways: {}: give LIDs", in_quotes(text), list));
  }
  co_return found.best().front();
}

}  // namespace ib::tools::saquery
