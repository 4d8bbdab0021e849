// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The tables of smpquery. The size of a table is in another attribute, which is read first. infiniband-diags prints each block when it
// arrives. Therefore, if a block is not answered, the blocks before it are printed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <type_traits>

#include "iba-gen/smp.hpp"
#include "iba/libibmad_text.hpp"
#include "iba/text.hpp"
#include "path/json.hpp"
#include "subnet/sweep/smp_tables.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/stack.hpp"
#include "tools/smpquery/operation.hpp"

namespace ib::tools::smpquery {
namespace {

using subnet::SmpBlocks;

/// The base of the reports on tables. Their JSON begins with the operation, the path and the modifier.
struct TableReport : Report {
  std::string_view operation;
  path::Path path;
  std::string name;
  std::uint32_t modifier{};
  bool complete = true;

  explicit TableReport(const OperationRun& op)
      : operation(op.operation.query->name), path(op.path()), name(op.node.name), modifier(op.modifier) {}
  void visit(report::Sink& sink) const override {
    sink.value("operation", operation);
    path::visit(sink, "path", path);
    sink.value("modifier", modifier);
    visit_table(sink);
  }
  virtual void visit_table(report::Sink& sink) const = 0;
};

void emit_table(const OperationRun& op, TableReport& report, const std::shared_ptr<const mad::MadError>& error, const char* why) {
  report.complete = error == nullptr;
  if (report.complete) return op.emit(report);
  op.emit.so_far(report);
  op.stack.manners().give_up(error, op.words(why));
}

/// The modifiers of the blocks for `count` entries, `per_block` in each block: first, first + step, ….
std::vector<std::uint32_t> block_modifiers(std::uint32_t first, std::size_t count, std::size_t per_block, std::uint32_t step = 1) {
  std::vector<std::uint32_t> modifiers;
  for (std::size_t i = 0; i * per_block < count; ++i) modifiers.push_back(first + static_cast<std::uint32_t>(i) * step);
  return modifiers;
}

/// The elements of the blocks of T, up to the first block that was not read.
template <class T, class Array>
auto entries(const SmpBlocks& blocks, Array T::*member) {
  std::vector<typename Array::value_type> all;
  const std::size_t count = blocks.unread.empty() ? blocks.bytes.size() / subnet::smp_block_bytes : blocks.unread.front();
  for (std::size_t i = 0; i < count; ++i) {
    const T block = T::unpack(blocks.block(i));
    all.insert(all.end(), (block.*member).begin(), (block.*member).end());
  }
  return all;
}

/// Rows of `columns` cells. Each row begins with the index of its first cell. Only the first `count` cells are printed, but with
/// `whole_rows` the last row is complete.
template <class T, class Cell>
void print_rows(TextOut& out, const std::vector<T>& cells, std::size_t count, std::size_t columns, bool whole_rows, int index_width,
                Cell cell) {
  const std::size_t shown = std::min(cells.size(), whole_rows ? (count + columns - 1) / columns * columns : count);
  for (std::size_t i = 0; i < shown; ++i) {
    if (i % columns == 0) out.print("{}{:{}}:", i == 0 ? "" : "\n", i, index_width);
    out.write(" ");
    out.write(cell(cells[i]));
  }
  if (shown > 0) out.write("\n");
}

template <class T>
void visit_list(report::Sink& sink, std::string_view key, const std::vector<T>& values, std::size_t count) {
  sink.begin_array(key);
  for (std::size_t i = 0; i < std::min(count, values.size()); ++i) sink.value({}, values[i]);
  sink.end_array();
}

template <class T>
struct EntriesReport final : TableReport {
  using TableReport::TableReport;
  static constexpr bool are_guids = std::is_same_v<T, Guid>;
  std::size_t capacity{};
  std::vector<T> entries;  ///< of whole blocks

  void visit_table(report::Sink& sink) const override {
    sink.value("capacity", capacity);
    visit_list(sink, are_guids ? "guids" : "pkeys", entries, capacity);
  }
  void text(TextOut& out) const override { print(out, false); }
  void diags_text(TextOut& out) const override { print(out, true); }

