// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// smpquery's tables: how large each is stands in another attribute, which is read first.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "cmd/smpquery.hpp"
#include "iba-gen/smp.hpp"
#include "iba/text.hpp"
#include "tools/smp_tables.hpp"

namespace ib::tools::smpquery {
namespace {

/// Begins the JSON of a table and says whose it is.
struct TableReport : Report {
  std::string_view operation;
  std::string path;
  std::uint32_t modifier{};

  TableReport(std::string_view name, const Query& query) : operation(name), path(to_text(query.path)), modifier(query.modifier) {}
  void visit(out::Sink& sink) const override {
    sink.value("operation", operation);
    sink.value("path", path);
    sink.value("modifier", modifier);
    visit_table(sink);
  }
  virtual void visit_table(out::Sink& sink) const = 0;
};

/// The first `count` elements of the arrays of `blocks`.
template <class Block, class Array>
auto joined(const std::vector<Block>& blocks, Array Block::*member, std::size_t count) {
  std::vector<typename Array::value_type> all;
  for (const Block& block : blocks) all.insert(all.end(), (block.*member).begin(), (block.*member).end());
  all.resize(std::min(all.size(), count));
  return all;
}

/// Rows of `columns` cells behind the index of the first one.
template <class T, class Cell>
void print_rows(TextOut& out, const std::vector<T>& cells, std::size_t columns, int index_width, Cell cell) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i % columns == 0) out.print("{}{:{}}:", i == 0 ? "" : "\n", i, index_width);
    out.write(" ");
    out.write(cell(cells[i]));
  }
  if (!cells.empty()) out.write("\n");
}

template <class T>
void visit_list(out::Sink& sink, std::string_view key, const std::vector<T>& values) {
  sink.begin_array(key);
  for (const T& value : values) sink.value({}, value);
  sink.end_array();
}

struct PkeyReport final : TableReport {
  using TableReport::TableReport;
  std::size_t capacity{};
  std::vector<std::uint16_t> pkeys;

  void visit_table(out::Sink& sink) const override {
    sink.value("capacity", capacity);
    visit_list(sink, "pkeys", pkeys);
  }
  void text(TextOut& out) const override {
    print_rows(out, pkeys, 8, 4, [](std::uint16_t pkey) { return to_hex(pkey, 4); });
    out.print("{} pkeys capacity for this port\n", capacity);
  }
};

struct GuidReport final : TableReport {
  using TableReport::TableReport;
  std::vector<Guid> guids;

  void visit_table(out::Sink& sink) const override {
    sink.value("capacity", guids.size());
    visit_list(sink, "guids", guids);
  }
  void text(TextOut& out) const override {
    print_rows(out, guids, 2, 4, [](Guid guid) { return to_text(guid); });
    out.print("{} guids capacity for this port\n", guids.size());
  }
};

struct Sl2vlReport final : TableReport {
  using TableReport::TableReport;
  std::uint32_t out_port{};
  std::vector<smp::SLToVLMappingTable> by_in_port;

  void visit_table(out::Sink& sink) const override {
    sink.value("out_port", out_port);
    sink.begin_array("in_ports");
    for (std::size_t in = 0; in < by_in_port.size(); ++in) {
      sink.begin_object();
      sink.value("in_port", in);
      visit_list(sink, "sl_to_vl", std::vector<std::uint8_t>(by_in_port[in].sl_to_vl.begin(), by_in_port[in].sl_to_vl.end()));
      sink.end_object();
    }
    sink.end_array();
  }
  void text(TextOut& out) const override {
    out.print("# SL2VL table {}\n#                 SL: | 0| 1| 2| 3| 4| 5| 6| 7| 8| 9|10|11|12|13|14|15|\n", path);
    for (std::size_t in = 0; in < by_in_port.size(); ++in) {
      out.print("ports: in {:2}, out {:2}: |", in, out_port);
      for (const std::uint8_t vl : by_in_port[in].sl_to_vl) out.print("{:2}|", vl);
      out.write("\n");
    }
  }
};

struct VlArbReport final : TableReport {
  using TableReport::TableReport;
  bool has_tables = true;
  std::size_t low_capacity{}, high_capacity{};
  std::vector<std::uint16_t> low, high;  ///< VL in bits 8…11, weight in bits 0…7

  static unsigned vl(std::uint16_t entry) { return entry >> 8 & 0xf; }
  static unsigned weight(std::uint16_t entry) { return entry & 0xff; }

