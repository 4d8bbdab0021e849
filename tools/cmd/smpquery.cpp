// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// smpquery: one attribute of a port by SMP. The operations of both references, and the forwarding tables.
#include "cmd/smpquery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>

#include "base/escape.hpp"
#include "base/nearest.hpp"
#include "iba-gen/smp.hpp"
#include "iba/text.hpp"
#include "path/parse.hpp"
#include "tools/attribute_text.hpp"
#include "tools/commands.hpp"

namespace ib::tools::smpquery {
namespace {

constexpr DottedOptions smpquery_listing{.names = NameStyle::smpquery, .colon = true};

/// One attribute as it came.
struct AttributeReport final : Report {
  std::string_view operation;
  std::string path;
  std::uint32_t modifier{};
  AttributeText attribute;

  void visit(out::Sink& sink) const override {
    sink.value("operation", operation);
    sink.value("path", path);
    sink.value("modifier", modifier);
    sink.value("attribute", attribute.info->iba_name);
    sink.begin_object("data");
    attribute.visit(sink);
    sink.end_object();
  }
  void text(TextOut& out) const override { attribute.text(out, smpquery_listing); }
};

async::Task<> attribute(const Query& q, std::string_view operation, const StructInfo& info, std::uint32_t modifier) {
  const mad::Request request{.path = q.path,
                             .mgmt_class = mad::smp_class(q.path),
                             .attribute_id = static_cast<std::uint16_t>(info.attribute_id),
                             .attribute_modifier = modifier,
                             .payload = {}};
  const mad::Reply reply = co_await q.transactor.call(request);
  AttributeReport report;
  report.operation = operation;
  report.path = to_text(q.path);
  report.modifier = q.modifier;
  report.attribute = AttributeText(q.session.options(), info, reply.payload());
  q.emit(report);
}

async::Task<> node_info(const Query& q) {
  q.emit.heading(fmt::format("# Node info: {}", to_text(q.path)));
  return attribute(q, "NodeInfo", smp::NodeInfo::info(), q.modifier);
}

async::Task<> port_info(const Query& q) {
  q.emit.heading(fmt::format("# Port info: {}", to_text(q.path)));
  return attribute(q, "PortInfo", smp::PortInfo::info(), q.modifier | (q.extended ? 1U << 31 : 0U));
}

async::Task<> port_info_extended(const Query& q) {
  q.emit.heading(fmt::format("# Port info Extended: {} port {}", to_text(q.path), q.modifier));
  return attribute(q, "PortInfoExtended", smp::PortInfoExtended::info(), q.modifier);
}

async::Task<> mlnx_ext_port_info(const Query& q) {
  q.emit.heading(fmt::format("# MLNX ext Port info: {} port {}", to_text(q.path), q.modifier));
  return attribute(q, "MlnxExtPortInfo", smp::MlnxExtPortInfo::info(), q.modifier);
}

async::Task<> switch_info(const Query& q) {
  q.emit.heading(fmt::format("# Switch info: {}", to_text(q.path)));
  return attribute(q, "SwitchInfo", smp::SwitchInfo::info(), q.modifier);
}

struct DescriptionReport final : Report {
  std::string path, description;
  std::optional<std::string> name;  ///< of the site's map

