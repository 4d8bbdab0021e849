// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The operations of smpquery: those that print one attribute, and the tables. The size of a table is in another attribute, which is read
// first. infiniband-diags prints each block when it arrives. Therefore, if a block is not answered, the blocks before it are printed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <type_traits>

#include "base/escape.hpp"
#include "iba-gen/smp.hpp"
#include "iba/libibmad_text.hpp"
#include "iba/text.hpp"
#include "mad/error.hpp"
#include "mad/transactor.hpp"
#include "subnet/sweep/mlnx.hpp"
#include "subnet/sweep/smp_tables.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/stack.hpp"
#include "tools/frame/world.hpp"
#include "tools/shared/attribute_text.hpp"
#include "tools/smpquery/operation.hpp"

namespace ib::tools::smpquery {
namespace {

constexpr std::uint32_t extended_speeds_bit = 1U << 31;  // of PortInfo's attribute modifier (IBA 14.2.5.6)

/// The base of the reports. Their JSON begins with the operation, the path and the modifier.
struct OperationReport : Report {
  const OperationRun& op;
  std::uint32_t modifier;
  bool complete = true;  ///< all blocks of a table were read

  explicit OperationReport(const OperationRun& of) : op(of), modifier(of.modifier) {}
  void visit(report::Sink& sink) const final {
    sink.value("operation", op.operation.query->name);
    path::visit(sink, "path", op.path());
    sink.value("modifier", modifier);
    visit_rest(sink);
  }
  void text(TextOut& out) const final { print(out, false); }
  void diags_text(TextOut& out) const final { print(out, true); }
  virtual void visit_rest(report::Sink& sink) const = 0;
  virtual void print(TextOut& out, bool as_diags) const = 0;
};

struct AttributeReport final : OperationReport {
  using OperationReport::OperationReport;
  std::string diags_heading;
  AttributeText attribute;
  NewFields new_fields{};
  bool words{};  ///< beside numbers; python-rdma prints the attributes that it has without

  void visit_rest(report::Sink& sink) const override { attribute.visit_attribute(sink); }
  void print(TextOut& out, bool as_diags) const override {
    if (!as_diags) return attribute.text(out, {.names = NameStyle::smpquery, .colon = true, .words = words});
    out.print("{}\n{}", diags_heading, libibmad_listing(attribute.bytes, *attribute.info, attribute.keys, new_fields));
  }
};

/// Ends the command if the node does not report that it supports PortInfoExtended.
async::Task<> check_port_info_extended(const OperationRun& op) {
  constexpr const char* function = "is_port_info_extended_supported";
  const Manners& manners = op.stack.manners();
  mad::Transactor& transactor = op.stack.transactor();
  const auto node = co_await manners.get<smp::NodeInfo>(transactor, op.path(), 0, "node info query failed");
  const bool is_switch = node.node_type == smp::NodeType::switch_;
  const auto port = co_await manners.get<smp::PortInfo>(transactor, op.path(), is_switch ? 0 : op.modifier, "port info query failed");
  const std::uint32_t capabilities = port.capability_mask, capabilities2 = port.capability_mask2;
  const bool has_mask2 = (capabilities & smp::capability_mask::is_capability_mask2_supported) != 0;
  if (has_mask2 && (capabilities2 & smp::capability_mask2::is_port_info_extended_supported) != 0) co_return;
  manners.remark(function, has_mask2
                               ? fmt::format("port info capability mask2 = 0x{:x} doesn't indicate PortInfoExtended support", capabilities2)
                               : "port info capability mask2 not supported");
  manners.refuse(Error(fmt::format("{} does not support PortInfoExtended", mad::target_text(op.node.path))),
                 op.words("port info extended not supported"));
}

struct DescriptionReport final : OperationReport {
  using OperationReport::OperationReport;
  std::string description;
  std::optional<std::string> mapped;  ///< the name in the node name map of the site

