// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One small function for each attribute. Attribute modifiers are those of IBA 14.2.5, records those of IBA 15.2.5.
#include "sa/record_query.hpp"

#include <string_view>

#include "iba-gen/sa.hpp"
#include "iba/registry.hpp"

namespace ib::sa {
namespace {

using OptionalQuery = std::optional<RecordQuery>;

template <class Query>
RecordQuery made(const Query& query, std::string_view member) {
  using Record = decltype(Query::record);
  const FieldInfo& field = *find_field(Record::info(), member);
  RecordQuery result;
  result.attribute_id = Record::attribute_id;
  result.component_mask = query.component_mask;
  result.bytes.resize(Record::wire_size);
  query.record.pack(result.bytes);
  result.offset = field.bit_offset / 8;
  result.size = field.bits / 8;
  return result;
}

/// The query for a block of a table in which zeros stand for nothing: no P_Key, no port.
template <class Query>
RecordQuery made_sparse(const Query& query, std::string_view member) {
  RecordQuery result = made(query, member);
  result.sparse = true;
  return result;
}

std::uint8_t byte(std::uint32_t value) { return static_cast<std::uint8_t>(value); }

OptionalQuery port_info(std::uint32_t modifier, Lid lid, const NodeKind* node) {
  constexpr std::uint32_t extended_speeds = 1U << 31;  // says that the sender understands extended speeds; not part of the port number
  const std::uint32_t port = modifier & ~extended_speeds;
  if (port > 255) return {};
  PortInfoRecord::Query query;
  query.endport_lid(lid);
  if (port != 0 || node->is_switch()) query.port_num(byte(port));
  return made(query, "port_info");
}

OptionalQuery port_info_extended(std::uint32_t modifier, Lid lid, const NodeKind* node) {
  if (modifier > 255) return {};
  PortInfoExtendedRecord::Query query;
  query.lid(lid);
  if (modifier != 0 || node->is_switch()) query.port_num(byte(modifier));
  return made(query, "port_info_ext");
}

OptionalQuery pkey_table(std::uint32_t modifier, Lid lid, const NodeKind* node) {
  const std::uint32_t port = modifier >> 16;
  if (port > 255) return {};
  PKeyTableRecord::Query query;
  query.lid(lid).block_num(static_cast<std::uint16_t>(modifier));
  if (node->is_switch()) query.port_num(byte(port));
  RecordQuery result = made_sparse(query, "p_key_table");
  result.port = byte(port);
  return result;
}

OptionalQuery sl_to_vl(std::uint32_t modifier, Lid lid, const NodeKind* node) {
  if (modifier > 0xffff) return {};
  SLToVLMappingTableRecord::Query query;
  query.lid(lid);
  if (node->is_switch()) query.input_port_num(byte(modifier >> 8)).output_port_num(byte(modifier));
  return made(query, "sl_to_vl_mapping_table");
}

OptionalQuery vl_arbitration(std::uint32_t modifier, Lid lid, const NodeKind* node) {
  const std::uint32_t port = modifier & 0xffff, block = modifier >> 16;
  if (port > 255 || block > 255) return {};
  VLArbitrationTableRecord::Query query;
  query.lid(lid).block_num(byte(block));
  if (node->is_switch()) query.output_port_num(byte(port));
  return made(query, "vl_arbitration_table");
}

OptionalQuery linear_forwarding(std::uint32_t modifier, Lid lid) {
  if (modifier > 0xffff) return {};
  LinearForwardingTableRecord::Query query;
  query.lid(lid).block_num(static_cast<std::uint16_t>(modifier));
  return made(query, "linear_forwarding_table");
}

OptionalQuery random_forwarding(std::uint32_t modifier, Lid lid) {
  if (modifier > 0xffff) return {};
  RandomForwardingTableRecord::Query query;
  query.lid(lid).block_num(static_cast<std::uint16_t>(modifier));
  return made(query, "random_forwarding_table");
}

OptionalQuery multicast_forwarding(std::uint32_t modifier, Lid lid) {
  const std::uint32_t block = modifier & 0xfffffff;
  if (block > 0x1ff) return {};
  MulticastForwardingTableRecord::Query query;
  query.lid(lid).position(byte(modifier >> 28)).block_num(static_cast<std::uint16_t>(block));
  RecordQuery result = made_sparse(query, "multicast_forwarding_table");
  result.switch_only = true;
  return result;
}

OptionalQuery guid_info(std::uint32_t modifier, Lid lid) {
  if (modifier > 255) return {};
  GuidInfoRecord::Query query;
  query.lid(lid).block_num(byte(modifier));
  return made(query, "guid_info");
}

}  // namespace

bool needs_node_kind(std::uint16_t smp_attribute, std::uint32_t modifier) {
  switch (smp_attribute) {
    case smp::PortInfo::attribute_id:
      return (modifier & 0x7fffffff) == 0;
    case smp::PortInfoExtended::attribute_id:
      return modifier == 0;
    case smp::PKeyTable::attribute_id:
    case smp::SLToVLMappingTable::attribute_id:
    case smp::VLArbitrationTable::attribute_id:
      return true;
    default:
      return false;
  }
}

std::optional<RecordQuery> record_query(std::uint16_t smp_attribute, std::uint32_t modifier, Lid lid, const NodeKind* node) {
  switch (smp_attribute) {
    case smp::NodeInfo::attribute_id:
      return made(NodeRecord::Query().lid(lid), "node_info");
    case smp::NodeDescription::attribute_id:
      return made(NodeRecord::Query().lid(lid), "node_description");
    case smp::SwitchInfo::attribute_id:
      return made(SwitchInfoRecord::Query().lid(lid), "switch_info");
    case smp::SMInfo::attribute_id:
      return made(SMInfoRecord::Query().lid(lid), "sm_info");
    case smp::PortInfo::attribute_id:
      return port_info(modifier, lid, node);
    case smp::PortInfoExtended::attribute_id:
      return port_info_extended(modifier, lid, node);
    case smp::GuidInfo::attribute_id:
      return guid_info(modifier, lid);
    case smp::PKeyTable::attribute_id:
      return pkey_table(modifier, lid, node);
    case smp::SLToVLMappingTable::attribute_id:
      return sl_to_vl(modifier, lid, node);
    case smp::VLArbitrationTable::attribute_id:
      return vl_arbitration(modifier, lid, node);
    case smp::LinearForwardingTable::attribute_id:
      return linear_forwarding(modifier, lid);
    case smp::RandomForwardingTable::attribute_id:
      return random_forwarding(modifier, lid);
    case smp::MulticastForwardingTable::attribute_id:
      return multicast_forwarding(modifier, lid);
    default:
      return {};
  }
}

}  // namespace ib::sa
