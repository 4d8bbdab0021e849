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
#include "tools/shared/fabric_columns.hpp"
#include "tools/smpquery/operation.hpp"

namespace ib::tools::smpquery {
namespace {

using subnet::NodeKind;
using subnet::PortIndex;

/// A port, or the first port of a node, with its attribute.
struct ListedRow {
  const Fabric* fabric{};
  PortIndex port{};
  std::vector<std::uint8_t> bytes{};  ///< empty: it was not read
};
using ListedColumn = report::FieldColumn<ListedRow>;

template <class Line>
void add_columns(std::vector<ListedColumn>& to, std::span<const report::Column<Line>> of, std::initializer_list<std::string_view> keys,
                 Line (*line_of)(const ListedRow& row)) {
  for (const report::Column<Line>& column : of) {
    if (std::ranges::find(keys, column.key) == keys.end()) continue;
    ListedColumn& added = to.emplace_back();
    static_cast<report::ColumnInfo&>(added) = column;
    added.usual = column.key == "node_description" || column.key == "lid" || column.key == "port_num";
    added.get = [get = column.get, line_of](const ListedRow& row) { return get(line_of(row)); };
  }
}

std::vector<ListedColumn> listed_columns(const QueryInfo& query, Keys keys) {
  constexpr std::size_t usual_fields = 5;  // beside the node, its LID and the port
  std::vector<ListedColumn> columns;
  add_columns<NodeLine>(columns, node_columns(), {"node_guid", "node_type", "node_description", "node_name"}, [](const ListedRow& row) {
    return NodeLine{row.fabric, row.fabric->subnet.port(row.port).node};
  });
  const auto port_line = [](const ListedRow& row) { return PortLine{row.fabric, row.port}; };
  add_columns<PortLine>(columns, port_columns(), {"lid"}, port_line);
  if (query.access == Access::port) add_columns<PortLine>(columns, port_columns(), {"port_num"}, port_line);
  // Each row says what its data is, as each report of an attribute does.
  ListedColumn& attribute = columns.emplace_back();
  attribute.key = "attribute";
  attribute.heading = "ATTRIBUTE";
  attribute.get = [what = &query](const ListedRow&) { return report::Cell(std::string(what->info->iba_name)); };
  std::ranges::move(
      report::field_columns<ListedRow>({{query.info}, keys, "data", usual_fields}, [](const ListedRow& row) { return Bytes(row.bytes); }),
      std::back_inserter(columns));
  return columns;
}

struct ListedReport final : FabricReport {
  ListedReport(const Fabric& of, const QueryInfo& what, Keys keys, const TableOptions& options, std::vector<ListedRow> found,
               std::FILE* file)
      : FabricReport(of),
        query(what),
        list(listed_rows(what), table_of<ListedRow, ListedColumn>(listed_columns(what, keys), options), std::move(found), file) {}

  void visit(report::Sink& sink) const override {
    sink.value("operation", query.name);
    list.visit(sink);
    visit_failures(sink);
  }
  void text(TextOut& out) const override { list.text(out); }

  const QueryInfo& query;
  ListReport<ListedRow, ListedColumn> list;
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
    rows.push_back({&fabric, row.port, std::move(row.value).value_or(std::vector<std::uint8_t>())});
  }
  require_read(any_read, found.failures);
  add_failures(session.host(), fabric, std::move(found.failures));
  emit(ListedReport(fabric, query, session.host().options().keys, options, std::move(rows), session.host().world().out));
}

}  // namespace ib::tools::smpquery
