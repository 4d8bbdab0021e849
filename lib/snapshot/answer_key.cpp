// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/answer_key.hpp"

#include <map>
#include <utility>

#include "iba-gen/mlx.hpp"
#include "iba-gen/smp.hpp"
#include "iba/registry.hpp"
#include "mad/describe.hpp"
#include "snapshot/format.hpp"

namespace ib::snapshot {
namespace {

using subnet::Subnet;

/// The selector of a request that selects by its data and not by the attribute modifier.
std::uint32_t selector_of(const mad::Request& request) {
  if (mad::is_smp(request.mgmt_class) || request.attribute_id == mad::ClassPortInfo::attribute_id) return 0;
  // The second byte of every attribute of performance management that has a PortSelect (IBA 16.1.4).
  if (request.mgmt_class == mad::mgmt_class::performance) return request.payload.size() > 1 ? request.payload[1] : 0;
  std::vector<std::uint8_t> content(request.payload.begin(), request.payload.end());
  if (request.mgmt_class == mlx::AccessRegister::mgmt_class) {  // a request with the key in front selects what one without it does
    constexpr std::size_t key_size = 8;
    std::fill_n(content.begin(), std::min(key_size, content.size()), std::uint8_t{0});
  }
  const Bytes data = without_trailing_zeros(content);
  if (data.empty()) return 0;
  // FNV-1a of the length and the data, in steps of eight bytes.
  std::uint64_t hash = 0xcbf29ce484222325U;
  const auto add = [&hash](std::uint64_t word) { hash = (hash ^ word) * 0x100000001b3U; };
  add(data.size());
  for (std::size_t at = 0; at < data.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < sizeof(word) && at + i < data.size(); ++i) word |= std::uint64_t{data[at + i]} << 8 * i;
    add(word);
  }
  return static_cast<std::uint32_t>(hash ^ hash >> 32U);
}

/// Whether a structure may contain a key. The DataDetails of a trap may contain one, depending on the trap number (IBA 13.4.8.2).
bool may_hold_key(const StructInfo& info) {
  return std::ranges::any_of(info.fields, [](const FieldInfo& field) {
    return field.secret || field.name == "data_details" || (field.structure != nullptr && may_hold_key(*field.structure));
  });
}

/// Whether a key may stand in the stored attribute. Snapshots have millions of answers, of few attributes.
bool may_hold_key(const AnswerKey& key) {
  static std::map<std::pair<std::uint8_t, std::uint16_t>, bool> known;  // only of attributes that exist: files may name any
  if (find_keyed_data(key.mgmt_class) != nullptr) return true;
  const std::pair place(key.mgmt_class, key.attribute);
  if (const auto found = known.find(place); found != known.end()) return found->second;
  const StructInfo* info = find_attribute(key.mgmt_class, mad::class_version_of(key.mgmt_class), key.attribute);
  return info != nullptr && (known[place] = may_hold_key(*info));
}

}  // namespace

bool is_of_whole_node(std::uint16_t attribute) {
  return attribute == smp::NodeInfo::attribute_id || attribute == smp::NodeDescription::attribute_id ||
         attribute == smp::SwitchInfo::attribute_id;
}

AnswerKey key_of(const Subnet& subnet, const subnet::PathEnd& place, const mad::Request& request) {
  const bool smp = mad::is_smp(request.mgmt_class);
  AnswerKey key{.mgmt_class = smp ? mad::mgmt_class::smp : request.mgmt_class,
                .attribute = request.attribute_id,
                .node = place.node,
                .modifier = request.attribute_modifier,
                .selector = selector_of(request)};
  const bool is_switch = subnet.node(place.node).kind() == subnet::NodeKind::sw;
  if (smp && key.attribute == smp::PortInfo::attribute_id) {
    key.modifier &= 0xffU;  // the other bits only say what the requester understands (IBA 14.2.5.6)
    if (!is_switch && key.modifier == 0) key.modifier = place.entry_port;
  } else if (smp && key.attribute == smp::SLToVLMappingTable::attribute_id && !is_switch) {
    key.entry_port = place.entry_port;
    key.modifier = 0;  // such a node has one table a port (IBA 14.2.5.8)
  } else if (smp && key.attribute == smp::NodeInfo::attribute_id) {
    if (is_switch && !place.arrival) key.selector = by_lid;
  } else if (!is_switch && !(smp && is_of_whole_node(key.attribute))) {
    key.entry_port = place.entry_port;
  }
  return key;
}

AnswerKey table_key(const QueryInfo& table) {
  AnswerKey key{.mgmt_class = mad::mgmt_class::sa, .attribute = static_cast<std::uint16_t>(table.info->attribute_id)};
  for (const QueryInfo& one : sa::stored_table_infos()) {
    if (&one == &table) break;
    if (one.info->attribute_id == table.info->attribute_id) ++key.selector;
  }
  return key;
}

mad::DataArea stored_area(std::uint8_t mgmt_class) {
  constexpr std::size_t behind_cc_key = 32;  // IBA A10.4.1
  if (mgmt_class == mad::mgmt_class::congestion) return {behind_cc_key, mad::packet_size - behind_cc_key};
  return mad::data_area(mgmt_class);
}

std::optional<std::vector<std::uint8_t>> without_keys_of(const AnswerKey& key, Bytes payload) {
  if (key.mgmt_class != mad::mgmt_class::sa) {
    if (!may_hold_key(key)) return std::nullopt;
    return mad::without_keys(key.mgmt_class, key.attribute, stored_area(key.mgmt_class).offset, payload);
  }
  const std::span<const QueryInfo> tables = sa::stored_table_infos();
  const auto table = std::ranges::find(tables, key, table_key);
  if (table == tables.end()) return std::nullopt;
  std::vector<std::uint8_t> bytes(payload.begin(), payload.end());
  if (bytes.size() >= mad::data_area(key.mgmt_class).offset) sa::hide_keys(*table, bytes);
  return std::ranges::equal(bytes, payload) ? std::nullopt : std::optional(std::move(bytes));
}

AnswerKey key_in(const Statement& row) {
  return {.mgmt_class = static_cast<std::uint8_t>(row.integer(0)),
          .attribute = static_cast<std::uint16_t>(row.integer(1)),
          .node = static_cast<subnet::NodeIndex>(row.integer(2)),
          .entry_port = static_cast<std::uint8_t>(row.integer(3)),
          .modifier = static_cast<std::uint32_t>(row.integer(4)),
          .selector = static_cast<std::uint32_t>(row.integer(5))};
}

}  // namespace ib::snapshot