 private:
  void print(TextOut& out, bool as_diags) const {
    print_rows(out, entries, capacity, are_guids ? 2 : 8, as_diags, 4, [&](T entry) {
      if constexpr (are_guids) {
        return as_diags ? fmt::format("0x{:016x}", entry.value) : to_text(entry);
      } else {
        return to_hex(entry, 4);
      }
    });
    if (complete) out.print("{} {} capacity for this port\n", capacity, are_guids ? "guids" : "pkeys");
  }
};

struct Sl2vlReport final : TableReport {
  using TableReport::TableReport;
  std::uint32_t out_port{};
  std::uint32_t diags_out_port{};
  SmpBlocks by_in_port;
  std::size_t read{};  ///< the number of elements of by_in_port that were read

  void visit_table(report::Sink& sink) const override {
    sink.value("out_port", out_port);
    sink.begin_array("in_ports");
    for (std::size_t in = 0; in < read; ++in) {
      const auto table = smp::SLToVLMappingTable::unpack(by_in_port.block(in)).sl_to_vl;
      sink.begin_object();
      sink.value("in_port", in);
      sink.values("sl_to_vl", table);
      sink.end_object();
    }
    sink.end_array();
  }
  void text(TextOut& out) const override {
    header(out, " ", to_text(path));
    for (std::size_t in = 0; in < read; ++in) {
      out.print("ports: in {:2}, out {:2}: |", in, out_port);
      for (const unsigned vl : smp::SLToVLMappingTable::unpack(by_in_port.block(in)).sl_to_vl) out.print("{:2}|", vl);
      out.write("\n");
    }
  }
  void diags_text(TextOut& out) const override {
    header(out, ": ", name);
    for (std::size_t in = 0; in < read; ++in)
      out.print("ports: in {:2}, out {:2}: {}", in, diags_out_port, libibmad_sl_to_vl(by_in_port.block(in)));
  }

 private:
  static void header(TextOut& out, std::string_view between, std::string_view whose) {
    out.print("# SL2VL table{}{}\n#                 SL: | 0| 1| 2| 3| 4| 5| 6| 7| 8| 9|10|11|12|13|14|15|\n", between, whose);
  }
};

struct VlArbReport final : TableReport {
  using TableReport::TableReport;

  struct Table {
    std::string_view title;
    std::size_t capacity{};                ///< the number of valid entries, at most 64
    std::vector<std::uint16_t> entries{};  ///< of whole blocks; the VL is in bits 8…11, the weight in bits 0…7
    SmpBlocks blocks{};
    bool begun{};
  };
  bool has_tables = true;
  unsigned low_capacity{}, high_capacity{};  ///< from the PortInfo
  std::array<Table, 2> tables{{{.title = "Low"}, {.title = "High"}}};

  static unsigned vl(std::uint16_t entry) { return entry >> 8 & 0xf; }
  static unsigned weight(std::uint16_t entry) { return entry & 0xff; }

  void visit_table(report::Sink& sink) const override {
    sink.value("has_tables", has_tables);
    sink.value("low_capacity", low_capacity);
    sink.value("high_capacity", high_capacity);
    for (const auto& [key, table] : {std::pair{"low", &tables[0]}, {"high", &tables[1]}}) {
      sink.begin_array(key);
      for (std::size_t i = 0; i < std::min(table->capacity, table->entries.size()); ++i) {
        sink.begin_object();
        sink.value("vl", vl(table->entries[i]));
        sink.value("weight", weight(table->entries[i]));
        sink.end_object();
      }
      sink.end_array();
    }
  }
  void text(TextOut& out) const override {
    if (!has_tables) {
      out.print("# No VLArbitration tables (BSP0): {} port {}\n", to_text(path), modifier);
      return;
    }
    out.print("# VLArbitration tables: {} port {} LowCap {} High Cap {}\n", to_text(path), modifier, low_capacity, high_capacity);
    for (const Table& table : tables) {
      if (table.capacity == 0) continue;
      const std::span entries = std::span(table.entries).first(std::min(table.capacity, table.entries.size()));
      out.print("# {} priority VL Arbitration Table:\nVL    : |", table.title);
      for (const std::uint16_t entry : entries) out.print("{:<4}|", to_hex(vl(entry)));
      out.write("\nWEIGHT: |");
      for (const std::uint16_t entry : entries) out.print("{:<4}|", to_hex(weight(entry)));
      out.write("\n");
    }
  }
  void diags_text(TextOut& out) const override {
    if (!has_tables) {
      out.print("# No VLArbitration tables (BSP0): {} port 0\n", name);
      return;
    }
    const auto port = static_cast<std::int32_t>(modifier);
    out.print("# VLArbitration tables: {} port {} LowCap {} HighCap {}\n", name, port, low_capacity, high_capacity);
    for (const Table& table : tables) {
      if (!table.begun) continue;
      out.print("# {} priority VL Arbitration Table:", table.title);
      std::size_t left = table.capacity;
      for (std::size_t block = 0; block * per_block < table.entries.size(); ++block, left -= std::min(left, per_block))
        out.write(libibmad_vl_arbitration(table.blocks.block(block), static_cast<unsigned>(std::min(left, per_block))));
    }
  }