  static void visit_entries(out::Sink& sink, std::string_view key, const std::vector<std::uint16_t>& table) {
    sink.begin_array(key);
    for (const std::uint16_t entry : table) {
      sink.begin_object();
      sink.value("vl", vl(entry));
      sink.value("weight", weight(entry));
      sink.end_object();
    }
    sink.end_array();
  }
  void visit_table(out::Sink& sink) const override {
    sink.value("has_tables", has_tables);
    sink.value("low_capacity", low_capacity);
    sink.value("high_capacity", high_capacity);
    visit_entries(sink, "low", low);
    visit_entries(sink, "high", high);
  }
  static void print(TextOut& out, std::string_view name, const std::vector<std::uint16_t>& table) {
    if (table.empty()) return;
    out.print("# {} priority VL Arbitration Table:\nVL    : |", name);
    for (const std::uint16_t entry : table) out.print("{:<4}|", to_hex(vl(entry)));
    out.write("\nWEIGHT: |");
    for (const std::uint16_t entry : table) out.print("{:<4}|", to_hex(weight(entry)));
    out.write("\n");
  }
  void text(TextOut& out) const override {
    if (!has_tables) {
      out.print("# No VLArbitration tables (BSP0): {} port {}\n", path, modifier);
      return;
    }
    out.print("# VLArbitration tables: {} port {} LowCap {} High Cap {}\n", path, modifier, low_capacity, high_capacity);
    print(out, "Low", low);
    print(out, "High", high);
  }
};

struct LftReport final : TableReport {
  using TableReport::TableReport;
  std::size_t capacity{};
  unsigned top{};
  std::vector<std::uint8_t> ports;

  void visit_table(out::Sink& sink) const override {
    sink.value("capacity", capacity);
    sink.value("top", top);
    visit_list(sink, "ports", ports);
  }
  void text(TextOut& out) const override {
    print_rows(out, ports, 8, 3, [](std::uint8_t port) { return fmt::format_int(port).str(); });
    out.print("{} LFT capacity for this port, top is {}\n", capacity, top);
  }
};

struct MftReport final : TableReport {
  using TableReport::TableReport;
  std::size_t capacity{};
  unsigned ports{};
  std::vector<std::vector<std::uint16_t>> positions;  ///< by port-mask position: masks of 16 ports, by MLID − 0xc000

  std::vector<unsigned> members(std::size_t index) const {
    std::vector<unsigned> result;
    for (unsigned port = 0; port <= ports; ++port) {
      const auto& masks = positions[port / 16];
      if (index < masks.size() && (masks[index] >> (port % 16) & 1) != 0) result.push_back(port);
    }
    return result;
  }
  void visit_table(out::Sink& sink) const override {
    sink.value("capacity", capacity);
    sink.begin_array("groups");
    for (std::size_t i = 0; i < capacity; ++i) {
      const std::vector<unsigned> group = members(i);
      if (group.empty()) continue;
      sink.begin_object();
      sink.value("mlid", 0xc000 + i);
      visit_list(sink, "ports", group);
      sink.end_object();
    }
    sink.end_array();
  }
  void text(TextOut& out) const override {
    std::size_t groups = 0;
    for (std::size_t i = 0; i < capacity; ++i) {
      const std::vector<unsigned> group = members(i);
      if (group.empty()) continue;
      out.print("{}: {}\n", to_hex(0xc000 + i, 4), fmt::join(group, " "));
      ++groups;
    }
    out.print("{} MFT capacity for this switch, {} groups have ports\n", capacity, groups);
  }
};

}  // namespace

async::Task<> pkey_table(const Query& q) {
  const auto node = co_await q.transactor.subn_get<smp::NodeInfo>(q.path);
  if (q.modifier > node.num_ports) throw UsageError("Invalid port number");
  PkeyReport report("PKeyTable", q);
  report.capacity = node.partition_cap;
  if (node.node_type == smp::NodeType::switch_ && q.modifier != 0) {
    const auto info = co_await q.transactor.subn_get<smp::SwitchInfo>(q.path);
    report.capacity = info.partition_enforcement_cap;
  }
  const auto blocks = co_await read_smp_table<smp::PKeyTable>(q.transactor, q.path, q.modifier << 16, report.capacity, 32);
  report.pkeys = joined(blocks, &smp::PKeyTable::p_key_block, report.capacity);
  q.emit(report);
}

async::Task<> guid_info(const Query& q) {
  const auto port = co_await q.transactor.subn_get<smp::PortInfo>(q.path);
  GuidReport report("GUIDInfo", q);
  const auto blocks = co_await read_smp_table<smp::GuidInfo>(q.transactor, q.path, 0, port.guid_cap, 8);
  report.guids = joined(blocks, &smp::GuidInfo::guid_block, port.guid_cap);
  q.emit(report);
}

