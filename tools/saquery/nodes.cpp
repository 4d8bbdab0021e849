// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Who has a name, a LID, a GUID: saquery's look-ups among the node records.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/escape.hpp"
#include "tools/saquery/saquery.hpp"
#include "iba-gen/sa.hpp"
#include "iba/generic.hpp"
#include "iba/text.hpp"
#include "iba/wire.hpp"
#include "sa/nodes.hpp"
#include "tools/shared/records_report.hpp"

namespace ib::tools::saquery {
namespace {

std::string description_of(const sa::NodeRecord& node) { return std::string(fixed_text(node.node_description.node_string)); }

/// A node's name as the site has it, else its description.
std::string name_of(Session& session, const sa::NodeRecord& node) {
  const auto mapped = session.node_name_map().find(node.node_info.node_guid);
  return mapped ? std::string(*mapped) : description_of(node);
}

struct NodesReport final : Report {
  struct Node {
    sa::NodeRecord record;
    std::string name;
  };
  Lookup what = Lookup::adapters;
  std::vector<Node> nodes;
  bool cut = false;

  void visit(out::Sink& sink) const override {
    sink.value("complete", !cut);
    sink.begin_array("nodes");
    for (const Node& node : nodes) {
      const smp::NodeInfo& info = node.record.node_info;
      sink.begin_object();
      sink.value("lid", node.record.lid);
      sink.value("node_guid", info.node_guid);
      sink.value("port_guid", info.port_guid);
      sink.value("port_num", info.local_port_num);
      sink.value("node_type", static_cast<unsigned>(info.node_type));
      sink.value("node_description", description_of(node.record));
      sink.value("name", node.name);
      sink.end_object();
    }
    sink.end_array();
  }

  void text(TextOut& out) const override {
    if (what == Lookup::adapters) out.write("   LID \"name\"\n================\n");
    for (const Node& node : nodes) {
      switch (what) {
        case Lookup::adapters:
          out.print("{:6}  {}\n", node.record.lid.value, quoted(node.name));
          break;
        case Lookup::guids:
          out.print("{}\n", to_text(node.record.node_info.port_guid));
          break;
        case Lookup::name_of_lid:
        case Lookup::name_of_guid:
          out.print("{}\n", escaped(node.name));
          break;
        default:
          out.print("{}\n", node.record.lid.value);
      }
    }
  }
  Exit status() const override { return cut ? Exit::incomplete : Exit::ok; }
};

/// The nodes that the site or they themselves call `name`.
async::Task<sa::Nodes> named(Session& session, std::string_view name) {
  mad::Transactor& transactor = session.transactor();
  if (session.node_name_map().empty()) co_return co_await sa::find_nodes_by_name(transactor, name);
  const sa::Pattern all(sa::NodeRecord::info());
  sa::Nodes nodes = co_await sa::find_nodes(transactor, all);
  std::erase_if(nodes.records, [&](const sa::NodeRecord& node) { return name_of(session, node) != name && description_of(node) != name; });
  co_return nodes;
}

async::Task<sa::Nodes> matching(Session& session, std::string_view member, std::string_view text) {
  sa::Pattern pattern(sa::NodeRecord::info());
  pattern.match(member, text);
  sa::Nodes nodes = co_await sa::find_nodes(session.transactor(), pattern);
  co_return nodes;
}

async::Task<sa::Nodes> find(Session& session, Lookup what, std::string_view word) {
  if (what == Lookup::adapters) co_return co_await matching(session, "nodeInfo.nodeType", "1");
  if (what == Lookup::name_of_lid) co_return co_await matching(session, "LID", word);
  if (what == Lookup::name_of_guid) {
    sa::Nodes nodes = co_await matching(session, "nodeInfo.portGUID", word);
    if (!nodes.records.empty()) co_return nodes;
    co_return co_await matching(session, "nodeInfo.nodeGUID", word);
  }
  co_return co_await named(session, word);
}

/// The ports whose capability mask has a bit of the subnet manager's.
struct ManagersReport final : Report {
  RecordsReport active, disabled;
  explicit ManagersReport(const sa::Pattern& pattern) : active(pattern), disabled(pattern) {}

  void visit(out::Sink& sink) const override {
    for (const auto& [key, report] : {std::pair{"is_sm", &active}, {"is_sm_disabled", &disabled}}) {
      sink.begin_object(key);
      report->visit(sink);
      sink.end_object();
    }
  }
  void text(TextOut& out) const override {
    out.write("IsSM ports\n");
    active.text(out);
    out.write("\nIsSMdisabled ports\n");
    disabled.text(out);
  }
  Exit status() const override { return active.records.cut || disabled.records.cut ? Exit::incomplete : Exit::ok; }
};

async::Task<RecordsReport> ports_with(Session& session, std::string_view capability) {
  constexpr std::uint32_t any_bit = 1U << 31;  // the mask need not be equal: what has the bit matches (IBA 15.2.5.3)
  sa::Pattern pattern(sa::PortInfoRecord::info());
  pattern.match("portInfo.capabilityMask", capability);
  mad::Transactor& transactor = session.transactor();
  RecordsReport report(pattern);
  mad::Result<sa::Records> records =
      co_await sa::try_records(transactor, transactor.sa_path(), report.pattern, mad::method::get_table, any_bit);
  if (!records && !sa::is_no_records(records.error())) records.error().raise();
  report.records.type = &pattern.record();
  if (records) report.records = std::move(*records);
  tell_if_cut(session, report.records);
  report.keys = session.options().keys;
  report.names = session.options().int_names ? RecordNames::internal : RecordNames::saquery;
  co_return report;
}

async::Task<> list_managers(Session& session, Emit& emit) {
  ManagersReport report{sa::Pattern(sa::PortInfoRecord::info())};
  report.active = co_await ports_with(session, "IsSM");
  report.disabled = co_await ports_with(session, "IsSMdisabled");
  emit(report);
}

}  // namespace

async::Task<> look_up(Session& session, Emit& emit, Lookup what, std::string word) {
  if (what == Lookup::managers) {
    co_await list_managers(session, emit);
    co_return;
  }
  if (word.empty() && what != Lookup::adapters) {
    const bool by_name = what != Lookup::name_of_lid && what != Lookup::name_of_guid;
    throw UsageError(by_name ? "No node name is given" : what == Lookup::name_of_lid ? "No LID is given" : "No GUID is given");
  }
  sa::Nodes nodes = co_await find(session, what, word);
  if (nodes.records.empty() && what != Lookup::adapters) throw Error(fmt::format("The SA knows no node {}", quoted(word)));
  if (what == Lookup::one_lid) nodes.records.resize(1);
  NodesReport report;
  report.what = what;
  report.cut = nodes.cut;
  for (const sa::NodeRecord& node : nodes.records) report.nodes.push_back({node, name_of(session, node)});
  if (nodes.cut) warn_cut(nodes.records.size());
  emit(report);
}

async::Task<std::optional<Lid>> lid_of(Session& session, std::string text) {
  if (const auto lid = parse_lid(text)) co_return *lid;
  if (text.empty() || std::isalpha(static_cast<unsigned char>(text[0])) == 0) co_return std::nullopt;
  const sa::Nodes nodes = co_await named(session, text);
  if (nodes.records.empty()) co_return std::nullopt;
  co_return nodes.records.front().lid;
}

}  // namespace ib::tools::saquery
