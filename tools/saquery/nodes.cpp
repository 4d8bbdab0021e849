// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The searches of saquery in the NodeRecords, by name, LID or GUID, and the list of ports with subnet managers.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/escape.hpp"
#include "iba-gen/sa.hpp"
#include "iba/generic.hpp"
#include "iba/text.hpp"
#include "iba/wire.hpp"
#include "sa/nodes.hpp"
#include "tools/saquery/saquery.hpp"

namespace ib::tools::saquery {
namespace {

std::string description_of(const sa::NodeRecord& node) { return std::string(fixed_text(node.node_description.node_string)); }

struct NodesReport final : Report {
  struct Node {
    sa::NodeRecord record;
    std::optional<std::string> mapped;  ///< the name in the node name map of the site

    std::string name() const { return mapped ? *mapped : description_of(record); }
    std::string diags_name() const { return mapped ? printable_words(*mapped) : printable(description_of(record)); }
  };
  List what = List::adapters;
  std::vector<Node> nodes;
  bool torn = false;

  void visit(report::Sink& sink) const override {
    sink.value("complete", !torn);
    sink.begin_array("nodes");
    for (const Node& node : nodes) {
      const smp::NodeInfo& info = node.record.node_info;
      sink.begin_object();
      sink.value("node_guid", info.node_guid);
      sink.symbol("node_type", info.node_type, smp::to_text(info.node_type));
      sink.value("node_description", description_of(node.record));
      sink.text_or_null("node_name", node.mapped.value_or(""));
      sink.value("port_guid", info.port_guid);
      sink.value("port_num", info.local_port_num);
      sink.value("lid", node.record.lid);
      sink.end_object();
    }
    sink.end_array();
  }
  void text(TextOut& out) const override {
    print(
        out, [](const Node& node) { return in_quotes(node.name()); }, [](const Node& node) { return escaped(node.name()); },
        [](Guid guid) { return to_text(guid); });
  }
  void diags_text(TextOut& out) const override {
    print(
        out, [](const Node& node) { return fmt::format("\"{}\"", node.diags_name()); }, [](const Node& node) { return node.diags_name(); },
        [](Guid guid) { return fmt::format("0x{:016x}", guid.value); });
  }
  Exit status() const override { return torn ? Exit::incomplete : Exit::ok; }

 private:
  template <class Quoted, class Name, class GuidText>
  void print(TextOut& out, Quoted in_quotes, Name name, GuidText guid_text) const {
    if (what == List::adapters) out.write("   LID \"name\"\n================\n");
    for (const Node& node : nodes) {
      switch (what) {
        case List::adapters:
          out.print("{:6}  {}\n", node.record.lid.value, in_quotes(node));
          break;
        case List::guids:
          out.print("{}\n", guid_text(node.record.node_info.port_guid));
          break;
        case List::name_of_lid:
        case List::name_of_guid:
          out.print("{}\n", name(node));
          break;
        default:
          out.print("{}\n", node.record.lid.value);
      }
    }
  }
};

/// The nodes with the name `name`: in the node name map, or in their descriptions.
async::Task<sa::Nodes> named(Session& session, std::string_view name) {
  mad::Transactor& transactor = session.transactor();
  if (session.node_name_map().empty()) co_return co_await sa::find_nodes_by_name(transactor, name);
  const sa::Pattern all(sa::NodeRecord::info());
  sa::Nodes nodes = co_await sa::find_nodes(transactor, all);
  std::erase_if(nodes.records, [&](const sa::NodeRecord& node) { return !is_called(session, node, name); });
  co_return nodes;
}

async::Task<sa::Nodes> matching(Session& session, std::string_view member, std::string_view text) {
  sa::Pattern pattern(sa::NodeRecord::info());
  pattern.match(member, text);
  sa::Nodes nodes = co_await sa::find_nodes(session.transactor(), pattern);
  co_return nodes;
}

/// infiniband-diags reads all nodes and compares the values itself. If LMC is not zero, it finds only the base LID of a node; the SA
/// would find all LIDs.
async::Task<sa::Nodes> find_as_diags(const Ask& ask, List list, std::string word) {
  FormedReport all = ask.report(sa::Pattern(sa::NodeRecord::info()));
  co_await ask.fetch(all);
  const std::uint64_t number = c_number(word);
  sa::Nodes nodes;
  for (const Bytes bytes : all.records.bytes) {
    const auto node = wire::unpack_short<sa::NodeRecord>(bytes);
    const bool wanted = list == List::adapters       ? node.node_info.node_type == smp::NodeType::channel_adapter
                        : list == List::name_of_lid  ? node.lid.value == static_cast<std::uint16_t>(number)
                        : list == List::name_of_guid ? node.node_info.port_guid.value == number
                                                     : is_called(ask.session, node, word);
    if (wanted) nodes.records.push_back(node);
  }
  co_return nodes;
}

async::Task<sa::Nodes> find(const Ask& ask, List list, std::string_view word) {
  if (list == List::adapters) co_return co_await matching(ask.session, "nodeInfo.nodeType", "1");
  if (list == List::name_of_lid) co_return co_await matching(ask.session, "LID", word);
  if (list == List::name_of_guid) {
    sa::Nodes nodes = co_await matching(ask.session, "nodeInfo.portGUID", word);
    if (!nodes.records.empty()) co_return nodes;
    co_return co_await matching(ask.session, "nodeInfo.nodeGUID", word);
  }
  co_return co_await named(ask.session, word);
}

/// The ports whose CapabilityMask has a bit for a subnet manager.
struct ManagersReport final : Report {
  FormedReport active, disabled;
  bool all = false;  ///< the list includes disabled subnet managers

