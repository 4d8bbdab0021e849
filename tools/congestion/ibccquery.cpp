// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibccquery: prints the settings, tables and logs of a congestion control agent.
#include <fmt/format.h>

#include <algorithm>

#include "iba-gen/cc.hpp"
#include "iba-gen/mad.hpp"
#include "iba/generic.hpp"
#include "iba/libibmad_text.hpp"
#include "report/structure.hpp"
#include "tools/congestion/agent.hpp"
#include "tools/shared/attribute_text.hpp"

namespace ib::tools {
namespace congestion {
namespace {

using AttributeBytes = std::vector<std::uint8_t>;

constexpr Operation queries[]{
    {"ClassPortInfo", "CP", "", mad::ClassPortInfo::info, "class port info query failed"},
    {"CongestionInfo", "CI", "", cc::CongestionInfo::info, "congestion info query failed"},
    {"CongestionKeyInfo", "CK", "", cc::CongestionKeyInfo::info, "congestion key info query failed"},
    {"CongestionLog", "CL", "", cc::CongestionLogSwitch::info, "congestion log query failed"},
    {"SwitchCongestionSetting", "SS", "", cc::SwitchCongestionSetting::info, "switch congestion setting query failed"},
    {"SwitchPortCongestionSetting", "SP", "[PORT]", cc::SwitchPortCongestionSetting::info, "switch port congestion setting query failed"},
    {"CACongestionSetting", "CS", "", cc::CaCongestionSetting::info, "ca congestion setting query failed"},
    {"CongestionControlTable", "CT", "", cc::CongestionControlTable::info, "congestion control table query failed"},
    {"Timestamp", "TI", "", cc::TimeStamp::info, "timestamp query failed"},
};

const FieldInfo& list_in(const StructInfo& info) { return *std::ranges::find(info.fields, FieldKind::structure, &FieldInfo::kind); }

struct CongestionReport final : Report {
  explicit CongestionReport(const AgentOperation& of)
      : agent(of), info(&of.operation.info()), lines(fmt::format("# {}: {}\n", of.operation.full, of.node.name)) {}

  struct PortSettings {
    unsigned number;
    AttributeBytes setting;
  };
  const AgentOperation& agent;
  const StructInfo* info;
  std::vector<AttributeBytes> records;
  std::vector<PortSettings> ports;
  bool is_table{}, has_ports{};
  std::string lines;

  std::string listed(Bytes bytes, const StructInfo& of) const { return libibmad_listing(bytes, of, agent.keys); }
  void add_element(std::string_view label, unsigned index, Bytes bytes, const StructInfo& of) {
    lines += libibmad_line(label, std::to_string(index)) + listed(bytes, of) + "\n";
  }
  void add_record(Bytes bytes) { records.emplace_back(bytes.begin(), bytes.begin() + info->bytes); }

