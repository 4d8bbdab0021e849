// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// See smpquery_ops.hpp. Numbers of ports and blocks come from the node and are only believed as far as a table goes.
#include "diags/smpquery_ops.hpp"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <array>

#include "base/escape.hpp"
#include "iba-gen/mlx.hpp"
#include "iba-gen/smp.hpp"
#include "iba/libibmad_text.hpp"

namespace ib::diags {
namespace {

using async::Task;

constexpr std::uint32_t extended_speeds_bit = 1U << 31;  // of PortInfo's attribute modifier (IBA 14.2.5.6)
constexpr unsigned pkeys_in_block = 32, guids_in_block = 8, arbitration_in_block = 32;

std::uint32_t port_modifier(int port) { return static_cast<std::uint32_t>(port); }

Task<> node_description(Query& query) {
  const auto node = co_await query.get<smp::NodeInfo>(0, "node info query failed");
  const auto description = co_await query.get_bytes(smp::NodeDescription::attribute_id, 0, "node desc query failed");
  const auto name = query.names.find(node.node_guid);
  query.out.write(description_line(name ? printable_words(*name) : printable(fixed_text(description))));
}

Task<> node_info(Query& query) {
  const auto bytes = co_await query.get_bytes(smp::NodeInfo::attribute_id, 0, "node info query failed");
  query.out.print("# Node info: {}\n{}", query.target.text, libibmad_listing(bytes, smp::NodeInfo::info()));
}

Task<> switch_info(Query& query) {
  const auto bytes = co_await query.get_bytes(smp::SwitchInfo::attribute_id, 0, "switch info query failed");
  query.out.print("# Switch info: {}\n{}", query.target.text, libibmad_listing(bytes, smp::SwitchInfo::info()));
}

Task<> port_info(Query& query) {
  const std::uint32_t modifier = port_modifier(query.port) | (query.extended ? extended_speeds_bit : 0U);
  const auto bytes = co_await query.get_bytes(smp::PortInfo::attribute_id, modifier, "port info query failed");
  query.out.print("# Port info: {} port {}\n{}", query.target.text, query.port, port_info_text(bytes, query.keys));
}

/// Whether the node says that it answers PortInfoExtended; a warning tells why not.
Task<bool> has_port_info_extended(Query& query) {
  constexpr const char* function = "is_port_info_extended_supported";
  const auto node = co_await query.fabric.get<smp::NodeInfo>(query.target);
  if (!node) throw Failure(function, "node info query failed");
  const int port = node->node_type == smp::NodeType::switch_ ? 0 : query.port;
  const auto info = co_await query.fabric.get<smp::PortInfo>(query.target, port_modifier(port));
  if (!info) throw Failure(function, "port info query failed");
  const std::uint32_t capabilities = info->capability_mask;
  const std::uint32_t capabilities2 = info->capability_mask2;
  if ((capabilities & smp::capability_mask::is_capability_mask2_supported) == 0) {
    warn(function, "port info capability mask2 not supported");
    co_return false;
  }
  if ((capabilities2 & smp::capability_mask2::is_port_info_extended_supported) == 0) {
    warn(function, fmt::format("port info capability mask2 = 0x{:x} doesn't indicate PortInfoExtended support", capabilities2));
    co_return false;
  }
  co_return true;
}

Task<> port_info_extended(Query& query) {
  const bool supported = co_await has_port_info_extended(query);
  if (!supported) throw query.failure("port info extended not supported");
  const auto bytes =
      co_await query.get_bytes(smp::PortInfoExtended::attribute_id, port_modifier(query.port), "port info extended query failed");
  query.out.print("# Port info Extended: {} port {}\n{}", query.target.text, query.port,
                  libibmad_listing(bytes, smp::PortInfoExtended::info()));
}

Task<> mlnx_ext_port_info(Query& query) {
  const auto bytes =
      co_await query.get_bytes(smp::MlnxExtPortInfo::attribute_id, port_modifier(query.port), "Mellanox ext port info query failed");
  query.out.print("# MLNX ext Port info: {} port {}\n{}", query.target.text, query.port,
                  libibmad_listing(bytes, smp::MlnxExtPortInfo::info()));
}

Task<> pkey_table(Query& query) {
  const auto node = co_await query.get<smp::NodeInfo>(0, "node info query failed");
  if (query.port > node.num_ports) throw query.failure("invalid port number");
  unsigned capacity = node.partition_cap;
  if (node.node_type == smp::NodeType::switch_ && query.port != 0) {
    const auto info = co_await query.get<smp::SwitchInfo>(0, "switch info failed");
    capacity = info.partition_enforcement_cap;
  }
  for (unsigned first = 0; first < capacity; first += pkeys_in_block) {
    const std::uint32_t modifier = first / pkeys_in_block | port_modifier(query.port) << 16;
    const auto block = co_await query.get<smp::PKeyTable>(modifier, "pkey table query failed");
    const unsigned shown = std::min(pkeys_in_block, (capacity - first + 7) / 8 * 8);
    for (unsigned i = 0; i < shown; i += 8) {
      const auto* key = &block.p_key_block[i];
      query.out.print("{:4}: 0x{:04x} 0x{:04x} 0x{:04x} 0x{:04x} 0x{:04x} 0x{:04x} 0x{:04x} 0x{:04x}\n", first + i, key[0], key[1], key[2],
                      key[3], key[4], key[5], key[6], key[7]);
    }
  }
  query.out.print("{} pkeys capacity for this port\n", capacity);
}

Task<> sl_to_vl_entry(Query& query, unsigned in, unsigned out) {
  const auto table = co_await query.get_bytes(smp::SLToVLMappingTable::attribute_id, in << 8 | out, "slvl query failed");
  query.out.print("ports: in {:2}, out {:2}: {}", in, out, libibmad_sl_to_vl(table));
}

Task<> sl_to_vl(Query& query) {
  const auto node = co_await query.get<smp::NodeInfo>(0, "node info query failed");
  if (query.port > node.num_ports) throw query.failure("invalid port number");
  query.out.print("# SL2VL table: {}\n#                 SL: | 0| 1| 2| 3| 4| 5| 6| 7| 8| 9|10|11|12|13|14|15|\n", query.target.text);
  if (node.node_type != smp::NodeType::switch_) {
    co_await sl_to_vl_entry(query, 0, 0);
    co_return;
  }
  for (unsigned in = 0; in <= node.num_ports; ++in) co_await sl_to_vl_entry(query, in, static_cast<unsigned>(query.port));
}

/// A table of `capacity` entries stands in the blocks `block` and, beyond 32 entries, `block` + 1.
Task<> arbitration_table(Query& query, const char* priority, unsigned block, unsigned capacity) {
  query.out.print("# {} priority VL Arbitration Table:", priority);
  for (unsigned first = 0; first < capacity && first < 2 * arbitration_in_block; first += arbitration_in_block, ++block) {
    const auto bytes =
        co_await query.get_bytes(smp::VLArbitrationTable::attribute_id, block << 16 | port_modifier(query.port), "vl arb query failed");
    query.out.write(libibmad_vl_arbitration(bytes, std::min(capacity - first, arbitration_in_block)));
  }
}

/// A basic switch port 0 has no VLs to arbitrate (IBA 14.2.5.9).
Task<bool> is_basic_port0(Query& query) {
  const auto node = co_await query.get<smp::NodeInfo>(0, "node info query failed");
  if (node.node_type != smp::NodeType::switch_) co_return false;
  const auto info = co_await query.get<smp::SwitchInfo>(0, "switch info query failed");
  co_return info.enhanced_port0 == 0;
}

Task<> vl_arbitration(Query& query) {
  if (query.port == 0) {
    const bool basic = co_await is_basic_port0(query);
    if (basic) {
      query.out.print("# No VLArbitration tables (BSP0): {} port 0\n", query.target.text);
      co_return;
    }
  }
  const auto info = co_await query.get<smp::PortInfo>(port_modifier(query.port), "port info query failed");
  const unsigned low = info.vl_arbitration_low_cap, high = info.vl_arbitration_high_cap;
  query.out.print("# VLArbitration tables: {} port {} LowCap {} HighCap {}\n", query.target.text, query.port, low, high);
  if (low > 0) co_await arbitration_table(query, "Low", 1, low);
  if (high > 0) co_await arbitration_table(query, "High", 3, high);
}

Task<> guid_info(Query& query) {
  const auto port = co_await query.get<smp::PortInfo>(0, "port info failed");
  const unsigned capacity = port.guid_cap;
  for (unsigned first = 0; first < capacity; first += guids_in_block) {
    const auto block = co_await query.get<smp::GuidInfo>(first / guids_in_block, "guid info query failed");
    const unsigned shown = std::min(guids_in_block, (capacity - first + 1) / 2 * 2);
    for (unsigned i = 0; i < shown; i += 2)
      query.out.print("{:4}: 0x{:016x} 0x{:016x}\n", first + i, block.guid_block[i].value, block.guid_block[i + 1].value);
  }
  query.out.print("{} guids capacity for this port\n", capacity);
}

constexpr Operation operations[]{
    {"NodeInfo", "NI", node_info},     {"NodeDesc", "ND", node_description},
    {"PortInfo", "PI", port_info},     {"PortInfoExtended", "PIE", port_info_extended},
    {"SwitchInfo", "SI", switch_info}, {"PKeyTable", "PKeys", pkey_table},
    {"SL2VLTable", "SL2VL", sl_to_vl}, {"VLArbitration", "VLArb", vl_arbitration},
    {"GUIDInfo", "GI", guid_info},     {"MlnxExtPortInfo", "MEPI", mlnx_ext_port_info},
};

bool same_word(std::string_view a, std::string_view b) { return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0; }

}  // namespace

Failure Query::failure(std::string_view why) const { return Failure("main", fmt::format("operation {}: {}", operation, why)); }

Task<std::vector<std::uint8_t>> Query::get_bytes(std::uint16_t attribute, std::uint32_t modifier, const char* or_else) {
  std::optional<std::vector<std::uint8_t>> bytes = co_await fabric.smp_get(target, attribute, modifier);
  if (!bytes) throw failure(or_else);
  co_return std::move(*bytes);
}

const Operation* find_operation(std::string_view name) {
  for (const Operation& operation : operations)
    if (same_word(operation.name, name) || same_word(operation.alias, name)) return &operation;
  return nullptr;
}

std::string port_info_text(Bytes port_info, Keys keys) {
  constexpr std::size_t width_active_at = 31;
  const unsigned width = port_info.size() > width_active_at ? port_info[width_active_at] : 0;
  if (libibmad_text(LibibmadText::linkwidth, width, 8).starts_with("undefined"))
    warn("mad_dump_linkwidth", fmt::format("bad width {}", width));
  return libibmad_listing(port_info, smp::PortInfo::info(), keys);
}

std::string description_line(std::string_view name) {
  constexpr std::size_t width = 32;
  return fmt::format("Node Description:{}{}\n", std::string(name.size() < width ? width - name.size() : 1, '.'), name);
}

}  // namespace ib::diags