  void visit(out::Sink& sink) const override {
    sink.value("operation", "NodeDesc");
    sink.value("path", path);
    sink.value("node_description", description);
    if (name) sink.value("name", *name);
  }
  void text(TextOut& out) const override { out.print("Node Description: {}\n", quoted(name.value_or(description))); }
};

async::Task<> node_description(const Query& q) {
  const auto value = co_await q.transactor.subn_get<smp::NodeDescription>(q.path, q.modifier);
  DescriptionReport report;
  report.path = to_text(q.path);
  report.description = fixed_text(value.node_string);
  if (!q.session.node_name_map().empty()) {
    const auto node = co_await q.transactor.subn_get<smp::NodeInfo>(q.path);
    if (const auto name = q.session.node_name_map().find(node.node_guid)) report.name = *name;
  }
  q.emit(report);
}

constexpr Operation operations[] = {
    {"NodeInfo", "NI", "SMPNodeInfo", node_info, true},
    {"NodeDesc", "ND", "SMPNodeDescription", node_description, true},
    {"PortInfo", "PI", "SMPPortInfo", port_info, true},
    {"SwitchInfo", "SI", "SMPSwitchInfo", switch_info, true},
    {"PKeyTable", "PKeys", "SMPPKeyTable", pkey_table, true},
    {"SL2VLTable", "SL2VL", "SMPSLToVLMappingTable", sl2vl_table, true},
    {"VLArbitration", "VLArb", "SMPVLArbitrationTable", vl_arbitration, true},
    {"GUIDInfo", "GI", "SMPGUIDInfo", guid_info, true},
    {"LinearForwardingTable", "LFT", "SMPLinearForwardingTable", linear_forwarding_table, true},
    {"MulticastForwardingTable", "MFT", "SMPMulticastForwardingTable", multicast_forwarding_table, false},
    {"PortInfoExtended", "PIE", "SMPPortInfoExtended", port_info_extended, false},
    {"MlnxExtPortInfo", "MEPI", "SMPMlnxExtPortInfo", mlnx_ext_port_info, false},
};

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::string operation_list() {
  std::string text = "OP is one of the following; unambiguous abbreviations will do.\n";
  for (const Operation& op : operations) text += fmt::format("    {} {}\n", op.name, op.short_name);
  text += "ATTR_MOD is the attribute modifier: the port for operations on ports.";
  return text;
}

class Smpquery final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.usage("OP TARGET [ATTR_MOD]", 0, any_number);
    set.notes(operation_list());
    set.flag("-c --combined", combined_, "The address is a LID and a directed route from there: OP LID ROUTE [ATTR_MOD].");
    set.flag("-x --extended", extended_, "Ask for extended speeds in PortInfo.");
    add_common(set, common, group_target);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    if (combined_) {
      session.read_operands({Operand::word, Operand::word, Operand::word, Operand::integer}, 3);
    } else {
      session.read_operands({Operand::word, Operand::target, Operand::integer}, 2);
    }
    const Operation& operation = find_operation(session.operands()[0]);
    const std::int64_t modifier = session.integer(combined_ ? 3 : 2).value_or(0);
    if (modifier < 0 || modifier > std::numeric_limits<std::uint32_t>::max())
      throw UsageError(fmt::format("The attribute modifier {} does not fit 32 bits", modifier));
    std::optional<path::Path> combined;
    if (combined_) combined = combined_path(session);
    const path::Path path = co_await session.smp_path(combined ? &*combined : session.target(1));
    const Query query{session, emit, session.transactor(), path, static_cast<std::uint32_t>(modifier), extended_};
    co_await operation.run(query);
  }

 private:
  /// A path that is LID-routed to a switch and directed from there on (IBA 14.2.2).
  static path::Path combined_path(Session& session) {
    path::ParseOptions how;
    how.form = path::Form::lid;
    const path::Path first = path::parse_target(session.operands()[1], how);
    how.form = path::Form::direct;
    path::Path path = path::parse_target(session.operands()[2], how);
    path::IbDrPath route = *path.directed();
    route.dlid = first.ib().dlid;
    route.slid = route.dr_slid = session.end_port().lid;
    return route;
  }

  bool combined_{}, extended_{};
};

}  // namespace

const Operation& find_operation(std::string_view word) {
  const std::string given = lower(word);
  const Operation* found[2] = {nullptr, nullptr};  // classic, newer
  bool ambiguous[2] = {false, false};
  for (const Operation& op : operations) {
    for (const std::string_view name : {op.name, op.short_name, op.attribute}) {
      const std::string full = lower(name);
      if (full == given) return op;
      if (!full.starts_with(given)) continue;
      const Operation*& slot = found[op.classic ? 0 : 1];
      ambiguous[op.classic ? 0 : 1] |= slot != nullptr && slot != &op;
      slot = &op;
    }
  }
  for (const int kind : {0, 1}) {
    if (ambiguous[kind]) throw UsageError(fmt::format("Ambiguous operation {}", quoted(given)));
    if (found[kind] != nullptr) return *found[kind];
  }
  std::vector<std::string_view> names;
  for (const Operation& op : operations) names.insert(names.end(), {op.name, op.short_name, op.attribute});
  throw UsageError(fmt::format("Unknown operation {}{}", quoted(given), did_you_mean(given, names)));
}

}  // namespace ib::tools::smpquery

namespace ib::tools {

std::unique_ptr<Command> make_smpquery() { return std::make_unique<smpquery::Smpquery>(); }

}  // namespace ib::tools
