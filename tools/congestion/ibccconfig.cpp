// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibccconfig: sets the parameters of congestion control at a switch or a channel adapter.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>

#include "base/parse.hpp"
#include "iba-gen/cc.hpp"
#include "iba/generic.hpp"
#include "report/structure.hpp"
#include "subnet/set/set_guard.hpp"
#include "tools/congestion/agent.hpp"
#include "tools/frame/targets.hpp"

namespace ib::tools {
namespace congestion {
namespace {

constexpr Operation settings[]{
    {"CongestionKeyInfo", "CK", "CC_KEY PROTECT_BIT LEASE_PERIOD VIOLATIONS", cc::CongestionKeyInfo::info,
     "congestion key info config failed"},
    {"SwitchCongestionSetting", "SS", "CONTROL_MAP VICTIM_MASK CREDIT_MASK THRESHOLD PACKET_SIZE CS_THRESHOLD CS_RETURN_DELAY MARKING_RATE",
     cc::SwitchCongestionSetting::info, "switch congestion setting config failed"},
    {"SwitchPortCongestionSetting", "SP", "PORT VALID CONTROL_TYPE THRESHOLD PACKET_SIZE CONG_PARM_MARKING_RATE",
     cc::SwitchPortSetting::info, "switch port congestion setting config failed"},
    {"CACongestionSetting", "CS", "PORT_CONTROL CONTROL_MAP CCTI_TIMER CCTI_INCREASE TRIGGER_THRESHOLD CCTI_MIN",
     cc::CaCongestionSetting::info, "ca congestion setting config failed"},
    {"CongestionControlTable", "CT", "CCTI_LIMIT BLOCK SHIFT:MULTIPLIER...", cc::CongestionControlTable::info,
     "congestion control table config failed"},
};

/// The words are not a valid setting. The message is infiniband-diags' own.
class BadSetting : public UsageError {
 public:
  using UsageError::UsageError;
};

using SettingWords = std::span<const std::string>;

/// An attribute to set. For a switch port, it is one element of a block.
struct AgentSetting {
  const StructInfo* info;
  /// Numbers that are too great for their fields are refused. Otherwise their upper bits are lost, as in infiniband-diags.
  bool exact;
  std::uint32_t modifier{};
  unsigned port{};  ///< the switch port
  std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(info->bytes);

