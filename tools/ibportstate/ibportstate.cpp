// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibportstate: a port's PortInfo, and the fields of it that people set. A SubnSet writes the whole attribute: it is read
// first, what is not to change goes back as "no change" or as it was read.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/escape.hpp"
#include "base/log.hpp"
#include "base/nearest.hpp"
#include "iba/dump.hpp"
#include "iba/registry.hpp"
#include "mad/transactor.hpp"
#include "subnet/model/port_paths.hpp"
#include "subnet/set/set_target.hpp"
#include "subnet/sweep/mlnx.hpp"
#include "subnet/sweep/peer.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/targets.hpp"
#include "tools/ibportstate/ibportstate.hpp"

namespace ib::tools {
namespace ibportstate {
namespace {

using smp::PortPhysicalState;
using smp::PortState;

struct StateOperation {
  std::string_view name;
  PortState state;
  PortPhysicalState physical_state;
};

constexpr StateOperation state_operations[]{
    {"query", PortState::no_change, PortPhysicalState::no_change},  {"enable", PortState::no_change, PortPhysicalState::polling},
    {"on", PortState::no_change, PortPhysicalState::polling},       {"reset", PortState::no_change, PortPhysicalState::polling},
    {"disable", PortState::no_change, PortPhysicalState::disabled}, {"off", PortState::no_change, PortPhysicalState::disabled},
    {"down", PortState::down, PortPhysicalState::no_change},        {"arm", PortState::armed, PortPhysicalState::no_change},
    {"armed", PortState::armed, PortPhysicalState::no_change},      {"active", PortState::active, PortPhysicalState::no_change},
};
constexpr std::string_view not_of_diags = "armed", fdr10_word = "fdr10";

/// A value as infiniband-diags takes it.
struct DiagsValueRange {
  std::string_view name;
  std::uint64_t low, high;
  std::string_view complaint;  ///< before the value
  bool hex = false;
  std::uint64_t also = 0;  ///< a value beyond `high`
};
constexpr DiagsValueRange diags_ranges[]{
    {"speed", 0, 15, "invalid speed value"},
    {"espeed", 0, 31, "invalid extended speed value"},
    {"fdr10", 0, 1, "invalid fdr10 speed value"},
    {"width", 0, 31, "invalid width value", false, 255},
    {"vls", 1, 5, "invalid vls value"},
    {"mtu", 1, 5, "invalid mtu value"},
    {"lid", 1, last_unicast_lid, "invalid lid value", true},
    {"smlid", 1, last_unicast_lid, "invalid smlid value", true},
    {"lmc", 0, 7, "invalid lmc value"},
    {"mkeylease", 0, 0xffff, "invalid mkey lease time"},
    {"mkeyprot", 0, 3, "invalid mkey protection bit setting"},
};

/// The value of an operation that infiniband-diags knows.
std::uint64_t diags_value(const CommonOptions& common, const std::string& word, const std::string* text) {
  const auto range = std::ranges::find(diags_ranges, std::string_view(word), &DiagsValueRange::name);
  if (range == std::end(diags_ranges) && word != "mkey") throw DiagsFailure(fmt::format("invalid operation: {}", word));
  if (text == nullptr) throw DiagsFailure(fmt::format("{} requires an additional parameter", word));
  if (word == "mkey") return parse_key(common, *text, "New M_Key", "Bad new M_Key\n", true);
  const std::uint64_t value = c_number(*text);
  if ((value >= range->low && value <= range->high) || (range->also != 0 && value == range->also)) return value;
  throw DiagsFailure(fmt::format("{} {}", range->complaint, range->hex ? fmt::format("0x{:x}", value) : std::to_string(value)));
}

std::vector<std::string_view> operation_names() {
  std::vector<std::string_view> names{fdr10_word, "mkey"};
  for (const StateOperation& op : state_operations) names.push_back(op.name);
  for (const DiagsValueRange& range : diags_ranges) {
    if (range.name != fdr10_word) names.push_back(range.name);
  }
  return names;
}

/// The words OP [OP_ARG] …
struct PortOperations : subnet::PortChange {
  /// A value is a number or, where the field has them, names: `width 4x`, `speed HDR,NDR`. Throws UsageError for a word that is not an
  /// operation, and for a value that no port supports. `as_diags`: a value that is not a number is 0, and DiagsFailure is thrown.
  static PortOperations read(const CommonOptions& common, std::span<const std::string> words, bool as_diags) {
    PortOperations changes;
    for (std::size_t at = 0; at < words.size(); ++at) {
      const std::string &word = words[at], before = changes.state_word;
      const bool is_state = (!as_diags || word != not_of_diags) && changes.take_state(word);
      if (is_state && !before.empty() && as_diags)
        throw DiagsFailure(fmt::format("{} only one of: query, enable, disable, reset, down, arm, active, can be specified", word));
      if (is_state && !before.empty()) throw UsageError(fmt::format("The operations '{}' and '{}' exclude each other", before, word));
      if (is_state) continue;
      const std::string* const text = ++at < words.size() ? &words[at] : nullptr;
      changes.take_setting(common, word, text, as_diags);
    }
    if (!as_diags && changes.state_word == "query" && !changes.is_query()) throw UsageError("The operation 'query' goes with no other");
    return changes;
  }