  explicit ManagersReport(const Ask& ask) : active(ask.report(with("IsSM"))), disabled(ask.report(with("IsSMdisabled"))) {
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

/// The LID that `word` means for infiniband-diags. Throws DiagsExit if it means none.
async::Task<Lid> lid_as_diags(const Ask& ask, std::string word) {
  if (!word.empty() && std::isalpha(static_cast<unsigned char>(word[0])) != 0) {
    FormedReport nodes = ask.report(sa::Pattern(sa::NodeRecord::info()));
    co_await ask.fetch(nodes);
    for (const Bytes bytes : nodes.records.bytes) {
      const auto node = wire::unpack_short<sa::NodeRecord>(bytes);
      if (description_of(node) == word) co_return node.lid;
    }
    throw DiagsExit(ENONET, fmt::format("Failed to find lid for \"{}\": {}\n", printable(word), std::strerror(ENONET)));
  }
  errno = 0;
  const long value = std::strtol(word.c_str(), nullptr, 0);
  if (errno != 0 || value <= 0 || value > UINT16_MAX)
    throw DiagsExit(EINVAL, fmt::format("Invalid lid specified: \"{}\"\n", printable(word)));
  co_return Lid{static_cast<std::uint16_t>(value)};
}

}  // namespace

bool is_called(Session& session, const sa::NodeRecord& node, std::string_view name) {
  const auto mapped = session.node_name_map().find(node.node_info.node_guid);
  const std::string description = description_of(node);
  return (mapped && *mapped == name) || description == name || printable(description) == name;
}

void check_word(List list, const std::optional<std::string>& word, bool as_diags) {
  const bool by_name = list == List::lids || list == List::one_lid || list == List::guids;
  const bool by_lid = list == List::name_of_lid;
  if (!by_name && !by_lid && list != List::name_of_guid) return;
  const std::string_view missing = by_name ? "name" : by_lid ? "lid" : "guid";
  if (!as_diags) {
    if (!word || word->empty()) throw UsageError(by_name ? "No node name is given" : by_lid ? "No LID is given" : "No GUID is given");
  } else if (!word) {
    throw DiagsUsage(fmt::format("ERROR: {} not specified\n", missing));
  } else if (by_lid && static_cast<std::uint16_t>(c_number(*word)) == 0) {
    throw DiagsUsage("ERROR: lid invalid\n");
  }
}

async::Task<> look_up(const Ask& ask, List list, std::string word) {
  async::Task<sa::Nodes> search = ask.as_diags ? find_as_diags(ask, list, word) : find(ask, list, word);
  sa::Nodes nodes = co_await std::move(search);
  if (nodes.records.empty() && list != List::adapters && !ask.as_diags)
    throw Error(fmt::format("The SA knows no node {}", in_quotes(word)));
  if (list == List::one_lid && !nodes.records.empty()) nodes.records.resize(1);
  NodesReport report;
  report.what = list;
  report.torn = nodes.torn;
  for (const sa::NodeRecord& node : nodes.records) {
    const auto mapped = ask.session.node_name_map().find(node.node_info.node_guid);
    report.nodes.push_back({node, mapped ? std::optional(std::string(*mapped)) : std::nullopt});
  }
  if (nodes.torn) warn_torn(ask.session.log(), nodes.records.size());
  ask.emit(report);
}

async::Task<> list_managers(const Ask& ask) {
  constexpr std::uint32_t any_bit = 1U << 31;  // a record matches if it has the bits of the mask (IBA 15.2.5.3)
  ManagersReport report(ask);
  co_await ask.fetch(report.active, mad::method::get_table, any_bit);
  try {
    co_await ask.fetch(report.disabled, mad::method::get_table, any_bit);
  } catch (const Error&) {
    ask.emit.so_far(report);
    throw;
  }
  report.all = true;
  ask.emit(report);
}

async::Task<std::optional<Lid>> lid_of(const Ask& ask, std::string text) {
  if (ask.as_diags) {
    const Lid lid = co_await lid_as_diags(ask, text);
    co_return lid;
  }
  if (const auto lid = parse_lid(text)) co_return *lid;
  if (text.empty() || std::isalpha(static_cast<unsigned char>(text[0])) == 0) co_return std::nullopt;
  const sa::Nodes nodes = co_await named(ask.session, text);
  if (nodes.torn && nodes.records.empty()) warn_torn(ask.session.log(), 0);
  if (nodes.records.empty()) co_return std::nullopt;
  co_return nodes.records.front().lid;
}

}  // namespace ib::tools::saquery