  static constexpr std::size_t per_block = 32, most_entries = 64;  // IBA 14.2.5.9
};

/// The known part of the table, up to LinearFDBTop.
struct LftReport final : TableReport {
  using TableReport::TableReport;
  subnet::LinearTable table;

  void visit_table(report::Sink& sink) const override {
    sink.value("capacity", table.capacity());
    sink.value("top", table.top());
    sink.begin_array("port_by_lid");
    for (unsigned lid = 0; lid < table.end(); ++lid) port(lid) == subnet::no_out_port ? sink.null({}) : sink.value({}, port(lid));
    sink.end_array();
  }
  void text(TextOut& out) const override {
    std::vector<unsigned> ports;
    for (unsigned lid = 0; lid < table.end(); ++lid) ports.push_back(port(lid));
    print_rows(out, ports, ports.size(), 8, false, 3, [](unsigned at) { return std::to_string(at); });
    out.print("{} LFT capacity for this port, top is {}\n", table.capacity(), table.top());
    if (table.end() < table.capacity()) out.print("# No LIDs above {} are forwarded: the table ends at the top\n", table.end() - 1);
  }

 private:
  unsigned port(unsigned lid) const { return table.out_port(Lid{static_cast<std::uint16_t>(lid)}); }
};

struct MftReport final : TableReport {
  using TableReport::TableReport;
  subnet::MulticastTable table;