  bool is_query() const { return none() && !fdr10; }
  /// The operation is only for disabled ports, and a port with PortInfo `now` is not disabled.
  bool is_needless(const smp::PortInfo& now) const { return only_if_disabled && now.port_physical_state != PortPhysicalState::disabled; }
  /// Sets what a link takes over when it trains the next time, and does not make it train.
  bool waits_for_reset() const {
    const auto is_of_link = [](const subnet::PortSetting& setting) { return !setting.supported.empty(); };
    return physical_state == PortPhysicalState::no_change && state != PortState::down && (fdr10 || find(is_of_link) != nullptr);
  }
  /// Makes the link train again after its settings. Throws UsageError beside another operation on the state, or without settings.
  void add_reset() {
    if (!state_word.empty() && state_word != "reset")
      throw UsageError(fmt::format("--and-reset and the operation '{}' exclude each other", state_word));
    if (settings.empty() && !fdr10) throw UsageError("--and-reset goes with a setting: the operation 'reset' is enough");
    take_state("reset");
  }

  bool only_if_disabled{};
  std::string state_word;  ///< query, or the one operation on the state
  std::optional<std::uint8_t> fdr10;

 private:
  /// Takes an operation on the state. False if `word` is not such an operation.
  bool take_state(std::string_view word) {
    const auto found = std::ranges::find(state_operations, word, &StateOperation::name);
    if (found == std::end(state_operations)) return false;
    state_word = word;
    state = found->state;
    physical_state = found->physical_state;
    only_if_disabled = word == "on";
    return true;
  }
  /// Takes the setting `word` with its value `text`, which is null where it lacks.
  void take_setting(const CommonOptions& common, const std::string& word, const std::string* text, bool as_diags) {
    const subnet::PortSetting* setting = subnet::find_port_setting(word);
    std::uint64_t value = 0;
    if (as_diags) {
      value = diags_value(common, word, text);
    } else {
      if (setting == nullptr && word != fdr10_word)
        throw UsageError(fmt::format("Operation {} is not known{}", in_quotes(word), did_you_mean(word, operation_names())));
      if (text == nullptr) throw UsageError(fmt::format("Operation '{}' needs a value", word));
      if (word == "speed" && add_speeds(*text)) return;
      value = setting == nullptr             ? parse_unsigned(*text, fdr10_word, 0, 1)
              : setting->descriptor().secret ? parse_key(common, *text, "New M_Key", "Bad New M_Key")
                                             : setting->parse(*text);
    }
    if (setting == nullptr) {
      fdr10 = static_cast<std::uint8_t>(value);
    } else {
      settings.emplace_back(setting, value);
    }
  }
};

constexpr std::uint32_t extended_speeds_bit = 1U << 31;  // of PortInfo's attribute modifier: the fields of extended speeds count
constexpr std::uint8_t fdr10_bit = 1;                    // of MlnxExtPortInfo's speeds and StateChangeEnable

async::Task<> read_node(Manners& manners, mad::Transactor& transactor, ObservedPort& port) {
  port.node_info = co_await manners.get<smp::NodeInfo>(transactor, port.node.path, 0, "smp query nodeinfo failed");
}

async::Task<> read_port(Manners& manners, mad::Transactor& transactor, ObservedPort& port) {
  const auto info = co_await manners.get<smp::PortInfo>(transactor, port.node.path, port.number, "smp query portinfo failed");
  port.bytes = wire::packed_vector(info);
}

/// Requests to change a port. The Set begins with the present PortInfo, which is read from the node itself.
mad::Transactor& transactor_for_set(Stack& stack) {
  stack.require_fabric("A change of a port");
  stack.require_exact_targets();
  return stack.smp_transactor();
}

/// infiniband-diags shows all speeds, and only the peers of switch ports; it sets without checks of its own.
class Ibportstate final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.target_each("TARGET", target_);
    set.integer("PORTNUM", number_, {0, path::last_port});
    set.is_port();
    set.optional_operands();
    set.words("OP [OP_ARG]", words_);
    set.offer([] {
      std::vector<std::string> words;
      for (const std::vector<std::string_view>& names : {operation_names(), subnet::port_setting_values()})
        words.insert(words.end(), names.begin(), names.end());
      return words;
    });
    set.notes(
        "OP is query (the default), one of enable, on, disable, off, reset, down,\n"
        "arm, active, or a setting and its value: speed, espeed, fdr10, width, vls,\n"
        "mtu, lid, smlid, lmc, mkey, mkeylease, mkeyprot. Speeds and widths have\n"
        "names: speed HDR,NDR; width 4x.");
    set.flag("--and-reset --and_reset", and_reset_, "Make the link train again, so that new speeds and widths act.");
    set.flag("-n --dry-run --dry_run", dry_run_, "Print what would be set, set nothing.");
    set.flag("--force", force_, "Disable also the port by which the request comes in.");
    add_common(set, common, group_target);
  }

