// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibccquery: prints the settings, tables and logs of a congestion control agent.
#include <fmt/format.h>

#include "iba-gen/cc.hpp"
#include "iba-gen/mad.hpp"
#include "iba/libibmad_text.hpp"
#include "path/json.hpp"
#include "report/structure.hpp"
#include "tools/congestion/agent.hpp"
#include "tools/frame/commands.hpp"
#include "tools/frame/session.hpp"
#include "tools/shared/secrets.hpp"

namespace ib::tools {
namespace congestion {
namespace {

using AttributeBytes = std::vector<std::uint8_t>;

constexpr OperationName queries[]{
    {"ClassPortInfo", "CP", ""},       {"CongestionInfo", "CI", ""},          {"CongestionKeyInfo", "CK", ""},
    {"CongestionLog", "CL", ""},       {"SwitchCongestionSetting", "SS", ""}, {"SwitchPortCongestionSetting", "SP", "[PORT]"},
    {"CACongestionSetting", "CS", ""}, {"CongestionControlTable", "CT", ""},  {"Timestamp", "TI", ""},
};

struct CongestionReport final : Report {
  explicit CongestionReport(const AgentOperation& of) : operation(of.name), path(of.node.path), keys(of.keys) {
    lines = fmt::format("# {}: {}\n", of.name, of.node.name);
  }

  struct PortSettings {
    unsigned number;
    AttributeBytes setting;
  };
  std::string_view operation;
  path::Path path;
  const StructInfo* info{};
  std::vector<AttributeBytes> records;
  std::vector<PortSettings> ports;
  bool is_table{}, has_ports{};
  Keys keys{};
  std::string lines;

  std::string listed(Bytes bytes, const StructInfo& of) const { return libibmad_listing(bytes, of, keys); }