async::Task<> sl2vl_table(const Query& q) {
  const auto node = co_await q.transactor.subn_get<smp::NodeInfo>(q.path);
  const bool is_switch = node.node_type == smp::NodeType::switch_;
  if (is_switch && q.modifier > node.num_ports) throw UsageError("Invalid port number");
  Sl2vlReport report("SL2VLTable", q);
  report.out_port = is_switch ? q.modifier : node.local_port_num;
  std::vector<std::uint32_t> modifiers;
  for (std::uint32_t in = 0; in <= (is_switch ? node.num_ports : 0U); ++in) modifiers.push_back(in << 8 | report.out_port);
  const std::vector<std::uint8_t> bytes = co_await read_smp_blocks(q.transactor, q.path, smp::SLToVLMappingTable::attribute_id, modifiers);
  for (std::size_t i = 0; i < modifiers.size(); ++i) {
    report.by_in_port.push_back(smp::SLToVLMappingTable::unpack(Bytes(bytes).subspan(i * smp_block_bytes, smp_block_bytes)));
  }
  q.emit(report);
}

async::Task<> vl_arbitration(const Query& q) {
  const auto node = co_await q.transactor.subn_get<smp::NodeInfo>(q.path);
  VlArbReport report("VLArbitration", q);
  if (q.modifier == 0 && node.node_type == smp::NodeType::switch_) {
    const auto info = co_await q.transactor.subn_get<smp::SwitchInfo>(q.path);
    report.has_tables = info.enhanced_port0 != 0;
  }
  if (report.has_tables) {
    const auto port = co_await q.transactor.subn_get<smp::PortInfo>(q.path, q.modifier);
    report.low_capacity = port.vl_arbitration_low_cap;
    report.high_capacity = port.vl_arbitration_high_cap;
    // IBA 14.2.5.9: blocks 1 and 2 are the low-priority table, 3 and 4 the high-priority one; 64 entries at most.
    const std::size_t low = std::min<std::size_t>(report.low_capacity, 64), high = std::min<std::size_t>(report.high_capacity, 64);
    const auto low_blocks =
        co_await read_smp_table<smp::VLArbitrationTable>(q.transactor, q.path, 1U << 16 | q.modifier, low, 32, 1U << 16);
    const auto high_blocks =
        co_await read_smp_table<smp::VLArbitrationTable>(q.transactor, q.path, 3U << 16 | q.modifier, high, 32, 1U << 16);
    report.low = joined(low_blocks, &smp::VLArbitrationTable::vl_weight_block, low);
    report.high = joined(high_blocks, &smp::VLArbitrationTable::vl_weight_block, high);
  }
  q.emit(report);
}

async::Task<> linear_forwarding_table(const Query& q) {
  const auto info = co_await q.transactor.subn_get<smp::SwitchInfo>(q.path);
  LftReport report("LinearForwardingTable", q);
  report.capacity = info.linear_fdb_cap;
  report.top = info.linear_fdb_top;
  const std::size_t entries = std::min<std::size_t>(report.capacity, last_unicast_lid + 1U);
  const auto blocks = co_await read_smp_table<smp::LinearForwardingTable>(q.transactor, q.path, 0, entries, 64);
  report.ports = joined(blocks, &smp::LinearForwardingTable::port_block, entries);
  q.emit(report);
}

async::Task<> multicast_forwarding_table(const Query& q) {
  const auto node = co_await q.transactor.subn_get<smp::NodeInfo>(q.path);
  const auto info = co_await q.transactor.subn_get<smp::SwitchInfo>(q.path);
  MftReport report("MulticastForwardingTable", q);
  report.capacity = std::min<std::size_t>(info.multicast_fdb_cap, 0xffff - 0xc000);
  report.ports = node.num_ports;
  // IBA 14.2.5.12: the position, 16 ports each, is in the top bits of the modifier, the block of 32 MLIDs in the low ones.
  for (std::uint32_t position = 0; position <= node.num_ports / 16U; ++position) {
    const auto blocks = co_await read_smp_table<smp::MulticastForwardingTable>(q.transactor, q.path, position << 28, report.capacity, 32);
    report.positions.push_back(joined(blocks, &smp::MulticastForwardingTable::port_mask_block, report.capacity));
  }
  q.emit(report);
}

}  // namespace ib::tools::smpquery
