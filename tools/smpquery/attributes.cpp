// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The operations of smpquery that print one attribute.
#include <fmt/format.h>

#include "base/escape.hpp"
#include "iba-gen/smp.hpp"
#include "iba/libibmad_text.hpp"
#include "mad/error.hpp"
#include "mad/transactor.hpp"
#include "path/json.hpp"
#include "subnet/sweep/mlnx.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/stack.hpp"
#include "tools/frame/world.hpp"
#include "tools/shared/attribute_text.hpp"
#include "tools/smpquery/operation.hpp"

namespace ib::tools::smpquery {
namespace {

constexpr std::uint32_t extended_speeds_bit = 1U << 31;  // of PortInfo's attribute modifier (IBA 14.2.5.6)
constexpr DottedOptions smpquery_listing{.names = NameStyle::smpquery, .colon = true};

struct AttributeReport final : Report {
  explicit AttributeReport(path::Path of) : path(std::move(of)) {}

  std::string_view operation;
  path::Path path;
  std::string diags_heading;
  std::uint32_t modifier{};
  std::vector<std::uint8_t> bytes;
  AttributeText attribute;
  Keys keys{};
  NewFields new_fields{};
  bool words{};  ///< beside numbers; python-rdma prints the attributes that it has without

  void visit(report::Sink& sink) const override {
    sink.value("operation", operation);
    path::visit(sink, "path", path);
    sink.value("modifier", modifier);
    attribute.visit_attribute(sink);
  }
  void text(TextOut& out) const override {
    DottedOptions how = smpquery_listing;
    how.words = words;
    attribute.text(out, how);
  }
  void diags_text(TextOut& out) const override {
    out.print("{}\n", diags_heading);
    out.write(libibmad_listing(bytes, *attribute.info, keys, new_fields));
  }
};

/// Ends the command if the node does not report that it supports PortInfoExtended.
async::Task<> check_port_info_extended(const OperationRun& op) {
  constexpr const char* function = "is_port_info_extended_supported";
  mad::Transactor& transactor = op.stack.transactor();
  mad::Result<smp::NodeInfo> node = co_await transactor.try_subn_get<smp::NodeInfo>(op.path());
  const bool is_switch = op.stack.manners().take(std::move(node), "node info query failed").node_type == smp::NodeType::switch_;
  mad::Result<smp::PortInfo> tried = co_await transactor.try_subn_get<smp::PortInfo>(op.path(), is_switch ? 0 : op.modifier);
  const smp::PortInfo port = op.stack.manners().take(std::move(tried), "port info query failed");
  const std::uint32_t capabilities = port.capability_mask, capabilities2 = port.capability_mask2;
  const bool has_mask2 = (capabilities & smp::capability_mask::is_capability_mask2_supported) != 0;
  if (has_mask2 && (capabilities2 & smp::capability_mask2::is_port_info_extended_supported) != 0) co_return;
  op.stack.manners().remark(
      function, has_mask2 ? fmt::format("port info capability mask2 = 0x{:x} doesn't indicate PortInfoExtended support", capabilities2)
                          : "port info capability mask2 not supported");
  op.stack.manners().refuse(Error(fmt::format("{} does not support PortInfoExtended", mad::target_text(op.node.path))),
                            op.words("port info extended not supported"));
}

struct DescriptionReport final : Report {
  explicit DescriptionReport(path::Path of) : path(std::move(of)) {}

  path::Path path;
  std::string description;
  std::optional<std::string> name;  ///< the name in the node name map of the site

  void visit(report::Sink& sink) const override {
    sink.value("operation", "NodeDesc");
    path::visit(sink, "path", path);
    sink.value("modifier", 0U);
    sink.value("node_description", description);
    sink.value("node_name", name);
  }
  void text(TextOut& out) const override { out.print("Node Description: {}\n", in_quotes(name.value_or(description))); }
  void diags_text(TextOut& out) const override {
    constexpr std::size_t width = 32;  // of the dots and the name, which is aligned to the right
    const std::string shown = name ? printable_words(*name) : printable(description);
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

}  // namespace

async::Task<> any_attribute(const OperationRun& op) {
  const QueryInfo& query = *op.operation.query;
  const OperationText* own = op.operation.text;
  const bool of_node = query.access == Access::node, is_port_info = query.info == &smp::PortInfo::info();
  if (own == nullptr) {
    if (of_node && op.modifier != 0) throw UsageError(fmt::format("ATTR_MOD is not for {}, which is of a whole node", query.name));
    co_await check_vendor(op);
  } else if (query.info == &smp::PortInfoExtended::info()) {
    co_await check_port_info_extended(op);
  }
  const std::string title = fmt::format("# {}: {}", own != nullptr ? own->title : query.name, op.node.name);
  const std::string with_port =
      query.access == Access::port ? fmt::format("{} port {}", title, static_cast<std::int32_t>(op.modifier)) : title;
  op.emit.heading(is_port_info ? title : with_port);
  const std::uint32_t modifier = of_node ? query.modifier : op.modifier | (is_port_info && op.extended ? extended_speeds_bit : 0U);
  AttributeReport report(op.path());
  report.bytes = co_await op.get(*query.info, modifier, own != nullptr ? own->why : "query failed");
  report.operation = query.name;
  report.diags_heading = with_port;
  report.modifier = modifier & ~extended_speeds_bit;
  report.keys = op.stack.host().options().keys;
  report.new_fields = op.stack.host().world().diags_release->new_fields;
  report.words = !query.classic;
  report.attribute = AttributeText(op.stack.host().options(), *query.info, report.bytes);
  if (is_port_info) warn_of_link_width(op.stack.manners(), report.bytes);
  op.emit(report);
}

async::Task<> node_description(const OperationRun& op) {
  DescriptionReport report(op.path());
  const subnet::NodeNameMap& names = op.stack.manners().node_name_map();
  if (op.always_names_node || !names.empty()) {
    const auto node = co_await op.get<smp::NodeInfo>(0, "node info query failed");
    if (const auto name = names.find(node.node_guid)) report.name = *name;
  }
  const auto value = co_await op.get<smp::NodeDescription>(0, "node desc query failed");
  report.description = fixed_text(value.node_string);
  op.emit(report);
}

}  // namespace ib::tools::smpquery
