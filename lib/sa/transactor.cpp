// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Answers each SubnGet in three steps: the LID at the end of the path, the query, the reply in the form of an SMP.
#include "sa/transactor.hpp"

#include <fmt/format.h>

#include "iba/queries.hpp"
#include "iba/registry.hpp"
#include "mad/describe.hpp"
#include "sa/records.hpp"

namespace ib::sa {

namespace {

mad::Reply smp_reply(const mad::Request& request, Bytes attribute, Bytes sa_mad, const mad::Source& source) {
  constexpr std::size_t tid_at = 8, tid_size = 8;
  mad::Reply reply{mad::answer_to(request, 0, mad::data_area(request.mgmt_class), attribute), source};
  std::copy_n(sa_mad.begin() + tid_at, tid_size, reply.bytes.begin() + tid_at);
  return reply;
}

/// A record that holds an attribute of SMPs (IBA 15.2.5), in its field `held`. The first component of each such record is the LID.
struct HoldingRecord {
  const StructInfo* record;
  const FieldInfo* held;
};

std::optional<HoldingRecord> record_with(std::uint16_t smp_attribute) {
  for (const QueryInfo& query : all_queries()) {
    if (!query.by_sa() || query.info->fields.front().kind != FieldKind::lid) continue;
    const auto held = std::ranges::find_if(query.info->fields, [smp_attribute](const FieldInfo& field) {
      return field.structure != nullptr && field.structure->attribute_id == smp_attribute;
    });
    if (held != query.info->fields.end()) return HoldingRecord{query.info, &*held};
  }
  return {};
}

std::uint32_t value_of(const ModifierInfo& part, std::uint32_t modifier) {
  return static_cast<std::uint32_t>((modifier >> (32 - part.bit_offset - part.bits)) & ((std::uint64_t{1} << part.bits) - 1));
}

/// The component of `record` that a part of an attribute modifier selects. Null if there is none.
const FieldInfo* component_of(const StructInfo& record, const ModifierInfo& part) {
  for (const std::string& name : {std::string(part.name), fmt::format("{}_num", part.name), fmt::format("output_{}_num", part.name)}) {
    if (const FieldInfo* field = find_field(record, name)) return field;
  }
  return nullptr;
}

bool is_port(const ModifierInfo& part) { return part.name.ends_with("port"); }

/// Whether the modifier of the SMP names a port. The record of a port of a channel adapter or router has the port's own LID.
bool names_port_by_modifier(std::uint16_t attribute, std::uint32_t modifier) {
  return (attribute == smp::PortInfo::attribute_id || attribute == smp::PortInfoExtended::attribute_id) && (modifier & 0xffU) != 0;
}

}  // namespace

std::optional<RecordQuery> record_query(std::uint16_t smp_attribute, std::uint32_t modifier, Lid lid) {
  const std::optional<HoldingRecord> row = record_with(smp_attribute);
  if (!row) return {};
  const StructInfo& record = *row->record;
  const StructInfo& attribute = *row->held->structure;
  const bool is_multicast = smp_attribute == smp::MulticastForwardingTable::attribute_id;
  RecordQuery query{.attribute_id = static_cast<std::uint16_t>(record.attribute_id),
                    .bytes = std::vector<std::uint8_t>(record.bytes),
                    .offset = row->held->bit_offset / 8,
                    .size = row->held->bits / 8,
                    .sparse = is_multicast || smp_attribute == smp::PKeyTable::attribute_id,
                    .switch_only = is_multicast};
  const auto select = [&query](const FieldInfo& field, std::uint32_t value) {
    wire::set_bits(query.bytes, field.bit_offset, field.bits, value);
    query.component_mask |= mask_bit(static_cast<unsigned>(field.mask_bit));
  };
  select(record.fields.front(), lid.value);
  std::uint32_t rest = modifier;
  for (const ModifierInfo& part : attribute.modifier) {
    const std::uint32_t value = value_of(part, modifier);
    const FieldInfo* const field = component_of(record, part);
    // These parts do not select what is read.
    if (field == nullptr && part.name != "control" && part.name != "sm_support_extended_link_speeds") continue;
    rest &= ~(value << (32 - part.bit_offset - part.bits));
    if (field == nullptr) continue;
    if (std::uint64_t{value} >> field->bits != 0) return {};
    select(*field, value);
    if (!is_port(part)) continue;
    query.port = static_cast<std::uint8_t>(value);
    if (!names_port_by_modifier(smp_attribute, modifier)) query.only_of_switches |= mask_bit(static_cast<unsigned>(field->mask_bit));
  }
  if (rest != 0 && !attribute.modifier.empty()) return {};
  return query;
}

mad::Task<mad::Result<mad::Reply>> SaTransactor::try_call(const mad::Request& request) {
  if (mad::is_smp(request.mgmt_class) && request.method == mad::method::get) return read(request);
  return below_.try_call(request);
}

mad::Task<mad::Result<mad::Reply>> SaTransactor::read(const mad::Request& request) {
  const std::uint16_t attribute = request.attribute_id;
  const std::uint32_t modifier = request.attribute_modifier;
  if (!record_query(attribute, modifier, Lid{})) {
    throw Error(
        fmt::format("The SA has no record that answers {} with attribute modifier {:#x}", mad::describe(mad::to_mad(request)), modifier));
  }
  const mad::Result<Lid> lid = co_await find_lid(request.path);
  if (!lid) co_return lid.shared_error();
  std::optional<RecordQuery> query = record_query(attribute, modifier, *lid);
  if (query->only_of_switches != 0) {
    const mad::Result<smp::NodeInfo> node = co_await node_info(*lid);
    if (!node) co_return node.shared_error();
    if (node->node_type != smp::NodeType::switch_) query->component_mask &= ~query->only_of_switches;
  }
  mad::Result<mad::Reply> reply = co_await fetch(*query, *lid, request.reason);
  if (!reply && is_no_records(reply.error()) && names_port_by_modifier(attribute, modifier)) {
    const Lid other = co_await lid_of_port(*lid, static_cast<std::uint8_t>(modifier));
    if (other != *lid) reply = co_await fetch(*record_query(attribute, modifier, other), other, request.reason);
  }
  if (!reply) {
    if (!query->sparse || !is_no_records(reply.error())) co_return reply;
    const mad::Result<smp::NodeInfo> node = co_await node_info(*lid);
    const bool has_table = node && query->port <= node->num_ports && (!query->switch_only || node->node_type == smp::NodeType::switch_);
    if (!has_table) co_return reply;
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
    const std::uint8_t port = directed->route[hop];
    const mad::Result<Lid> next = co_await links_.get(std::pair(at, port), request_link(at, port));
    if (!next) co_return next.shared_error();
    at = *next;
  }
  co_return at;
}

mad::Task<mad::Result<Lid>> SaTransactor::request_link(Lid from, std::uint8_t port) {
  const mad::Result<LinkRecord> link = co_await find_link(*this, from, port);
  if (!link) co_return link.shared_error();
  co_return end_of(*link);
}

mad::Task<mad::Result<smp::NodeInfo>> SaTransactor::node_info(Lid lid) {
  const RecordQuery query = *record_query(smp::NodeInfo::attribute_id, 0, lid);
  const mad::Result<mad::Reply> reply = co_await fetch(query, lid, mad::requested);
  if (!reply) co_return reply.shared_error();
  co_return NodeRecord::unpack(reply->payload()).node_info;
}

/// The LID of port `port` of the channel adapter or router that has a port with the LID `lid`; `lid` itself if the SA knows no such port.
mad::Task<Lid> SaTransactor::lid_of_port(Lid lid, std::uint8_t port) {
  const mad::Result<smp::NodeInfo> node = co_await node_info(lid);
  if (!node || node->node_type == smp::NodeType::switch_ || node->local_port_num == port) co_return lid;
  NodeRecord::Query ports;
  ports.node_guid(node->node_guid);
  const auto records = co_await try_subn_adm_get_table(below_, ports);
  if (!records) co_return lid;
  for (const NodeRecord& record : records->records) {
    if (record.node_info.node_guid == node->node_guid && record.node_info.local_port_num == port) co_return record.lid;
  }
  co_return lid;
}

}  // namespace ib::sa