  void visit(report::Sink& sink) const override {
    sink.value("operation", operation);
    path::visit(sink, "path", path);
    if (!is_table && !has_ports) return report::visit_attribute(sink, records.front(), *info, keys);
    if (is_table) sink.value("attribute", info->iba_name);
    sink.begin_array(is_table ? "records" : "ports");
    for (const AttributeBytes& record : records) report::visit_fields(sink, {}, record, *info, keys);
    for (const PortSettings& port : ports) {
      sink.begin_object();
      sink.value("port_num", port.number);
      report::visit_attribute(sink, port.setting, *info, keys);
      sink.end_object();
    }
    sink.end_array();
  }
  void text(TextOut& out) const override {
    out.write(lines);
    for (const AttributeBytes& record : records) out.write(secrets_note(record, *info, keys));
  }
  void diags_text(TextOut& out) const override { out.write(lines); }
};

AttributeBytes cut(const AttributeBytes& bytes, std::size_t from, std::size_t size) {
  const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(from);
  return {first, first + static_cast<std::ptrdiff_t>(size)};
}

/// One attribute in the format of libibmad.
async::Task<> attribute(const AgentOperation& operation, const StructInfo& info, const char* why) {
  CongestionReport report(operation);
  const AttributeBytes bytes = co_await operation.get(info, 0, why);
  report.info = &info;
  report.records.push_back(cut(bytes, 0, info.bytes));
  report.lines += report.listed(bytes, info);
  operation.emit(report);
}

async::Task<> log(const AgentOperation& operation) {
  constexpr std::uint8_t of_switch = 1, of_ca = 2;
  constexpr std::string_view head[]{"log_type", "congestion_flags"};
  CongestionReport report(operation);
  const AttributeBytes bytes = co_await operation.get(cc::CongestionLogSwitch::info(), 0, "congestion log query failed");
  const std::uint8_t type = bytes[0];
  if (type != of_switch && type != of_ca)
    operation.stack.manners().refuse(Error("unrecognized log type"), operation.words("unrecognized log type"));
  const bool is_switch = type == of_switch;
  report.info = is_switch ? &cc::CongestionLogSwitch::info() : &cc::CongestionLogCa::info();
  report.records.push_back(cut(bytes, 0, report.info->bytes));
  if (!is_switch) report.lines += libibmad_listing(bytes, cc::CongestionLogSwitch::info(), head);
  report.lines += report.listed(bytes, *report.info) + "\n";
  const StructInfo& event = is_switch ? cc::SwitchLogEvent::info() : cc::CaLogEvent::info();
  const std::size_t first = is_switch ? 40 : 12, events = is_switch ? 15 : 13;
  for (std::size_t i = 0; i < events; ++i) {
    const AttributeBytes entry = cut(bytes, first + i * event.bytes, event.bytes);
    if (!is_zero(entry)) report.lines += report.listed(entry, event) + "\n";
  }
  operation.emit(report);
}

async::Task<> port_settings(const AgentOperation& operation, unsigned wanted) {
  constexpr const char* why = "switch port congestion setting query failed";
  constexpr unsigned in_block = 32;
  const StructInfo& setting = cc::SwitchPortSetting::info();
  const smp::NodeInfo node = co_await operation.switch_info("node info query failed");
  CongestionReport report(operation);
  report.info = &setting;
  report.has_ports = true;
  if (wanted > node.num_ports) {
    operation.emit.so_far(report);
    operation.refuse("invalid port number specified");
  }
  const unsigned first = wanted, last = wanted != 0 ? wanted : node.num_ports;
  AttributeBytes block;
  for (unsigned port = first; port <= last; ++port) {
    if (port == first || port % in_block == 0)
      block = co_await operation.get(cc::SwitchPortCongestionSetting::info(), port / in_block, why, &report);
    AttributeBytes bytes = cut(block, port % in_block * setting.bytes, setting.bytes);
    const std::string lines = report.listed(bytes, setting);
    report.lines += wanted != 0 ? lines : fmt::format("Port:............................{}\n{}\n", port, lines);
    report.ports.push_back({port, std::move(bytes)});
  }
  operation.emit(report);
}

async::Task<> ca_setting(const AgentOperation& operation) {
  constexpr std::size_t service_levels = 16, entries = 4;
  const StructInfo& info = cc::CaCongestionSetting::info();
  CongestionReport report(operation);
  const AttributeBytes bytes = co_await operation.get(info, 0, "ca congestion setting query failed");
  report.info = &info;
  report.records.push_back(cut(bytes, 0, info.bytes));
  report.lines += report.listed(bytes, info) + "\n";
  const StructInfo& entry = cc::CaCongestionEntry::info();
  for (std::size_t level = 0; level < service_levels; ++level) {
    const AttributeBytes one = cut(bytes, entries + level * entry.bytes, entry.bytes);
    report.lines += fmt::format("SL:..............................{}\n{}\n", level, report.listed(one, entry));
  }
  operation.emit(report);
}

async::Task<> control_table(const AgentOperation& operation) {
  constexpr const char* why = "congestion control table query failed";
  constexpr unsigned in_block = 64;
  constexpr std::size_t entries = 4;
  const StructInfo& info = cc::CongestionControlTable::info();
  const StructInfo& entry = cc::TableEntry::info();
  CongestionReport report(operation);
  report.info = &info;
  report.is_table = true;
  AttributeBytes block = co_await operation.get(info, 0, why);
  const unsigned limit = load_be<std::uint16_t>(block.data());
  report.lines += report.listed(block, info) + "\n";
  report.records.push_back(cut(block, 0, info.bytes));
  for (unsigned at = 0; limit != 0 && at <= limit; ++at) {
    if (at % in_block == 0 && at != 0) {
      block = co_await operation.get(info, at / in_block, why, &report);
      report.records.push_back(cut(block, 0, info.bytes));
    }
    const AttributeBytes one = cut(block, entries + at % in_block * entry.bytes, entry.bytes);
    report.lines += fmt::format("Entry:...........................{}\n{}\n", at, report.listed(one, entry));
  }
  operation.emit(report);
}

async::Task<> query(const AgentOperation& operation, std::size_t chosen, unsigned port) {
  switch (chosen) {
    case 0:
      co_return co_await attribute(operation, mad::ClassPortInfo::info(), "class port info query failed");
    case 1:
      co_return co_await attribute(operation, cc::CongestionInfo::info(), "congestion info query failed");
    case 2:
      co_return co_await attribute(operation, cc::CongestionKeyInfo::info(), "congestion key info query failed");
    case 3:
      co_return co_await log(operation);
    case 4:
      co_return co_await attribute(operation, cc::SwitchCongestionSetting::info(), "switch congestion setting query failed");
    case 5:
      co_return co_await port_settings(operation, port);
    case 6:
      co_return co_await ca_setting(operation);
    case 7:
      co_return co_await control_table(operation);
    default:
      co_return co_await attribute(operation, cc::TimeStamp::info(), "timestamp query failed");
  }
}

class Ibccquery final : public CongestionCommand {
 public:
  Ibccquery() : CongestionCommand(queries) {}

  void options(OptionSet& set, CommonOptions& common) override {
    add_operands(set, true);
    set.integer("PORT", port_, {.low = 0, .high = path::last_port});
    set.is_port();
    add_key(set);
    add_common(set, common, group_target | group_sl);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    chosen_ = find_operation(queries, word_);
    if (port_ && queries[chosen_].values.empty()) throw UsageError(fmt::format("{} takes no PORT", queries[chosen_].full));
    const AgentOperation operation = co_await find_agent(session.stack(), emit);
    co_await query(operation, chosen_, port_.value_or(0));
  }

 private:
  std::optional<std::uint32_t> port_;
};

class IbccqueryDiags final : public CongestionCommand {
 public:
  IbccqueryDiags() : CongestionCommand(queries) {}

  void diags_options(OptionSet& set, CommonOptions& /*common*/) override {
    add_diags_operands(set);
    set.integer("PORT", port_);
    add_key(set);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    const AgentOperation operation = co_await find_diags_agent(session.stack(), emit);
    co_await query(operation, chosen_, port_);
  }

 private:
  std::uint32_t port_{};
};

}  // namespace
}  // namespace congestion

constinit const CommandInfo rooms::ibccquery{
    .name = "ibccquery",
    .group = HelpGroup::query,
    .summary = "Print the settings, tables and logs of congestion control.",
    .make = make_command<congestion::Ibccquery>,
    .make_diags = make_command<congestion::IbccqueryDiags>,
};

}  // namespace ib::tools
