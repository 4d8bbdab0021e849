// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include <fmt/format.h>

#include <algorithm>

#include "report/field_columns.hpp"
#include "subnet/model/order.hpp"
#include "subnet/model/port_paths.hpp"
#include "subnet/sweep/mlnx.hpp"
#include "subnet/sweep/survey.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/progress.hpp"
#include "tools/frame/session.hpp"
#include "tools/frame/stack.hpp"
#include "tools/frame/world.hpp"
#include "tools/shared/fabric_report.hpp"
#include "tools/smpquery/operation.hpp"

namespace ib::tools::smpquery {
namespace {

using subnet::NodeKind;
using subnet::PortIndex;

/// A port, or the first port of a node, with its attribute.
struct ListedRow : PortLine {
  std::vector<std::uint8_t> bytes;  ///< empty: it was not read
};

std::vector<report::Column<ListedRow>> listed_columns(const QueryInfo& query, Keys keys) {
  constexpr std::size_t usual_fields = 5;  // beside the node, its LID and the port
  auto columns = listed_columns_of<ListedRow>({"node_description", "lid", "port_num"},
                                              {"node_guid", "node_type", "node_description", "node_name", "lid", "port_num"});
  if (query.access != Access::port) columns.pop_back();
  // Each row says what its data is, as each report of an attribute does.
  columns.push_back({{.key = "attribute", .heading = "ATTRIBUTE"}, [&query](const ListedRow&) { return query.info->iba_name; }});
  const auto structure_of = [&query](const ListedRow& row) { return report::LaidOut{query.info, row.bytes}; };
  std::ranges::move(report::field_columns<ListedRow>({{query.info}, keys, "data", usual_fields}, structure_of),
                    std::back_inserter(columns));
  return columns;
}

struct ListedReport final : FabricReport {
  ListedReport(const Fabric& of, const QueryInfo& what, Keys keys, const TableOptions& options, std::vector<ListedRow> found,
               std::FILE* file)
      : FabricReport(of),
        query(what),
        list(listed_rows(what), table_of<ListedRow>(listed_columns(what, keys), options), std::move(found), file) {}

  void visit(report::Sink& sink) const override {
    sink.value("operation", query.name);
    list.visit(sink);
    visit_failures(sink);
  }
  void text(TextOut& out) const override { list.text(out); }

  const QueryInfo& query;
  ListReport<ListedRow> list;
};

bool may_have(const subnet::Node& node, const QueryInfo& query) {
  if (query.switches && node.kind() != NodeKind::sw) return false;
  return !query.vendor || subnet::is_mellanox(node.info);
}

/// Whether the port may have the attribute. The CapabilityMask of all ports of a switch is in its port 0.
bool may_have(const Fabric& fabric, PortIndex at, const QueryInfo& query) {
  if (query.needs == 0) return true;
  const PortIndex end = fabric.subnet.end_port_of(at);
  return end != subnet::none && fabric.subnet.port(end).has_info &&
         (fabric.subnet.port(end).info().capability_mask & query.needs) == query.needs;
}

/// The ports to which the request goes: each port of a node, or one that leads to it. What only some ports have is read of each of them.
std::vector<PortIndex> requested_ports(const Fabric& fabric, const QueryInfo& query) {
  std::vector<PortIndex> ports;
  for (const subnet::NodeIndex at : subnet::by_guid(fabric.subnet, std::nullopt)) {
    const subnet::Node& node = fabric.subnet.node(at);
    if (!may_have(node, query)) continue;
    const bool is_switch = node.kind() == NodeKind::sw;
    if (query.access == Access::node && (is_switch || query.needs == 0)) {
      ports.push_back(fabric.subnet.port_of(at, is_switch ? 0 : node.entry_port));
      continue;
    }
    for (unsigned number = 1; number < node.slots; ++number) ports.push_back(fabric.subnet.port_of(at, number));
  }
  std::erase_if(ports, [&](PortIndex port) { return port == subnet::none || !may_have(fabric, port, query); });
  return ports;
}

/// The attribute, by `path`; empty where the device answers that it does not have it.
async::Task<mad::Result<std::vector<std::uint8_t>>> read_one(subnet::SurveyPort port, const QueryInfo* query, path::Path path) {
  const std::uint32_t modifier = query->access == Access::port ? port.number : query->modifier;
  mad::Result<std::vector<std::uint8_t>> bytes = co_await port.transactor.try_get(path, *query->info, modifier);
  if (!bytes && bytes.error().status() != 0) co_return std::vector<std::uint8_t>();
  co_return bytes;
}

}  // namespace

std::string_view listed_rows(const QueryInfo& query) {
  if (query.access == Access::block)
    throw UsageError(fmt::format("--all is not for {}: a port or a node has several blocks of it", query.name));
  return query.access == Access::port ? "ports" : "nodes";
}

std::vector<std::string> listed_keys(const QueryInfo& query) {
  return query.access == Access::block ? std::vector<std::string>() : keys_of(listed_columns(query, Keys::hidden));
}

async::Task<> list_all(Session& session, Emit& emit, const QueryInfo& query, const TableOptions& options) {
  listed_rows(query);
  Fabric fabric;
  co_await discover(session, DiscoveryOptions(), fabric);
  subnet::SurveyOptions how(session.stack().here(), subnet::SurveyWay::smp);
  how.progress = [&session](std::size_t done, std::size_t of) { session.stack().progress().count(done, of, "ports"); };
  const bool by_own_link = query.access == Access::node && query.needs != 0;
  const path::Path start = how.start;
  const subnet::SurveyQuestion<std::vector<std::uint8_t>> read = [&](subnet::SurveyPort port) {
    return read_one(port, &query, by_own_link ? subnet::sma_path(fabric.subnet, port.index, start) : port.path);
  };
  auto found = co_await subnet::survey(session.stack().transactor(), fabric.subnet, requested_ports(fabric, query), std::move(how), read);
  std::vector<ListedRow> rows;
  bool any_read = false;
  for (auto& row : found.rows) {
    any_read = any_read || row.value.has_value();
    if (row.value && row.value->empty()) continue;
    rows.push_back({{&fabric, row.port}, std::move(row.value).value_or(std::vector<std::uint8_t>())});
  }
  require_read(any_read, found.failures);
  add_failures(session.host(), fabric, std::move(found.failures));
  emit(ListedReport(fabric, query, session.host().options().keys, options, std::move(rows), session.host().world().out));
}

}  // namespace ib::tools::smpquery
