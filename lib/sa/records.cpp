// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "sa/records.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/escape.hpp"
#include "iba/text.hpp"
#include "iba/wire.hpp"

namespace ib::sa {
namespace {

constexpr std::uint8_t no_records = 3;  // IBA 15.2.4

Records parse(mad::Reply reply, const StructInfo& type, std::uint8_t method) {
  const TableRows table = table_rows(reply, least_size(type));
  Records records;
  records.torn = table.torn;
  records.bytes = RecordBuffer(std::move(reply.bytes), table.records.first(type.bytes));
  if (!mad::is_list_method(method) && records.bytes.empty()) throw Error("The SA's answer holds no record");
  return records;
}

/// The link among the results of `query` that really starts at LID `from`; else `not_found`, which says so if the results came without
/// their end.
async::Task<mad::Result<LinkRecord>> pick(mad::Transactor& transactor, LinkRecord::Query query, Lid from, const mad::MadError& not_found) {
  const auto table = co_await try_subn_adm_get_table(transactor, query);
  const auto error = std::make_shared<mad::SaError>(dynamic_cast<const mad::SaError&>(not_found));
  if (!table) co_return error;
  const auto is_it = [&](const LinkRecord& link) { return link.from_lid == from && link.from_port == query.record.from_port; };
  const auto found = std::ranges::find_if(table->records, is_it);
  if (found != table->records.end()) co_return *found;
  if (table->torn) error->note(fmt::format("the SA's table of links from ports {} came without its end", query.record.from_port));
  co_return error;
}

}  // namespace

std::size_t least_size(const StructInfo& record) {
  std::size_t size = 0;
  for (const FieldInfo& field : record.fields) {
    if (!field.reserved) size = std::max<std::size_t>(size, (field.bit_offset + std::size_t{field.bits} * field.count + 7) / 8);
  }
  return size;
}

std::uint8_t list_method(const StructInfo& record) {
  for (const std::uint8_t method : {mad::method::get_table, mad::method::get_multi, mad::method::get_trace_table}) {
    if ((record.methods >> method & 1U) != 0) return method;
  }
  return mad::method::get;
}

async::Task<mad::Result<Records>> try_records(mad::Transactor& transactor, const path::Path& path, const Pattern& pattern,
                                              std::uint8_t method, std::uint32_t modifier) {
  mad::Request request = sa_request(path, pattern.record(), method, pattern.bytes(), pattern.component_mask());
  request.attribute_modifier = modifier;
  mad::Result<mad::Reply> reply = co_await transactor.try_call(request);
  if (!reply) co_return reply.shared_error();
  co_return parse(std::move(*reply), pattern.answer(), method);
}

async::Task<Records> find_records(mad::Transactor& transactor, const Pattern& pattern, std::uint8_t method) {
  mad::Result<Records> records = co_await try_records(transactor, transactor.sa_path(), pattern, method);
  if (!records && is_no_records(records.error())) co_return Records();
  co_return std::move(records).take();
}

bool is_no_records(const Error& error) {
  const auto* sa = dynamic_cast<const mad::SaError*>(&error);
  return sa != nullptr && sa->code() == no_records;
}

async::Task<Nodes> find_nodes(mad::Transactor& transactor, std::string_view member, std::string_view text) {
  Pattern pattern(NodeRecord::info());
  pattern.match(member, text);
  const Records records = co_await find_records(transactor, pattern);
  Nodes nodes;
  nodes.torn = records.torn;
  for (const Bytes record : records.bytes) nodes.records.push_back(wire::unpack_short<NodeRecord>(record));
  co_return nodes;
}

async::Task<Nodes> find_nodes_by_name(mad::Transactor& transactor, std::string_view name) {
  Nodes nodes = co_await find_nodes(transactor, "nodeDescription.nodeString", name);
  // Some SAs ignore this bit of the component mask.
  std::erase_if(nodes.records, [&](const NodeRecord& node) { return fixed_text(node.node_description.node_string) != name; });
  co_return nodes;
}

async::Task<Nodes> find_nodes_by_guid(mad::Transactor& transactor, Guid guid) {
  const std::string text = to_text(guid);
  Nodes nodes = co_await find_nodes(transactor, "nodeInfo.nodeGUID", text);
  if (nodes.records.empty()) nodes = co_await find_nodes(transactor, "nodeInfo.systemImageGUID", text);
  co_return nodes;
}

async::Task<mad::Result<LinkRecord>> find_link(mad::Transactor& transactor, Lid from, std::optional<std::uint8_t> port) {
  LinkRecord::Query query;
  query.from_lid(from);
  if (port) query.from_port(*port);
  const mad::Result<LinkRecord> link = co_await try_subn_adm_get(transactor, query);
  if (link || !port || !is_no_records(link.error())) co_return link;
  LinkRecord::Query by_port;
  by_port.from_port(*port);
  co_return co_await pick(transactor, by_port, from, link.error());
}

Lid end_of(const LinkRecord& link) {
  if (link.to_lid.is_unicast()) return link.to_lid;
  throw Error(
      fmt::format("The SA's link record leads from port {} of LID {} to LID {}", link.from_port, link.from_lid.value, link.to_lid.value));
}

}  // namespace ib::sa