  void diags_options(OptionSet& set, CommonOptions& /*common*/) override {
    as_diags_ = true;
    set.target("TARGET", target_);
    set.integer("PORTNUM", number_);
    set.optional_operands();
    set.words("OP [OP_ARG]", words_);
    set.notes(
        "Without OP the port is shown. OP is one of query, enable, on, disable, off,\n"
        "reset, down, arm, active, or a setting and its value: speed, espeed, fdr10,\n"
        "width, vls, mtu, lid, smlid, lmc, mkey, mkeylease, mkeyprot.");
  }

  async::Task<> run(Session& session, Emit& emit) override {
    if (as_diags_) co_return co_await run_as_diags(session, emit);
    operations_ = PortOperations::read(session.host().options(), words_, false);
    if (and_reset_) operations_.add_reset();
    const Destination node = co_await session.manners().smp_node(target_);
    ObservedPort port(node, number_);
    if (operations_.is_query()) {
      PortStateReport report(session.host(), port);
      co_await query(session.stack(), session.stack().transactor(), port, report);
      emit(report);
    } else {
      PortSetReport report(session.host(), port);
      co_await set(session.stack(), emit, transactor_for_set(session.stack()), port, report);
      emit(report);
    }
  }

 private:
  static async::Task<> query(Stack& stack, mad::Transactor& transactor, ObservedPort& port, PortStateReport& report) {
    co_await read_port(stack.manners(), transactor, port);
    port.description = co_await description_at(transactor, port.node.path);
    if (port.info().port_state == smp::PortState::down) co_return;
    try {
      co_await read_node(stack.manners(), transactor, port);
      if (!port.is_switch() || port.number != 0) report.peer = co_await find_peer(stack, transactor, port);
    } catch (Error& error) {
      report.lacks_peer = true;
      report.why_no_peer = error.what();
      error.note(fmt::format("What is behind {} was not read", port.name()));
      stack.host().report(error);
    }
  }

  /// The port at the other end of the link, by a route or by the SA. Its node stays unknown if it does not answer.
  static async::Task<ObservedPort> find_peer(Stack& stack, mad::Transactor& transactor, const ObservedPort& port) {
    const smp::PortInfo info = port.info();
    const unsigned number =
        port.number != 0 ? port.number : info.local_port_num;  // on other nodes, port 0 is the port that got the request
    mad::Result<subnet::Peer> found =
        co_await subnet::find_peer(transactor, port.node.path, *port.node_info, number, info, stack.host().options().use_sa);
    subnet::Peer peer = std::move(found).take();
    if (port.node.path.directed() == nullptr && peer.path.directed() != nullptr) {
      const std::optional<subnet::Peer> by_lid = co_await subnet::peer_by_lid(transactor, peer, port.node.path.ib());
      if (by_lid) peer = *by_lid;
    }
    ObservedPort result({peer.path, stack.manners().name_of(peer.path)}, peer.port);
    result.bytes = wire::packed_vector(peer.info);
    const mad::Result<smp::NodeInfo> node = co_await transactor.try_subn_get<smp::NodeInfo>(peer.path);
    if (node) result.node_info = *node;
    result.description = co_await description_at(transactor, peer.path);
    co_return result;
  }