  void put(std::string_view path, std::uint64_t value) {
    const FieldRef at = *find_path(*info, path);
    const auto bits = static_cast<unsigned>(at.field->bits);
    if (exact && bits < 64 && value >> bits != 0)
      throw BadSetting(fmt::format("{} has {} bits, and {} does not fit", at.field->iba_name, bits, value));
    write_number(bytes, at, value);
  }
  void put(std::string_view path, Bytes value) {
    std::ranges::copy(value, bytes.begin() + static_cast<std::ptrdiff_t>(find_path(*info, path)->bit_offset / 8));
  }
};

std::uint64_t number(const std::string& word) {
  char* end = nullptr;
  errno = 0;
  const std::uint64_t value = std::strtoull(word.c_str(), &end, 0);
  if (errno == ERANGE) throw BadSetting("value out of range");
  if (*end != '\0' || errno != 0) throw BadSetting("invalid integer input");
  return value;
}

/// A number that infiniband-diags reads into 32 bits.
std::uint32_t short_number(const std::string& word) { return static_cast<std::uint32_t>(number(word)); }

/// Reads a number of up to 256 bits. Every character must be a hexadecimal digit.
std::array<std::uint8_t, 32> mask(const std::string& word) {
  std::string digits = word.starts_with("0x") || word.starts_with("0X") ? word.substr(2) : word;
  if (!std::ranges::all_of(digits, [](unsigned char c) { return std::isxdigit(c) != 0; })) throw BadSetting("invalid hex digit read");
  std::array<std::uint8_t, 32> bytes{};
  if (digits.size() > 2 * bytes.size()) throw BadSetting("hex code too long");
  digits.insert(0, 2 * bytes.size() - digits.size(), '0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(*parse_digits(digits.substr(2 * i, 2), 16));
  return bytes;
}

/// Reads "shift:multiplier", an entry of a congestion control table.
struct Delay {
  std::uint32_t shift, multiplier;
};
Delay delay(const std::string& word) {
  const std::size_t colon = word.find(':');
  if (colon == std::string::npos) throw BadSetting("ccts are formatted shift:multiplier");
  const std::uint32_t shift = short_number(word.substr(0, colon));
  return {shift, short_number(word.substr(colon + 1))};
}

void read_key_info(SettingWords words, AgentSetting& setting) {
  constexpr std::uint32_t most = 0xffff;
  const std::uint64_t key = number(words[0]);
  const std::uint32_t protect = short_number(words[1]), lease = short_number(words[2]), violations = short_number(words[3]);
  if (protect > 1) throw BadSetting("invalid cc_keyprotectbit value");
  if (lease > most) throw BadSetting("invalid cc_keyleaseperiod value");
  if (violations > most) throw BadSetting("invalid cc_keyviolations value");
  setting.put("cc_key", key);
  setting.put("cc_key_protect_bit", protect);
  setting.put("cc_key_lease_period", lease);
  setting.put("cc_key_violations", violations);  // IBA A10.4.3.4: only zero has an effect
}

void read_switch_setting(SettingWords words, AgentSetting& setting) {
  constexpr unsigned multiplier_bits = 14;
  setting.put("control_map", short_number(words[0]));
  setting.put("victim_mask", mask(words[1]));
  setting.put("credit_mask", mask(words[2]));
  setting.put("threshold", short_number(words[3]));
  setting.put("packet_size", short_number(words[4]));
  setting.put("cs_threshold", short_number(words[5]));
  const Delay wait = delay(words[6]);
  if (setting.exact && (wait.shift > 3 || wait.multiplier >> multiplier_bits != 0)) throw BadSetting("a shift has 2 bits, a multiplier 14");
  setting.put("cs_return_delay", (wait.multiplier | wait.shift << multiplier_bits));
  setting.put("marking_rate", short_number(words[7]));
}

void read_port_setting(SettingWords words, AgentSetting& setting) {
  setting.port = short_number(words[0]);
  constexpr std::string_view fields[]{"valid", "control_type", "threshold", "packet_size", "cong_parm_marking_rate"};
  for (std::size_t i = 0; i < std::size(fields); ++i) setting.put(fields[i], short_number(words[i + 1]));
}

void read_ca_setting(SettingWords words, AgentSetting& setting) {
  constexpr std::string_view fields[]{"ccti_timer", "ccti_increase", "trigger_threshold", "ccti_min"};
  constexpr unsigned service_levels = 16;
  const std::uint32_t port_control = short_number(words[0]), control_map = short_number(words[1]);
  setting.put("port_control", port_control);
  setting.put("control_map", control_map);
  for (std::size_t i = 0; i < std::size(fields); ++i) {
    const std::uint32_t value = short_number(words[i + 2]);
    for (unsigned level = 0; level < service_levels; ++level) {
      if ((control_map >> level & 1U) != 0) setting.put(fmt::format("entry_list[{}].{}", level, fields[i]), value);
    }
  }
}

constexpr std::size_t delays_in_block = 64;

void read_control_table(SettingWords words, AgentSetting& setting) {
  const std::uint32_t limit = short_number(words[0]);
  setting.modifier = short_number(words[1]);
  const SettingWords delays = words.subspan(2);
  if (limit != 0 && limit + 1 != setting.modifier * delays_in_block + delays.size())
    throw BadSetting("invalid number of cct entries input given ccti_limit and index");
  setting.put("ccti_limit", limit);
  for (std::size_t i = 0; i < delays.size(); ++i) {
    const Delay entry = delay(delays[i]);
    setting.put(fmt::format("entry_list[{}].shift", i), entry.shift);
    setting.put(fmt::format("entry_list[{}].multiplier", i), entry.multiplier);
  }
}

struct SettingReader {
  std::string_view name;  ///< in the complaint about the number of words
  std::size_t least, most;
  void (*read)(SettingWords words, AgentSetting& setting);
};
constexpr SettingReader readers[]{
    {"CongestionKeyInfo", 4, 4, read_key_info},
    {"SwitchCongestionSetting", 8, 8, read_switch_setting},
    {"SwitchPortCongestion", 6, 6, read_port_setting},
    {"CACongestionSetting", 6, 6, read_ca_setting},
    {"CongestionControlTable", 2, 2 + delays_in_block, read_control_table},
};

AgentSetting read_setting(const Operation& operation, SettingWords words, bool exact) {
  const SettingReader& reader = readers[&operation - settings];
  if (words.size() < reader.least || words.size() > reader.most)
    throw BadSetting(fmt::format("invalid number of parameters for {}", reader.name));
  AgentSetting setting{.info = &operation.info(), .exact = exact};
  reader.read(words, setting);
  return setting;
}

struct ConfigReport final : Report {
  explicit ConfigReport(const AgentOperation& of) : agent(of) {}

  const AgentOperation& agent;
  const StructInfo* info{};
  std::vector<std::uint8_t> bytes;  ///< what the node answered

  void visit(report::Sink& sink) const override {
    sink.value("operation", agent.operation.full);
    path::visit(sink, "path", agent.node.path);
    report::visit_attribute(sink, bytes, *info, agent.keys);
  }
};

/// The block of ports with one changed port. The other ports keep the values of the switch.
async::Task<> put_in_block(const AgentOperation& agent, AgentSetting& setting) {
  constexpr unsigned ports = 32;
  const StructInfo& info = cc::SwitchPortCongestionSetting::info();
  const smp::NodeInfo node = co_await agent.switch_info("node info config failed");
  if (setting.port > node.num_ports) agent.refuse("invalid port number specified");
  setting.info = &info;
  setting.modifier = setting.port / ports;
  std::vector<std::uint8_t> block =
      co_await agent.call(mad::method::get, info, setting.modifier, "switch port congestion setting query failed");
  block.resize(info.bytes);
  std::ranges::copy(setting.bytes, block.begin() + static_cast<std::ptrdiff_t>(setting.port % ports * setting.bytes.size()));
  setting.bytes = std::move(block);
}

class Ibccconfig final : public CongestionCommand {
 public:
  Ibccconfig() : CongestionCommand(settings) {}

  void options(OptionSet& set, CommonOptions& common) override {
    diags_options(set, common);
    add_common(set, common, group_target | group_sl);
  }

  void diags_options(OptionSet& set, CommonOptions& common) override {
    add_operands(set, false);
    set.words("VALUE", values_);
    add_agent_key(set, common);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    session.stack().require_exact_targets();
    std::optional<AgentSetting> setting;
    if (!is_diags()) setting = read(session.host());
    AgentOperation agent = co_await find_agent(session.stack(), emit);
    agent.node = co_await session.manners().identified(std::move(agent.node));
    if (is_diags()) setting = read_as_diags(agent);
    if (setting->info == &cc::SwitchPortSetting::info()) {
      if (!is_diags()) session.stack().sets().port = setting->port;  // the request sets a block of ports
      co_await put_in_block(agent, *setting);
    }
    ConfigReport report(agent);
    report.info = setting->info;
    report.bytes = co_await agent.call(mad::method::set, *setting->info, setting->modifier, agent.operation.failed, setting->bytes);
    report.bytes.resize(setting->info->bytes);
    if (!session.host().options().dry_run) emit(report);
  }

 private:
  AgentSetting read(const Host& host) {
    const Operation& wanted = operation();
    if (wanted.info == &cc::CongestionKeyInfo::info && !values_.empty())
      values_[0] = std::to_string(parse_key(host.options(), values_[0], "New CC_Key", "Bad New CC_Key"));
    try {
      return read_setting(wanted, values_, true);
    } catch (const BadSetting& error) {
      throw UsageError(fmt::format("{}; {} takes {}", error.message(), wanted.full, wanted.values));
    }
  }

  AgentSetting read_as_diags(const AgentOperation& agent) const {
    try {
      return read_setting(agent.operation, values_, false);
    } catch (const BadSetting& error) {
      agent.refuse(error.message());
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
    .make_diags = make_command<congestion::Ibccconfig>,
    .changes = true,
    .needs_fabric = true,
};

}  // namespace ib::tools