  void visit(report::Sink& sink) const override {
    sink.value("operation", agent.operation.full);
    path::visit(sink, "path", agent.node.path);
    if (!is_table && !has_ports) return report::visit_attribute(sink, records.front(), *info, agent.keys);
    if (is_table) sink.value("attribute", info->iba_name);
    sink.begin_array(is_table ? "records" : "ports");
    for (const AttributeBytes& record : records) report::visit_fields(sink, {}, record, *info, agent.keys);
    for (const PortSettings& port : ports) {
      sink.begin_object();
      sink.value("port_num", port.number);
      report::visit_attribute(sink, port.setting, *info, agent.keys);
      sink.end_object();
    }
    sink.end_array();
  }
  void text(TextOut& out) const override {
    out.write(lines);
    for (const AttributeBytes& record : records) out.write(secrets_note(record, *info, agent.keys));
  }
  void diags_text(TextOut& out) const override { out.write(lines); }
};

async::Task<> attribute(const AgentOperation& agent) {
  CongestionReport report(agent);
  const AttributeBytes bytes = co_await agent.call(mad::method::get, *report.info, 0, agent.operation.failed);
  report.add_record(bytes);
  report.lines += report.listed(bytes, *report.info);
  if (report.info == &cc::CaCongestionSetting::info()) {
    report.lines += "\n";
    const FieldInfo& entries = list_in(*report.info);
    for (unsigned level = 0; level < entries.count; ++level)
      report.add_element("SL", level, field_bytes(bytes, entries, level), *entries.structure);
  }
  agent.emit(report);
}

async::Task<> log(const AgentOperation& agent) {
  constexpr std::uint8_t of_switch = 1, of_ca = 2;
  constexpr std::string_view head[]{"log_type", "congestion_flags"};
  CongestionReport report(agent);
  const AttributeBytes bytes = co_await agent.call(mad::method::get, *report.info, 0, agent.operation.failed);
  if (bytes[0] != of_switch && bytes[0] != of_ca)
    agent.stack.manners().refuse(Error("unrecognized log type"), agent.words("unrecognized log type"));
  if (bytes[0] == of_ca) {
    report.lines += libibmad_listing(bytes, *report.info, head);
    report.info = &cc::CongestionLogCa::info();
  }
  report.add_record(bytes);
  report.lines += report.listed(bytes, *report.info) + "\n";
  const FieldInfo& events = list_in(*report.info);
  for (unsigned i = 0; i < events.count; ++i) {
    const Bytes event = field_bytes(bytes, events, i);
    if (!is_zero(event)) report.lines += report.listed(event, *events.structure) + "\n";
  }
  agent.emit(report);
}

async::Task<> port_settings(const AgentOperation& agent, unsigned wanted) {
  const FieldInfo& settings = list_in(agent.operation.info());
  const smp::NodeInfo node = co_await agent.switch_info("node info query failed");
  CongestionReport report(agent);
  report.info = settings.structure;
  report.has_ports = true;
  if (wanted > node.num_ports) {
    agent.emit.so_far(report);
    agent.refuse("invalid port number specified");
  }
  const unsigned first = wanted, last = wanted != 0 ? wanted : node.num_ports;
  AttributeBytes block;
  for (unsigned port = first; port <= last; ++port) {
    if (port == first || port % settings.count == 0)
      block = co_await agent.call(mad::method::get, agent.operation.info(), port / settings.count, agent.operation.failed, {}, &report);
    const Bytes bytes = field_bytes(block, settings, port % settings.count);
    if (wanted != 0) report.lines += report.listed(bytes, *report.info);
    if (wanted == 0) report.add_element("Port", port, bytes, *report.info);
    report.ports.push_back({port, AttributeBytes(bytes.begin(), bytes.end())});
  }
  agent.emit(report);
}

async::Task<> control_table(const AgentOperation& agent) {
  CongestionReport report(agent);
  report.is_table = true;
  const FieldInfo& entries = list_in(*report.info);
  AttributeBytes block = co_await agent.call(mad::method::get, *report.info, 0, agent.operation.failed);
  const unsigned limit = load_be<std::uint16_t>(block.data());
  report.lines += report.listed(block, *report.info) + "\n";
  report.add_record(block);
  for (unsigned at = 0; limit != 0 && at <= limit; ++at) {
    if (at % entries.count == 0 && at != 0) {
      block = co_await agent.call(mad::method::get, *report.info, at / entries.count, agent.operation.failed, {}, &report);
      report.add_record(block);
    }
    report.add_element("Entry", at, field_bytes(block, entries, at % entries.count), *entries.structure);
  }
  agent.emit(report);
}

class Ibccquery final : public CongestionCommand {
 public:
  Ibccquery() : CongestionCommand(queries) {}

  void options(OptionSet& set, CommonOptions& common) override {
    add_operands(set, true);
    set.integer("PORT", port_, {.low = 0, .high = path::last_port});
    set.is_port();
    add_agent_key(set, common);
    add_common(set, common, group_target | group_sl);
  }

  void diags_options(OptionSet& set, CommonOptions& common) override {
    add_operands(set, true);
    set.integer("PORT", port_);
    add_agent_key(set, common);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    const Operation& wanted = operation();
    if (!is_diags() && port_ && wanted.values.empty()) throw UsageError(fmt::format("{} takes no PORT", wanted.full));
    const AgentOperation agent = co_await find_agent(session.stack(), emit);
    const StructInfo& info = wanted.info();
    if (&info == &cc::CongestionLogSwitch::info()) {
      co_await log(agent);
    } else if (&info == &cc::SwitchPortCongestionSetting::info()) {
      co_await port_settings(agent, port_.value_or(0));
    } else if (&info == &cc::CongestionControlTable::info()) {
      co_await control_table(agent);
    } else {
      co_await attribute(agent);
    }
  }

 private:
  std::optional<std::uint32_t> port_;
};

}  // namespace
}  // namespace congestion

constinit const CommandInfo rooms::ibccquery{
    .name = "ibccquery",
    .group = HelpGroup::query,
    .summary = "Print the settings, tables and logs of congestion control.",
    .make = make_command<congestion::Ibccquery>,
    .make_diags = make_command<congestion::Ibccquery>,
};

}  // namespace ib::tools