  /// Sets with care: what the port or its kind of node rules out is refused before anything is sent.
  async::Task<> set(Stack& stack, Emit& emit, mad::Transactor& transactor, ObservedPort& port, PortSetReport& report) {
    // The output names the node of the Set, and GUIDs are compared before anything is read for the Set.
    mad::Result<smp::NodeInfo> meant = co_await subnet::check_set_target(transactor, port.node.path);
    port.node_info = std::move(meant).take();
    subnet::mean_node(port.node.path, *port.node_info);  // what is read now is what is set
    port.description = co_await description_at(transactor, port.node.path);
    co_await read_port(stack.manners(), transactor, port);
    const smp::PortInfo info = port.info();
    report.dry_run = dry_run_;
    report.needless = operations_.is_needless(port.info());
    if (report.needless) co_return;
    if (operations_.disables() && !force_) {
      try {
        co_await subnet::check_carries_our_smps(transactor, port.node.path, *port.node_info, number_, info, stack.host().options().use_sa);
      } catch (const UsageError& error) {
        throw UsageError(error.message() + " (--force does it anyway)");
      }
    }
    operations_.fit(info);
    co_await subnet::check_port_change(transactor, port.node.path, *port.node_info, number_, info, operations_);
    report.changes = operations_.list(info);
    if (operations_.fdr10) co_await set_fdr10(transactor, port, report);
    if (operations_.none() || dry_run_) co_return;
    const smp::PortInfo answer = co_await send(transactor, port, operations_.applied(info));
    report.after = port;
    report.after->bytes = wire::packed_vector(answer);
    stack.host().note(report.what_changed());
    if (operations_.waits_for_reset())
      stack.host().note("The link uses this after it trains the next time: --and-reset, or the operation reset, makes it train");
    for (const subnet::SettingChange& change : operations_.ignored(answer)) {
      stack.host().log().error(fmt::format("The port did not take over {} {}: it answers {}", change.field->iba_name,
                                           worded(*change.field, change.to), worded(*change.field, change.from)));
      emit.raise(Exit::findings);
    }
  }

  async::Task<> set_fdr10(mad::Transactor& transactor, const ObservedPort& port, PortSetReport& report) const {
    if (!subnet::has_mlnx_ext_port_info(*port.node_info)) throw UsageError("The node knows no FDR10");
    auto info = co_await transactor.subn_get<smp::MlnxExtPortInfo>(port.node.path, number_);
    const std::uint8_t enabled = *operations_.fdr10;
    if ((enabled & ~info.link_speed_supported) != 0) throw UsageError("The port does not support FDR10");
    const StructInfo& attribute = smp::MlnxExtPortInfo::info();
    report.changes.push_back({&attribute, find_field(attribute, "link_speed_enabled"), info.link_speed_enabled, enabled});
    if (dry_run_) co_return;
    info.state_change_enable = fdr10_bit;
    info.link_speed_enabled = enabled;
    co_await transactor.subn_set(port.node.path, number_, info);
  }

  async::Task<smp::PortInfo> send(mad::Transactor& transactor, const ObservedPort& port, const smp::PortInfo& wanted) const {
    const std::uint32_t modifier = number_ | (operations_.sets_ext_speed() ? extended_speeds_bit : 0U);
    try {
      co_return co_await transactor.subn_set(port.node.path, modifier, wanted);
    } catch (mad::MadStatusError& error) {
      if (!wanted.lid.is_unicast())
        error.note("Setting a port that has no LID, which some nodes refuse unless 'lid' and 'smlid' give it one");
      throw;
    }
  }

  async::Task<> run_as_diags(Session& session, Emit& emit) {
    const Destination node = co_await session.manners().smp_node(target_);
    operations_ = PortOperations::read(session.host().options(), words_, true);
    ObservedPort port(node, number_);
    mad::Transactor& transactor = operations_.is_query() ? session.stack().transactor() : transactor_for_set(session.stack());
    co_await read_node(session.manners(), transactor, port);
    if (operations_.is_query()) {
      PortStateReport report(session.host(), port);
      co_await emit_after(diags_query(session.stack(), transactor, port, report), emit, report);
      if (report.peer) warn_of_slow_link(session.host(), port, *report.peer);
      co_return;
    }
    subnet::mean_node(port.node.path, *port.node_info);  // what is read now is what is set
    const auto is_of_m_key = [](const subnet::PortSetting& setting) { return setting.name.starts_with("mkey"); };
    if (port.is_switch() && number_ != 0 && operations_.find(is_of_m_key) != nullptr)
      throw DiagsFailure("Can't set M_Key fields on switch port != 0");
    PortSetReport report(session.host(), port);
    co_await emit_after(diags_set(session.stack(), transactor, port, report), emit, report);
  }