  template <class Use>
  void each_group(Use use) const {
    for (unsigned mlid = table.first(); mlid < table.end(); ++mlid) {
      const std::vector<std::uint8_t> members = table.members(Lid{static_cast<std::uint16_t>(mlid)});
      if (!members.empty()) use(mlid, members);
    }
  }
  void visit_table(report::Sink& sink) const override {
    sink.value("capacity", table.capacity());
    sink.begin_array("groups");
    each_group([&](unsigned mlid, const std::vector<std::uint8_t>& members) {
      sink.begin_object();
      sink.value("mlid", mlid);
      visit_list(sink, "out_ports", members, members.size());
      sink.end_object();
    });
    sink.end_array();
  }
  void text(TextOut& out) const override {
    std::size_t groups = 0;
    each_group([&](unsigned mlid, const std::vector<std::uint8_t>& members) {
      out.print("{}: {}\n", to_hex(mlid, 4), fmt::join(members, " "));
      ++groups;
    });
    out.print("{} MFT capacity for this switch, {} groups have ports\n", table.capacity(), groups);
  }
};

bool is_switch(const smp::NodeInfo& node) { return node.node_type == smp::NodeType::switch_; }

void check_port(const OperationRun& op, const smp::NodeInfo& node) {
  if (static_cast<std::int32_t>(op.modifier) <= node.num_ports) return;
  op.stack.manners().refuse(UsageError("Invalid port number"), op.words("invalid port number"));
}

async::Task<SmpBlocks> read_blocks(const OperationRun& op, const StructInfo& info, std::vector<std::uint32_t> modifiers) {
  return subnet::try_read_smp_blocks(op.stack.transactor(), op.path(), info, std::move(modifiers));
}

}  // namespace

async::Task<> pkey_table(const OperationRun& op) {
  const auto node = co_await op.get<smp::NodeInfo>(0, "node info query failed");
  check_port(op, node);
  EntriesReport<std::uint16_t> report(op);
  report.capacity = node.partition_cap;
  if (is_switch(node) && op.modifier != 0) {
    const auto info = co_await op.get<smp::SwitchInfo>(0, "switch info failed");
    report.capacity = info.partition_enforcement_cap;
  }
  const SmpBlocks blocks = co_await read_blocks(op, smp::PKeyTable::info(), block_modifiers(op.modifier << 16, report.capacity, 32));
  report.entries = entries(blocks, &smp::PKeyTable::p_key_block);
  emit_table(op, report, blocks.error, "pkey table query failed");
}

async::Task<> guid_info(const OperationRun& op) {
  const auto port = co_await op.get<smp::PortInfo>(0, "port info failed");
  EntriesReport<Guid> report(op);
  report.capacity = port.guid_cap;
  const SmpBlocks blocks = co_await read_blocks(op, smp::GuidInfo::info(), block_modifiers(0, report.capacity, 8));
  report.entries = entries(blocks, &smp::GuidInfo::guid_block);
  emit_table(op, report, blocks.error, "guid info query failed");
}

async::Task<> sl_to_vl_tables(const OperationRun& op) {
  const auto node = co_await op.get<smp::NodeInfo>(0, "node info query failed");
  check_port(op, node);
  Sl2vlReport report(op);
  report.out_port = is_switch(node) ? op.modifier : node.local_port_num;
  report.diags_out_port = is_switch(node) ? op.modifier : 0;
  std::vector<std::uint32_t> modifiers;
  for (std::uint32_t in = 0; in <= (is_switch(node) ? node.num_ports : 0U); ++in) modifiers.push_back(in << 8 | report.out_port);
  const std::size_t count = modifiers.size();
  report.by_in_port = co_await read_blocks(op, smp::SLToVLMappingTable::info(), std::move(modifiers));
  report.read = report.by_in_port.unread.empty() ? count : report.by_in_port.unread.front();
  emit_table(op, report, report.by_in_port.error, "slvl query failed");
}

async::Task<> vl_arbitration(const OperationRun& op) {
  VlArbReport report(op);
  if (op.modifier == 0) {  // a basic port 0 of a switch has no VLs to arbitrate (IBA 14.2.5.9)
    const auto node = co_await op.get<smp::NodeInfo>(0, "node info query failed");
    if (is_switch(node)) {
      const auto info = co_await op.get<smp::SwitchInfo>(0, "switch info query failed");
      report.has_tables = info.enhanced_port0 != 0;
    }
  }
  if (!report.has_tables) {
    op.emit(report);
    co_return;
  }
  const auto port = co_await op.get<smp::PortInfo>(op.modifier, "port info query failed");
  report.low_capacity = port.vl_arbitration_low_cap;
  report.high_capacity = port.vl_arbitration_high_cap;
  std::shared_ptr<const mad::MadError> error;
  // Blocks 1 and 2 are the low-priority table, 3 and 4 the high-priority one.
  for (const auto& [table, first, capacity] :
       {std::tuple{&report.tables[0], 1U, report.low_capacity}, {&report.tables[1], 3U, report.high_capacity}}) {
    table->capacity = std::min<std::size_t>(capacity, VlArbReport::most_entries);
    table->begun = table->capacity > 0;
    table->blocks = co_await read_blocks(op, smp::VLArbitrationTable::info(),
                                         block_modifiers(first << 16 | op.modifier, table->capacity, VlArbReport::per_block, 1U << 16));
    table->entries = entries(table->blocks, &smp::VLArbitrationTable::vl_weight_block);
    error = table->blocks.error;
    if (error) break;
  }
  emit_table(op, report, error, "vl arb query failed");
}

async::Task<> linear_forwarding_table(const OperationRun& op) {
  const auto info = co_await op.get<smp::SwitchInfo>(0, "switch info query failed");
  LftReport report(op);
  report.table = subnet::LinearTable(info);
  const auto error = co_await subnet::read_table(op.stack.transactor(), op.path(), report.table);
  emit_table(op, report, error, "lft query failed");
}

async::Task<> multicast_forwarding_table(const OperationRun& op) {
  const auto node = co_await op.get<smp::NodeInfo>(0, "node info query failed");
  const auto info = co_await op.get<smp::SwitchInfo>(0, "switch info query failed");
  MftReport report(op);
  report.table = subnet::MulticastTable(info, node.num_ports);
  const auto error = co_await subnet::read_table(op.stack.transactor(), op.path(), report.table);
  emit_table(op, report, error, "mft query failed");
}

}  // namespace ib::tools::smpquery