  void visit_rest(report::Sink& sink) const override {
    sink.value("node_description", description);
    sink.value("node_name", mapped);
  }
  void print(TextOut& out, bool as_diags) const override {
    if (!as_diags) return out.print("Node Description: {}\n", in_quotes(mapped.value_or(description)));
    constexpr std::size_t width = 32;  // of the dots and the name, which is aligned to the right
    const std::string shown = mapped ? printable_words(*mapped) : printable(description);
    out.print("Node Description:{}{}\n", std::string(shown.size() < width ? width - shown.size() : 1, '.'), shown);
  }
};

/// Refuses to send an attribute of a vendor to a device of another one.
async::Task<> check_vendor(const OperationRun& op) {
  const QueryInfo& query = *op.operation.query;
  if (!query.vendor) co_return;
  const auto node = co_await op.get<smp::NodeInfo>(0, "node info query failed");
  if (subnet::is_mellanox(node)) co_return;
  op.stack.manners().refuse(
      Error(fmt::format("{} is not a Mellanox device: {} is not sent to it", mad::target_text(op.node.path), query.name)),
      op.words("not supported"));
}

using subnet::SmpBlocks;

void emit_table(const OperationRun& op, OperationReport& report, const std::shared_ptr<const mad::MadError>& error, const char* why) {
  report.complete = error == nullptr;
  if (report.complete) return op.emit(report);
  op.emit.so_far(report);
  op.stack.manners().give_up(error, op.words(why));
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
struct EntriesReport final : OperationReport {
  using OperationReport::OperationReport;
  static constexpr bool are_guids = std::is_same_v<T, Guid>;
  std::size_t capacity{};
  std::vector<T> entries;  ///< of whole blocks

  void visit_rest(report::Sink& sink) const override {
    sink.value("capacity", capacity);
    sink.values(are_guids ? "guids" : "pkeys", std::span(entries).first(std::min(capacity, entries.size())));
  }
  void print(TextOut& out, bool as_diags) const override {
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

struct Sl2vlReport final : OperationReport {
  using OperationReport::OperationReport;
  std::uint32_t out_port{};
  std::uint32_t diags_out_port{};
  SmpBlocks by_in_port;

  void visit_rest(report::Sink& sink) const override {
    sink.value("out_port", out_port);
    sink.objects("in_ports", std::views::iota(std::size_t{0}, by_in_port.read_count()), [&](std::size_t in) {
      sink.value("in_port", in);
      sink.values("sl_to_vl", smp::SLToVLMappingTable::unpack(by_in_port.block(in)).sl_to_vl);
    });
  }
  void print(TextOut& out, bool as_diags) const override {
    const std::uint32_t to = as_diags ? diags_out_port : out_port;
    const std::string whose = as_diags ? ": " + op.node.name : ' ' + to_text(op.path());
    out.print("# SL2VL table{}\n#                 SL: | 0| 1| 2| 3| 4| 5| 6| 7| 8| 9|10|11|12|13|14|15|\n", whose);
    for (std::size_t in = 0; in < by_in_port.read_count(); ++in)
      out.print("ports: in {:2}, out {:2}: {}", in, to, libibmad_sl_to_vl(by_in_port.block(in)));
  }
};

struct VlArbReport final : OperationReport {
  using OperationReport::OperationReport;

  struct Table {
    std::string_view key, title;
    std::uint32_t first_block;  ///< in bits 16…31 of the attribute modifier
    unsigned reported{};        ///< its capacity in the PortInfo
    SmpBlocks blocks{};

    std::size_t capacity() const { return std::min(reported, 64U); }  // IBA 14.2.5.9
    /// The VL of an entry is in bits 8…11, its weight in bits 0…7.
    std::vector<std::uint16_t> entries() const {
      std::vector<std::uint16_t> all = blocks.entries(&smp::VLArbitrationTable::vl_weight_block);
      all.resize(std::min(capacity(), all.size()));
      return all;
    }
  };
  bool has_tables = true;
  std::array<Table, 2> tables{{{"low", "Low", 1}, {"high", "High", 3}}};

  static unsigned vl(std::uint16_t entry) { return entry >> 8 & 0xf; }
  static unsigned weight(std::uint16_t entry) { return entry & 0xff; }

  void visit_rest(report::Sink& sink) const override {
    sink.value("has_tables", has_tables);
    for (const Table& table : tables) sink.value(fmt::format("{}_capacity", table.key), table.reported);
    for (const Table& table : tables) {
      sink.objects(table.key, table.entries(), [&](std::uint16_t entry) {
        sink.value("vl", vl(entry));
        sink.value("weight", weight(entry));
      });
    }
  }
  void print(TextOut& out, bool as_diags) const override {
    const std::string whose = as_diags ? op.node.name : to_text(op.path());
    const auto port = static_cast<std::int32_t>(modifier);
    if (!has_tables) return out.print("# No VLArbitration tables (BSP0): {} port {}\n", whose, port);
    out.print("# VLArbitration tables: {} port {} LowCap {} High{}Cap {}\n", whose, port, tables[0].reported, as_diags ? "" : " ",
              tables[1].reported);
    for (const Table& table : tables) {
      if (table.blocks.bytes.empty()) continue;
      out.print("# {} priority VL Arbitration Table:", table.title);
      as_diags ? print_blocks(out, table) : print_entries(out, table.entries());
    }
  }

 private:
  static void print_entries(TextOut& out, const std::vector<std::uint16_t>& entries) {
    out.write("\nVL    : |");
    for (const std::uint16_t entry : entries) out.print("{:<4}|", to_hex(vl(entry)));
    out.write("\nWEIGHT: |");
    for (const std::uint16_t entry : entries) out.print("{:<4}|", to_hex(weight(entry)));
    out.write("\n");
  }
  static void print_blocks(TextOut& out, const Table& table) {
    const std::size_t per_block = subnet::entries_per_block(smp::VLArbitrationTable::info());
    std::size_t left = table.capacity();
    for (std::size_t block = 0; block < table.blocks.read_count(); ++block, left -= std::min(left, per_block))
      out.write(libibmad_vl_arbitration(table.blocks.block(block), static_cast<unsigned>(std::min(left, per_block))));
  }
};

/// The known part of the table, up to LinearFDBTop.
struct LftReport final : OperationReport {
  using OperationReport::OperationReport;
  subnet::LinearTable table;

  void visit_rest(report::Sink& sink) const override {
    sink.value("capacity", table.capacity());
    sink.value("top", table.top());
    sink.begin_array("port_by_lid");
    for (unsigned lid = 0; lid < table.end(); ++lid) port(lid) == subnet::no_out_port ? sink.null({}) : sink.value({}, port(lid));
    sink.end_array();
  }
  void print(TextOut& out, bool /*as_diags*/) const override {
    std::vector<unsigned> ports;
    for (unsigned lid = 0; lid < table.end(); ++lid) ports.push_back(port(lid));
    print_rows(out, ports, ports.size(), 8, false, 3, [](unsigned at) { return std::to_string(at); });
    out.print("{} LFT capacity for this port, top is {}\n", table.capacity(), table.top());
    if (table.end() < table.capacity()) out.print("# No LIDs above {} are forwarded: the table ends at the top\n", table.end() - 1);
  }

 private:
  unsigned port(unsigned lid) const { return table.out_port(Lid{static_cast<std::uint16_t>(lid)}); }
};

struct MftReport final : OperationReport {
  using OperationReport::OperationReport;
  subnet::MulticastTable table;

  template <class Use>
  void each_group(Use use) const {
    for (unsigned mlid = table.first(); mlid < table.end(); ++mlid) {
      const std::vector<std::uint8_t> members = table.members(Lid{static_cast<std::uint16_t>(mlid)});
      if (!members.empty()) use(mlid, members);
    }
  }
  void visit_rest(report::Sink& sink) const override {
    sink.value("capacity", table.capacity());
    sink.begin_array("groups");
    each_group([&](unsigned mlid, const std::vector<std::uint8_t>& members) {
      sink.begin_object();
      sink.value("mlid", mlid);
      sink.values("out_ports", members);
      sink.end_object();
    });
    sink.end_array();
  }
  void print(TextOut& out, bool /*as_diags*/) const override {
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

/// The blocks of a table that hold its first `count` entries; `first` and `step` as of block_modifiers().
async::Task<SmpBlocks> read_blocks(const OperationRun& op, const StructInfo& table, std::size_t count, std::uint32_t first = 0,
                                   std::uint32_t step = 1) {
  return subnet::try_read_smp_blocks(op.stack.transactor(), op.path(), table, subnet::block_modifiers(table, count, first, step));
}

async::Task<> node_description(const OperationRun& op) {
  DescriptionReport report(op);
  report.modifier = 0;
  const subnet::NodeNameMap& names = op.stack.manners().node_name_map();
  if (op.always_names_node || !names.empty()) {
    const auto node = co_await op.get<smp::NodeInfo>(0, "node info query failed");
    if (const auto name = names.find(node.node_guid)) report.mapped = *name;
  }
  const auto value = co_await op.get<smp::NodeDescription>(0, "node desc query failed");
  report.description = fixed_text(value.node_string);
  op.emit(report);
}

async::Task<> pkey_table(const OperationRun& op) {
  const auto node = co_await op.get<smp::NodeInfo>(0, "node info query failed");
  check_port(op, node);
  EntriesReport<std::uint16_t> report(op);
  smp::SwitchInfo info{};
  if (is_switch(node) && op.modifier != 0) info = co_await op.get<smp::SwitchInfo>(0, "switch info failed");
  report.capacity = subnet::pkey_capacity(node, info, op.modifier);
  const SmpBlocks blocks = co_await read_blocks(op, smp::PKeyTable::info(), report.capacity, op.modifier << 16);
  report.entries = blocks.entries(&smp::PKeyTable::p_key_block);
  emit_table(op, report, blocks.error, "pkey table query failed");
}

async::Task<> guid_info(const OperationRun& op) {
  const auto port = co_await op.get<smp::PortInfo>(0, "port info failed");
  EntriesReport<Guid> report(op);
  report.capacity = port.guid_cap;
  const SmpBlocks blocks = co_await read_blocks(op, smp::GuidInfo::info(), report.capacity);
  report.entries = blocks.entries(&smp::GuidInfo::guid_block);
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
  report.by_in_port =
      co_await subnet::try_read_smp_blocks(op.stack.transactor(), op.path(), smp::SLToVLMappingTable::info(), std::move(modifiers));
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
  if (!report.has_tables) co_return op.emit(report);
  const auto port = co_await op.get<smp::PortInfo>(op.modifier, "port info query failed");
  report.tables[0].reported = port.vl_arbitration_low_cap;
  report.tables[1].reported = port.vl_arbitration_high_cap;
  std::shared_ptr<const mad::MadError> error;
  for (VlArbReport::Table& table : report.tables) {
    const std::uint32_t first = table.first_block << 16 | op.modifier;
    if (!error) table.blocks = co_await read_blocks(op, smp::VLArbitrationTable::info(), table.capacity(), first, 1U << 16);
    error = error ? error : table.blocks.error;
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

constexpr Operation known_operations[]{
    {smp::NodeInfo::info, any_attribute, true, "Node info", "node info query failed"},
    {smp::NodeDescription::info, node_description},
    {smp::PortInfo::info, any_attribute, true, "Port info", "port info query failed"},
    {smp::SwitchInfo::info, any_attribute, true, "Switch info", "switch info query failed"},
    {smp::PKeyTable::info, pkey_table},
    {smp::SLToVLMappingTable::info, sl_to_vl_tables},
    {smp::VLArbitrationTable::info, vl_arbitration},
    {smp::GuidInfo::info, guid_info},
    {smp::LinearForwardingTable::info, linear_forwarding_table, false},
    {smp::MulticastForwardingTable::info, multicast_forwarding_table, false},
    {smp::PortInfoExtended::info, any_attribute, true, "Port info Extended", "port info extended query failed"},
    {smp::MlnxExtPortInfo::info, any_attribute, true, "MLNX ext Port info", "Mellanox ext port info query failed"},
};

/// Those above first, in their order.
std::vector<Operation> make_operations() {
  std::vector<Operation> made;
  const auto add = [&made](Operation operation, auto is_of) {
    for (const QueryInfo& query : all_queries()) {
      if (!query.by_smp() || !is_of(query)) continue;
      operation.query = &query;
      operation.classic = query.classic;
      made.push_back(operation);
    }
  };
  const auto is_of = [](const Operation& known, const QueryInfo& query) { return query.info == &known.attribute(); };
  for (const Operation& known : known_operations) add(known, [&](const QueryInfo& query) { return is_of(known, query); });
  add({nullptr, any_attribute, false}, [&](const QueryInfo& query) {
    return std::ranges::none_of(known_operations, [&](const Operation& known) { return is_of(known, query); });
  });
  return made;
}

}  // namespace

std::string OperationRun::words(std::string_view why) const { return fmt::format("operation {}: {}", word, why); }

async::Task<std::vector<std::uint8_t>> OperationRun::get(const StructInfo& info, std::uint32_t attribute_modifier, const char* why) const {
  mad::Result<std::vector<std::uint8_t>> bytes = co_await stack.transactor().try_get(node.path, info, attribute_modifier);
  co_return stack.manners().take(std::move(bytes), words(why));
}

async::Task<> any_attribute(const OperationRun& op) {
  const QueryInfo& query = *op.operation.query;
  const bool is_known = op.operation.attribute != nullptr;
  const bool of_node = query.access == Access::node, is_port_info = query.info == &smp::PortInfo::info();
  if (!is_known) {
    if (of_node && op.modifier != 0) throw UsageError(fmt::format("ATTR_MOD is not for {}, which is of a whole node", query.name));
    co_await check_vendor(op);
  } else if (query.info == &smp::PortInfoExtended::info()) {
    co_await check_port_info_extended(op);
  }
  const std::string title = fmt::format("# {}: {}", is_known ? op.operation.title : query.name, op.node.name);
  const std::string with_port =
      query.access == Access::port ? fmt::format("{} port {}", title, static_cast<std::int32_t>(op.modifier)) : title;
  op.emit.heading(is_port_info ? title : with_port);
  const std::uint32_t modifier = of_node ? query.modifier : op.modifier | (is_port_info && op.extended ? extended_speeds_bit : 0U);
  AttributeReport report(op);
  const std::vector<std::uint8_t> bytes = co_await op.get(*query.info, modifier, op.operation.why);
  report.diags_heading = with_port;
  report.modifier = modifier & ~extended_speeds_bit;
  report.new_fields = op.stack.host().world().diags_release->new_fields;
  report.words = !query.classic;
  report.attribute = AttributeText(op.stack.host().options(), *query.info, bytes);
  if (is_port_info) warn_of_link_width(op.stack.manners(), bytes);
  op.emit(report);
}

std::span<const Operation> operations() {
  static const std::vector<Operation> all = make_operations();
  return all;
}

}  // namespace ib::tools::smpquery
