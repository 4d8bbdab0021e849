// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Answers each SubnGet in three steps: the LID at the end of the path, the query, the reply in the form of an SMP.
#include "sa/transactor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "iba-gen/sa.hpp"
#include "mad/describe.hpp"
#include "sa/links.hpp"
#include "sa/records.hpp"
#include "sa/subn_adm.hpp"

namespace ib::sa {

namespace {

/// The answer to the SMP `request` with the attribute `attribute`.
mad::Reply smp_reply(const mad::Request& request, Bytes attribute, Bytes sa_mad, const mad::Source& source) {
  constexpr std::size_t method_at = 3, status_at = 4, tid_at = 8, tid_size = 8;
  mad::Reply reply{mad::to_mad(request), source};
  std::vector<std::uint8_t>& packet = reply.bytes;
  packet[method_at] = mad::response_method(request.method);
  if (request.mgmt_class == mad::mgmt_class::smp_directed) packet[status_at] = 0x80;  // the D bit, IBA 14.2.1.2
  std::copy_n(sa_mad.begin() + tid_at, tid_size, packet.begin() + tid_at);
  const mad::DataArea area = mad::data_area(request.mgmt_class);
  std::copy_n(attribute.begin(), std::min(attribute.size(), area.size), packet.begin() + static_cast<std::ptrdiff_t>(area.offset));
  return reply;
}

/// Whether the modifier of the SMP names a port. A record of a port of a channel adapter or router is that of the port's own LID.
bool names_port_by_modifier(std::uint16_t attribute, std::uint32_t modifier) {
  return (attribute == smp::PortInfo::attribute_id || attribute == smp::PortInfoExtended::attribute_id) && (modifier & 0xffU) != 0;
}

}  // namespace

SaTransactor::SaTransactor(mad::Transactor& below) : Transactor(below.end_port()), below_(below) { sa_path() = below.sa_path(); }

mad::Task<mad::Result<mad::Reply>> SaTransactor::try_call(const mad::Request& request) {
  if (mad::is_smp(request.mgmt_class) && request.method == mad::method::get) return read(request);
  return below_.try_call(request);
}

mad::Task<mad::Result<mad::Reply>> SaTransactor::read(const mad::Request& request) {
  const std::uint16_t attribute = request.attribute_id;
  const std::uint32_t modifier = request.attribute_modifier;
  static constexpr NodeKind any;
  if (!record_query(attribute, modifier, Lid{1}, &any)) {
    throw Error(
        fmt::format("The SA has no record that answers {} with attribute modifier {:#x}", mad::describe(mad::to_mad(request)), modifier));
  }
  const mad::Result<Lid> lid = co_await find_lid(request.path);
  if (!lid) co_return lid.shared_error();
  NodeKind kind;
  if (needs_node_kind(attribute, modifier)) {
    const mad::Result<NodeKind> node = co_await node_kind(*lid);
    if (!node) co_return node.shared_error();
    kind = *node;
  }
  const std::optional<RecordQuery> query = record_query(attribute, modifier, *lid, &kind);
  mad::Result<mad::Reply> reply = co_await fetch(*query, *lid, request.reason);
  if (!reply && is_no_records(reply.error()) && names_port_by_modifier(attribute, modifier)) {
    const Lid other = co_await lid_of_port(*lid, static_cast<std::uint8_t>(modifier));
    if (other != *lid) reply = co_await fetch(*record_query(attribute, modifier, other, &kind), other, request.reason);
  }
  if (!reply) {
    if (!query->sparse || !is_no_records(reply.error())) co_return reply;
    const bool plausible = co_await is_plausible(*query, *lid);
    if (!plausible) co_return reply;
    const std::vector<std::uint8_t> zeros(query->size);
    co_return smp_reply(request, zeros, reply.error().reply(), {});
  }
  co_return smp_reply(request, reply->payload().subspan(query->offset, query->size), reply->bytes, reply->source);
}

mad::Task<mad::Result<mad::Reply>> SaTransactor::fetch(RecordQuery query, Lid lid, mad::Reason reason) {
  const bool is_node = query.attribute_id == NodeRecord::attribute_id;
  mad::Task<mad::Result<mad::Reply>> fetching = query_sa(std::move(query), reason);
  return is_node ? nodes_.get(lid, std::move(fetching)) : std::move(fetching);
}

mad::Task<mad::Result<mad::Reply>> SaTransactor::query_sa(RecordQuery query, mad::Reason reason) {
  const mad::Request request{.path = sa_path(),
                             .mgmt_class = mad::mgmt_class::sa,
                             .class_version = 2,
                             .attribute_id = query.attribute_id,
                             .payload = query.bytes,
                             .component_mask = query.component_mask,
                             .reason = reason};
  co_return co_await below_.try_call(request);
}

mad::Task<mad::Result<Lid>> SaTransactor::find_lid(const path::Path& path) {
  const path::IbDrPath* directed = path.directed();
  if (directed == nullptr) co_return path.ib().dlid;
  if (directed->dr_dlid != permissive_lid) co_return directed->dr_dlid;
  Lid at = directed->dlid == permissive_lid ? end_port().lid : directed->dlid;
  for (std::size_t hop = 1; hop <= directed->hops; ++hop) {
    const mad::Result<Lid> next = co_await across(at, directed->route[hop]);
    if (!next) co_return next.shared_error();
    at = *next;
  }
  co_return at;
}

mad::Task<mad::Result<Lid>> SaTransactor::across(Lid from, std::uint8_t port) { return links_.get({from, port}, request_link(from, port)); }

mad::Task<mad::Result<Lid>> SaTransactor::request_link(Lid from, std::uint8_t port) {
  const mad::Result<LinkRecord> link = co_await find_link(*this, from, port);
  if (!link) co_return link.shared_error();
  co_return end_of(*link);
}

mad::Task<mad::Result<NodeKind>> SaTransactor::node_kind(Lid lid) {
  const RecordQuery query = *record_query(smp::NodeInfo::attribute_id, 0, lid, nullptr);
  const mad::Result<mad::Reply> reply = co_await fetch(query, lid, mad::requested);
  if (!reply) co_return reply.shared_error();
  const smp::NodeInfo node = NodeRecord::unpack(reply->payload()).node_info;
  co_return NodeKind{node.node_type, node.num_ports};
}

/// The LID of port `port` of the channel adapter or router that has a port with the LID `lid`; `lid` itself if the SA knows no such port.
mad::Task<Lid> SaTransactor::lid_of_port(Lid lid, std::uint8_t port) {
  const RecordQuery query = *record_query(smp::NodeInfo::attribute_id, 0, lid, nullptr);
  const mad::Result<mad::Reply> reply = co_await fetch(query, lid, mad::requested);
  if (!reply) co_return lid;
  const smp::NodeInfo node = NodeRecord::unpack(reply->payload()).node_info;
  if (node.node_type == smp::NodeType::switch_ || node.local_port_num == port) co_return lid;
  NodeRecord::Query ports;
  ports.node_guid(node.node_guid);
  const auto records = co_await try_subn_adm_get_table(below_, ports);
  if (!records) co_return lid;
  for (const NodeRecord& record : records->records) {
    if (record.node_info.node_guid == node.node_guid && record.node_info.local_port_num == port) co_return record.lid;
  }
  co_return lid;
}

mad::Task<bool> SaTransactor::is_plausible(const RecordQuery& query, Lid lid) {
  const mad::Result<NodeKind> node = co_await node_kind(lid);
  if (!node) co_return false;
  co_return query.port <= node->num_ports && (!query.switch_only || node->is_switch());
}

}  // namespace ib::sa