  /// Emits what `work` has found, also if it fails.
  static async::Task<> emit_after(async::Task<> work, Emit& emit, const Report& report) {
    try {
      co_await std::move(work);
    } catch (const Error&) {
      emit.so_far(report);
      throw;
    }
    emit(report);
  }

  /// PortInfo, and what is shown of speeds beside it.
  static async::Task<> read_all(Stack& stack, mad::Transactor& transactor, ObservedPort& port) {
    smp::PortInfo port0;  // of a switch; its CapabilityMask applies to all ports
    if (port.is_switch())
      port0 = co_await stack.manners().get<smp::PortInfo>(transactor, port.node.path, 0, "smp query port 0 portinfo failed");
    co_await read_port(stack.manners(), transactor, port);
    const std::uint32_t capabilities = (port.is_switch() ? port0 : port.info()).capability_mask;
    port.extended_speeds = (capabilities & smp::capability_mask::is_extended_speeds_supported) != 0;
    if (!stack.host().options().mlnx_extended_port_info || !subnet::has_mlnx_ext_port_info(*port.node_info)) co_return;
    const auto mlnx =
        co_await stack.manners().get<smp::MlnxExtPortInfo>(transactor, port.node.path, port.number, "smp query ext portinfo failed");
    port.mlnx_bytes = wire::packed_vector(mlnx);
  }

  static async::Task<> diags_query(Stack& stack, mad::Transactor& transactor, ObservedPort& port, PortStateReport& report) {
    co_await read_all(stack, transactor, port);
    if (!port.is_switch() || port.number == 0 || port.info().port_state != smp::PortState::active) co_return;
    // The peer is looked for only at the end of the route.
    path::IbDrPath route = subnet::route_from(port.node.path);
    if (port.node.path.directed() == nullptr) route.dr_slid = stack.host().end_port().lid;
    const auto longer = route.advance(static_cast<std::uint8_t>(port.number));
    if (!longer) throw DiagsFailure("Too many hops");
    report.peer.emplace(Destination{*longer, diags_name(*longer)}, 0);
    report.lacks_peer = true;
    co_await read_node(stack.manners(), transactor, *report.peer);
    report.peer->number = report.peer->node_info->local_port_num;
    co_await read_all(stack, transactor, *report.peer);
    report.lacks_peer = false;
  }

  /// Sends a PortInfo in any case, without further requests before it.
  async::Task<> diags_set(Stack& stack, mad::Transactor& transactor, ObservedPort& port, PortSetReport& report) const {
    co_await read_all(stack, transactor, port);
    report.needless = operations_.is_needless(port.info());
    if (report.needless) co_return;
    report.disables = operations_.disables();
    if (operations_.fdr10) {
      smp::MlnxExtPortInfo mlnx = port.mlnx();
      mlnx.state_change_enable = fdr10_bit;
      mlnx.link_speed_enabled = *operations_.fdr10;
      mad::Result<smp::MlnxExtPortInfo> answer = co_await transactor.try_subn_set(port.node.path, number_, mlnx);
      report.mlnx_after = port;
      report.mlnx_after->mlnx_bytes = wire::packed_vector(stack.manners().take(std::move(answer), "smp set MLNX ext portinfo failed"));
    }
    const std::uint32_t modifier = number_ | (port.extended_speeds ? extended_speeds_bit : 0U);
    constexpr Lid unlikely_lid{0x1234};  // some nodes refuse a PortInfo without LIDs
    smp::PortInfo read = port.info();
    for (Lid* lid : {&read.lid, &read.master_sm_lid}) {
      if (*lid == Lid{} || *lid == permissive_lid) *lid = unlikely_lid;
    }
    const smp::PortInfo wanted = operations_.applied(read);
    mad::Result<smp::PortInfo> answer = co_await transactor.try_subn_set(port.node.path, modifier, wanted);
    const smp::PortInfo after = stack.manners().take(std::move(answer), "smp set portinfo failed");
    report.after = port;
    report.after->bytes = wire::packed_vector(after);
  }

  bool as_diags_{};
  Target target_;
  unsigned number_{};
  std::vector<std::string> words_;
  PortOperations operations_;
  bool dry_run_{}, force_{}, and_reset_{};
};

}  // namespace
}  // namespace ibportstate

constinit const CommandInfo rooms::ibportstate{
    .name = "ibportstate",
    .group = HelpGroup::config,
    .summary = "Print the state of a port and of its link, or change it.",
    .make = make_command<tools::ibportstate::Ibportstate>,
    .make_diags = make_command<tools::ibportstate::Ibportstate>,
    .changes = true,
    .reports_changes = true,
};

}  // namespace ib::tools
