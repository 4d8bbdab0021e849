// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibccconfig: sets the parameters of congestion control at a switch or a channel adapter.
#include <fmt/format.h>

#include <algorithm>

#include "iba-gen/cc.hpp"
#include "path/json.hpp"
#include "report/structure.hpp"
#include "tools/congestion/agent.hpp"
#include "tools/congestion/settings.hpp"
#include "tools/frame/commands.hpp"
#include "tools/frame/session.hpp"

namespace ib::tools {
namespace congestion {
namespace {

constexpr OperationName settings[]{
    {"CongestionKeyInfo", "CK", "CC_KEY PROTECT_BIT LEASE_PERIOD VIOLATIONS"},
    {"SwitchCongestionSetting", "SS",
     "CONTROL_MAP VICTIM_MASK CREDIT_MASK THRESHOLD PACKET_SIZE CS_THRESHOLD CS_RETURN_DELAY MARKING_RATE"},
    {"SwitchPortCongestionSetting", "SP", "PORT VALID CONTROL_TYPE THRESHOLD PACKET_SIZE CONG_PARM_MARKING_RATE"},
    {"CACongestionSetting", "CS", "PORT_CONTROL CONTROL_MAP CCTI_TIMER CCTI_INCREASE TRIGGER_THRESHOLD CCTI_MIN"},
    {"CongestionControlTable", "CT", "CCTI_LIMIT BLOCK SHIFT:MULTIPLIER..."},
};

struct SettingReader {
  AgentSetting (*read)(SettingWords words, bool exact);
  const char* failed;
};
constexpr SettingReader readers[]{
    {key_info, "congestion key info config failed"},
    {switch_setting, "switch congestion setting config failed"},
    {port_setting, "switch port congestion setting config failed"},
    {ca_setting, "ca congestion setting config failed"},
    {control_table, "congestion control table config failed"},
};

struct ConfigReport final : Report {
  ConfigReport(const AgentOperation& of, const StructInfo& attribute, std::vector<std::uint8_t> answer)
      : operation(of.name), path(of.node.path), info(attribute), bytes(std::move(answer)), keys(of.keys) {
    bytes.resize(info.bytes);
  }

  std::string_view operation;
  path::Path path;
  const StructInfo& info;
  std::vector<std::uint8_t> bytes;
  Keys keys;

  /// The current value of an attribute of the node.
  void visit(report::Sink& sink) const override {
    sink.value("operation", operation);
    path::visit(sink, "path", path);
    report::visit_attribute(sink, bytes, info, keys);
  }
  void text(TextOut& /*out*/) const override {}
};

/// The block of ports with one changed port. The other ports keep the values of the switch.
async::Task<AgentSetting> in_block(const AgentOperation& operation, AgentSetting setting) {
  constexpr unsigned ports = 32;
  const StructInfo& info = cc::SwitchPortCongestionSetting::info();
  const smp::NodeInfo node = co_await operation.switch_info("node info config failed");
  if (setting.port > node.num_ports) operation.refuse("invalid port number specified");
  AgentSetting block{&info, setting.port / ports, {}};
  block.bytes = co_await operation.get(info, block.modifier, "switch port congestion setting query failed");
  block.bytes.resize(info.bytes);
  std::ranges::copy(setting.bytes, block.bytes.begin() + static_cast<std::ptrdiff_t>(setting.port % ports * setting.bytes.size()));
  co_return block;
}

/// Sets `setting`, and returns what the node answers.
async::Task<std::vector<std::uint8_t>> config(const AgentOperation& operation, AgentSetting& setting, const char* why) {
  if (setting.info == &cc::SwitchPortSetting::info()) setting = co_await in_block(operation, std::move(setting));
  co_return co_await operation.set(*setting.info, setting.modifier, setting.bytes, why);
}

class Ibccconfig final : public CongestionCommand {
 public:
  Ibccconfig() : CongestionCommand(settings) {}

  void options(OptionSet& set, CommonOptions& common) override {
    add_operands(set, false);
    set.words("VALUE", values_);
    add_key(set);
    add_common(set, common, group_target | group_sl);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    session.stack().require_exact_targets();
    chosen_ = find_operation(settings, word_);
    AgentSetting setting = read(session.host());
    AgentOperation operation = co_await find_agent(session.stack(), emit);
    operation.node = co_await session.manners().identified(std::move(operation.node));
    if (setting.info == &cc::SwitchPortSetting::info()) session.stack().aim_sets({}, setting.port);  // the request sets a block of ports
    std::vector<std::uint8_t> answer = co_await config(operation, setting, readers[chosen_].failed);
    if (session.host().options().dry_run) co_return;
    emit(ConfigReport(operation, *setting.info, std::move(answer)));
  }

 private:
  AgentSetting read(const Host& host) {
    if (chosen_ == 0 && !values_.empty()) values_[0] = std::to_string(parse_m_key(host.options(), values_[0], "New CC_Key"));
    try {
      return readers[chosen_].read(values_, true);
    } catch (const BadSetting& error) {
      throw UsageError(fmt::format("{}; {} takes {}", error.message(), settings[chosen_].full, settings[chosen_].values));
    }
  }

  std::vector<std::string> values_;
};

class IbccconfigDiags final : public CongestionCommand {
 public:
  IbccconfigDiags() : CongestionCommand(settings) {}

  void diags_options(OptionSet& set, CommonOptions& /*common*/) override {
    add_diags_operands(set);
    set.words("VALUE", values_);
    add_key(set);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    session.stack().require_exact_targets();
    AgentOperation operation = co_await find_diags_agent(session.stack(), emit);
    operation.node = co_await session.manners().identified(std::move(operation.node));
    AgentSetting setting = read(operation);
    co_await config(operation, setting, readers[chosen_].failed);
  }

 private:
  AgentSetting read(const AgentOperation& operation) const {
    try {
      return readers[chosen_].read(values_, false);
    } catch (const BadSetting& error) {
      operation.refuse(error.message());
    }
  }

  std::vector<std::string> values_;
};

}  // namespace
}  // namespace congestion

constinit const CommandInfo rooms::ibccconfig{
    .name = "ibccconfig",
    .group = HelpGroup::config,
    .summary = "Set the parameters of congestion control at a switch or a channel adapter.",
    .make = make_command<congestion::Ibccconfig>,
    .make_diags = make_command<congestion::IbccconfigDiags>,
    .changes = true,
    .needs_fabric = true,
};

}  // namespace ib::tools
