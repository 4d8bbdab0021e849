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
#include "tools/shared/identified.hpp"

namespace ib::tools {
namespace congestion {
namespace {

constexpr Name settings[]{
    {"CongestionKeyInfo", "CK", "CC_KEY PROTECT_BIT LEASE_PERIOD VIOLATIONS"},
    {"SwitchCongestionSetting", "SS",
     "CONTROL_MAP VICTIM_MASK CREDIT_MASK THRESHOLD PACKET_SIZE CS_THRESHOLD CS_RETURN_DELAY MARKING_RATE"},
    {"SwitchPortCongestionSetting", "SP", "PORT VALID CONTROL_TYPE THRESHOLD PACKET_SIZE CONG_PARM_MARKING_RATE"},
    {"CACongestionSetting", "CS", "PORT_CONTROL CONTROL_MAP CCTI_TIMER CCTI_INCREASE TRIGGER_THRESHOLD CCTI_MIN"},
    {"CongestionControlTable", "CT", "CCTI_LIMIT BLOCK SHIFT:MULTIPLIER..."},
};

struct Way {
  Setting (*read)(Words words, bool exact);
  const char* failed;
};
constexpr Way ways[]{
    {key_info, "congestion key info config failed"},
    {switch_setting, "switch congestion setting config failed"},
    {port_setting, "switch port congestion setting config failed"},
    {ca_setting, "ca congestion setting config failed"},
    {control_table, "congestion control table config failed"},
};

struct SetReport final : Report {
  SetReport(const Ask& ask, const StructInfo& attribute, std::vector<std::uint8_t> answer)
      : operation(ask.name), path(ask.node.path), info(attribute), bytes(std::move(answer)), keys(ask.session.options().keys) {
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

class Ibccconfig final : public CongestionCommand {
 public:
  Ibccconfig() : CongestionCommand(settings) {}

  void options(OptionSet& set, CommonOptions& common) override {
    add_operands(set);
    set.words("VALUE", values_);
    add_key(set);
    add_common(set, common, group_target | group_sl);
  }
  void diags_options(DiagsOptions& set) override {
    add_operands(set);
    set.words("VALUE", values_);
    add_key(set);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    session.require_exact_targets();
    const std::size_t chosen = operation();
    Setting setting;
    if (!as_diags_) setting = read(session, chosen);
    Ask asking = co_await ask(session, emit, chosen);
    asking.node = co_await identified(session, std::move(asking.node));
    if (as_diags_) setting = read_as_diags(asking, chosen);
    if (setting.info == &cc::SwitchPortSetting::info()) setting = co_await in_block(asking, std::move(setting));
    std::vector<std::uint8_t> answer = co_await asking.set(*setting.info, setting.modifier, setting.bytes, ways[chosen].failed);
    if (session.options().dry_run) co_return;
    if (!as_diags_) session.note(fmt::format("Set {} of {}", asking.name, asking.node.name));
    emit(SetReport(asking, *setting.info, std::move(answer)));
  }

 private:
  Setting read(const Session& session, std::size_t chosen) {
    if (chosen == 0 && !values_.empty()) values_[0] = std::to_string(parse_m_key(session.options(), values_[0], "New CC_Key"));
    try {
      return ways[chosen].read(values_, true);
    } catch (const BadSetting& error) {
      throw UsageError(fmt::format("{}; {} takes {}", error.message(), settings[chosen].full, settings[chosen].values));
    }
  }
  Setting read_as_diags(const Ask& asking, std::size_t chosen) const {
    try {
      return ways[chosen].read(values_, false);
    } catch (const BadSetting& error) {
      asking.refuse(error.message());
    }
  }

  /// The block of ports with one changed port. The other ports keep the values of the switch.
  static async::Task<Setting> in_block(const Ask& asking, Setting setting) {
    constexpr unsigned ports = 32;
    const StructInfo& info = cc::SwitchPortCongestionSetting::info();
    const smp::NodeInfo node = co_await asking.switch_info("node info config failed");
    if (setting.port > node.num_ports) asking.refuse("invalid port number specified");
    Setting block{&info, setting.port / ports, {}};
    block.bytes = co_await asking.get(info, block.modifier, "switch port congestion setting query failed");
    block.bytes.resize(info.bytes);
    std::ranges::copy(setting.bytes, block.bytes.begin() + static_cast<std::ptrdiff_t>(setting.port % ports * setting.bytes.size()));
    co_return block;
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
    .make_diags = make_command<congestion::Ibccconfig>,
    .changes = true,
    .needs_fabric = true,
};

}  // namespace ib::tools
