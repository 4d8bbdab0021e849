// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// smpquery: reads an attribute of a port by SMP. It has the operations of both references, and the forwarding tables.
#include <fmt/format.h>

#include <algorithm>

#include "base/letter_case.hpp"
#include "base/nearest.hpp"
#include "mad/transactor.hpp"
#include "tools/frame/commands.hpp"
#include "tools/smpquery/operation.hpp"

namespace ib::tools {
namespace smpquery {
namespace {

constexpr bool is_python_rdma = true, is_newer = false, is_diags = true, not_diags = false;

constexpr Operation all_operations[]{
    {.name = "NodeInfo", .short_name = "NI", .attribute = "SMPNodeInfo", .run = node_info, .rows = "data"},
    {"NodeDesc", "ND", "SMPNodeDescription", node_description},
    {.name = "PortInfo", .short_name = "PI", .attribute = "SMPPortInfo", .run = port_info, .rows = "data"},
    {.name = "SwitchInfo", .short_name = "SI", .attribute = "SMPSwitchInfo", .run = switch_info, .rows = "data"},
    {"PKeyTable", "PKeys", "SMPPKeyTable", pkey_table},
    {"SL2VLTable", "SL2VL", "SMPSLToVLMappingTable", sl_to_vl_tables},
    {"VLArbitration", "VLArb", "SMPVLArbitrationTable", vl_arbitration},
    {"GUIDInfo", "GI", "SMPGUIDInfo", guid_info},
    {"LinearForwardingTable", "LFT", "SMPLinearForwardingTable", linear_forwarding_table, is_python_rdma, not_diags},
    {"MulticastForwardingTable", "MFT", "SMPMulticastForwardingTable", multicast_forwarding_table, is_newer, not_diags},
    {"PortInfoExtended", "PIE", "SMPPortInfoExtended", port_info_extended, is_newer, is_diags, "data"},
    {"MlnxExtPortInfo", "MEPI", "SMPMlnxExtPortInfo", mlnx_ext_port_info, is_newer, is_diags, "data"},
};

std::string operation_list(bool diags) {
  std::string text = diags ? "OP, in any case, is one of\n" : "OP is one of the following; unambiguous abbreviations will do.\n";
  for (const Operation& op : all_operations) {
    if (op.diags || !diags) text += fmt::format("    {} {}\n", op.name, op.short_name);
  }
  return text + "ATTR_MOD is the attribute modifier: the port for operations on ports.";
}

/// A word for what no operation reads, and the command that does.
struct Elsewhere {
  std::string_view word, where;
};
constexpr std::string_view modules = "ports' modules: ibtool modules", counters = "counters: ibtool perfquery";
constexpr Elsewhere found_elsewhere[]{
    {"cable", modules},
    {"cables", modules},
    {"cableinfo", modules},
    {"module", modules},
    {"modules", modules},
    {"counters", counters},
    {"errors", counters},
    {"perf", counters},
    {"links", "links: ibtool iblinkinfo"},
    {"firmware", "firmware: ibtool firmware"},
    {"fw", "firmware: ibtool firmware"},
    {"temperature", "temperatures: ibtool environment"},
    {"routes", "forwarding tables: ibtool ibroute"},
};

/// Whether the attribute modifier of an operation is the number of a port.
bool takes_port(const Operation& operation) {
  return operation.run == port_info || operation.run == port_info_extended || operation.run == mlnx_ext_port_info ||
         operation.run == sl_to_vl_tables || operation.run == vl_arbitration;
}

class Smpquery final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.word("OP", word_);
    set.offer([] {
      std::vector<std::string> names;
      for (const Operation& op : all_operations) names.insert(names.end(), {std::string(op.name), std::string(op.short_name)});
      return names;
    });
    set.target_each("TARGET", target_);
    set.optional_operands();
    set.integer("ATTR_MOD", modifier_);
    set.is_port([this] { return takes_port(find_operation(word_)); });
    set.notes(operation_list(false));
    set.flag("-c --combined", common.combined, "TARGET is two words, a LID and a directed route from there: 6 0,12.");
    add_extended(set);
    add_common(set, common, group_target);
  }

  void diags_options(OptionSet& set, CommonOptions& common) override {
    set.operand("OP", [this](const std::string& word) {
      word_ = word;
      operation_ = find_diags_operation(word);
      if (operation_ == nullptr) throw DiagsFailure(fmt::format("operation '{}' not supported", word));
    });
    set.target("TARGET", target_);
    set.optional_operands();
    set.integer("PORT", modifier_);
    set.notes(operation_list(true));
    set.flag("-c --combined", common.combined, "The address is a LID, and a directed route from there.");
    add_node_name_map(set, common);
    add_extended(set);
    always_names_node_ = true;
  }

  std::string_view table_rows() const override { return find_operation(word_).rows; }

  async::Task<> run(Session& session, Emit& emit) override {
    if (operation_ == nullptr) operation_ = &find_operation(word_);
    const Destination node = co_await session.smp_node(target_);
    session.stack().open();  // a device that cannot be opened is an error before the heading
    const OperationRun op{session, emit, node, word_, modifier_, extended_, always_names_node_};
    co_await operation_->run(op);
  }

 private:
  void add_extended(OptionSet& set) { set.flag("-x --extended", extended_, "Ask for extended speeds in PortInfo."); }
  const Operation* operation_{};  ///< null: the operation of word_
  std::string word_;
  Target target_;
  std::uint32_t modifier_{};
  bool extended_{}, always_names_node_{};
};

}  // namespace

std::string OperationRun::words(std::string_view why) const { return fmt::format("operation {}: {}", word, why); }

async::Task<std::vector<std::uint8_t>> OperationRun::get(const StructInfo& info, std::uint32_t attribute_modifier, const char* why) const {
  mad::Result<std::vector<std::uint8_t>> bytes = co_await session.transactor().try_get(node.path, info, attribute_modifier);
  co_return session.take(std::move(bytes), words(why));
}

std::span<const Operation> operations() { return all_operations; }

const Operation& find_operation(std::string_view word) {
  for (const Elsewhere& other : found_elsewhere) {
    if (equal_ignoring_case(word, other.word)) throw UsageError(fmt::format("smpquery has no operation {} ({})", other.word, other.where));
  }
  const auto names = [](const Operation& op) { return std::array{op.name, op.short_name, op.attribute}; };
  return find_by_prefix(word, operations(), &Operation::python_rdma, names);
}

const Operation* find_diags_operation(std::string_view word) {
  const std::string given = to_lower(word);
  const auto found = std::ranges::find_if(
      all_operations, [&](const Operation& op) { return op.diags && (to_lower(op.name) == given || to_lower(op.short_name) == given); });
  return found != std::end(all_operations) ? &*found : nullptr;
}

}  // namespace smpquery

constinit const CommandInfo rooms::smpquery{
    .name = "smpquery",
    .group = HelpGroup::query,
    .summary = "Print an attribute of a node or port: NodeInfo, PortInfo, its tables.",
    .make = make_command<tools::smpquery::Smpquery>,
    .make_diags = make_command<tools::smpquery::Smpquery>,
};

}  // namespace ib::tools
